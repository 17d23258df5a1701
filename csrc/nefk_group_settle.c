#include <float.h>

#include "nefk_gather.h"
#include "nefk_group_approach.h"
#include "nefk_group_checks.h"
#include "nefk_group_rows.h"
#include "nefk_group_search.h"
#include "nefk_group_starts.h"

static const double BEYOND = 1e-3; /* over a slope: prices next to one tell nothing of amounts where it hardly falls */
enum { MANY_BETWEEN = 8 /* groups to one of which prices differ */ };
static const double NEAR_START = 1e-3; /* over a start: beyond, no amount moves by more than 1e-13 between neighbours */
static const double OFF = 1e-13, CAPPED_BY_ROUNDING = 3e-13, SLACK = 5e-13;

/* Price every group of the tile: the common price, or just beyond its best slope at the lower bounds. Those that need
 * a price of their own are listed in space->group, with guesses in space->at, and marked; returns how many. */
static size_t price_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                           double *own) {
    size_t groups = space->groups, searched = 0;
    double *floor = space->total, *best = space->slope, *lower = space->all.entries[2];
    nefk_fill(groups, prices.low, space->low);
    nefk_fill(groups, prices.high, space->high);
    nefk_fill(space->searched, 1.0, space->mark);
    nefk_fill(groups - space->searched, 0.0, space->mark + space->searched);
    for (size_t g = groups; g < tile.last - tile.first; g++) own[tile.first + space->name[g]] = NAN;
    int none_is_tight = !space->all.step[2] && lower[0] == 0.0;
    for (size_t g = space->searched; g < groups && none_is_tight; g++) /* those that are searched have caps */
        none_is_tight = space->cap[g] > 0.0;
    if (none_is_tight) {
        for (size_t g = 0; g < space->searched; g++) {
            space->at[g] = own[tile.first + space->name[g]];
            space->group[g] = (uint32_t)g;
        }
        return space->searched;
    }
    nefk_fill(groups, 0.0, floor);
    if (space->all.step[2]) sum_groups(space, lower, floor);
    else if (lower[0] != 0.0) for (size_t g = 0; g < groups; g++) floor[g] = lower[0] * (double)size_of(space, g);
    nefk_fill(groups, 0.0, space->mark);
    uint32_t tight[NEFK_TILE_GROUPS];
    size_t n_tight = 0;
    for (size_t g = 0; g < space->searched; g++) { /* no branch: they come by chance */
        int is_tight = space->cap[g] <= floor[g] * (1.0 + SLACK);
        tight[n_tight] = (uint32_t)g;
        space->group[searched] = (uint32_t)g;
        space->at[searched] = own[tile.first + space->name[g]]; /* a guess: see order_groups */
        space->mark[g] = !is_tight; /* searches shorten the list */
        n_tight += (size_t)is_tight;
        searched += (size_t)!is_tight;
    }
    for (size_t g = space->searched; g < groups; g++) {
        tight[n_tight] = (uint32_t)g;
        n_tight += space->cap[g] <= floor[g] * (1.0 + SLACK);
    }
    if (n_tight) nefk_best_slopes(all->problem, n_tight, tight, space, best);
    for (size_t k = 0; k < n_tight; k++) {
        size_t g = tight[k];
        own[tile.first + space->name[g]] = best[k] > prices.high ? best[k] : NAN;
        double beyond = best[k] + BEYOND * fabs(best[k]);
        if (beyond > prices.high) space->low[g] = space->high[g] = beyond; /* all are at their lower bounds there */
    }
    return searched;
}

/* Amounts of all items and totals of all groups at the high prices. */
static void answer(const nefk_problem *problem, nefk_tile_space *space) {
    spread_all(space, space->high, space->price);
    respond(problem, &space->all, 0, space->items, space->price, space->x, NULL, NULL);
    sum_groups(space, space->x, space->total);
}

/* Search for own prices of the listed groups of a tile that is answered otherwise. Returns items answered. */
static double search_rest(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor,
                          size_t listed, int tries_all, const double *reach) {
    uint32_t which[NEFK_TILE_GROUPS];
    size_t m = 0, bytes;
    if (!listed) return 0.0;
    for (size_t k = 0; k < listed; k++) m += size_of(space, space->group[k]);
    bytes = m * sizeof(double);
    memcpy(which, space->group, listed * sizeof *which);
    memcpy(space->lower_price, space->x, bytes); /* the search works where these lie, at the front */
    memcpy(space->again, space->total, listed * sizeof(double));
    double answered = nefk_search_own(all, space, floor, listed, tries_all, reach);
    choose(listed, which, space);
    for (size_t k = 0; k < listed; k++) space->at[k] = space->high[which[k]];
    spread(listed, space->part_offset, space->at, space->price);
    respond(all->problem, &space->part, 0, m, space->price, space->y, space->d, NULL);
    sum_chosen(listed, space, space->y, space->slope);
    memcpy(space->x, space->lower_price, bytes);
    memcpy(space->total, space->again, listed * sizeof(double));
    for (size_t k = 0; k < listed; k++) {
        size_t g = which[k], at = space->offset[g];
        space->total[g] = space->slope[k];
        for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++, at += space->stride[g])
            space->x[at] = space->y[i];
    }
    spread_all(space, space->high, space->price);
    return answered;
}

/* List the searched groups whose untried last step left their total off the cap; returns how many. */
static size_t list_off(nefk_tile_space *space) {
    size_t off = nefk_list_off(space->searched, space->mark, space->low, space->high, space->total, space->cap, OFF,
                               space->group);
    for (size_t k = 0; k < off; k++) space->at[k] = space->high[space->group[k]];
    return off;
}

/* Own prices of the listed groups, amounts of all items, totals of all groups. Returns items answered in searches. */
static double answer_all(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor, int known,
                         size_t listed) {
    double answered = 0.0;
    floor = known == NEFK_KNOWN_ABOVE ? floor : 0.0;
    if (listed == space->searched /* which are listed as they lie, but for those that bounds leave nothing */
        && nefk_approaches(all->problem, space)) {
        size_t left = nefk_approach_own(all->problem, space, floor, known);
        answered += search_rest(all, tile, space, floor, left, 0, space->curve);
    } else {
        if (listed == space->searched && !has_jumps(all->problem->shape))
            listed = nefk_search_rows(all->problem, space, floor, &answered);
        if (listed) answered += nefk_search_own(all, space, floor, listed, 0, NULL);
        answer(all->problem, space);
    }
    return answered + search_rest(all, tile, space, floor, list_off(space), 1, NULL);
}

/* List the groups whose prices differ; returns how many. If they are many, as where the common prices do, of items with a
 * jump where they start, only those of which an item starts near by: to others, neighbouring prices are the same, unless
 * one is below 0, where all take all. */
static size_t list_between(const nefk_problem *problem, size_t groups, nefk_tile_space *space) {
    const double *parameter = space->all.entries[0], *weight = space->all.entries[1];
    size_t each[2] = {space->all.step[0] != 0, space->all.step[1] != 0};
    size_t count = nefk_list_between(groups, space->low, space->high, space->group);
    if (count <= groups / MANY_BETWEEN || !has_jumps(problem->shape)) return count;
    for (size_t k = 0; k < count; k++)
        if (space->low[space->group[k]] < 0.0) return count;
    for (size_t i = 0; i < space->items; i++) {
        double start = weight[i * each[1]], price = space->price[i];
        double at = problem->shape == NEFK_FRESHNESS ? price * parameter[i * each[0]] : price;
        space->y[i] = fabs(start - at) <= NEAR_START * start ? 1.0 : 0.0;
    }
    sum_groups(space, space->y, space->slope);
    size_t left = 0;
    for (size_t k = 0; k < count; k++) {
        space->group[left] = space->group[k];
        left += space->slope[space->group[k]] > 0.0;
    }
    return left;
}

/* Where a group's prices differ, blend its amounts at both, to its cap; where they are the common ones, fill its room
 * alike. */
static void blend_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                         const double *own) {
    size_t groups = list_between(all->problem, space->groups, space);
    if (!groups) return;
    share_scalars(space);
    size_t m = choose(groups, space->group, space);
    for (size_t k = 0; k < groups; k++) space->at[k] = space->low[space->group[k]];
    spread(groups, space->part_offset, space->at, space->lower_price);
    respond(all->problem, &space->part, 0, m, space->lower_price, space->y, NULL, NULL);
    sum_chosen(groups, space, space->y, space->slope);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k], at = space->offset[g];
        double more = space->slope[k], less = space->total[g], cap = space->cap[g];
        double room = (more < cap ? more : cap) - less;
        double share = isnan(own[tile.first + space->name[g]]) ? prices.share : 1.0;
        int moves = room > 0.0 && nefk_blend(all->problem, share, 0.0, room) > 0.0;
        share = moves ? share * room / (more - less) : 0.0;
        for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++, at += space->stride[g])
            space->x[at] = nefk_blend(all->problem, share, space->x[at], space->y[i]);
    }
    sum_groups(space, space->x, space->total);
}

/* The values of items that `some_wait` to be answered, which are those at the price of `take_nothing`, do not count. */
static void audit_items(const nefk_grouped *all, const nefk_tile_space *space, size_t m, int some_wait,
                        nefk_audit *audit) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const nefk_problem *problem = all->problem;
    double value[NEFK_BLOCK], side[NEFK_BLOCK];
    nefk_audit total = {{0, 0}, {0, 0}, 0};
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        double bad = use->audit(problem->shape, count, block_of(&space->all, at), space->price + at, space->x + at,
                                value, side);
        for (size_t i = 0; some_wait && i < count; i++) value[i] = space->price[at + i] < DBL_MAX ? value[i] : 0.0;
        total.residual = bad <= total.residual ? total.residual : bad; /* a NaN stays */
        nefk_add(&total.amount.high, &total.amount.low, use->sum(count, space->x + at));
        nefk_add(&total.value.high, &total.value.low, use->sum(count, value));
    }
    *audit = total;
}

/* Write amounts to where `scatter` found their items. */
static void bring_back(size_t first, size_t m, const nefk_tile_space *space, double *doubles, float *singles) {
    const uint32_t *from = space->order;
    if (doubles) for (size_t i = 0; i < m; i++) doubles[first + i] = space->x[from[i]];
    else for (size_t i = 0; i < m; i++) singles[first + i] = (float)space->x[from[i]];
}

/* List the items of groups without a flag (groups,), by number in the tile, and what amounts are written over. */
static void list_left(const nefk_grouped *all, size_t first, size_t m, const uint8_t *flag, const double *doubles,
                      const float *singles, uint32_t *left, double *over) {
    enum { AT_ONCE = 8 /* of most, none is */ };
    size_t count = 0;
    for (size_t i = first, end = first + m, last; i < end; i = last) {
        const uint16_t *member = all->member + i;
        last = end - i < AT_ONCE ? end : i + AT_ONCE;
        if (last - i == AT_ONCE && flag[member[0]] & flag[member[1]] & flag[member[2]] & flag[member[3]]
            & flag[member[4]] & flag[member[5]] & flag[member[6]] & flag[member[7]]) continue;
        for (size_t k = i; k < last; k++) { /* no branch */
            left[count] = (uint32_t)k;
            count += !flag[all->member[k]];
        }
    }
    for (size_t k = 0; k < count; k++) over[k] = doubles ? doubles[left[k]] : (double)singles[left[k]];
}

/* Let the items of a group take nothing, as at a price at which none does. */
static void take_nothing(nefk_tile_space *space, size_t g) {
    for (size_t j = 0, i = space->offset[g]; j < size_of(space, g); j++, i += space->stride[g])
        space->x[i] = 0.0, space->price[i] = DBL_MAX;
    space->low[g] = space->high[g] = DBL_MAX;
    space->total[g] = 0.0;
}

size_t nefk_tile_fill(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, int guesses, double above,
                      double *own, double *doubles, float *singles, nefk_left left, nefk_tile_audit *audit) {
    const nefk_prices none = {DBL_MAX, DBL_MAX, 1.0};
    uint8_t is_filled[NEFK_TILE_GROUPS] = {0};
    size_t wrong = 0, n_left = 0;
    for (size_t g = tile.first; g < tile.last; g++) { /* no group, and one without an end, is not searched for */
        double guess = guesses ? own[g] : above;
        own[g] = nefk_cap_of(all, g) < INFINITY ? guess : NAN;
    }
    size_t m = gather(all, tile, own + tile.first, space), groups = space->groups;
    size_t listed = price_groups(all, tile, space, none, own);
    double answered = answer_all(all, tile, space, above, guesses ? NEFK_GUESSED : NEFK_UNKNOWN, listed);
    blend_groups(all, tile, space, none, own);
    for (size_t g = 0; g < groups; g++) {
        int is_found = space->mark[g] != 0.0, fills = is_found & (space->low[g] > above);
        is_filled[space->name[g]] = (uint8_t)fills;
        own[tile.first + space->name[g]] = is_found ? space->high[g] : NAN;
        space->at[g] = fills ? space->high[g] : NAN;
        n_left += fills ? 0 : size_of(space, g);
    }
    if (n_left) list_left(all, tile.begin, m, is_filled, doubles, singles, left.entry, left.over);
    bring_back(tile.begin, m, space, doubles, singles);
    for (size_t g = 0; g < groups; g++)
        if (!is_filled[space->name[g]]) take_nothing(space, g);
    audit->n_passes = m ? answered / (double)m : 0.0;
    audit->over = nefk_check_caps(groups, space->at, space->total, space->cap, above, CAPPED_BY_ROUNDING, &wrong);
    audit->n_wrong = wrong;
    audit_items(all, space, m, n_left > 0, &audit->audit);
    return n_left;
}

void nefk_tile_settle(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                      double floor, double *own, double *doubles, float *singles, nefk_tile_audit *audit) {
    size_t m = gather(all, tile, own + tile.first, space), groups = space->groups;
    size_t listed = price_groups(all, tile, space, prices, own);
    double answered = answer_all(all, tile, space, floor, NEFK_KNOWN_ABOVE, listed);
    for (size_t g = 0; g < space->searched; g++) { /* no branch */
        double *price = &own[tile.first + space->name[g]];
        *price = space->mark[g] != 0.0 ? space->high[g] : *price;
    }
    audit->n_passes = m ? answered / (double)m : 0.0;
    audit->n_wrong = 0;
    blend_groups(all, tile, space, prices, own);
    for (size_t g = 0; g < groups; g++) space->at[g] = own[tile.first + space->name[g]];
    audit->over = nefk_check_caps(groups, space->at, space->total, space->cap, prices.high, CAPPED_BY_ROUNDING,
                                  &audit->n_wrong);
    audit_items(all, space, m, 0, &audit->audit);
    if (all->member) bring_back(tile.begin, m, space, doubles, singles);
    else nefk_store(m, space->order, 0, space->x, NULL, doubles, singles, NULL, 0);
}
