#include "nefk_group_corner.h"

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
enum { STEPS = 2 };
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
    double rest[NEFK_BLOCK], price[NEFK_BLOCK];
    uint32_t group[NEFK_BLOCK], off[NEFK_BLOCK];
} candidates;

/* What the others leave to the candidates, by Newton's method on that, and its price; `off` where the last step is not
 * exact. Prices hardly move, so what the others take is told by derivatives; `flat` is how fast a candidate's log price
 * falls with its amount, of which the price itself may tell nothing: that is start (1 - (1 + z) exp(-z)), z = a / amount. */
static void share_out(const nefk_problem *problem, size_t m, candidates *at) {
    double value[NEFK_BLOCK];
    nefk_block items = {at->parameter, at->weight, NULL, NULL};
    for (int step = 0; step < STEPS; step++) {
        nefk_instructions_in_use()->worth(problem->shape, m, items, at->rest, value, at->price);
        for (size_t j = 0; j < m; j++) {
            nefk_item item = nefk_item_of(problem->shape, at->parameter[j], at->weight[j]);
            double price = at->price[j], part = (price - at->tried[j]) / at->tried[j], t = part - 0.5 * part * part;
            double others = at->others[j] - t * (at->steep[j] - 0.5 * at->bend[j] * t);
            double z = item.a / at->rest[j], root = z * nefk_exp_negative(0.5 * z);
            double flat = item.v / item.p * (root * root) / (price * at->rest[j]);
            double follow = (at->steep[j] - at->bend[j] * t) * flat; /* how much of a change the others take */
            double change = (at->target[j] - others - at->rest[j]) / (1.0 + follow);
            at->rest[j] += change;
            at->price[j] = price - price * change * flat;
            at->off[j] = !((fabs(change) <= EXACT * at->rest[j]) & (follow <= MOST_FOLLOW));
        }
    }
}

/* The item of group k that starts next to a price, as candidate m, by what the group's items take there; whether it is
 * one: others that start with it share what is left. */
static int nominate(const nefk_tile_space *space, size_t k, double tried, const double *x, size_t m, candidates *at,
                    uint32_t *item) {
    size_t first = space->part_offset[k], stride = space->part_stride[k], size = size_of(space, space->group[k]);
    size_t best = first, near = 0;
    double away = INFINITY, others = 0.0, steep = 0.0, bend = 0.0;
    for (size_t j = 0, i = first; j < size; j++, i += stride) {
        double off = fabs(space->starts[i] - tried);
        best = off < away ? i : best;
        away = off < away ? off : away;
    }
    for (size_t j = 0, i = first; j < size; j++, i += stride) {
        near += fabs(space->starts[i] - space->starts[best]) <= TOGETHER * tried;
        others += i == best ? 0.0 : x[i];
        steep += i == best ? 0.0 : space->d[i];
        bend += i == best ? 0.0 : space->y[i];
    }
    nefk_block one = block_of(&space->part, best);
    at->parameter[m] = *one.parameter, at->weight[m] = *one.weight;
    at->target[m] = space->target[k], at->tried[m] = tried, at->rest[m] = space->target[k] - others;
    at->others[m] = others, at->steep[m] = steep, at->bend[m] = bend;
    at->group[m] = (uint32_t)k;
    *item = (uint32_t)best;
    return near == 1;
}

size_t nefk_step_in_corners(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t groups,
                            const double *x, double *price, uint32_t *item) {
    candidates at;
    size_t met = 0;
    for (size_t k = 0, m = 0; k < groups; k++) {
        if (space->met[k] != NEFK_MET) m += (size_t)nominate(space, k, space->at[k], x, m, &at, &item[k]);
        if (!m || (m < NEFK_BLOCK && k + 1 < groups)) continue;
        share_out(problem, m, &at);
        for (size_t j = 0; j < m; j++) {
            size_t g = at.group[j];
            double own = at.price[j];
            int is_met = !at.off[j] & (own > floor) & (own > NEFK_NIGH) & (own < space->top[g]);
            if (!is_met) continue;
            price[g] = own;
            space->met[g] = NEFK_IN_CORNER;
            met++;
        }
        m = 0;
    }
    return met;
}

void nefk_fill_corners(nefk_tile_space *space, size_t groups, const uint32_t *item, double *x) {
    for (size_t k = 0; k < groups; k++) {
        if (space->met[k] != NEFK_IN_CORNER) continue;
        double rest = space->target[k];
        for (size_t j = 0, i = space->part_offset[k]; j < size_of(space, space->group[k]); j++, i += space->part_stride[k])
            rest -= i == item[k] ? 0.0 : x[i];
        x[item[k]] = rest;
        space->y[item[k]] = rest > 0.0 ? 0.0 : 1.0;
        space->met[k] = NEFK_MET;
    }
}
