/* Passes over the items of a separable concave knapsack: what they take at a price, and how good that is.
 *
 * A problem is n items, each with a parameter, a weight and two bounds, in columns of doubles, floats or one
 * scalar, and perhaps a group each. A pass covers items [start, stop), reads each column once and keeps all else
 * in blocks that stay in the first-level cache. Nothing is allocated. Sums run over 8 fixed lanes within a block
 * and in double-double over blocks, so they depend on start and stop alone, never on threads or instructions.
 */
#ifndef NEFK_KERNEL_H
#define NEFK_KERNEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* One column: doubles, else floats, else the scalar. Entry k is that at place[k], unless that is NULL. */
typedef struct {
    const double *doubles;
    const float *singles;
    double scalar;
    const uint32_t *place;
} nefk_column;

typedef struct {
    int shape;                                   /* enum nefk_shape */
    nefk_column parameter, weight, lower, upper;
    double ceiling;                              /* every upper bound is cut to this */
    const uint32_t *order;                       /* (n,): item k is entry order[k] of the columns; NULL: entry k */
} nefk_problem;

enum { NEFK_SAMPLE_RUN = 32 }; /* items in a row: fewer cost as much to read, more tell less if neighbours are alike */

#define NEFK_ROUGH 1e-5 /* bounds the relative error of amounts and slopes in single precision */

typedef struct { double high, low; } nefk_sum;   /* unevaluated sum of two doubles */

static inline int nefk_has_bounds(const nefk_problem *problem) {
    const nefk_column *low = &problem->lower, *high = &problem->upper;
    int are_scalars = !low->doubles && !low->singles && !high->doubles && !high->singles;
    return !are_scalars || low->scalar != 0.0 || high->scalar != INFINITY;
}

typedef struct { nefk_sum amount, slope; } nefk_response;

/* Sums of series (nefk_series.h). */
typedef struct { nefk_sum term[5]; } nefk_series_sum;

/* The answer to write: x(high) + share * (x(low) - x(high)) at two prices. */
typedef struct { double low, high, share; } nefk_prices;

typedef struct {
    nefk_sum amount, value;
    double residual; /* largest relative violation of the optimality conditions */
} nefk_audit;

/* Sums over items [start, stop) at the given prices. O(stop - start). `amounts` (n,) is filled if not NULL. */
void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                        double *amounts, nefk_response *response);

/* Sums over a sample of items [start, stop): runs of NEFK_SAMPLE_RUN, those that begin at multiples of `every`, which is at
 * least that. Returns how many items that are. O(stop - start). */
size_t nefk_respond_sample(const nefk_problem *problem, double price, size_t start, size_t stop, size_t every,
                           nefk_response *response);

/* Amounts and slopes of items [start, stop) at a price, each written to an array (stop - start,); with `roughly`
 * within NEFK_ROUGH of themselves. O(stop - start). */
void nefk_respond_each(const nefk_problem *problem, double price, size_t start, size_t stop, int roughly, double *x,
                       double *d);

/* Add what items start .. start + count take at a price, each within NEFK_ROUGH of itself, and minus its derivative to
 * the pairs of their groups, sums[group + 1], in the order of the items; `group` (count,) is theirs. O(count). */
void nefk_respond_by_group(const nefk_problem *problem, const ptrdiff_t *group, size_t start, size_t count,
                           double price, double *sums);

/* The same of the items of groups from `first` to before `last` alone, of less than 2^32 items that lie in the order of
 * the columns. */
void nefk_respond_some_by_group(const nefk_problem *problem, const ptrdiff_t *group, size_t start, size_t count,
                                double price, ptrdiff_t first, ptrdiff_t last, double *sums);

/* Far below the ceiling to which linear items without an end are cut: beside these, where items of one price share, less
 * room than this counts for nothing. */
static inline double nefk_endless(double ceiling) { return 1e-20 * ceiling; }

/* less + share (more - less), not beyond `more`. Where linear items without an end take all at one price, the share is
 * about the capacity over their ceiling. */
double nefk_blend(const nefk_problem *problem, double share, double less, double more);

/* Write the amounts of items [start, stop) and check them from the amounts alone. O(stop - start).
 * `doubles` or `singles` (n,) takes the amounts; `side` (n,) becomes -1 at the lower bound, 1 at the upper one,
 * else 0; with `order` both are written at the entries of the items, without it amounts may be written over a column.
 * Values and violations are those before rounding to singles. `streams`: write doubles past the caches. */
void nefk_settle_range(const nefk_problem *problem, nefk_prices prices, size_t start, size_t stop,
                       double *doubles, float *singles, int8_t *side, int streams, nefk_audit *audit);

/* Write amounts (n,), and their sides, of items [start, stop) of groups (stop - start,) that share what these take by
 * scale, the a of csrc/nefk_shapes.h; `table` (g + 1, 2), of no group first, has what a group takes, over the sum of
 * these, NaN where its items have their amounts, and its price. No quadratic or power items. The residual is infinite
 * where shares are so small that they have lost digits. O(items). */
void nefk_share_groups(const nefk_problem *problem, const ptrdiff_t *group, const double *table, size_t start, size_t stop,
                       double *amounts, int8_t *side, nefk_audit *audit);

/* Split items [start, stop) over the bracket of prices within `half` of `price` (in log price; quadratic and
 * log-exponential: in price). Rough items (see nefk_cut_series) are listed in `rough` (room for `room` of them and one more), the
 * others' series are summed up. Returns how many are rough; more than `room` means that the list is cut.
 * O(stop - start). */
size_t nefk_expand_range(const nefk_problem *problem, double price, double half, double tolerance, size_t start,
                         size_t stop, ptrdiff_t *rough, size_t room, nefk_series_sum *sums);

/* List items [start, stop) that a bound does not hold at a price: those below their upper bounds, which may take more at
 * lower prices, or (`at_lower`) above their lower ones, which may take less at higher ones. Room as for rough items; `all`
 * is what all take, `held` what those do that are not listed. Returns how many are. O(stop - start). */
size_t nefk_list_free(const nefk_problem *problem, double price, int at_lower, size_t start, size_t stop, ptrdiff_t *list,
                      size_t room, nefk_sum *all, nefk_sum *held);

/* Weighted value and weighted derivative of amounts x (n,), each written to an array (n,). O(n). */
void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                      double *value, double *slope);

/* Sums of the bounds over items [start, stop). Returns the first item whose lower bound exceeds its upper one,
 * else `stop`. O(stop - start). */
size_t nefk_bounds_range(const nefk_problem *problem, size_t start, size_t stop, nefk_sum *lower, nefk_sum *upper);

#endif
