#include "censored_fit.h"

#include <float.h>
#include <math.h>

#include "nefk_math.h"

#define POINTS 257
#define DEPTH 15.0 /* the posterior is cut where it has fallen by exp(-DEPTH) */

static inline double weight_of(const censored_item *item, ptrdiff_t k) { return item->weight ? item->weight[k] : 1.0; }

/* s(h) = h / (e^h - 1), and s (s + h - 1) = -ds / dlog h, both without cancellation. */
static inline void score_of(double h, double *s, double *bend)
{
    double quiet = nefk_exp_negative(h);
    double complement = h < 1.0 ? quiet + h * nefk_gamma2_over_square(h) : (1.0 - quiet) / h;
    *s = h < 700.0 ? quiet / complement : 0.0;
    /* s + h - 1 = (h - (1 - e^-h)) / (1 - e^-h) = h^2 r / (h c), r = (1 - c) / h */
    double rest = h < 1e-3 ? 0.5 - h * (1.0 / 6.0 - h / 24.0) : (1.0 - complement) / h;
    *bend = *s * (h * rest / complement);
}

double censored_rate(const censored_item *item, int steps, double *curvature, double *last_step)
{
    double rate = 0.0;
    *last_step = 0.0;
    for (int step = 0; step < steps; step++) {
        double score = item->count, bend = 0.0, half = 0.0;
        for (ptrdiff_t k = 0; k < item->changes; k++) {
            double s, b, w = weight_of(item, k);
            score_of(rate * item->gap[k], &s, &b);
            score += w * s;
            bend += w * b;
            half += 0.5 * w * item->gap[k];
        }
        double slope = item->exposure + (rate > 0.0 ? bend / rate : half); /* -d score / dL */
        double change = (score - rate * item->exposure) / slope;
        rate += change;
        *curvature = rate * item->exposure + bend;
        *last_step = rate > 0.0 ? fabs(change) / rate : 0.0;
        if (!(change > 1e-14 * rate)) break;
    }
    return rate;
}

/* l, a constant apart. */
static double log_likelihood(const censored_item *item, double log_rate)
{
    double rate = exp(log_rate), sum = item->count * log_rate - rate * item->exposure;
    for (ptrdiff_t k = 0; k < item->changes; k++) {
        double h = rate * item->gap[k], quiet = nefk_exp_negative(h);
        double found = h < 1.0 ? h * (quiet + h * nefk_gamma2_over_square(h)) : 1.0 - quiet;
        if (found > 0.0) sum -= weight_of(item, k) * nefk_negative_log(found, quiet);
        else sum -= weight_of(item, k) * 800.0; /* gap 0: one constant for every rate */
    }
    return sum;
}

/* Where l has fallen by DEPTH, from the top in one direction: found by doubling steps. */
static double edge(const censored_item *item, double centre, double top, double step)
{
    double at = centre;
    for (int k = 0; k < 60 && fabs(at - centre) < 300.0; k++) {
        at = centre + step;
        if (log_likelihood(item, at) < top - DEPTH) break;
        step *= 1.5;
    }
    return at;
}

void censored_quantiles(const censored_item *item, double rate, double curvature, const double *share, ptrdiff_t m,
                        double *quantile)
{
    double centre = log(rate), top = log_likelihood(item, centre), sd = 1.0 / sqrt(curvature > 1e-3 ? curvature : 1e-3);
    double low = edge(item, centre, top, -3.0 * sd), high = edge(item, centre, top, 3.0 * sd);
    double mass[POINTS], step = (high - low) / (POINTS - 1), before = 0.0;
    mass[0] = 0.0;
    for (int g = 0; g < POINTS; g++) {
        double density = exp(log_likelihood(item, low + g * step) - top);
        if (g) mass[g] = mass[g - 1] + 0.5 * (density + before);
        before = density;
    }
    int g = 1;
    for (ptrdiff_t j = 0; j < m; j++) {
        double wanted = share[j] * mass[POINTS - 1];
        while (g < POINTS - 1 && mass[g] < wanted) g++;
        double part = (wanted - mass[g - 1]) / (mass[g] - mass[g - 1] + DBL_MIN);
        quantile[j] = exp(low + (g - 1 + (part < 1.0 ? part : 1.0)) * step);
    }
}
