/* Change rates by censored maximum likelihood: what each item's polls say together.
 *
 * Item i has changed polls after gaps e_k > 0 with weights w_k (grouped: first[i] <= k < first[i + 1]), counted changes
 * A and an exposure Q (quiet time, exposures of counts, the prior's share of both). The log likelihood in log L is
 *     l(L) = sum w_k log(1 - exp(-L e_k)) + A log L - L Q,      A, Q > 0,
 * whose derivative sum w_k s(L e_k) + A - L Q, s(h) = h / (e^h - 1), is convex and decreasing in L: Newton's method
 * from L = 0 rises to the root without passing it.
 * Units: gaps, exposures in one unit of time, L in its reciprocal. O(polls of the item) a step, some 4 to 8 steps.
 * Reference: Cho and Garcia-Molina, Estimating frequency of change, ACM TOIT 3 (2003), section 4.
 */
#ifndef KNAPSOLVE_CENSORED_FIT_H
#define KNAPSOLVE_CENSORED_FIT_H

#include <stddef.h>

typedef struct {
    const double *gap, *weight; /* (changes,); weight NULL: all 1 */
    ptrdiff_t changes;
    double count, exposure;     /* A, Q */
} censored_item;

/* The rate after at most `steps` steps, with the curvature -l'' (in changes) there and the last step's relative size. */
double censored_rate(const censored_item *item, int steps, double *curvature, double *last_step);

/* l, a constant apart, at each of the logs of m rates (m,): O(polls m). Where only every `stride`-th changed poll is looked
 * at, each stands for as many. */
void censored_likelihoods(const censored_item *item, const double *log_rate, ptrdiff_t m, ptrdiff_t stride, double *out);

/* Rates (m,) below which the posterior, with density exp(l) over log L, has the given shares (m,), ascending.
 * `rate` and `curvature` are those of censored_rate. 128 cells on each side of the mode, finer towards it, integrated by
 * Hermite's cubic: with a change seen, a tail of 2.5% is met to 2e-5 of itself, one of 5e-7 to .5%. Without one it is the Gamma of shape A and time Q: ask that instead. */
void censored_quantiles(const censored_item *item, double rate, double curvature, const double *share, ptrdiff_t m,
                        double *quantile);

#endif
