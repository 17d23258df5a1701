#include "nefk_group_breaks.h"

#include <stdlib.h>

#include "nefk_search.h"

enum { FEW = 24 /* numbers that are sorted by insertion */ };

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort(double *x, size_t m) {
    if (m > FEW) {
        qsort(x, m, sizeof *x, compare);
        return;
    }
    for (size_t i = 1; i < m; i++) {
        double own = x[i];
        size_t j = i;
        for (; j > 0 && x[j - 1] > own; j--) x[j] = x[j - 1];
        x[j] = own;
    }
}

/* Prices at which the items of space->part begin to take something, or where they have all that they can. */
static void find_breaks(size_t m, const nefk_tile_space *space, int is_end, double *breaks) {
    for (size_t i = 0; i < m; i++) {
        nefk_block item = block_of(&space->part, i);
        double fall = is_end && *item.parameter > 0.0 ? *item.parameter * *item.upper : 0.0;
        breaks[i] = *item.weight * (1.0 - (fall < 1.0 ? fall : 1.0));
    }
}

/* Totals of groups [first, groups) at the prices in space->at, into space->total. Returns items answered. */
static double answer_from(const nefk_problem *problem, nefk_tile_space *space, size_t first, size_t groups) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const uint32_t *offset = space->part_offset;
    for (size_t k = first; k < groups; k++) nefk_fill(offset[k + 1] - offset[k], space->at[k], space->price + offset[k]);
    respond(problem, &space->part, offset[first], offset[groups], space->price, space->x, NULL, NULL);
    for (size_t k = first; k < groups; k++)
        space->total[k] = sum_of(use, space->x + offset[k], offset[k + 1] - offset[k]);
    return (double)(offset[groups] - offset[first]);
}

/* Bring every group's bracket between two of its items' breaks that are next to each other. */
static double bisect(const nefk_problem *problem, nefk_tile_space *space, size_t groups, double *breaks) {
    uint32_t low[NEFK_TILE_GROUPS], high[NEFK_TILE_GROUPS]; /* of the group's breaks within the bracket */
    const uint32_t *offset = space->part_offset;
    double answered = 0.0;
    size_t first = 0;
    for (size_t k = 0; k < groups; k++) {
        double *own = breaks + offset[k];
        uint32_t m = offset[k + 1] - offset[k];
        sort(own, m);
        low[k] = high[k] = 0;
        while (low[k] < m && own[low[k]] <= space->from[k]) low[k]++;
        for (high[k] = low[k]; high[k] < m && own[high[k]] < space->to[k];) high[k]++;
    }
    for (;;) { /* groups are in order by size: the last ones take longest */
        while (first < groups && low[first] == high[first]) first++;
        if (first == groups) return answered;
        for (size_t k = first; k < groups; k++) {
            uint32_t middle = low[k] + (high[k] - low[k]) / 2;
            space->at[k] = low[k] < high[k] ? breaks[offset[k] + middle] : space->to[k];
        }
        answered += answer_from(problem, space, first, groups);
        for (size_t k = first; k < groups; k++) {
            if (low[k] == high[k]) continue;
            uint32_t middle = low[k] + (high[k] - low[k]) / 2;
            if (space->total[k] >= space->target[k]) {
                low[k] = middle + 1;
                space->from[k] = space->at[k];
                space->more[k] = space->total[k];
            } else {
                high[k] = middle;
                space->to[k] = space->at[k];
                space->less[k] = space->total[k];
            }
        }
    }
}

double nefk_bisect_breaks(const nefk_problem *problem, nefk_tile_space *space, size_t groups) {
    double answered = 0.0;
    for (int is_end = 0; is_end < (nefk_is_linear(space) ? 1 : 2); is_end++) {
        find_breaks(space->part_offset[groups], space, is_end, space->e);
        answered += bisect(problem, space, groups, space->e);
    }
    for (size_t k = 0; k < groups; k++) space->at[k] = nextafter(space->to[k], space->from[k]);
    answered += answer_from(problem, space, 0, groups);
    for (size_t k = 0; k < groups; k++) {
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
