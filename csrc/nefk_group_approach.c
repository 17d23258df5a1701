/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_group_approach.h"

#include "every_width.h"
#include "nefk_group_apart.h"
#include "nefk_group_begin.h"
#include "nefk_group_corner.h"
#include "nefk_group_first.h"
#include "nefk_group_lanes.h"
#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { FEW_SMALL = 16 /* items to one in a small group for which this does not pay */ };
static const double LOST = 1e-2; /* relative gap from which on single precision led nowhere, but perhaps to a start */

int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space) {
    if (problem->shape != NEFK_DETECTION && problem->shape != NEFK_FRESHNESS) return 0;
    size_t small = 0, all = 0;
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t m = rows.size * (size_t)(rows.last - rows.first);
        all += m;
        small += rows.size <= NEFK_DEPTH ? m : 0;
    }
    if (FEW_SMALL * small <= all) return 0;
    return nefk_are_positive(space->searched, space->at); /* or the budget has no price */
}

/* The last step of groups of space->part to their caps, by totals, slopes and second derivatives. Prices go into
 * `next`, and stay as they are where that is not exact, which `met` says: then guesses are left in space->less, and how
 * far the starts may be that they mean in space->more. */
NEFK_INLINE void step(nefk_tile_space *space, double floor, size_t groups, const double *total, double *next) {
    for (size_t k = 0; k < groups; k++) {
        double cap = space->target[k], gap = total[k] - cap, inverse = 1.0 / space->slope[k], t = gap * inverse;
        t += 0.5 * space->curve[k] * inverse * (t * t);
        double price = space->at[k] + space->at[k] * (t + 0.5 * t * t);
        int is_met = (fabs(gap) <= NEFK_NEAR_CUBED * cap) & (price < space->top[k]);
        is_met &= (price > floor) & (price > NEFK_NIGH);
        int is_near = (fabs(gap) <= LOST * cap) & (price > floor) & (price < space->top[k]);
        next[k] = is_met ? price : space->at[k];
        space->met[k] = is_met ? NEFK_MET : NEFK_RUNNING;
        space->less[k] = is_near ? price : space->at[k];
        space->more[k] = is_near ? 0.0 : NEFK_AIM;
    }
}

AT_EVERY_WIDTH(void, nefk_step_to_caps, step,
               (nefk_tile_space *space, double floor, size_t groups, const double *total, double *next),
               (space, floor, groups, total, next))

/* Amounts x, slopes and second derivatives d and y of m items of space->part at their prices, without bounds. */
static void respond_freely(const nefk_problem *problem, nefk_tile_space *space, size_t m, const double *price,
                           double *x) {
    double none[NEFK_BLOCK], any[NEFK_BLOCK];
    nefk_fill(NEFK_BLOCK, 0.0, none);
    nefk_fill(NEFK_BLOCK, INFINITY, any);
    for (size_t i = 0; i < m; i += NEFK_BLOCK) {
        nefk_block items = block_of(&space->part, i);
        items.lower = none;
        items.upper = any;
        nefk_instructions_in_use()->respond(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, items, price + i,
                                            problem->ceiling, x + i, space->d + i, space->y + i);
    }
}

/* As nefk_instructions.cut, of m items of space->part. */
static void cut_items(const nefk_tile_space *space, size_t m, const double *x, const double *of, double *to) {
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        nefk_instructions_in_use()->cut(m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->part, i), x + i,
                                        of ? of + i : NULL, to + i);
}

/* Sums by group of so many rows of space->part, of m items: of their entries, or as nefk_instructions.cut has them. */
static void sum_part(nefk_tile_space *space, int bounded, size_t n_rows, size_t m, const double *x, const double *of,
                     double *sum) {
    double *cut = space->price; /* not in use yet */
    if (bounded) cut_items(space, m, x, of, cut);
    sum_rows(space->part_rows, n_rows, bounded ? cut : (of ? of : x), sum);
}

/* Own prices and amounts of the listed groups; lists those that are left. What bounds cut follows prices as if there
 * were none, and is cut again: a group of which that changes an item is off its cap. */
static size_t approach_listed(const nefk_problem *problem, nefk_tile_space *space, double floor, int known,
                              double *starts, size_t groups) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_corner corner[NEFK_TILE_GROUPS + 1]; /* one more is written */
    int bounded = nefk_has_bounds(problem);
    size_t n_rows, m = nefk_take_apart(space, bounded, starts, groups, &n_rows), left = 0;
    double *price = starts, *next = space->price, *x = space->e, *total = space->from, *own = space->again;
    nefk_fill(groups, floor, space->from);
    nefk_fill(groups, INFINITY, space->to);
    if (!bounded && known != NEFK_UNKNOWN) nefk_begin_rows_as_one(problem->shape, space, n_rows, m, groups);
    nefk_approach(space, bounded, floor, known, groups);
    spread_rows(space->part_rows, n_rows, space->at, price); /* over the starts, which are copied */
    respond_freely(problem, space, m, price, x);
    sum_part(space, bounded, n_rows, m, x, NULL, total);
    sum_part(space, bounded, n_rows, m, x, space->d, space->slope);
    sum_part(space, bounded, n_rows, m, x, space->y, space->curve);
    nefk_step_to_caps(space, floor, groups, total, own);
    size_t corners = bounded ? 0 : nefk_step_in_corners(problem, space, floor, n_rows, x, own, corner);
    spread_rows(space->part_rows, n_rows, own, next);
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        use->follow(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->part, i), next + i,
                    space->d + i, price + i, x + i, space->y + i);
    nefk_fill_corners(space, corners, corner, x);
    sum_rows(space->part_rows, n_rows, space->y, space->slope);
    if (bounded) cut_items(space, m, x, NULL, next);
    nefk_put_back(space, bounded ? next : x, groups);
    for (size_t k = 0; k < groups; k++) {
        uint32_t g = space->group[k];
        space->low[g] = space->high[g] = own[k];
        space->group[left] = g;
        space->at[left] = space->less[k];
        space->curve[left] = space->more[k];
        left += !((space->met[k] == NEFK_MET) & (space->slope[k] == 0.0));
    }
    return left;
}

size_t nefk_approach_own(const nefk_problem *problem, nefk_tile_space *space, double floor, int known) {
    size_t last = space->searched_rows, stop = last < space->n_rows ? space->rows[last].begin : space->items;
    double *starts = space->lower_price;
    for (size_t c = 0; c < 2; c++)
        if (!space->all.step[c]) nefk_fill(NEFK_TILE, space->all.entries[c][0], space->all.entries[c]);
    find_starts(problem->shape, stop, &space->all, starts);
    nefk_tops tops = {space->top, space->less, space->from, space->to};
    size_t listed = nefk_give_to_first(problem, space, starts, stop, floor, tops), small = listed, left = 0;
    while (small && size_of(space, space->group[small - 1]) > NEFK_DEPTH) small--;
    if (small) left = approach_listed(problem, space, floor, known, starts, small);
    for (size_t k = small; k < listed; k++, left++) { /* large ones, which are narrowed */
        space->at[left] = space->at[space->group[k]];
        space->group[left] = space->group[k];
        space->curve[left] = NEFK_AIM;
    }
    spread_all(space, space->high, space->price);
    respond(problem, &space->all, stop, space->items, space->price, space->x, NULL, NULL);
    sum_groups(space, space->x, space->total);
    return left;
}
