#include "nefk_tile.h"

size_t nefk_tile_space_size(void) { return sizeof(nefk_tile_space); }

void nefk_sort_into_groups(const ptrdiff_t *group, size_t start, size_t count, uint32_t *next, uint32_t *order) {
    for (size_t i = 0; i < count; i++) {
        if (i + NEFK_AHEAD < count) __builtin_prefetch(&next[group[i + NEFK_AHEAD] + 1], 1);
        order[next[group[i] + 1]++] = (uint32_t)(start + i);
    }
}

void nefk_tile_bounds(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *lower, double *upper) {
    gather(all, tile, space);
    double *sums[2] = {lower + tile.first, upper + tile.first};
    for (size_t k = 0; k < 2; k++) {
        double *column = space->all.entries[2 + k];
        if (!space->all.step[2 + k]) fill(NEFK_TILE, column[0], column);
        sum_groups(tile.last - tile.first, space->offset, column, sums[k]);
    }
}

void nefk_tile_respond(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price,
                       double *total, double *slope) {
    size_t m = gather(all, tile, space), groups = tile.last - tile.first;
    fill(m, price, space->price);
    respond(all->problem, &space->all, m, space->price, space->x, space->d);
    sum_both(groups, space->offset, space->x, space->d, total + tile.first, slope + tile.first);
}

/* Chosen groups and their items, by local number in space->group. */
static size_t choose_uncapped(const nefk_grouped *all, nefk_tile tile, const int8_t *capped, nefk_tile_space *space,
                              size_t *items) {
    size_t groups = 0;
    gather(all, tile, space);
    for (size_t g = tile.first; g < tile.last; g++)
        if (capped[g] != 1) space->group[groups++] = (uint32_t)(g - tile.first);
    share_scalars(space);
    *items = choose(&space->all, space->offset, groups, space->group, space);
    return groups;
}

/* Sum the smooth items of one group, list the others. */
static size_t narrow_group(const nefk_tile_space *space, size_t start, size_t stop, double width, double tolerance,
                           uint32_t position, uint32_t *rough, double sums[4]) {
    size_t count = 0;
    for (size_t i = start; i < stop; i++) {
        double more = space->x[i], less = space->y[i], straight = 0.5 * width * (space->d[i] + space->e[i]);
        int smooth = fabs((more - less) - straight) <= tolerance * more;
        rough[count] = position + (uint32_t)(i - start);
        count += !smooth;
        sums[0] += smooth ? more : 0.0;
        sums[1] += smooth ? space->d[i] : 0.0;
        sums[2] += smooth ? less : 0.0;
        sums[3] += smooth ? space->e[i] : 0.0;
    }
    return count;
}

size_t nefk_tile_narrow(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double low, double high,
                        double width, double tolerance, int8_t *capped, uint32_t *rough,
                        nefk_response *at_low, nefk_response *at_high) {
    size_t items, count = 0, groups = choose_uncapped(all, tile, capped, space, &items);
    nefk_response a = {{0, 0}, {0, 0}}, b = {{0, 0}, {0, 0}};
    fill(items, low, space->price);
    respond(all->problem, &space->part, items, space->price, space->x, space->d);
    fill(items, high, space->price);
    respond(all->problem, &space->part, items, space->price, space->y, space->e);
    sum_groups(groups, space->part_offset, space->x, space->low);
    sum_groups(groups, space->part_offset, space->y, space->high);
    for (size_t k = 0; k < groups; k++) {
        size_t g = tile.first + space->group[k];
        double sums[4] = {0, 0, 0, 0}, cap = all->cap[g];
        capped[g] = space->high[k] >= cap ? 1 : (space->low[k] > cap ? 2 : 0);
        if (capped[g]) continue;
        count += narrow_group(space, space->part_offset[k], space->part_offset[k + 1], width, tolerance,
                              all->offset[g], rough + count, sums);
        nefk_add(&a.amount.high, &a.amount.low, sums[0]);
        nefk_add(&a.slope.high, &a.slope.low, sums[1]);
        nefk_add(&b.amount.high, &b.amount.low, sums[2]);
        nefk_add(&b.slope.high, &b.slope.low, sums[3]);
    }
    *at_low = a;
    *at_high = b;
    return count;
}
