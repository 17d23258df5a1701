#include "nefk_group_breaks.h"

#include "nefk_ramps.h"

static const double BESIDE = 0x1p-50; /* of a price: more than rounding leaves it off */
static const double NEARLY = 1e-12; /* of a cap: gaps that rounding of a price leaves where totals are not steep */

/* Totals of the groups at the prices in space->at, into space->total. Returns items answered. */
static double answer_at(const nefk_problem *problem, nefk_tile_space *space, size_t groups) {
    size_t m = space->part_offset[groups];
    spread(groups, space->part_offset, space->at, space->price);
    respond(problem, &space->part, 0, m, space->price, space->x, NULL, NULL);
    sum_chosen(groups, space, space->x, space->total);
    return (double)m;
}

/* The price at which group k takes its cap lies between these. */
static nefk_crossing cross(nefk_tile_space *space, size_t k) {
    size_t first = space->part_offset[k], m = space->part_offset[k + 1] - first;
    nefk_ramps ramps = {space->price, space->e, space->x};
    double left = space->target[k];
    for (size_t i = 0; i < m; i++) left -= *block_of(&space->part, first + i).lower;
    for (size_t i = 0; i < m; i++) {
        nefk_block item = block_of(&space->part, first + i);
        nefk_set_ramp(ramps, i, *item.parameter, *item.weight, *item.lower, *item.upper, left);
    }
    return nefk_cross(m, ramps, left);
}

/* Narrow brackets of groups that go on by totals at prices, where these lie within; caps may be met. Returns items
 * answered. */
static double narrow(const nefk_problem *problem, nefk_tile_space *space, size_t groups, const double *prices) {
    for (size_t k = 0; k < groups; k++) space->at[k] = space->met[k] == NEFK_RUNNING ? prices[k] : space->at[k];
    double answered = answer_at(problem, space, groups);
    for (size_t k = 0; k < groups; k++) {
        double price = prices[k], total = space->total[k], cap = space->target[k];
        if (!(price > space->from[k] && price < space->to[k]) || space->met[k] != NEFK_RUNNING) continue;
        if (fabs(total - cap) <= NEFK_OWN_TOLERANCE * cap) space->met[k] = NEFK_MET;
        *(total >= cap ? &space->from[k] : &space->to[k]) = price;
        *(total >= cap ? &space->more[k] : &space->less[k]) = total;
    }
    return answered;
}

/* Whether totals at prices so near the answer leave Newton's method hardly anything to do. */
static int are_near(const nefk_tile_space *space, size_t groups) {
    int all_are = 1;
    for (size_t k = 0; k < groups; k++) all_are &= fabs(space->total[k] - space->target[k]) <= NEARLY * space->target[k];
    return all_are;
}

/* Whether brackets are so narrow that steep totals are told apart by hardly any prices. */
static int are_enclosed(const nefk_tile_space *space, size_t groups) {
    int all_are = 1;
    for (size_t k = 0; k < groups; k++)
        all_are &= space->met[k] != NEFK_RUNNING || space->to[k] - space->from[k] <= 2.0 * BESIDE * fabs(space->to[k]);
    return all_are;
}

double nefk_cross_groups(const nefk_problem *problem, nefk_tile_space *space, size_t groups) {
    double *low = space->slope, *high = space->curve, price[NEFK_TILE_GROUPS] = {0}; /* threads' stacks are small */
    for (size_t k = 0; k < groups; k++) {
        nefk_crossing found = cross(space, k);
        low[k] = found.low;
        price[k] = found.price;
        high[k] = found.high;
    }
    double answered = narrow(problem, space, groups, price);
    if (are_near(space, groups)) return answered;
    for (size_t k = 0; k < groups; k++)
        price[k] *= space->total[k] >= space->target[k] ? 1.0 + BESIDE : 1.0 - BESIDE;
    answered += narrow(problem, space, groups, price);
    if (!are_enclosed(space, groups)) {
        answered += narrow(problem, space, groups, high);
        answered += narrow(problem, space, groups, low);
    }
    for (size_t k = 0; k < groups; k++)
        space->at[k] = space->met[k] == NEFK_RUNNING ? nextafter(space->to[k], space->from[k]) : space->at[k];
    answered += answer_at(problem, space, groups);
    for (size_t k = 0; k < groups; k++) {
        if (space->met[k] != NEFK_RUNNING) continue;
        double before = space->at[k], total = space->total[k], cap = space->target[k];
        int jumps = (total >= cap) & (space->less[k] < cap) & (before >= space->from[k]);
        space->met[k] = jumps ? NEFK_ENCLOSED : NEFK_RUNNING;
        if (jumps) {
            space->from[k] = before;
            space->more[k] = total;
        } else if (before > space->from[k]) { /* and from there on straight */
            double part_of = (space->more[k] - cap) / (space->more[k] - total);
            double price = space->from[k] + part_of * (before - space->from[k]);
            int is_within = (price > space->from[k]) & (price < before); /* not NaN */
            space->at[k] = is_within ? price : 0.5 * (space->from[k] + space->to[k]);
        }
    }
    return answered;
}
