/* Where ramps meet a target: what quadratic items take falls straight from their upper bound at one price to their lower
 * one at a higher price, that of linear items at once, and in all it is straight between such prices.
 *
 * Reference: Kiwiel, "Breakpoint searching algorithms for the continuous quadratic knapsack problem", Math. Program. 112
 * (2008). */
#ifndef NEFK_RAMPS_H
#define NEFK_RAMPS_H

#include <stddef.h>

#include "nefk_kernel.h"

/* Ramps (m,): at prices below `end` one takes its `rise`, above `top` nothing, and between a share of it. */
typedef struct { double *top, *end, *rise; } nefk_ramps;

/* Set ramp i to what a quadratic item takes beyond its lower bound, of so much that is left for all. */
static inline void nefk_set_ramp(nefk_ramps ramps, size_t i, double curvature, double weight, double lower, double upper,
                                 double left) {
    double room = upper - lower, most = room < left ? room : left; /* none takes more than all */
    ramps.rise[i] = most;
    ramps.top[i] = weight * (1.0 - curvature * lower);
    ramps.end[i] = weight * (1.0 - curvature * (lower + most));
}

/* Between two ends of ramps next to each other (all may be the same), the price, as good as its rounding. */
typedef struct { double low, price, high; } nefk_crossing;

/* Where m ramps, which are used up, together take a target that is positive and less than all their rises. O(m) as a
 * rule, O(m) times 120 at worst. */
nefk_crossing nefk_cross(size_t m, nefk_ramps ramps, double target);

/* The same of items [0, n) of a problem of quadratic ones, of which the answer is known to lie between at->low and high,
 * which may be infinite; `price` is one between, or any. 0 if more of them than there is room for, less a block, have an
 * end of theirs there. */
int nefk_cross_items(const nefk_problem *problem, size_t n, nefk_ramps ramps, size_t room, double target,
                     nefk_crossing *at);

#endif
