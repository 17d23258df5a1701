#include "nefk_group_approach.h"

#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { ROUNDS = 3, MORE_ROUNDS = 3 /* in single precision: of all groups, and of those that were not near before */ };
static const float NEAR = 0.01f; /* relative gap after which Halley's next is as small as single precision */

int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space) {
    if (problem->shape != NEFK_DETECTION && problem->shape != NEFK_FRESHNESS) return 0;
    if (nefk_has_bounds(problem)) return 0;
    size_t small = 0, all = 0;
    for (size_t g = 0; g < space->searched; g++) {
        size_t m = size_of(space, g);
        if (!(space->at[g] > 0.0)) return 0; /* as where the budget has no price */
        all += m;
        if (m <= NEFK_DEPTH) small += m;
    }
    return 2 * small > all;
}

/* A better guess of a group's price, over the last one; writes the group to `far`, and returns 1, if it was not near. */
static inline size_t take_guess(nefk_tile_space *space, double floor, uint32_t g, float price, float gap,
                                uint32_t *far) {
    double guess = space->at[g] * (double)price;
    space->at[g] = (guess > floor) & (guess < space->top[g]) ? guess : space->at[g];
    *far = g;
    return !(fabsf(gap) <= NEAR) & !isnan(space->share[g]);
}

/* Better guesses in space->at of so many groups, which[0] and so on, of at most m items each. Those whose total was not
 * near the cap yet are written to `far`, which may begin before `which`; returns how many. */
static size_t approach_lanes(nefk_tile_space *space, double floor, size_t lanes, size_t m, size_t rounds,
                             const uint32_t *which, uint32_t *far) {
    nefk_lanes items;
    float price[NEFK_LANES], from[NEFK_LANES], gap[NEFK_LANES];
    const double *a = space->all.entries[0], *starts = space->lower_price;
    size_t left = 0;
    for (size_t l = lanes; l < NEFK_LANES; l++) {
        price[l] = 1.0f, from[l] = 0.5f;
        for (size_t j = 0; j < m; j++) items.a[j][l] = items.start[j][l] = 0.0f;
    }
    for (size_t l = 0; l < lanes; l++) {
        size_t g = which[l], i = space->offset[g], stride = space->stride[g], count = size_of(space, g);
        double amount = 1.0 / space->cap[g], unit = 1.0 / space->at[g];
        for (size_t j = 0; j < count; j++, i += stride) {
            items.a[j][l] = (float)(a[i] * amount);
            items.start[j][l] = (float)(starts[i] * unit);
        }
        for (size_t j = count; j < m; j++) items.a[j][l] = items.start[j][l] = 0.0f;
        price[l] = 1.0f;
        from[l] = (float)(floor * unit);
    }
    nefk_instructions_in_use()->approach(m, &items, rounds, from, price, gap);
    for (size_t l = 0; l < lanes; l++) left += take_guess(space, floor, which[l], price[l], gap[l], far + left);
    return left;
}

/* The same for the groups of a row side by side. */
static size_t approach_row(nefk_tile_space *space, double floor, nefk_rows rows, uint32_t *far) {
    float price[NEFK_LANES], gap[NEFK_LANES];
    size_t left = 0, n = rows.last - rows.first;
    for (uint32_t g = rows.first; g < rows.last; g += NEFK_LANES) {
        size_t at = rows.begin + (g - rows.first), lanes = rows.last - g < NEFK_LANES ? rows.last - g : NEFK_LANES;
        nefk_instructions_in_use()->approach_rows(rows.size, n, space->all.entries[0] + at, space->lower_price + at,
                                                  space->cap + g, space->at + g, floor, ROUNDS, price, gap);
        for (uint32_t l = 0; l < lanes; l++)
            left += take_guess(space, floor, g + l, price[l], gap[l], far + left);
    }
    return left;
}

/* The same for all groups of some rows that are small enough; those that are far from their caps go on, side by side. */
static void approach(nefk_tile_space *space, double floor, size_t first, size_t last) {
    uint32_t far[NEFK_TILE_GROUPS + 1], alone[NEFK_LANES];
    size_t groups = 0, lonely = 0;
    while (first < last && space->rows[last - 1].size > NEFK_DEPTH) last--;
    for (size_t r = first; r < last; r++) {
        nefk_rows rows = space->rows[r];
        int is_row = rows.last - rows.first > 1;
        if (!is_row) alone[lonely++] = rows.first;
        if (lonely && (is_row || lonely == NEFK_LANES || r + 1 == last)) {
            groups += approach_lanes(space, floor, lonely, size_of(space, alone[lonely - 1]), ROUNDS, alone, far + groups);
            lonely = 0;
        }
        if (is_row) groups += approach_row(space, floor, rows, far + groups);
    }
    for (size_t i = 0; i < groups; i += NEFK_LANES) {
        size_t lanes = groups - i < NEFK_LANES ? groups - i : NEFK_LANES;
        uint32_t none[NEFK_LANES + 1];
        approach_lanes(space, floor, lanes, size_of(space, far[i + lanes - 1]), MORE_ROUNDS, far + i, none);
    }
}

/* Give groups of one item, which are those of the first rows, their caps, at the slopes there. Lists those that can't
 * be, and returns how many. */
static size_t settle_lone(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t groups) {
    size_t left = 0;
    memcpy(space->x, space->cap, groups * sizeof(double)); /* items as their groups are */
    for (size_t at = 0; at < groups; at += NEFK_BLOCK)
        nefk_instructions_in_use()->worth(problem->shape, groups - at < NEFK_BLOCK ? groups - at : NEFK_BLOCK,
                                          block_of(&space->all, at), space->x + at, space->y + at, space->price + at);
    for (size_t g = 0; g < groups; g++) {
        double price = space->price[g], guess = space->at[g];
        int is_known = (price > floor) & (price > NEFK_NIGH) & (price < NEFK_FAR);
        space->total[g] = space->cap[g];
        space->low[g] = space->high[g] = space->price[g] = is_known ? price : guess;
        space->group[left] = (uint32_t)g;
        space->at[left] = guess;
        left += !is_known;
    }
    return left;
}

/* Mark the groups whose cap lies within a jump, which settles them but for the share, by that: NaN. */
static void settle_jumps(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t first) {
    const double *starts = space->lower_price, *top_parameter = space->curve;
    for (size_t g = first; g < space->searched; g++)
        if (top_parameter[g] > NEFK_SURE_JUMP * space->cap[g] /* rarely so, and without looking at items */
            && cap_is_in_jump(problem->shape, &space->all, starts, space->offset[g], space->stride[g], size_of(space, g),
                              space->top[g], space->cap[g], NEFK_SURE_JUMP, floor, space->low + g, space->high + g))
            space->share[g] = NAN;
}

/* The last step to their caps of the groups from the first on, by totals, slopes and second derivatives. Those that it
 * is exact for are at their prices then. */
static void step(nefk_tile_space *space, double floor, size_t first) {
    for (size_t g = first; g < space->searched; g++) {
        double cap = space->cap[g], gap = space->total[g] - cap, inverse = 1.0 / space->slope[g], t = gap * inverse;
        t += 0.5 * space->curve[g] * inverse * (t * t);
        double price = space->at[g] + space->at[g] * (t + 0.5 * t * t);
        int is_met = (fabs(gap) <= NEFK_NEAR_CUBED * cap) & (price > floor) & (price > NEFK_NIGH) & (price < space->top[g]);
        is_met &= !isnan(space->share[g]);
        space->low[g] = is_met ? price : space->low[g];
        space->high[g] = is_met ? price : space->high[g];
        space->met[g] = is_met ? NEFK_MET : NEFK_RUNNING;
    }
}

size_t nefk_approach_own(const nefk_problem *problem, nefk_tile_space *space, double floor) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t row = 0, last = space->searched_rows, rows = space->n_rows, left;
    double *starts = space->lower_price, *x = space->x;
    while (row < last && space->rows[row].size == 1) row++;
    size_t lone = row < last ? space->rows[row].first : space->searched;
    size_t first = lone, stop = last < rows ? space->rows[last].begin : space->items; /* items of all others searched */
    if (!space->all.step[0]) fill(NEFK_TILE, space->all.entries[0][0], space->all.entries[0]);
    left = settle_lone(problem, space, floor, lone);
    find_starts(problem->shape, first, stop, &space->all, starts);
    find_tops(starts, row, last, space, space->curve);
    settle_jumps(problem, space, floor, lone);
    approach(space, floor, row, last);
    for (size_t g = lone; g < space->searched; g++)
        space->high[g] = isnan(space->share[g]) ? space->high[g] : space->at[g];
    spread_rows(space, row, rows, space->high, space->price);
    respond(problem, &space->all, first, stop, space->price, x, space->d, space->y);
    respond(problem, &space->all, stop, space->items, space->price, x, NULL, NULL);
    sum_rows(space, row, last, x, space->total);
    sum_rows(space, row, last, space->d, space->slope);
    sum_rows(space, row, last, space->y, space->curve);
    step(space, floor, lone);
    spread_rows(space, row, last, space->high, space->e);
    for (size_t i = first; i < stop; i += NEFK_BLOCK)
        use->follow(problem->shape, stop - i < NEFK_BLOCK ? stop - i : NEFK_BLOCK, block_of(&space->all, i),
                    space->e + i, space->d + i, space->price + i, x + i, space->y + i);
    sum_rows(space, row, rows, x, space->total);
    sum_rows(space, row, last, space->y, space->slope);
    for (size_t g = lone; g < space->searched; g++) {
        space->group[left] = (uint32_t)g;
        space->at[left] = space->at[g];
        left += !((space->met[g] == NEFK_MET) & (space->slope[g] == 0.0)) & !isnan(space->share[g]);
    }
    return left;
}
