#include "nefk_group_search.h"

#include "nefk_search.h"
#include "nefk_shapes.h"

enum { ROUNDS = 12, MOST_STEPS = 400 };
static const double OWN_TOLERANCE = 2e-13, FAR = 1e300;

void nefk_best_slopes(const nefk_problem *problem, const gathered *columns, size_t groups, const uint32_t *offset,
                        int from_zero, nefk_tile_space *space, double *best) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t m = offset[groups];
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        nefk_block items = block_of(columns, at);
        double zero[NEFK_BLOCK] = {0};
        use->worth(problem->shape, count, items, from_zero ? zero : items.lower, space->y + at, space->d + at);
        for (size_t i = 0; i < count; i++)
            if (!from_zero && !(items.lower[i] < items.upper[i])) space->d[at + i] = -INFINITY;
    }
    for (size_t g = 0; g < groups; g++) {
        best[g] = -INFINITY;
        for (size_t i = offset[g]; i < offset[g + 1]; i++) best[g] = space->d[i] > best[g] ? space->d[i] : best[g];
    }
}

/* Total and slope of one group of space->part. */
static double respond_group(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price,
                            double *slope) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t start = space->part_offset[k], m = space->part_offset[k + 1] - start;
    fill(m, price, space->price + start);
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, i = start + at;
        use->respond(problem->shape, count, block_of(&space->part, i), space->price + i, problem->ceiling,
                     space->x + i, space->d + i);
    }
    if (slope) *slope = sum_of(use, space->d + start, m);
    return sum_of(use, space->x + start, m);
}

/* Neighbouring prices of a group, and the share between the totals there that meets the target. */
static void set_prices(nefk_tile_space *space, size_t g, double low, double high, double target, double most,
                       double least) {
    double share = most > least ? (target - least) / (most - least) : 0.0;
    space->low[g] = low;
    space->high[g] = high;
    space->share[g] = share < 0.0 ? 0.0 : (share > 1.0 ? 1.0 : share);
}

/* The search of one group to its very end, wherever the vector rounds left it. Returns totals taken. */
static size_t finish(const nefk_problem *problem, nefk_tile_space *space, size_t k) {
    size_t g = space->group[k], steps = 0;
    nefk_search own = {space->from[k],  space->to[k],  space->at[k], space->target[k],
                       OWN_TOLERANCE, space->top[k], 0,            0};
    for (; own.state == NEFK_RUNNING && steps < MOST_STEPS; steps++) {
        double slope, total = respond_group(problem, space, k, own.price, &slope);
        nefk_search_update(&own, problem->shape, total, slope);
    }
    space->low[g] = space->high[g] = own.price;
    if (own.state == NEFK_MET) return steps;
    double most = respond_group(problem, space, k, own.low, NULL);
    double least = respond_group(problem, space, k, own.high, NULL);
    set_prices(space, g, own.low, own.high, own.target, most, least);
    return steps + 2;
}

static double largest(const double *x, size_t m) {
    double lane[4] = {0};
    size_t i = 0;
    for (; i + 4 <= m; i += 4)
        for (size_t j = 0; j < 4; j++) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (; i < m; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    double a = lane[0] > lane[1] ? lane[0] : lane[1], b = lane[2] > lane[3] ? lane[2] : lane[3];
    return a > b ? a : b;
}

/* Price at which the item activates that has most of its group's slope, by group of space->part; 0 if none has. */
static void find_steep(int shape, size_t groups, nefk_tile_space *space) {
    const gathered *part = &space->part;
    for (size_t k = 0; k < groups; k++) {
        size_t best = space->part_offset[k];
        size_t stop = space->part_offset[k + 1];
        if (stop - best >= NEFK_SHORT && largest(space->d + best, stop - best) <= 0.5 * space->slope[k]) {
            space->steep[k] = 0.0;
            continue;
        }
        for (size_t i = best + 1; i < stop; i++) best = space->d[i] > space->d[best] ? i : best;
        nefk_item item = nefk_item_of(shape, part->entries[0][part->step[0] ? best : 0],
                                      part->entries[1][part->step[1] ? best : 0]);
        space->steep[k] = space->d[best] > 0.5 * space->slope[k] ? item.v / item.p : 0.0;
    }
}

/* Drop the groups whose search has ended; returns how many are left. */
static size_t keep_open(size_t groups, nefk_tile_space *space) {
    uint32_t which[NEFK_TILE_GROUPS];
    size_t left = 0;
    for (size_t k = 0; k < groups; k++) {
        uint32_t g = space->group[k];
        int is_enclosed = space->met[k] == NEFK_ENCLOSED && space->more[k] >= space->less[k]; /* both are known */
        if (is_enclosed)
            set_prices(space, g, space->from[k], space->to[k], space->target[k], space->more[k], space->less[k]);
        if (space->met[k] == NEFK_MET) space->low[g] = space->high[g] = space->at[k];
        if (is_enclosed || space->met[k] == NEFK_MET) continue;
        space->group[left] = g;
        space->from[left] = space->from[k];
        space->to[left] = space->to[k];
        space->at[left] = space->at[k];
        space->target[left] = space->target[k];
        space->top[left] = space->top[k];
        space->more[left] = space->more[k];
        space->less[left] = space->less[k];
        which[left++] = (uint32_t)k;
    }
    if (left < groups) choose(&space->part, space->part_offset, left, which, space);
    return left;
}

static size_t size_class(const nefk_tile_space *space, size_t k, size_t most) {
    size_t size = space->offset[space->group[k] + 1] - space->offset[space->group[k]];
    return size < most ? size : most;
}

/* Put the groups listed in space->group in order by size, so that the ends of short ones can be guessed. */
static void sort_by_size(size_t groups, nefk_tile_space *space) {
    enum { MOST = 2 * NEFK_SHORT };
    uint32_t start[MOST + 2] = {0}, sorted[NEFK_TILE_GROUPS];
    double guess[NEFK_TILE_GROUPS];
    for (size_t k = 0; k < groups; k++) start[size_class(space, k, MOST) + 1]++;
    for (size_t c = 0; c <= MOST; c++) start[c + 1] += start[c];
    for (size_t k = 0; k < groups; k++) {
        uint32_t to = start[size_class(space, k, MOST)]++;
        sorted[to] = space->group[k];
        guess[to] = space->at[k];
    }
    memcpy(space->group, sorted, groups * sizeof *sorted);
    memcpy(space->at, guess, groups * sizeof *guess);
}

double nefk_search_own(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor,
                         size_t groups, double near) {
    const nefk_problem *problem = all->problem;
    double answered = 0.0;
    share_scalars(space);
    sort_by_size(groups, space);
    choose(&space->all, space->offset, groups, space->group, space);
    int has_top = problem->shape == NEFK_DETECTION || problem->shape == NEFK_FRESHNESS;
    if (has_top) nefk_best_slopes(problem, &space->part, groups, space->part_offset, 1, space, space->top);
    else fill(groups, 1.0, space->top);
    for (size_t k = 0; k < groups; k++) {
        space->from[k] = floor;
        space->more[k] = space->less[k] = NAN;
        space->to[k] = has_top ? nextafter(space->top[k], FAR) : FAR;
        space->target[k] = all->cap[tile.first + space->group[k]];
        if (!(space->at[k] < space->to[k])) space->at[k] = 0.5 * (space->from[k] + space->to[k]);
    }
    for (int round = 0; round < ROUNDS && groups; round++) {
        size_t m = space->part_offset[groups];
        spread(groups, space->part_offset, space->at, space->price);
        respond(problem, &space->part, m, space->price, space->x, space->d);
        sum_both(groups, space->part_offset, space->x, space->d, space->total, space->slope);
        if (has_top) find_steep(problem->shape, groups, space);
        else fill(groups, 0.0, space->steep);
        nefk_rounds at = {space->from, space->to, space->more, space->less, space->at, space->met, space->target,
                          space->top, space->steep, space->total, space->slope};
        nefk_instructions_in_use()->advance(problem->shape, groups, at, OWN_TOLERANCE, near);
        answered += (double)m;
        groups = keep_open(groups, space);
    }
    for (size_t k = 0; k < groups; k++)
        answered += (double)finish(problem, space, k) * (space->part_offset[k + 1] - space->part_offset[k]);
    return answered;
}
