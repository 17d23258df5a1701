/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_group_corner.h"

#include "every_width.h"
#include "nefk_group_starts.h"
#include "nefk_search.h"
#include "nefk_shapes.h"

static const double CORNER = 7.0;    /* the rate of an item over its amount, at least: where slopes need not be asked */
static const double BELOW = 1e-9;    /* a start: there it is seen how steep its item is, which leads on from there */
static const double STRAIGHT = 1e-8; /* of a price: as far, the other items' amounts are taken to be straight */
static const double APART = 1e-2;    /* of a start: how far others are if they are */
static const double EXACT = 1e-7;    /* change of an amount after which Newton's next is none */
static const double MOST_FOLLOW = 1.0; /* beyond, the others' rounding is more of the price than the item's amount */
enum { STEPS = 2, LANES = NEFK_ROW_LANES };
static const double BESIDE = 9e-16;  /* of a price: some units in its last place */

void nefk_aim_at_starts(nefk_tile_space *space, size_t groups, int moves, uint32_t *item) {
    for (size_t k = 0; k < groups; k++) {
        double at = space->at[k], away = space->reach[k] * at;
        uint32_t end = space->part_offset[k + 1], best = end;
        for (uint32_t i = space->part_offset[k]; i < end; i++) {
            double off = fabs(space->starts[i] - at);
            best = off < away ? i : best;
            away = off < away ? off : away;
        }
        double price = best < end && moves ? space->starts[best] * (1.0 - BELOW) : at;
        item[k] = price > space->from[k] && price < space->to[k] ? best : end;
        space->at[k] = item[k] < end ? price : at;
    }
}

/* What the other items of a group take together, and their slope; not from the group's sums, of which one item's amount
 * may be nearly all. Returns how many of them bend where that is taken to be straight: they start near by, or are at a
 * bound or may reach one. */
static size_t sum_others(const nefk_tile_space *space, size_t k, size_t item, double *amount, double *slope) {
    double x = 0.0, d = 0.0, start = space->starts[item];
    size_t bent = 0;
    for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++) {
        nefk_block at = block_of(&space->part, i);
        double own = space->x[i], steep = space->d[i], most = 2.0 * STRAIGHT * steep, low = *at.lower;
        int is_cut = (own + most >= *at.upper) | ((low > 0.0) & (own - most <= low));
        x += i == item ? 0.0 : own;
        d += i == item ? 0.0 : steep;
        bent += (i != item) & ((fabs(space->starts[i] - start) <= APART * start) | is_cut);
    }
    *amount = x;
    *slope = d;
    return bent;
}

void nefk_enclose_corners(const nefk_problem *problem, nefk_tile_space *space, size_t groups, const uint32_t *item) {
    const nefk_instructions *use = nefk_instructions_in_use();
    double columns[4][NEFK_BLOCK], rest[NEFK_BLOCK], price[NEFK_BLOCK], low[NEFK_BLOCK], high[NEFK_BLOCK];
    double value[NEFK_BLOCK], more[NEFK_BLOCK], less[NEFK_BLOCK], others[NEFK_BLOCK], steep[NEFK_BLOCK];
    uint32_t which[NEFK_BLOCK];
    nefk_block items = {columns[0], columns[1], columns[2], columns[3]};
    for (size_t k = 0, m = 0; k < groups; k++) {
        uint32_t i = item[k];
        if (i < space->part_offset[k + 1]) {
            nefk_block at = block_of(&space->part, i);
            which[m] = (uint32_t)k;
            size_t bent = sum_others(space, k, i, &others[m], &steep[m]);
            rest[m] = space->target[k] - others[m];
            columns[0][m] = *at.parameter, columns[1][m] = *at.weight;
            columns[2][m] = *at.lower, columns[3][m] = *at.upper;
            int is_there = (rest[m] > *at.lower) & (rest[m] < *at.upper) & (rest[m] * CORNER < *at.parameter);
            m += is_there & !bent;
        }
        if (!m || (m < NEFK_BLOCK && k + 1 < groups)) continue;
        use->worth(problem->shape, m, items, rest, value, price);
        for (size_t j = 0; j < m; j++) /* what the others take there, not at the guess */
            rest[j] -= steep[j] * (1.0 - price[j] / space->price[item[which[j]]]);
        use->worth(problem->shape, m, items, rest, value, price);
        for (size_t j = 0; j < m; j++) {
            low[j] = price[j] * (1.0 - BESIDE);
            high[j] = price[j] * (1.0 + BESIDE);
        }
        use->respond(problem->shape, m, items, low, problem->ceiling, more, NULL, NULL);
        use->respond(problem->shape, m, items, high, problem->ceiling, less, NULL, NULL);
        for (size_t j = 0; j < m; j++) {
            size_t g = which[j], own = item[g];
            double tried = space->price[own];
            more[j] += others[j] + steep[j] * (1.0 - low[j] / tried);
            less[j] += others[j] + steep[j] * (1.0 - high[j] / tried);
            int is_there = (fabs(price[j] - tried) <= STRAIGHT * tried) & (low[j] > 0.0);
            is_there &= (high[j] >= space->from[g]) & (low[j] <= space->to[g]);
            is_there &= (more[j] >= space->target[g]) & (less[j] <= space->target[g]);
            if (!is_there) continue;
            space->from[g] = low[j], space->to[g] = high[j];
            space->more[g] = more[j], space->less[g] = less[j];
            space->met[g] = NEFK_ENCLOSED;
        }
        m = 0;
    }
}

/* Candidates for nefk_step_in_corners: an item of each of so many groups, and what the others of its group take. */
typedef struct {
    double parameter[NEFK_BLOCK], weight[NEFK_BLOCK], target[NEFK_BLOCK], tried[NEFK_BLOCK];
    double others[NEFK_BLOCK], steep[NEFK_BLOCK], bend[NEFK_BLOCK]; /* amounts, slopes, second derivatives at `tried` */
    double rest[NEFK_BLOCK], price[NEFK_BLOCK], off[NEFK_BLOCK];
    nefk_corner place[NEFK_BLOCK];
    size_t count;
} candidates;

/* One step of Newton's method on what the others leave to the candidates, of which `worth` is the price; `off` where it
 * is not the last one. Prices hardly move, so what the others take is told by derivatives; `flat` is how fast a
 * candidate's log price falls with its amount, of which the price itself may tell nothing: that is
 * start (1 - (1 + z) exp(-z)), z = a / amount. */
NEFK_INLINE void step_lanes(int shape, candidates *at, const double *worth) {
    for (size_t j = 0; j < at->count; j++) {
        nefk_item item = nefk_item_of(shape, at->parameter[j], at->weight[j]);
        double price = worth[j], part = (price - at->tried[j]) / at->tried[j], t = part - 0.5 * part * part;
        double rest = at->rest[j], others = at->others[j] - t * (at->steep[j] - 0.5 * at->bend[j] * t);
        double z = item.a / rest, root = z * nefk_exp_negative(0.5 * z);
        double flat = item.v / item.p * (root * root) / (price * rest);
        double follow = (at->steep[j] - at->bend[j] * t) * flat; /* how much of a change the others take */
        double change = (at->target[j] - others - rest) / (1.0 + follow), left = rest + change;
        double is_last = fabs(change) <= EXACT * left ? 0.0 : 1.0;
        at->off[j] = follow <= MOST_FOLLOW ? is_last : 1.0;
        at->rest[j] = left;
        at->price[j] = price - price * change * flat;
    }
}

NEFK_INLINE void step_shape(int shape, candidates *at, const double *worth) {
    if (shape == NEFK_DETECTION) step_lanes(NEFK_DETECTION, at, worth);
    else step_lanes(NEFK_FRESHNESS, at, worth);
}

AT_EVERY_WIDTH(void, nefk_step_amounts, step_shape, (int shape, candidates *at, const double *worth),
               (shape, at, worth))

/* The neighbours of one group alone, of m items. */
static void find_of_one(size_t m, double price, nefk_row_answers items, nefk_neighbours *to) {
    size_t item = 0;
    double others = 0.0, steep = 0.0, bend = 0.0, near = 0.0;
    for (size_t j = 1; j < m; j++) item = fabs(items.starts[j] - price) < fabs(items.starts[item] - price) ? j : item;
    for (size_t j = 0; j < m; j++) {
        others += j == item ? 0.0 : items.x[j];
        steep += j == item ? 0.0 : items.d[j];
        bend += j == item ? 0.0 : items.c[j];
        near += fabs(items.starts[j] - items.starts[item]) <= NEFK_TOGETHER * price ? 1.0 : 0.0;
    }
    to->item[0] = (double)item;
    to->others[0] = others;
    to->steep[0] = steep;
    to->bend[0] = bend;
    to->near[0] = near;
}

/* Step by step towards what the others leave to the candidates; those that come there are met, their prices known, and
 * are listed. Returns how many. */
static size_t share_out(const nefk_problem *problem, nefk_tile_space *space, double floor, candidates *at,
                        double *price, nefk_corner *corners) {
    double value[NEFK_BLOCK], worth[NEFK_BLOCK];
    nefk_block items = {at->parameter, at->weight, NULL, NULL};
    size_t met = 0;
    for (int step = 0; step < STEPS; step++) {
        nefk_instructions_in_use()->worth(problem->shape, at->count, items, at->rest, value, worth);
        nefk_step_amounts(problem->shape, at, worth);
    }
    for (size_t j = 0; j < at->count; j++) {
        uint32_t k = at->place[j].group;
        double own = at->price[j];
        int is_met = (at->off[j] == 0.0) & (own > floor) & (own > NEFK_NIGH) & (own < space->top[k]);
        corners[met] = at->place[j];
        corners[met].amount = at->rest[j];
        price[k] = is_met ? own : price[k];
        space->met[k] = is_met ? NEFK_MET : space->met[k];
        met += (size_t)is_met;
    }
    at->count = 0;
    return met;
}

size_t nefk_step_in_corners(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t n_rows,
                            const double *x, double *price, nefk_corner *corners) {
    candidates at;
    nefk_neighbours next;
    size_t met = 0;
    at.count = 0;
    for (size_t r = 0; r < n_rows; r++) {
        nefk_rows rows = space->part_rows[r];
        size_t n = rows.last - rows.first;
        for (size_t first = 0; first < n; first += LANES) {
            size_t lanes = n - first < LANES ? n - first : LANES, off = 0;
            size_t i = rows.begin + first, k = rows.first + first;
            for (size_t l = 0; l < lanes; l++) off += space->met[k + l] != NEFK_MET;
            if (!off) continue;
            if (at.count + LANES > NEFK_BLOCK) met += share_out(problem, space, floor, &at, price, corners + met);
            nefk_row_answers items = {space->starts + i, x + i, space->d + i, space->y + i};
            if (n == 1) find_of_one(rows.size, space->at[k], items, &next);
            else nefk_instructions_in_use()->find_neighbours(rows.size, n, space->at + k, items, &next);
            for (size_t l = 0; l < lanes; l++) {
                if ((space->met[k + l] == NEFK_MET) | (next.near[l] != 1.0)) continue;
                size_t item = i + (size_t)next.item[l] * n + l, m = at.count;
                nefk_block one = block_of(&space->part, item);
                at.parameter[m] = *one.parameter, at.weight[m] = *one.weight;
                at.target[m] = space->target[k + l], at.tried[m] = space->at[k + l];
                at.rest[m] = space->target[k + l] - next.others[l];
                at.others[m] = next.others[l], at.steep[m] = next.steep[l], at.bend[m] = next.bend[l];
                at.place[m] = (nefk_corner){(uint32_t)(k + l), (uint32_t)item, 0.0};
                at.count++;
            }
        }
    }
    return met + share_out(problem, space, floor, &at, price, corners + met);
}

void nefk_fill_corners(nefk_tile_space *space, size_t n, const nefk_corner *corners, double *x) {
    for (size_t c = 0; c < n; c++) {
        x[corners[c].item] = corners[c].amount;
        space->y[corners[c].item] = corners[c].amount > 0.0 ? 0.0 : 1.0;
    }
}
