#include "nefk_group_approach.h"

#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { ROUNDS = 3, MORE_ROUNDS = 3 /* in single precision: of all groups, and of those that were not near before */ };
static const float NEAR = 0.01f; /* relative gap after which Halley's next is as small as single precision */

static size_t size_of(const nefk_tile_space *space, size_t k) {
    return space->offset[space->group[k] + 1] - space->offset[space->group[k]];
}

int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space, size_t groups) {
    if (problem->shape != NEFK_DETECTION && problem->shape != NEFK_FRESHNESS) return 0;
    if (nefk_has_bounds(problem)) return 0;
    size_t small = 0, all = 0;
    for (size_t k = 0; k < groups; k++) {
        size_t m = size_of(space, k);
        if (!(space->at[k] > 0.0)) return 0; /* as where the budget has no price */
        all += m;
        if (m <= NEFK_DEPTH) small += m;
    }
    return 2 * small > all;
}

/* Better guesses in space->at of `lanes` listed groups, which[0] and so on, of at most m items each. Those whose total was
 * not near the cap yet are written to `far`, which may begin before `which`; returns how many. */
static size_t approach_lanes(const nefk_tile_space *space, double floor, size_t lanes, size_t m, size_t rounds,
                             const uint32_t *which, double *at, uint32_t *far) {
    nefk_lanes items;
    float price[NEFK_LANES], from[NEFK_LANES], gap[NEFK_LANES];
    const double *a = space->all.entries[0], *starts = space->lower_price;
    size_t step = space->all.step[0] ? 1 : 0, left = 0;
    memset(items.a, 0, m * sizeof *items.a);
    memset(items.start, 0, m * sizeof *items.start);
    for (size_t l = 0; l < NEFK_LANES; l++) price[l] = 1.0f, from[l] = 0.5f;
    for (size_t l = 0; l < lanes; l++) {
        size_t k = which[l], first = space->offset[space->group[k]], count = size_of(space, k);
        double amount = 1.0 / space->target[k], unit = 1.0 / at[k];
        for (size_t j = 0; j < count; j++) {
            items.a[j][l] = (float)(a[step * (first + j)] * amount);
            items.start[j][l] = (float)(starts[first + j] * unit);
        }
        from[l] = (float)(floor * unit);
    }
    nefk_instructions_in_use()->approach(m, &items, rounds, from, price, gap);
    for (size_t l = 0; l < lanes; l++) {
        uint32_t k = which[l];
        double guess = at[k] * (double)price[l];
        if (guess > floor && guess < space->top[k]) at[k] = guess;
        far[left] = k;
        left += !(fabsf(gap[l]) <= NEAR);
    }
    return left;
}

/* The same for all listed groups that are small enough; those that are far from their caps go on, side by side. */
static void approach(const nefk_tile_space *space, double floor, size_t groups, double *at) {
    const size_t rounds[] = {ROUNDS, MORE_ROUNDS};
    uint32_t which[NEFK_TILE_GROUPS];
    while (groups && size_of(space, groups - 1) > NEFK_DEPTH) groups--;
    for (size_t k = 0; k < groups; k++) which[k] = (uint32_t)k;
    for (size_t turn = 0; turn < 2; turn++) {
        size_t left = 0;
        for (size_t i = 0; i < groups; i += NEFK_LANES) {
            size_t lanes = groups - i < NEFK_LANES ? groups - i : NEFK_LANES, most = size_of(space, which[i + lanes - 1]);
            left += approach_lanes(space, floor, lanes, most, rounds[turn], which + i, at, which + left);
        }
        groups = left;
    }
}

/* Drop the listed groups whose cap lies within a jump, which settles them but for the share. Returns how many are left,
 * with brackets. */
static size_t settle_jumps(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t groups) {
    const double *starts = space->lower_price;
    size_t left = 0;
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k], first = space->offset[g], stop = space->offset[g + 1];
        double top = largest(starts + first, stop - first), cap = space->cap[g];
        if (cap_is_in_jump(problem->shape, &space->all, starts, first, stop, top, cap, NEFK_SURE_JUMP, floor,
                           space->low + g, space->high + g)) {
            space->share[g] = NAN;
            continue;
        }
        space->group[left] = (uint32_t)g;
        space->at[left] = space->at[k];
        space->target[left] = cap;
        space->from[left] = floor;
        space->to[left] = space->top[left] = top;
        space->more[left] = space->less[left] = NAN;
        left++;
    }
    return left;
}

size_t nefk_approach_own(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor, size_t groups) {
    const nefk_problem *problem = all->problem;
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t n_groups = tile.last - tile.first, m = space->offset[n_groups], left = 0;
    double *starts = space->lower_price;
    find_starts(problem->shape, m, &space->all, starts);
    groups = settle_jumps(problem, space, floor, groups);
    approach(space, floor, groups, space->at);
    for (size_t k = 0; k < groups; k++) space->high[space->group[k]] = space->at[k];
    spread(n_groups, space->offset, space->high, space->price);
    respond(problem, &space->all, m, space->price, space->x, space->d, space->y);
    sum_and_find_start(groups, space->offset, space->group, starts, 0, space);
    nefk_rounds at = {space->from, space->to, space->more, space->less, space->at, space->met, space->target,
                      space->top, space->start, space->total, space->slope, space->curve};
    use->advance(problem->shape, groups, at, NEFK_OWN_TOLERANCE, NEFK_NEAR_CUBED);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        if (space->met[k] == NEFK_MET && space->at[k] > NEFK_NIGH) space->low[g] = space->high[g] = space->at[k];
        else space->met[k] = NEFK_RUNNING;
    }
    spread(n_groups, space->offset, space->high, space->e);
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        use->follow(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->all, i), space->e + i,
                    space->d + i, space->price + i, space->x + i, space->y + i);
    sum_both(n_groups, space->offset, space->x, space->y, space->total, space->slope);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        if (space->met[k] == NEFK_MET && space->slope[g] == 0.0) continue;
        space->group[left] = (uint32_t)g;
        space->at[left++] = space->at[k];
    }
    return left;
}
