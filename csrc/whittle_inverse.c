#include <math.h>

#include "every_width.h"
#include "whittle_index.h"

/* The unknown of the inverse, at first guess and after two Newton steps. */
DECAY_INLINE double crossing(double ceiling, double decay, double loss, double curvature, double offset, double price)
{
    double sigma = offset - decay_log1p(-price / ceiling, 1);
    double bounded = sigma < 90.0 ? sigma : 90.0;
    double root = sqrt(sigma);
    double D = sigma + 5.950609937518596 * (1.0 - 1.0 / (1.0 + 0.2376585909951352 * root / (1.0 - 0.0042 * bounded)));
    D -= (D - decay_log1p(D, 1) - sigma) * (1.0 + D) / D;
    D -= (D - decay_log1p(D, 1) - sigma) * (1.0 + D) / D;
    double age = (D - curvature / loss) / decay;
    return age > 0.0 ? age : 0.0;
}

double whittle_crossing(const struct site *s, double price)
{
    return crossing(s->ceiling, s->decay, s->loss, s->curvature, s->offset, price);
}

/* The least whole age in (low, high] whose index is at least price, given that it holds at high and
 * not at low (low = -1: before age 0). */
static double bisect_age(const struct site *s, double price, double low, double high)
{
    while (high - low > 1.0) {
        double middle = floor(low + (high - low) / 2.0);
        if (whittle_index_row(s, middle) >= price)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double whittle_first_age(const struct site *s, double price)
{
    double last = s->max_age < WHITTLE_LARGEST_AGE ? s->max_age : WHITTLE_LARGEST_AGE;
    if (price <= 0.0) return 0.0;
    if (price > s->cap || price >= s->ceiling || !(whittle_index_row(s, last) >= price)) return INFINITY;
    double guess = ceil(whittle_crossing(s, price));
    if (!(guess <= last)) guess = last;
    double low = guess, high = guess, stride = 1.0;
    if (whittle_index_row(s, guess) >= price) {
        do {
            high = low;
            low = low - stride > -1.0 ? low - stride : -1.0;
            stride *= 2.0;
        } while (low >= 0.0 && whittle_index_row(s, low) >= price);
    } else {
        do {
            low = high;
            high = high + stride < last ? high + stride : last;
            stride *= 2.0;
        } while (high < last && whittle_index_row(s, high) < price);
    }
    return bisect_age(s, price, low, high);
}

double whittle_state_at(const struct site *s, double price)
{
    double age = whittle_first_age(s, price);
    if (price <= 0.0) return 0.0;
    if (price >= s->cap || age > WHITTLE_LARGEST_AGE) return price;
    double slope = age < s->max_age ? age * s->loss : age;
    double below = whittle_content(s->ceiling, s->decay, s->max_age, age - 1.0);
    return below + (price - whittle_index_row(s, age - 1.0)) / slope;
}

/* The inverse of the level rounded up, where the age before it vouches for all earlier ones: the index
 * rises, so one age that is a margin below the level will do. -1 where it does not. */
DECAY_INLINE void block_guess(ptrdiff_t m, const struct site_block *restrict b, double level, double *restrict out)
{
    const double shift = 4503599627370496.0;
    double safe = level * (1.0 - WHITTLE_MARGIN);
    for (ptrdiff_t j = 0; j < m; j++) {
        double last = b->max_age[j] < WHITTLE_LARGEST_AGE ? b->max_age[j] : WHITTLE_LARGEST_AGE;
        double age = crossing(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j], b->offset[j], level);
        double up = (age + 0.5 + shift) - shift; /* at or one above age rounded up */
        double guess = (level < b->ceiling[j]) & (up <= last) ? up : last;
        double before = whittle_index_value(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j], b->max_age[j],
                                            b->cap[j], guess - 1.0);
        double checked = before < safe ? guess : -1.0;
        checked = guess <= b->age[j] + 1.0 ? b->age[j] + 1.0 : checked;
        out[j] = b->cap[j] < safe ? INFINITY : checked;
    }
}
AT_EVERY_WIDTH(void, whittle_block_guess, block_guess,
               (ptrdiff_t m, const struct site_block *b, double level, double *out), (m, b, level, out))

/* With E = e^-ck and k the age waited: g' = x E (c (1 + k w) - w), g'' = x E c (2 w - c (1 + k w)). The age before the
 * one found vouches for all earlier ones, as above. */
DECAY_INLINE void block_return(ptrdiff_t m, const struct site_block *restrict b, const double *restrict waited,
                               const double *restrict content, double level, double *restrict out)
{
    const double shift = 4503599627370496.0;
    double safe = level * (1.0 - WHITTLE_MARGIN);
    for (ptrdiff_t j = 0; j < m; j++) {
        double c = b->decay[j], w = b->loss[j], k = waited[j], x = b->ceiling[j];
        double left = 1.0 - content[j] / x, steep = c * (1.0 + k * w);
        double over = (content[j] - x * k * w * left - level) / (x * left * (steep - w));
        double root = k - over - 0.5 * over * over * c * (2.0 * w - steep) / (steep - w);
        double up = (root + 0.5 + shift) - shift;
        double before = whittle_index_value(x, c, w, b->curvature[j], b->max_age[j], b->cap[j], up - 1.0);
        int plain = (k < b->max_age[j]) & (c * k > 1e-4) & (left > 1e-6) & (up >= 1.0) & (up <= k) & (before < safe);
        out[j] = plain ? up : -1.0;
    }
}
AT_EVERY_WIDTH(void, whittle_block_return_age, block_return,
               (ptrdiff_t m, const struct site_block *b, const double *waited, const double *content, double level,
                double *out),
               (m, b, waited, content, level, out))

void whittle_block_safe_age(ptrdiff_t m, const struct site_block *b, double level, double *out)
{
    whittle_block_guess(m, b, level, out);
    for (ptrdiff_t j = 0; j < m; j++) {
        if (out[j] >= 0.0) continue;
        double low = b->age[j] + 1.0; /* bisect: low is safe, high may not be */
        double high = b->max_age[j] < WHITTLE_LARGEST_AGE ? b->max_age[j] + 1.0 : WHITTLE_LARGEST_AGE;
        while (high - low > 1.0) {
            double middle = floor(low + (high - low) / 2.0);
            double before = whittle_index_value(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j],
                                                b->max_age[j], b->cap[j], middle - 1.0);
            if (before < level * (1.0 - WHITTLE_MARGIN))
                low = middle;
            else
                high = middle;
        }
        out[j] = low;
    }
}
