#include "censored_fit.h"

#include <float.h>
#include <math.h>

#include "nefk_math.h"

#define HALF 128 /* cells on each side of the mode */
#define POINTS (2 * HALF + 1)
#define DEPTH 12.0 /* the posterior is cut where it has fallen by exp(-DEPTH) times the least tail that is asked for */
#define LEAST_TAIL 1e-17

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

/* l, a constant apart, and its slope dl / dlog L. */
static double log_likelihood(const censored_item *item, double log_rate, double *slope)
{
    double rate = exp(log_rate), sum = item->count * log_rate - rate * item->exposure;
    *slope = item->count - rate * item->exposure;
    for (ptrdiff_t k = 0; k < item->changes; k++) {
        double h = rate * item->gap[k], quiet = nefk_exp_negative(h), w = weight_of(item, k);
        double complement = h < 1.0 ? quiet + h * nefk_gamma2_over_square(h) : (1.0 - quiet) / h;
        double found = h < 1.0 ? h * complement : 1.0 - quiet;
        *slope += h < 700.0 ? w * (quiet / complement) : 0.0;
        sum -= w * (h > DBL_MIN ? nefk_negative_log(found, quiet) : -log_rate - log(item->gap[k]));
    }
    return sum;
}

void censored_likelihoods(const censored_item *item, const double *log_rate, ptrdiff_t m, ptrdiff_t stride, double *out)
{
    for (ptrdiff_t j = 0; j < m; j++) {
        double rate = exp(log_rate[j]), sum = 0.0;
        for (ptrdiff_t k = 0; k < item->changes; k += stride) {
            double h = rate * item->gap[k], w = weight_of(item, k);
            if (h > 700.0) continue; /* sure to have changed */
            double quiet = nefk_exp_negative(h);
            double found = h < 1.0 ? h * (quiet + h * nefk_gamma2_over_square(h)) : 1.0 - quiet;
            sum -= w * (h > DBL_MIN ? nefk_negative_log(found, quiet) : -log_rate[j] - log(item->gap[k]));
        }
        out[j] = item->count * log_rate[j] - rate * item->exposure + (double)stride * sum;
    }
}

/* Where l has fallen below `lowest`, from the top in one direction: found by growing steps. */
static double edge(const censored_item *item, double centre, double lowest, double step)
{
    double at = centre, slope;
    for (int k = 0; k < 60 && fabs(at - centre) < 600.0; k++) {
        at = centre + step;
        if (log_likelihood(item, at, &slope) < lowest) break;
        step *= 1.5;
    }
    return at;
}

/* Where in a cell of width h its cumulative share of the mass is `wanted`, given the density at both of its ends: the
 * root t in [0, 1] of the cubic with value 0 and `mass`, slope h left and h right there. Bisection, then linear. */
static double within(double wanted, double mass, double left, double right)
{
    double low = 0.0, high = 1.0, below = 0.0, above = mass;
    for (int k = 0; k < 20; k++) {
        double t = 0.5 * (low + high), rest = 1.0 - t;
        double at = mass * t * t * (3.0 - 2.0 * t) + t * rest * (left * rest - right * t);
        if (at < wanted) low = t, below = at;
        else high = t, above = at;
    }
    double part = (wanted - below) / (above - below + DBL_MIN);
    return low + (high - low) * (part > 0.0 ? part < 1.0 ? part : 1.0 : 0.0);
}

void censored_quantiles(const censored_item *item, double rate, double curvature, const double *share, ptrdiff_t m,
                        double *quantile)
{
    double slope, centre = log(rate), top = log_likelihood(item, centre, &slope);
    double sd = 1.0 / sqrt(curvature > 1e-3 ? curvature : 1e-3);
    double tail = share[0] < 1.0 - share[m - 1] ? share[0] : 1.0 - share[m - 1];
    double lowest = top - DEPTH + log(tail < LEAST_TAIL ? LEAST_TAIL : tail);
    double from = edge(item, centre, lowest, -sd), to = edge(item, centre, lowest, sd);
    double at[POINTS], mass[POINTS], density[POINTS], bend = 0.0;
    for (int g = 0; g <= HALF; g++) {
        double part = (double)g / HALF, far = part * sqrt(sqrt(part));
        at[HALF - g] = centre - (centre - from) * far;
        at[HALF + g] = centre + (to - centre) * far;
    }
    mass[0] = 0.0;
    for (int g = 0; g < POINTS; g++) {
        double h = g ? at[g] - at[g - 1] : 0.0, before = bend;
        density[g] = exp(log_likelihood(item, at[g], &slope) - top);
        bend = density[g] * slope;
        if (g) mass[g] = mass[g - 1] + 0.5 * h * (density[g - 1] + density[g]) + h * h / 12.0 * (before - bend);
    }
    int g = 1;
    for (ptrdiff_t j = 0; j < m; j++) {
        double wanted = share[j] * mass[POINTS - 1];
        while (g < POINTS - 1 && mass[g] < wanted) g++;
        double h = at[g] - at[g - 1];
        double part = within(wanted - mass[g - 1], mass[g] - mass[g - 1], h * density[g - 1], h * density[g]);
        quantile[j] = exp(at[g - 1] + part * h);
    }
}
