/* Passes over the items of a separable concave knapsack: what they take at a price, and how good that is.
 *
 * A problem is n items, each with a parameter, a weight and two bounds, in columns of doubles, floats or one
 * scalar, and perhaps a group each. A pass covers items [start, stop), reads each column once and keeps all else
 * in blocks that stay in the first-level cache. Nothing is allocated. Sums run over 8 fixed lanes within a block
 * and in double-double over blocks, so they depend on start and stop alone, never on threads or instructions.
 */
#ifndef NEFK_KERNEL_H
#define NEFK_KERNEL_H

#include <stddef.h>
#include <stdint.h>

/* One column: doubles, else floats, else the scalar. */
typedef struct {
    const double *doubles;
    const float *singles;
    double scalar;
} nefk_column;

typedef struct {
    int shape;                                   /* enum nefk_shape */
    nefk_column parameter, weight, lower, upper;
    double ceiling;                              /* every upper bound is cut to this */
    const uint32_t *order;                       /* (n,): item k is entry order[k] of the columns; NULL: entry k */
} nefk_problem;

typedef struct { double high, low; } nefk_sum;   /* unevaluated sum of two doubles */

typedef struct { nefk_sum amount, slope; } nefk_response;

/* The answer to write: x(high) + share * (x(low) - x(high)) at two prices. */
typedef struct { double low, high, share; } nefk_prices;

typedef struct {
    nefk_sum amount, slope, value;
    double residual; /* largest relative violation of the optimality conditions */
} nefk_audit;

/* Sums over items [start, stop) at the given prices. O(stop - start). `amounts` (n,) is filled if not NULL. */
void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                        double *amounts, nefk_response *response);

/* Write the amounts of items [start, stop) and check them from the amounts alone. O(stop - start).
 * `doubles` or `singles` (n,) takes the amounts; `side` (n,) becomes -1 at the lower bound, 1 at the upper one,
 * else 0; with `order` both are written at the entries of the items. Values and violations are those before
 * rounding to singles. */
void nefk_settle_range(const nefk_problem *problem, nefk_prices prices, size_t start, size_t stop,
                       double *doubles, float *singles, int8_t *side, nefk_audit *audit);

/* Split items [start, stop) over the bracket of prices low < high, `width` = log(high / low) (quadratic:
 * high - low) apart. An item is rough if the drop of its amount is not that of a straight line with its two slopes,
 * up to `tolerance` of the amount: it activates, meets a bound or bends within the bracket. Rough items are listed
 * in `rough` (room for `room` of them); the others' sums at both prices are returned, which fix them to the order
 * width^4. Returns how many are rough; more than `room` means that the list is cut. O(stop - start). */
size_t nefk_narrow_range(const nefk_problem *problem, double low, double high, double width, double tolerance,
                         size_t start, size_t stop, ptrdiff_t *rough, size_t room,
                         nefk_response *at_low, nefk_response *at_high);

/* Weighted value and weighted derivative of amounts x (n,), each written to an array (n,). O(n). */
void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                      double *value, double *slope);

/* Sums of the bounds over items [start, stop). Returns the first item whose lower bound exceeds its upper one,
 * else `stop`. O(stop - start). */
size_t nefk_bounds_range(const nefk_problem *problem, size_t start, size_t stop, nefk_sum *lower, nefk_sum *upper);

#endif
