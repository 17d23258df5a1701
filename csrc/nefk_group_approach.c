#include "nefk_group_approach.h"

#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { ROUNDS = 3, MORE_ROUNDS = 3 /* in single precision: of all groups, and of those that were not near before */ };
static const float NEAR = 0.01f; /* relative gap after which Halley's next is as small as single precision */

int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space, size_t groups) {
    if (problem->shape != NEFK_DETECTION && problem->shape != NEFK_FRESHNESS) return 0;
    if (nefk_has_bounds(problem)) return 0;
    size_t small = 0, all = 0;
    for (size_t k = 0; k < groups; k++) {
        size_t m = size_of(space, space->group[k]);
        if (!(space->at[k] > 0.0)) return 0; /* as where the budget has no price */
        all += m;
        if (m <= NEFK_DEPTH) small += m;
    }
    return 2 * small > all;
}

/* Better guesses in space->at of so many groups, which[0] and so on, of at most m items each. Those whose total was not
 * near the cap yet are written to `far`, which may begin before `which`; returns how many. */
static size_t approach_lanes(nefk_tile_space *space, double floor, size_t lanes, size_t m, size_t rounds,
                             const uint32_t *which, uint32_t *far) {
    nefk_lanes items;
    float price[NEFK_LANES], from[NEFK_LANES], gap[NEFK_LANES];
    const double *a = space->all.entries[0], *starts = space->lower_price;
    size_t step = space->all.step[0] ? 1 : 0, left = 0;
    for (size_t l = lanes; l < NEFK_LANES; l++) {
        price[l] = 1.0f, from[l] = 0.5f;
        for (size_t j = 0; j < m; j++) items.a[j][l] = items.start[j][l] = 0.0f;
    }
    for (size_t l = 0; l < lanes; l++) {
        size_t g = which[l], i = space->offset[g], stride = space->stride[g], count = size_of(space, g);
        double amount = 1.0 / space->cap[g], unit = 1.0 / space->at[g];
        for (size_t j = 0; j < count; j++, i += stride) {
            items.a[j][l] = (float)(a[step * i] * amount);
            items.start[j][l] = (float)(starts[i] * unit);
        }
        for (size_t j = count; j < m; j++) items.a[j][l] = items.start[j][l] = 0.0f;
        price[l] = 1.0f;
        from[l] = (float)(floor * unit);
    }
    nefk_instructions_in_use()->approach(m, &items, rounds, from, price, gap);
    for (size_t l = 0; l < lanes; l++) {
        uint32_t g = which[l];
        double guess = space->at[g] * (double)price[l];
        if (guess > floor && guess < space->top[g]) space->at[g] = guess;
        far[left] = g;
        left += !(fabsf(gap[l]) <= NEAR);
    }
    return left;
}

/* The same for all listed groups that are small enough; those that are far from their caps go on, side by side. */
static void approach(nefk_tile_space *space, double floor, size_t groups) {
    const size_t rounds[] = {ROUNDS, MORE_ROUNDS};
    uint32_t which[NEFK_TILE_GROUPS];
    while (groups && size_of(space, space->group[groups - 1]) > NEFK_DEPTH) groups--;
    memcpy(which, space->group, groups * sizeof *which);
    for (size_t turn = 0; turn < 2; turn++) {
        size_t left = 0;
        for (size_t i = 0; i < groups; i += NEFK_LANES) {
            size_t lanes = groups - i < NEFK_LANES ? groups - i : NEFK_LANES;
            size_t most = size_of(space, which[i + lanes - 1]);
            left += approach_lanes(space, floor, lanes, most, rounds[turn], which + i, which + left);
        }
        groups = left;
    }
}

/* Drop the listed groups whose cap lies within a jump, which settles them but for the share. Returns how many are left;
 * their guesses are by group then. */
static size_t settle_jumps(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t n_groups,
                           size_t groups) {
    const double *starts = space->lower_price;
    double *top_parameter = space->curve;
    size_t left = 0;
    find_tops(starts, space, top_parameter);
    memcpy(space->again, space->at, groups * sizeof(double));
    fill(n_groups, 1.0, space->at);
    for (size_t k = 0; k < groups; k++) space->at[space->group[k]] = space->again[k];
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        int is_settled = top_parameter[g] > NEFK_SURE_JUMP * space->cap[g] /* rarely so, and without looking at items */
                         && cap_is_in_jump(problem->shape, &space->all, starts, space->offset[g], space->stride[g],
                                           size_of(space, g), space->top[g], space->cap[g], NEFK_SURE_JUMP, floor,
                                           space->low + g, space->high + g);
        if (is_settled) space->share[g] = NAN;
        space->group[left] = (uint32_t)g;
        left += !is_settled;
    }
    return left;
}

/* Brackets of all groups; those that are not listed are searched in vain, from a price of 1. */
static void start_all(nefk_tile_space *space, double floor, size_t groups) {
    fill(groups, floor, space->from);
    fill(groups, NAN, space->more);
    fill(groups, NAN, space->less);
    memcpy(space->to, space->top, groups * sizeof(double));
}

size_t nefk_approach_own(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor, size_t groups) {
    const nefk_problem *problem = all->problem;
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t n_groups = tile.last - tile.first, m = space->items, left = 0;
    double *starts = space->lower_price;
    find_starts(problem->shape, m, &space->all, starts);
    groups = settle_jumps(problem, space, floor, n_groups, groups);
    approach(space, floor, groups);
    for (size_t k = 0; k < groups; k++) space->high[space->group[k]] = space->at[space->group[k]];
    spread_all(space, space->high, space->price);
    respond(problem, &space->all, m, space->price, space->x, space->d, space->y);
    sum_all_and_find_start(starts, space);
    start_all(space, floor, n_groups);
    nefk_rounds at = {space->from, space->to, space->more, space->less, space->at, space->met, space->cap,
                      space->top, space->start, space->total, space->slope, space->curve};
    use->advance(problem->shape, n_groups, at, NEFK_OWN_TOLERANCE, NEFK_NEAR_CUBED);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        if (space->met[g] == NEFK_MET && space->at[g] > NEFK_NIGH) space->low[g] = space->high[g] = space->at[g];
        else space->met[g] = NEFK_RUNNING;
    }
    spread_all(space, space->high, space->e);
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        use->follow(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->all, i), space->e + i,
                    space->d + i, space->price + i, space->x + i, space->y + i);
    sum_groups(space, space->x, space->total);
    sum_groups(space, space->y, space->slope);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        if (space->met[g] == NEFK_MET && space->slope[g] == 0.0) continue;
        space->group[left] = (uint32_t)g;
        space->at[left++] = space->at[g];
    }
    return left;
}
