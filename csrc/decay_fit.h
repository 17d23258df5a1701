/* Arrival and decay rate of one site, from what its crawls collected at each age.
 *
 * A crawl k steps after the last one collects lam f_k(c) on average, f_k = (1 - e^(-c min(k, M))) / c.
 * With n_k crawls and total content S_k at age k the estimate maximises
 *     sum_k [S_k ln(lam f_k) - n_k lam f_k] - (ln c - ln c0)^2 / (2 s^2):
 * least squares weighted by the reciprocal mean, and a weak prior that decides while only one age was
 * seen. lam has the closed form sum S / sum n f; the rest is one equation in ln c (bisected secants).
 * A pure function of the table: the order of crawls with the same totals cannot change a bit.
 *
 * Variances: the sandwich with the variance of the compound Poisson contents,
 * Var S_k = n_k lam (1 - e^(-2c min(k, M))) / (2c).
 */
#ifndef KNAPSOLVE_DECAY_FIT_H
#define KNAPSOLVE_DECAY_FIT_H

#include <stddef.h>

/* Totals of the crawls at one age; count 0: unused. */
struct age_totals {
    double age, count, content;
};

struct decay_prior {
    double log_decay, spread; /* of ln c: mean and standard deviation */
    double low, high;         /* bounds of c */
};

struct decay_estimate {
    double rate, decay;
    double rate_error, decay_error; /* standard errors of ln lam (of lam, if that is 0) and ln c;
                                       * at most 1e100 and the prior's spread */
};

/* Add a crawl to the totals (slots,), ascending in age, unused last. When all slots are taken the two ages
 * with the least ratio are merged at their mean. O(slots). */
void decay_totals_add(struct age_totals *totals, ptrdiff_t slots, double age, double content);

/* O(slots) per evaluation, at most 100 evaluations, about 12. */
struct decay_estimate decay_fit(const struct age_totals *totals, ptrdiff_t slots, double max_age,
                                const struct decay_prior *prior);

#endif
