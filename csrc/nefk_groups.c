#include "nefk_gather.h"

size_t nefk_tile_space_size(void) { return sizeof(nefk_tile_space); }

void nefk_tile_bounds(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *lower, double *upper) {
    size_t groups = tile.last - tile.first;
    gather(all, tile, NULL, space);
    double *sums[2] = {lower + tile.first, upper + tile.first};
    for (size_t k = 0; k < 2; k++) {
        double *column = space->all.entries[2 + k];
        if (!space->all.step[2 + k]) nefk_fill(NEFK_TILE, column[0], column);
        sum_groups(space, column, space->total);
        nefk_fill(groups - space->groups, 0.0, space->total + space->groups);
        for (size_t g = 0; g < groups; g++) sums[k][space->name[g]] = space->total[g];
    }
    for (size_t g = 0; g < groups; g++)
        if (isnan(sums[1][g])) sums[1][g] = INFINITY; /* as a sum in parts of infinite ones comes out */
}

void nefk_tile_respond(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price,
                       double *total, double *slope) {
    size_t m = gather(all, tile, NULL, space), groups = tile.last - tile.first;
    nefk_fill(m, price, space->price);
    respond(all->problem, &space->all, 0, m, space->price, space->x, space->d, NULL);
    sum_groups(space, space->x, space->total);
    sum_groups(space, space->d, space->slope);
    nefk_fill(groups - space->groups, 0.0, space->total + space->groups);
    nefk_fill(groups - space->groups, 0.0, space->slope + space->groups);
    for (size_t g = 0; g < groups; g++) {
        total[space->name[g]] = space->total[g];
        slope[space->name[g]] = space->slope[g];
    }
}

void nefk_tile_respond_roughly(const nefk_grouped *all, nefk_tile tile, double price, float *taken) {
    enum { PARTS = 4 }; /* of few groups' sums, so that they are not waited for */
    double x[NEFK_BLOCK], d[NEFK_BLOCK], sums[2 * NEFK_TILE_GROUPS]; /* a pair is in one line of the cache */
    const nefk_entries parameter = nefk_entries_of(&all->problem->parameter);
    const nefk_entries weight = nefk_entries_of(&all->problem->weight);
    size_t groups = tile.last - tile.first, parts = PARTS * groups <= NEFK_TILE_GROUPS ? PARTS : 1;
    nefk_fill(2 * groups * parts, 0.0, sums);
    for (size_t at = tile.begin; at < tile.end; at += NEFK_BLOCK) {
        size_t m = tile.end - at < NEFK_BLOCK ? tile.end - at : NEFK_BLOCK;
        nefk_respond_each(all->problem, price, at, at + m, 1, x, d);
        for (size_t i = 0; i < m; i++) {
            nefk_ask(parameter, at + NEFK_BLOCK + i);
            nefk_ask(weight, at + NEFK_BLOCK + i);
            double *pair = &sums[2 * (parts * all->member[at + i] + (i & (parts - 1)))];
            pair[0] += x[i];
            pair[1] += d[i];
        }
    }
    for (size_t g = 0; g < groups; g++) {
        double *pairs = &sums[2 * parts * g];
        for (size_t k = 1; k < parts; k++) pairs[0] += pairs[2 * k], pairs[1] += pairs[2 * k + 1];
        taken[2 * g] = (float)pairs[0];
        taken[2 * g + 1] = (float)pairs[1];
    }
}

void nefk_tile_unmark(const nefk_grouped *all, nefk_tile tile, double low, double high, int8_t *marks) {
    double parameter[NEFK_BLOCK], weight[NEFK_BLOCK], starts[NEFK_BLOCK];
    uint32_t found[NEFK_BLOCK];
    const nefk_problem *problem = all->problem;
    const double above = high + 0x1p-50 * high;
    size_t g = tile.first;
    for (size_t at = tile.begin; at < tile.end; at += NEFK_BLOCK) {
        size_t m = tile.end - at < NEFK_BLOCK ? tile.end - at : NEFK_BLOCK, count = 0;
        nefk_block items = {nefk_load(&problem->parameter, problem->order, at, m, parameter),
                            nefk_load(&problem->weight, problem->order, at, m, weight), NULL, NULL};
        nefk_instructions_in_use()->starts(problem->shape, m, items, starts);
        for (size_t i = 0; i < m; i++) { /* no branch */
            found[count] = (uint32_t)i;
            count += (starts[i] >= low) & (starts[i] <= above); /* starts are rounded up */
        }
        for (size_t k = 0; k < count; k++) {
            size_t i = at + found[k];
            if (all->member) g = tile.first + all->member[i];
            else while (g + 1 < tile.last && tile.begin + all->start[g + 1] <= i) g++;
            marks[g] = 0;
        }
    }
}
