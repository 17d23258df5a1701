/* Passes over items in groups with caps: what every group takes at a price, and the groups' own prices.
 *
 * A tile is a run of whole groups [first, last) and of their items [begin, end), at most NEFK_TILE items and
 * NEFK_TILE_GROUPS groups; its columns are gathered once into buffers of a few megabytes, of which it uses a part, and
 * all else (also every step of its groups' searches) happens there. Either the problem's `order` lists the items group
 * by group, or items lie side by side with the others of their tile, and `member` says of which of its groups each is.
 * Larger groups are no matter of this file: they are knapsacks by themselves. Group 0 has no cap. Nothing is
 * allocated; results depend on the tile alone. Units: amounts in capacity, prices in value per capacity.
 */
#ifndef NEFK_GROUPS_H
#define NEFK_GROUPS_H

#include <math.h>

#include "nefk_kernel.h"

enum { NEFK_TILE = 16384, NEFK_TILE_BITS = 13, NEFK_TILE_GROUPS = 1 << NEFK_TILE_BITS };
enum { NEFK_SHORT = 24 }; /* items from which on a group lies by itself; those of fewer are summed one by one */

typedef struct {
    const nefk_problem *problem;
    const uint16_t *start;    /* (g,): where the items of a group start, from its tile's first */
    const uint16_t *member;   /* (n,): group of an item, from its tile's first; NULL: items are in order by group */
    const double *cap;        /* (g - 1,) of the groups from 1 on */
} nefk_grouped;

static inline double nefk_cap_of(const nefk_grouped *all, size_t group) {
    return group ? all->cap[group - 1] : INFINITY;
}

typedef struct { size_t first, last, begin, end; } nefk_tile;

/* Working space of one thread. */
typedef struct nefk_tile_space nefk_tile_space;
size_t nefk_tile_space_size(void);

/* Sums of lower and of upper bounds by group, written to (g,). O(items). */
void nefk_tile_bounds(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *lower, double *upper);

/* What every group of the tile takes at a common price, and its slope, written to (last - first,). O(items). */
void nefk_tile_respond(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price,
                       double *total, double *slope);

/* The same, as pairs (last - first, 2) of a total, within NEFK_ROUGH of itself but for its rounding, and a slope; for
 * items that have a `member`. O(items). */
void nefk_tile_respond_roughly(const nefk_grouped *all, nefk_tile tile, double price, float *taken);

/* Unmark groups in `marks` (g,) of which an item starts at a price in [low, high], or a rounding beyond: what the group
 * takes at other prices tells nothing of that item. Of detection and freshness. O(items). */
void nefk_tile_unmark(const nefk_grouped *all, nefk_tile tile, double low, double high, int8_t *marks);

/* As nefk_expand_range over the groups that are not capped, as `marks` (g,) say (nefk_by_group.h), of which those that
 * are not loose may change: a group above its cap over the whole bracket becomes capped, and one that passes its cap
 * within it (or nearly so) passing; neither is summed. `rough` and `passing` have room for one more than the items of a
 * tile, and take entries of the columns: the rough items of the groups that stay, whose number is returned, and the
 * `opened` items of those that pass, group by group. */
size_t nefk_tile_expand(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price, double half,
                        double tolerance, int8_t *marks, uint32_t *rough, uint32_t *passing, size_t *opened,
                        nefk_series_sum *sums);

/* How a tile's answer turned out. */
typedef struct {
    nefk_audit audit;
    double over;        /* largest relative error of a group's total where its cap binds, and excess where not */
    double n_passes;    /* items answered in searches of own prices, in units of the tile */
    size_t n_wrong;     /* groups that were taken to be capped and are not, or the other way round */
} nefk_tile_audit;

/* Settle all groups of a tile. Groups whose `own` (g,) is NaN take `prices` (where these differ, each group has
 * `prices.share` of the room that its cap leaves); any other number is a guess of the group's own price, which is
 * above `floor`, is found, and written to `own`. A group whose cap is the sum of its lower bounds is priced at its
 * best slope there. O(items times steps). */
void nefk_tile_settle(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                      double floor, double *own, double *doubles, float *singles, nefk_tile_audit *audit);

/* Items that are left: their entries, and what amounts are written over of them. With room for one more than there
 * are. */
typedef struct { uint32_t *entry; double *over; } nefk_left;

/* Fill the caps of the groups of a tile: amounts of their items are written, and own prices to `own` (g,), with
 * `guesses` over guesses of them; where caps have no end, amounts are 0 and own prices NaN. The groups whose own prices
 * are above a price are audited; all other items are listed, and counted. For items that have a `member` and no bounds.
 * O(items times steps). */
size_t nefk_tile_fill(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, int guesses, double above,
                      double *own, double *doubles, float *singles, nefk_left left, nefk_tile_audit *audit);

/* Upper bounds of linear items as the caps of their groups leave them: the items of largest weight have all that theirs
 * allow, the last ones share what is left as their room is, others are left with their lower bounds. Own prices are
 * written to `own` (g,), NaN where a cap holds nothing. `audit` has the sum of those bounds, the error of the groups'
 * totals, and how many lower bounds exceed upper ones, or their sums caps. O(items) as a rule, of small groups in rows
 * O(items times those of one). */
void nefk_tile_serve(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *own, double *doubles,
                     nefk_tile_audit *audit);

#endif
