#include "nefk_group_first.h"

/* Of the groups from g on. */
static nefk_tops tops_from(nefk_tops tops, size_t g) {
    for (size_t k = 0; k < 2; k++) tops.start[k] += g, tops.parameter[k] += g, tops.weight[k] += g;
    return tops;
}

/* The two items that start first, of all groups that may need own prices. */
static void find_tops(const double *starts, const nefk_tile_space *space, nefk_tops tops) {
    const double *parameter = space->all.entries[0], *weight = space->all.entries[1];
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t at = rows.begin, n = rows.last - rows.first, best[2] = {at, at};
        nefk_tops here = tops_from(tops, rows.first);
        if (n > 1) {
            nefk_instructions_in_use()->top_rows(rows.size, n, starts + at, parameter + at, weight + at, here);
            continue;
        }
        double second = 0.0;
        for (size_t i = at + 1; i < at + rows.size; i++) {
            int is_first = starts[i] > starts[best[0]], is_second = !is_first & (starts[i] > second);
            best[1] = is_first ? best[0] : (is_second ? i : best[1]);
            best[0] = is_first ? i : best[0];
            second = is_first | is_second ? starts[best[1]] : second;
        }
        for (size_t k = 0; k < 2; k++) {
            *here.start[k] = k ? second : starts[best[0]];
            *here.parameter[k] = parameter[best[k]];
            *here.weight[k] = weight[best[k]];
        }
    }
}

/* Where several start first, all of them take the cap: then none does alone, and other amounts come in their place. */
static inline void take_if_first(size_t n, const double *starts, const double *top, const double *caps,
                                 double *restrict x) {
    for (size_t g = 0; g < n; g++) {
        double cap = caps[g];
        x[g] = starts[g] == top[g] ? cap : 0.0;
    }
}

/* Slopes of one of those items, at amounts (groups,); values are not needed. */
static void find_slopes(const nefk_problem *problem, size_t groups, nefk_tops tops, size_t k, const double *x,
                        double *value, double *slope) {
    for (size_t g = 0; g < groups; g += NEFK_BLOCK) {
        nefk_block items = {tops.parameter[k] + g, tops.weight[k] + g, NULL, NULL};
        nefk_instructions_in_use()->worth(problem->shape, groups - g < NEFK_BLOCK ? groups - g : NEFK_BLOCK, items,
                                          x + g, value + g, slope + g);
    }
}

/* How far the amounts of m items of the tile are beyond their bounds. */
static void find_excess(const nefk_tile_space *space, size_t m, const double *x, double *excess) {
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        nefk_instructions_in_use()->cut(m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, block_of(&space->all, at), x + at,
                                        NULL, excess + at);
    for (size_t i = 0; i < m; i++) excess[i] = fabs(excess[i] - x[i]);
}

size_t nefk_give_to_first(const nefk_problem *problem, nefk_tile_space *space, const double *starts, size_t m,
                          double floor, nefk_tops tops) {
    size_t groups = space->searched, left = 0;
    double *slope = space->slope, *excess = space->total;
    find_tops(starts, space, tops);
    find_slopes(problem, groups, tops, 0, space->cap, space->total, slope);
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t n = rows.last - rows.first;
        for (size_t j = 0; j < rows.size; j++)
            take_if_first(n, starts + rows.begin + j * n, tops.start[0] + rows.first, space->cap + rows.first,
                          space->x + rows.begin + j * n);
    }
    fill(groups, 0.0, excess);
    if (nefk_has_bounds(problem)) {
        find_excess(space, m, space->x, space->d);
        sum_rows(space->rows, space->searched_rows, space->d, excess);
    }
    for (size_t g = 0; g < groups; g++) {
        int is_alone = (slope[g] >= tops.start[1][g]) & (slope[g] > floor) & (excess[g] == 0.0);
        is_alone &= (slope[g] > NEFK_NIGH) & (slope[g] < NEFK_FAR);
        space->low[g] = space->high[g] = slope[g]; /* if it is not, they are found */
        space->group[left] = (uint32_t)g;
        left += !is_alone;
    }
    return left;
}

void nefk_guess_by_second(const nefk_problem *problem, nefk_tile_space *space, nefk_tops tops, size_t groups) {
    double *rest = space->again, *price = space->curve;
    const double none[NEFK_BLOCK] = {0}, *any = space->part.entries[3];
    for (size_t k = 0; k < groups; k += NEFK_BLOCK) {
        nefk_block items = {tops.parameter[0] + k, tops.weight[0] + k, none, any};
        nefk_instructions_in_use()->respond(problem->shape, groups - k < NEFK_BLOCK ? groups - k : NEFK_BLOCK, items,
                                            tops.start[1] + k, problem->ceiling, rest + k, NULL, NULL);
    }
    for (size_t k = 0; k < groups; k++) rest[k] = space->target[k] - rest[k];
    find_slopes(problem, groups, tops, 1, rest, space->total, price);
    for (size_t k = 0; k < groups; k++) {
        int is_better = (price[k] > space->at[k]) | !(space->at[k] < tops.start[1][k]);
        is_better &= (rest[k] > 0.0) & (price[k] > 0.0) & (price[k] < tops.start[1][k]);
        space->at[k] = is_better ? price[k] : space->at[k];
    }
}
