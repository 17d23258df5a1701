#include "nefk_group_begin.h"

#include "nefk_search.h"
#include "nefk_shapes.h"

enum { NOT_SMALL = 8 /* items of a group */, PROBED = 32, FEW_BEYOND = 8 /* groups, and to one whose guess is so high */ };
static const double ROUNDED = 1e-6; /* more than single precision is off, relatively */
static const double NEARLY = 1e-3; /* of a start: items that start so near, in the mean, are nearly one, and other guesses bad */
static const double BESIDE = 9e-16; /* of a price: some units in its last place */

/* The price at which one item that starts at 1 takes a target, for so many rates and targets. */
static void find_slopes_from_one(int shape, size_t m, const double *rates, const double *targets, double *slopes) {
    double ones[NEFK_BLOCK], value[NEFK_BLOCK];
    nefk_fill(NEFK_BLOCK, 1.0, ones);
    for (size_t k = 0; k < m; k += NEFK_BLOCK) {
        nefk_block one = {rates + k, shape == NEFK_FRESHNESS ? rates + k : ones, NULL, NULL};
        nefk_instructions_in_use()->worth(shape, m - k < NEFK_BLOCK ? m - k : NEFK_BLOCK, one, targets + k, value,
                                          slopes + k);
    }
}

/* Whether guesses of some of the groups from the first on are so high that no item could take anything there. */
static int are_beyond(int shape, const nefk_tile_space *space, size_t first, size_t groups) {
    double rates[PROBED] = {0}, targets[PROBED] = {0}, slopes[PROBED];
    size_t step = (groups - first + PROBED - 1) / PROBED, count = 0, beyond = 0;
    for (size_t k = first; k < groups; k += step, count++) {
        size_t size = size_of(space, space->group[k]);
        for (size_t j = 0, i = space->part_offset[k]; j < size; j++, i += space->part_stride[k])
            rates[count] += space->part.entries[0][i];
        targets[count] = space->target[k];
    }
    find_slopes_from_one(shape, count, rates, targets, slopes);
    for (size_t p = 0; p < count; p++) beyond += space->at[first + p * step] > space->top[first + p * step] * slopes[p];
    return FEW_BEYOND * beyond > count;
}

void nefk_begin_rows_as_one(int shape, nefk_tile_space *space, size_t n_rows, size_t m, size_t groups) {
    size_t r = 0;
    while (r < n_rows && space->part_rows[r].size < NOT_SMALL) r++;
    if (r == n_rows || !are_beyond(shape, space, space->part_rows[r].first, groups)) return;
    const double *rates = space->part.entries[0];
    double *sum = space->slope, *mean = space->curve, *product = space->d, *slope = space->more;
    for (size_t i = space->part_rows[r].begin; i < m; i++) product[i] = rates[i] * space->starts[i];
    sum_rows(space->part_rows + r, n_rows - r, rates, sum);
    sum_rows(space->part_rows + r, n_rows - r, product, mean);
    size_t first = space->part_rows[r].first;
    find_slopes_from_one(shape, groups - first, sum + first, space->target + first, slope + first);
    for (size_t k = first; k < groups; k++) {
        double most = space->top[k] * slope[k] * (1.0 + ROUNDED), even = mean[k] / sum[k] * slope[k];
        double least = space->low[space->group[k]], guess = space->at[k];
        if (!(most > space->from[k])) continue;
        space->to[k] = most;
        if (guess < least || guess > most) space->at[k] = even > least ? even : least;
    }
}

void nefk_begin_as_one(const nefk_problem *problem, nefk_tile_space *space, size_t n, const uint32_t *which,
                       double floor) {
    double *rates = space->x, *tied = space->d, *targets = space->y, *least = space->price, *share = space->e;
    double *started = space->total, *next = space->slope, *room = space->curve; /* room: of those that start first */
    if (space->part.step[2] || space->part.entries[2][0] > 0.0) return;
    for (size_t j = 0; j < n; j++) {
        size_t k = which[j];
        double top = space->top[k], all = 0.0, sum = 0.0, first = 0.0, second = 0.0, most = INFINITY;
        for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++) {
            nefk_block item = block_of(&space->part, i);
            double start = space->starts[i], rate = *item.parameter;
            int is_first = start == top;
            all += rate;
            sum += rate * start;
            first += is_first ? rate : 0.0;
            second = !is_first & (start > second) ? start : second;
            most = is_first & (*item.upper < most * rate) ? *item.upper / rate : most;
        }
        rates[j] = all, started[j] = sum, tied[j] = first, next[j] = second, room[j] = most;
        targets[j] = space->target[k];
    }
    find_slopes_from_one(problem->shape, n, tied, targets, least);
    find_slopes_from_one(problem->shape, n, rates, targets, share);
    for (size_t j = 0; j < n; j++) {
        size_t k = which[j];
        double top = space->top[k], lowest = least[j] * top, even = started[j] / rates[j] * share[j];
        double low = lowest * (1.0 - BESIDE), high = lowest * (1.0 + BESIDE);
        int has_room = room[j] * tied[j] >= targets[j];
        if (has_room && low > next[j] && low > floor) {
            space->from[k] = low, space->to[k] = high;
            space->more[k] = space->less[k] = targets[j]; /* at any rate, between */
            space->met[k] = NEFK_ENCLOSED;
            continue;
        }
        lowest = has_room ? lowest : floor;
        int is_between = space->at[k] >= lowest && space->at[k] <= top * share[j];
        int is_told = started[j] < (1.0 - NEARLY) * top * rates[j];
        if (!(is_between && is_told)) space->at[k] = even > lowest ? even : lowest;
    }
}
