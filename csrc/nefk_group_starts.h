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

static inline void find_starts(int shape, size_t m, const gathered *items, double *starts) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        use->starts(shape, m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, block_of(items, at), starts + at);
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

/* Total, slope and second derivative of group k of space->part, and the start of the item that bends the total most
 * above the price, that of the largest slope: all at once, as the ends of short groups are what a processor guesses
 * wrong. */
static inline void sum_and_find_start(size_t k, nefk_tile_space *space) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t first = space->part_offset[k], m = space->part_offset[k + 1] - first, best = first;
    size_t is_short = m < NEFK_SHORT;
    double sum = 0.0, fall = 0.0, bend = 0.0, most = 0.0;
    for (size_t i = first; i < first + m && is_short; i++) {
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
    space->start[k] = most > NEFK_BENDING * space->slope[k] ? space->starts[best] : space->top[k];
}

/* The same of so many groups. Where it is late and there is a bracket, the start is the next, which may not show in
 * slopes yet. */
static inline void sum_chosen_and_find_start(size_t groups, int is_late, nefk_tile_space *space) {
    for (size_t k = 0; k < groups; k++) {
        sum_and_find_start(k, space);
        if (is_late && space->more[k] > 0.0 && space->to[k] < space->top[k]) space->start[k] = next_start(space, k);
    }
}

#endif
