/* Passes over the items of a separable concave knapsack: what they take at a price, and how good that is.
 *
 * A problem is n items, each with a parameter, a weight and two bounds, in columns of doubles, floats or one
 * scalar. A pass covers items [start, stop), reads each column once and keeps everything else in blocks that
 * stay in the first-level cache. Nothing is allocated. Sums run over 8 fixed lanes within a block and in
 * double-double over blocks, so they depend on start and stop alone, never on threads or instruction set.
 */
#ifndef NEFK_KERNEL_H
#define NEFK_KERNEL_H

#include <stddef.h>
#include <stdint.h>

enum { NEFK_BLOCK = 512 };

/* One column: n doubles (`doubles`), n floats (`singles`), else the scalar. With `index`, entry i is
 * table[index[i]] of the doubles (index may be -1: the entry before). */
typedef struct {
    const double *doubles;
    const float *singles;
    const ptrdiff_t *index;
    double scalar;
} nefk_column;

typedef struct {
    int shape;                                   /* enum nefk_shape */
    nefk_column parameter, weight, lower, upper;
    double ceiling;                              /* every upper bound is cut to this */
} nefk_problem;

typedef struct { double high, low; } nefk_sum;   /* unevaluated sum of two doubles */

typedef struct {
    nefk_sum amount, slope;     /* sum of x, and of -dx/dlog(price) (quadratic: -dx/dprice) */
} nefk_response;

typedef struct {
    nefk_sum amount, value;
    double residual;            /* largest relative violation of the optimality conditions */
    double at_lower, at_upper;  /* counts */
} nefk_audit;

/* Sums over items [start, stop) at the given prices. O(stop - start). If `amounts` (n, indexed from `start`)
 * is not NULL the amounts are written there too. */
void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                        double *amounts, nefk_response *response);

/* Check of given amounts x (n) over items [start, stop): value, optimality at the given prices, bounds.
 * `side` (n) becomes -1, 0, 1: at the lower bound, between, at the upper one. O(stop - start). */
void nefk_audit_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                      const double *amounts, int8_t *side, nefk_audit *audit);

/* Weighted value and weighted derivative of amounts x (n), each written to an array (n). O(n). */
void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                      double *value, double *slope);

/* Use at most this level of cpu_features.h from now on; returns the level in use. */
int nefk_use_level(int level);

#endif
