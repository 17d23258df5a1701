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
static const double TOGETHER = 1e-4; /* of a price: items that start so near each other share what is left */
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

/* Of LANES groups, or of one, whose m items lie in rows (m, n): the item that starts next to their prices, and what the
 * others take. */
typedef struct {
    double item[LANES], others[LANES], steep[LANES], bend[LANES];
    double near[LANES]; /* items that start so near that they share what is left, itself included */
} neighbours;

NEFK_INLINE void find_some(size_t lanes, size_t m, size_t n, const double *price, const double *starts, const double *x,
                           const double *d, const double *y, neighbours *restrict to) {
    double item[LANES] = {0}, start[LANES] = {0}, away[LANES], at[LANES];
    double others[LANES] = {0}, steep[LANES] = {0}, bend[LANES] = {0}, near[LANES] = {0};
    for (size_t l = 0; l < lanes; l++) away[l] = INFINITY, at[l] = price[l];
    for (size_t j = 0; j < m; j++) {
        double number = (double)j;
        for (size_t l = 0; l < lanes; l++) {
            double own = starts[j * n + l], off = fabs(own - at[l]);
            item[l] = off < away[l] ? number : item[l];
            start[l] = off < away[l] ? own : start[l];
            away[l] = off < away[l] ? off : away[l];
        }
    }
    for (size_t j = 0; j < m; j++) { /* in short loops, which have no branch */
        double number = (double)j;
        for (size_t l = 0; l < lanes; l++) others[l] += item[l] == number ? 0.0 : x[j * n + l];
        for (size_t l = 0; l < lanes; l++) steep[l] += item[l] == number ? 0.0 : d[j * n + l];
        for (size_t l = 0; l < lanes; l++) bend[l] += item[l] == number ? 0.0 : y[j * n + l];
        for (size_t l = 0; l < lanes; l++) {
            double apart = fabs(starts[j * n + l] - start[l]);
            near[l] += apart <= TOGETHER * at[l] ? 1.0 : 0.0;
        }
    }
    for (size_t l = 0; l < lanes; l++) {
        to->item[l] = item[l];
        to->others[l] = others[l];
        to->steep[l] = steep[l];
        to->bend[l] = bend[l];
        to->near[l] = near[l];
    }
}

NEFK_INLINE void find_lanes(size_t m, size_t n, const double *price, const double *starts, const double *x,
                            const double *d, const double *y, neighbours *to) {
    if (n == 1) find_some(1, m, n, price, starts, x, d, y, to);
    else find_some(LANES, m, n, price, starts, x, d, y, to);
}

AT_EVERY_WIDTH(void, nefk_find_neighbours, find_lanes,
               (size_t m, size_t n, const double *price, const double *starts, const double *x, const double *d,
                const double *y, neighbours *to),
               (m, n, price, starts, x, d, y, to))

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
    neighbours next;
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
            nefk_find_neighbours(rows.size, n, space->at + k, space->starts + i, x + i, space->d + i, space->y + i,
                                 &next);
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
