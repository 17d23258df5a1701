/* The price at which many unit-value curves share out a capacity (DET-KS).
 *
 * Curve i has strictly decreasing values f_k at the amounts x_k of a common grid of m points, linear between them;
 * at price p its amount is where it falls to p: x_0 above f_0, x_(m-1) below f_(m-1). The total amount falls
 * continuously in p, from n x_0 to n x_(m-1); the market clears where it is the capacity.
 * Invariant after curve_market_clear: segment i holds the price, low[i] <= price <= high[i], and the amounts
 * base[i] + slope[i] * price add up to the capacity.
 * One changed curve costs one pass over n items per Newton step, two or three as a rule; a segment is looked for
 * from where it was.
 * Units: prices are unit values (changes found per poll), amounts polls per unit of time.
 * Reference: nonlinear fractional knapsack with tabulated derivatives; Glimsdal and Granmo, section 2.2.
 */
#ifndef KNAPSOLVE_CURVE_MARKET_H
#define KNAPSOLVE_CURVE_MARKET_H

#include <stddef.h>
#include <stdint.h>

struct curve_market {
    ptrdiff_t n, m;
    const double *grid;   /* (m,) ascending amounts */
    const double *curves; /* (n, m) */
    double *low, *high, *base, *slope; /* (n,) each */
    int32_t *segment;     /* (n,): k for f_k > price >= f_(k+1); -1 above f_0, m - 1 below f_(m-1) */
    double capacity, price;
};

/* Make f, (m,), non-increasing: the closest such curve by least squares (pool adjacent violators). O(m).
 * Scratch: start (m,) and pooled (m,). */
void curve_project(ptrdiff_t m, double *f, int32_t *start, double *pooled);

/* Make a non-increasing f strictly decreasing by a tilt far below its noise; what falls flat is thereby
 * shared in proportion to its length. O(m). */
void curve_tilt(ptrdiff_t m, double *f);

/* First segment of curve i, at the market's price. O(m). */
void curve_market_place(struct curve_market *market, ptrdiff_t i);

/* Move the price to where the total is the capacity, n x_0 <= capacity <= n x_(m-1). Every curve placed. */
void curve_market_clear(struct curve_market *market);

static inline double curve_market_amount(const struct curve_market *t, ptrdiff_t i)
{
    int32_t k = t->segment[i];
    if (k < 0) return t->grid[0];
    if (k >= t->m - 1) return t->grid[t->m - 1];
    const double *f = t->curves + i * t->m + k;
    double share = (f[0] - t->price) / (f[0] - f[1]);
    share = share > 0.0 ? share < 1.0 ? share : 1.0 : 0.0;
    return t->grid[k] + share * (t->grid[k + 1] - t->grid[k]);
}

#endif
