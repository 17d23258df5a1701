/* The Whittle index of a site with ephemeral content, from its age, and back.
 *
 * Content arrives at rate lam (items a step) and its interest decays at rate c (a step); what is
 * older than M steps is gone. k whole steps after a crawl a site holds x_k = x (1 - e^(-c min(k, M)))
 * with x = lam/c, and its index is what a crawl may cost for k and k + 1 steps to be equally good:
 *     g(k) = (k+1) x_k - k x_(k+1) = x (1 - e^-ck - k w e^-ck)   for k < M,   w = 1 - e^-c,
 *     g(k) = x (1 - e^-cM)                                       for k >= M.
 * With f(z) = e^z - 1 - z the bracket is e^-ck (f(ck) + k f(-c)): two terms that are both
 * positive, which is how it is computed while ck < 1/2; so nothing cancels however small c is.
 * Avrachenkov and Borkar (2019), eqs (4)-(5).
 *
 * Invariants: g rises with k; the same bits on every processor. O(1) a site.
 */
#ifndef KNAPSOLVE_WHITTLE_INDEX_H
#define KNAPSOLVE_WHITTLE_INDEX_H

#include <stddef.h>

#include "decay_math.h"

/* What the index needs of a site, and when it was crawled: one cache line, rows of a (n, 8) table. */
struct site {
    double ceiling;   /* x = lam / c, content */
    double decay;     /* c */
    double loss;      /* w = 1 - e^-c */
    double curvature; /* e^-c - 1 + c */
    double offset;    /* c/w - 1 - ln(c/w), for the inverse */
    double max_age;   /* M, steps; infinity allowed */
    double cap;       /* the index at age M and above */
    double last;      /* the step of the last crawl */
};

/* The largest age: above it whole numbers are not exact in a double. */
#define WHITTLE_LARGEST_AGE 9007199254740992.0
/* Twice the sum of all rounding in g, relatively; a site whose g is below (1 - this) level cannot reach the level. */
#define WHITTLE_MARGIN 1e-12

DECAY_INLINE double whittle_index_value(double ceiling, double decay, double loss, double curvature,
                                        double max_age, double cap, double age)
{
    double t = decay * age;
    double left = decay_exp(t);
    double small = t < DECAY_SERIES ? t : DECAY_SERIES;
    double near = left * (small * small * decay_series(small) + age * curvature);
    double far = (1.0 - left) - age * loss * left;
    double value = ceiling * (t < DECAY_SERIES ? near : far);
    return age < max_age ? value : cap;
}

/* Content after `age` steps. */
DECAY_INLINE double whittle_content(double ceiling, double decay, double max_age, double age)
{
    return ceiling * decay_loss(decay * (age < max_age ? age : max_age));
}

/* The row of a site; `last` is set to -1: a step's content is waiting at step 0. */
void whittle_prepare(ptrdiff_t n, const double *lam, const double *decay, const double *max_age, struct site *out);

/* The same, as 8 columns of length n each, for sweeps over all sites. */
void whittle_prepare_columns(ptrdiff_t n, const double *lam, const double *decay, const double *max_age,
                             double *columns);

/* out[i] = g(age_i) / cost_i from raw parameters; returns 0 if any input or result is out of its
 * domain (then out is not to be used). max_age and cost may be NULL: infinity and 1. */
int whittle_index_raw(ptrdiff_t n, const double *age, const double *lam, const double *decay,
                      const double *max_age, const double *cost, double *out);

/* out[i] = g(age_i) from prepared columns. */
void whittle_index_columns(ptrdiff_t n, const double *age, const double *ceiling, const double *decay,
                           const double *loss, const double *curvature, const double *max_age,
                           const double *cap, double *out);

/* out[i] = content of site i after age_i steps. */
void whittle_content_columns(ptrdiff_t n, const double *age, const double *ceiling, const double *decay,
                             const double *max_age, double *out);

/* sum over j < n of e^(-scale * draws[j]) in the order of j, draws (n,) in [0, 1). */
double decay_exp_sum(ptrdiff_t n, double scale, const double *draws);

/* out[i] = the index of content state_i >= 0, which need not lie on the lattice of whole ages, over cost_i, from
 * raw parameters; returns 0 and takes max_age and cost as above. */
int whittle_index_state(ptrdiff_t n, const double *state, const double *lam, const double *decay,
                        const double *max_age, const double *cost, double *out);

/* The real age at which x (1 - e^-ck (1 + k w)) = price, for 0 < price < x: good to about 1e-8, by two
 * Newton steps on D - ln(1+D) = offset - ln(1 - price/x), k = (D - curvature/w)/c, which is the lower branch
 * of Lambert's W, from the closed form of Barry et al. (2000). */
double whittle_crossing(const struct site *s, double price);

/* The least whole age whose computed index is at least price, or infinity; price finite. */
double whittle_first_age(const struct site *s, double price);

/* The content at which the index is price: its inverse on the real line, linear between whole ages. */
double whittle_state_at(const struct site *s, double price);

/* Columns of a block of sites, for the functions below. */
enum { WHITTLE_BLOCK = 256 };
struct site_block {
    double ceiling[WHITTLE_BLOCK], decay[WHITTLE_BLOCK], loss[WHITTLE_BLOCK], curvature[WHITTLE_BLOCK];
    double offset[WHITTLE_BLOCK], max_age[WHITTLE_BLOCK], cap[WHITTLE_BLOCK], age[WHITTLE_BLOCK];
};

/* The columns of m sites, but for their ages. */
void whittle_prepare_block(ptrdiff_t m, const double *lam, const double *decay, const double *max_age,
                           struct site_block *out);

/* out[j] = the index of the j-th of m sites at its age. */
void whittle_block_index(ptrdiff_t m, const struct site_block *b, double *out);

/* out[j] = a whole age > b->age[j] such that the computed index is below level > 0 at all whole ages
 * strictly between, near the largest such; infinity if the index never comes near the level. */
void whittle_block_safe_age(ptrdiff_t m, const struct site_block *b, double level, double *out);

/* The same of sites of age 0 that were crawled at ages `waited` with these contents, out[j] = -1 where that is of no
 * help: one step of Chebyshev from there, where the index was not far above the level. */
void whittle_block_return_age(ptrdiff_t m, const struct site_block *b, const double *waited, const double *content,
                              double level, double *out);

/* The index of the row at an age. */
double whittle_index_row(const struct site *s, double age);

#endif
