/* Where the items of groups start to take something, and which start bends a group's total on the way to its cap: of
 * detection and freshness, whose amounts fall without end in slope there.
 */
#ifndef NEFK_GROUP_STARTS_H
#define NEFK_GROUP_STARTS_H

#include "nefk_newton.h"
#include "nefk_tile.h"

static inline double largest(const double *x, size_t m) {
    double lane[4] = {0};
    size_t i = 0;
    for (; i < m && m < NEFK_SHORT; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    for (; i + 4 <= m; i += 4)
        for (size_t j = 0; j < 4; j++) lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
    for (; i < m; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    double a = lane[0] > lane[1] ? lane[0] : lane[1], b = lane[2] > lane[3] ? lane[2] : lane[3];
    return a > b ? a : b;
}

/* Where each of m items starts: a double just above, at which it surely takes nothing. */
static inline void find_starts(int shape, size_t m, const gathered *items, double *starts) {
    for (size_t i = 0; i < m; i++) {
        nefk_item item = nefk_item_of(shape, items->entries[0][items->step[0] ? i : 0],
                                      items->entries[1][items->step[1] ? i : 0]);
        double start = item.v / item.p;
        starts[i] = item.a > 0.0 ? start + 0x1p-52 * start : 0.0;
    }
}

/* Neighbouring prices about the start of an item: the largest at which it takes something, and the next. */
static inline void find_jump(int shape, double parameter, double weight, double *low, double *high) {
    nefk_item item = nefk_item_of(shape, parameter, weight);
    double start = item.v / item.p, product, gap = nefk_gap_of(item, start, 0, &product);
    *low = gap > 0.0 ? start : nextafter(start, 0.0);
    *high = gap > 0.0 ? nextafter(start, INFINITY) : start;
}

/* An item starts to take something with a jump, as large as its rate over so much: nearly always, and always. */
#define NEFK_JUMP 45.0      /* z as of 1 - 1e-17 */
#define NEFK_SURE_JUMP 85.0 /* z as of 1 - 2^-106 */

/* Whether a cap lies within the jump of the first of a group's items, begin .. end, to start: then the prices about that.
 * Not where others start within it, nor below the floor. Starts (as of find_starts) and their largest are given. */
static inline int cap_is_in_jump(int shape, const gathered *items, const double *starts, size_t begin, size_t end,
                                 double top, double cap, double jump, double floor, double *low, double *high) {
    size_t first = begin;
    if (!(top > NEFK_NIGH && top < NEFK_FAR)) return 0;
    while (starts[first] < top) first++;
    nefk_block item = block_of(items, first);
    if (!(*item.parameter > jump * cap && *item.upper >= cap)) return 0;
    find_jump(shape, *item.parameter, *item.weight, low, high);
    if (!(*low > floor)) return 0;
    for (size_t i = begin; i < end; i++)
        if (i != first && starts[i] > *high) return 0;
    return 1;
}

/* The least start of group k above its price. Starts are in order as their bits are, which need no branch. */
static inline double next_start(const nefk_tile_space *space, size_t k) {
    uint64_t here = nefk_to_bits(space->at[k]), top = nefk_to_bits(space->top[k]), next = top;
    for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++) {
        uint64_t start = nefk_to_bits(space->starts[i]), later = start > here ? start : top;
        next = later < next ? later : next;
    }
    return nefk_from_bits(next);
}

/* Totals, slopes and second derivatives by group, and the start of the item that bends the total most above the
 * price: the one of the largest slope, or, `is_late` and within a bracket, the next, which may not show in slopes yet.
 * All at once, as the ends of short groups are what a processor guesses wrong. Group k is which[k] of `offset`, or k. */
static inline void sum_and_find_start(size_t groups, const uint32_t *offset, const uint32_t *which,
                                      const double *starts, int is_late, nefk_tile_space *space) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t k = 0; k < groups; k++) {
        size_t g = which ? which[k] : k, first = offset[g], stop = offset[g + 1], best = first, m = stop - first;
        int is_short = m < NEFK_SHORT;
        double sum = 0.0, fall = 0.0, bend = 0.0, most = 0.0;
        for (size_t i = first; i < stop && is_short; i++) {
            sum += space->x[i];
            fall += space->d[i];
            bend += space->y[i];
            best = space->d[i] > most ? i : best;
            most = space->d[i] > most ? space->d[i] : most;
        }
        space->total[k] = is_short ? sum : sum_of(use, space->x + first, m);
        space->slope[k] = is_short ? fall : sum_of(use, space->d + first, m);
        space->curve[k] = is_short ? bend : sum_of(use, space->y + first, m);
        if (!is_short) most = largest(space->d + first, m);
        for (; space->d[best] < most;) best++;
        space->start[k] = most > 0.2 * space->slope[k] ? starts[best] : space->top[k];
        if (is_late && space->more[k] > 0.0 && space->to[k] < space->top[k]) space->start[k] = next_start(space, k);
    }
}

/* As `choose` among the groups of space->part, of their starts. */
static inline void choose_starts(size_t groups, const uint32_t *which, nefk_tile_space *space) {
    size_t m = 0;
    for (size_t k = 0; k < groups; k++)
        for (size_t i = space->part_offset[which[k]]; i < space->part_offset[which[k] + 1]; i++)
            space->starts[m++] = space->starts[i];
}

#endif
