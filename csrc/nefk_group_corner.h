/* Groups whose cap leaves an item an amount in its corner: for detection and freshness, near the price where an item
 * starts to take something, its amount falls so fast that no price tells it but two beside each other, between which
 * it takes what the others leave. Searches by prices take long there.
 */
#ifndef NEFK_GROUP_CORNER_H
#define NEFK_GROUP_CORNER_H

#include "nefk_group_starts.h"
#include "nefk_search.h"

#define NEFK_CORNER 7.0     /* the rate of an item over the largest amount in its corner */
#define NEFK_AIM 3e-2       /* of a price: how far the start may be that a guess means */
#define NEFK_BELOW 1e-9     /* a start: where it is seen how steep its item is, which leads on if it takes more */
#define NEFK_STRAIGHT 1e-8  /* of a price: as far, totals of the other items are straight, */
#define NEFK_APART 1e-2     /* if none of them starts as near as that */
#define NEFK_BESIDE 9e-16   /* of a price: as it is rounded */

/* The items of space->part whose starts are the nearest to the guesses in space->at of so many groups, or the ends of
 * the groups. Unless `reach` is NULL, guesses go to just below those starts if these are within it, over the guess. */
static inline void aim_at_starts(nefk_tile_space *space, size_t groups, const double *reach, uint32_t *item) {
    for (size_t k = 0; k < groups; k++) {
        double at = space->at[k], away = (reach ? reach[k] : NEFK_AIM) * at;
        uint32_t end = space->part_offset[k + 1], best = end;
        for (uint32_t i = space->part_offset[k]; i < end; i++) {
            double off = fabs(space->starts[i] - at);
            best = off < away ? i : best;
            away = off < away ? off : away;
        }
        double price = best < end && reach ? space->starts[best] * (1.0 - NEFK_BELOW) : at;
        item[k] = price > space->from[k] && price < space->to[k] ? best : end;
        space->at[k] = item[k] < end ? price : at;
    }
}

/* What the other items of a group take together, and their slope; not from the group's sums, of which one item's amount
 * may be nearly all. Returns how many of them start as near to it as they may not. */
static inline size_t sum_others(const nefk_tile_space *space, size_t k, size_t item, double *amount, double *slope) {
    double x = 0.0, d = 0.0, start = space->starts[item];
    size_t near = 0;
    for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++) {
        x += i == item ? 0.0 : space->x[i];
        d += i == item ? 0.0 : space->d[i];
        near += fabs(space->starts[i] - start) <= NEFK_APART * start;
    }
    *amount = x;
    *slope = d;
    return near - 1;
}

/* After the items' amounts x and slopes d were found at the guesses: enclose the prices of the groups
 * that leave the item aimed at an amount in its corner. */
static inline void enclose_corners(const nefk_problem *problem, nefk_tile_space *space, size_t groups,
                                   const uint32_t *item) {
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
            size_t near = sum_others(space, k, i, &others[m], &steep[m]);
            rest[m] = space->target[k] - others[m];
            columns[0][m] = *at.parameter, columns[1][m] = *at.weight;
            columns[2][m] = *at.lower, columns[3][m] = *at.upper;
            int is_there = (rest[m] > *at.lower) & (rest[m] < *at.upper) & (rest[m] * NEFK_CORNER < *at.parameter);
            m += is_there & !near;
        }
        if (!m || (m < NEFK_BLOCK && k + 1 < groups)) continue;
        for (size_t turn = 0; turn < 2; turn++) { /* what the others take, first at the guess, then where it leads */
            for (size_t j = 0; j < m; j++) {
                size_t g = which[j];
                double away = turn ? 1.0 - price[j] / space->price[item[g]] : 0.0;
                rest[j] = space->target[g] - (others[j] + steep[j] * away);
            }
            use->worth(problem->shape, m, items, rest, value, price);
        }
        for (size_t j = 0; j < m; j++) {
            low[j] = price[j] * (1.0 - NEFK_BESIDE);
            high[j] = price[j] * (1.0 + NEFK_BESIDE);
        }
        use->respond(problem->shape, m, items, low, problem->ceiling, more, NULL, NULL);
        use->respond(problem->shape, m, items, high, problem->ceiling, less, NULL, NULL);
        for (size_t j = 0; j < m; j++) {
            size_t g = which[j], own = item[g];
            double tried = space->price[own];
            more[j] += others[j] + steep[j] * (1.0 - low[j] / tried);
            less[j] += others[j] + steep[j] * (1.0 - high[j] / tried);
            int is_there = (fabs(price[j] - tried) <= NEFK_STRAIGHT * tried) & (low[j] > space->from[g]);
            is_there &= (more[j] >= space->target[g]) & (less[j] <= space->target[g]);
            if (!is_there) continue;
            space->from[g] = low[j], space->to[g] = high[j];
            space->more[g] = more[j], space->less[g] = less[j];
            space->met[g] = NEFK_ENCLOSED;
        }
        m = 0;
    }
}

#endif
