#include "nefk_group_blend.h"

#include "nefk_group_starts.h"

enum { MOST_STEPS = 100 };

/* Item i of `part`, at a share of the way between its amounts without bounds, in space->e and d, cut to these. */
static inline double between(const nefk_tile_space *space, size_t i, double share) {
    nefk_block item = block_of(&space->part, i);
    double amount = nefk_between(space->e[i], space->d[i], share);
    amount = amount < *item.upper ? amount : *item.upper;
    return amount > *item.lower ? amount : *item.lower;
}

static double total_between(const nefk_tile_space *space, size_t k, double share) {
    double sum = 0.0;
    for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++) sum += between(space, i, share);
    return sum;
}

/* The share at which group k of `part` takes its cap, as near as doubles come, or all. Totals rise in straight pieces:
 * along the line between both ends of a bracket, and to its middle, by turns. */
static double share_of_cap(const nefk_tile_space *space, size_t k, double cap) {
    double low = 0.0, high = 1.0, share = 1.0;
    double less = total_between(space, k, low) - cap, more = total_between(space, k, high) - cap;
    if (!(more > 0.0)) return 1.0;
    if (!(less < 0.0)) return 0.0;
    for (int step = 0; step < MOST_STEPS; step++) {
        share = step % 2 ? 0.5 * (low + high) : low + (high - low) * (less / (less - more));
        double gap = total_between(space, k, share) - cap;
        if (fabs(gap) <= NEFK_OWN_TOLERANCE * cap) break;
        if (gap > 0.0) high = share, more = gap;
        else low = share, less = gap;
    }
    return share;
}

/* Groups whose own prices are free common ones have none. */
static void take_common(nefk_tile tile, const nefk_tile_space *space, nefk_prices prices, double *own) {
    for (size_t g = 0; g < tile.last - tile.first; g++)
        if (space->low[g] == prices.low && space->high[g] == prices.high) own[tile.first + space->name[g]] = NAN;
}

void nefk_blend_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                       double *own) {
    const nefk_problem *problem = all->problem;
    int cuts = prices.is_free || (has_jumps(problem->shape) && nefk_has_bounds(problem));
    size_t groups = 0;
    if (prices.is_free) take_common(tile, space, prices, own);
    for (size_t g = 0; g < tile.last - tile.first; g++) {
        space->group[groups] = (uint32_t)g;
        groups += space->low[g] != space->high[g];
    }
    if (!groups) return;
    share_scalars(space);
    size_t m = choose(groups, space->group, space);
    for (size_t k = 0; k < groups && cuts; k++) space->at[k] = space->high[space->group[k]];
    if (cuts) {
        spread(groups, space->part_offset, space->at, space->lower_price);
        respond_freely(problem, &space->part, m, space->lower_price, space->e, NULL, NULL);
    }
    for (size_t k = 0; k < groups; k++) space->at[k] = space->low[space->group[k]];
    spread(groups, space->part_offset, space->at, space->lower_price);
    respond(problem, &space->part, 0, m, space->lower_price, space->y, NULL, NULL);
    sum_chosen(groups, space, space->y, space->slope);
    if (cuts) respond_freely(problem, &space->part, m, space->lower_price, space->d, NULL, NULL);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k], at = space->offset[g];
        int is_own = !isnan(own[tile.first + space->name[g]]), is_cut = cuts && (is_own || prices.is_free);
        double more = space->slope[k], less = space->total[g], cap = space->cap[g];
        double room = (more < cap ? more : cap) - less, share = is_own ? 1.0 : prices.share;
        is_cut = is_cut && total_between(space, k, 1.0) < INFINITY;
        if (!is_cut) share = room > 0.0 ? share * room / (more - less) : 0.0;
        else if (total_between(space, k, share) > cap) share = share_of_cap(space, k, cap);
        for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++, at += space->stride[g])
            space->x[at] = is_cut ? between(space, i, share) : nefk_between(space->x[at], space->y[i], share);
    }
    sum_groups(space, space->x, space->total);
}
