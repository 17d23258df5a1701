#include "nefk_group_approach.h"

#include "nefk_group_corner.h"
#include "nefk_group_first.h"
#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { ROUNDS = 3, MORE_ROUNDS = 3 /* in single precision: of all groups, and of those that were not near before */ };
static const float NEAR = 0.01f; /* relative gap after which Halley's next is as small as single precision */
static const double LOST = 1e-2; /* relative gap from which on single precision led nowhere, but perhaps to a start */

int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space) {
    if (problem->shape != NEFK_DETECTION && problem->shape != NEFK_FRESHNESS) return 0;
    size_t small = 0, all = 0;
    for (size_t g = 0; g < space->searched; g++) {
        size_t m = size_of(space, g);
        if (!(space->at[g] > 0.0)) return 0; /* as where the budget has no price */
        all += m;
        if (m <= NEFK_LED) small += m;
    }
    return 2 * small > all;
}

/* Copy the items of the listed groups, and their starts, into rows of their own, and what the groups have to the front.
 * Returns how many items. */
static size_t take_apart(nefk_tile_space *space, int bounded, const double *starts, size_t groups,
                         size_t *n_rows) {
    uint32_t at = 0;
    *n_rows = 0;
    share_scalars(space);
    for (size_t k = 0, r = 0, last; k < groups; k = last) {
        while (space->rows[r].last <= space->group[k]) r++;
        nefk_rows rows = space->rows[r];
        size_t n = rows.last - rows.first;
        for (last = k; last < groups && space->group[last] < rows.last;) last++;
        space->part_rows[(*n_rows)++] = (nefk_rows){(uint32_t)k, (uint32_t)last, at, rows.size};
        for (size_t c = 0; n == 1 && c < NEFK_COLUMNS; c++)
            if (space->all.step[c])
                memcpy(space->part.entries[c] + at, space->all.entries[c] + rows.begin, rows.size * sizeof *starts);
        if (n == 1) memcpy(space->starts + at, starts + rows.begin, rows.size * sizeof *starts);
        for (size_t j = 0; n > 1 && j < rows.size; j++) {
            size_t from = rows.begin + j * n - rows.first, to = at + j * (last - k) - k;
            for (size_t c = 0; c < NEFK_COLUMNS; c++) {
                if (!space->all.step[c]) continue;
                for (size_t i = k; i < last; i++)
                    space->part.entries[c][to + i] = space->all.entries[c][from + space->group[i]];
            }
            for (size_t i = k; i < last; i++) space->starts[to + i] = starts[from + space->group[i]];
        }
        for (size_t i = k; i < last; i++) {
            space->part_offset[i] = (uint32_t)(at + (i - k));
            space->part_stride[i] = (uint32_t)(last - k);
        }
        at += (uint32_t)(rows.size * (last - k));
    }
    for (size_t c = 0; c < NEFK_COLUMNS; c++) /* what rows are read of */
        if (!space->part.step[c] && (c == 0 || (c > 1 && bounded)))
            nefk_fill(at + NEFK_ROW_LANES, space->part.entries[c][0], space->part.entries[c]);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        space->target[k] = space->cap[g];
        space->at[k] = space->at[g];
        space->top[k] = space->top[g];
    }
    return at;
}

/* The amounts of those items back to where they were. */
static void put_back(nefk_tile_space *space, const double *x, size_t groups) {
    for (size_t k = 0, r = 0; k < groups; r++) {
        nefk_rows part = space->part_rows[r];
        size_t offset = space->offset[space->group[k]], stride = space->stride[space->group[k]];
        size_t n = part.last - part.first;
        double *to = space->x + offset - space->group[k]; /* an item of group g is at to[g], and so on */
        if (stride == 1) memcpy(space->x + offset, x + part.begin, part.size * sizeof *x);
        for (size_t j = 0; stride > 1 && j < part.size; j++)
            for (size_t i = 0; i < n; i++)
                to[space->group[k + i] + j * stride] = x[part.begin + j * n + i];
        k = part.last;
    }
}

/* A better guess of the price of group k of space->part, over the last one; writes k to `far`, and returns 1, if the
 * group was not near its cap. */
static inline size_t take_guess(nefk_tile_space *space, double floor, uint32_t k, float price, float gap,
                                uint32_t *far) {
    double guess = space->at[k] * (double)price;
    space->at[k] = (guess > floor) & (guess < space->top[k]) ? guess : space->at[k];
    *far = k;
    return !(fabsf(gap) <= NEAR);
}

/* Items [first, m) of a lane take nothing. */
static inline void clear_lane(nefk_lanes *items, size_t lane, size_t first, size_t m) {
    for (size_t j = first; j < m; j++) {
        items->a[j][lane] = items->start[j][lane] = 0.0f;
        items->lower[j][lane] = items->upper[j][lane] = 0.0f;
    }
}

/* Better guesses of so many groups, which[0] and so on, of which the last is the largest. Those whose total was not
 * near the cap yet are written to `far`, which may begin before `which`; returns how many. */
static size_t approach_lanes(nefk_tile_space *space, int bounded, double floor, size_t lanes, size_t rounds,
                             const uint32_t *which, uint32_t *far) {
    nefk_lanes *items = &space->lanes;
    float price[NEFK_LANES], from[NEFK_LANES], gap[NEFK_LANES];
    const double *a = space->part.entries[0], *lower = space->part.entries[2], *upper = space->part.entries[3];
    size_t left = 0, m = size_of(space, space->group[which[lanes - 1]]);
    for (size_t l = lanes; l < NEFK_LANES; l++) {
        price[l] = 1.0f, from[l] = 0.5f;
        clear_lane(items, l, 0, m);
    }
    for (size_t l = 0; l < lanes; l++) {
        size_t k = which[l], i = space->part_offset[k], stride = space->part_stride[k];
        size_t count = size_of(space, space->group[k]);
        double amount = 1.0 / space->target[k], unit = 1.0 / space->at[k];
        for (size_t j = 0; j < count; j++, i += stride) {
            items->a[j][l] = (float)(a[i] * amount);
            items->start[j][l] = (float)(space->starts[i] * unit);
            if (!bounded) continue;
            items->lower[j][l] = (float)(lower[i] * amount);
            items->upper[j][l] = (float)(upper[i] * amount);
        }
        clear_lane(items, l, count, m);
        price[l] = 1.0f;
        from[l] = (float)(floor * unit);
    }
    nefk_instructions_in_use()->approach(m, items, bounded, rounds, from, price, gap);
    for (size_t l = 0; l < lanes; l++) left += take_guess(space, floor, which[l], price[l], gap[l], far + left);
    return left;
}

/* The same for groups that lie side by side in one row, from k on. */
static size_t approach_row(nefk_tile_space *space, int bounded, double floor, size_t lanes, uint32_t k,
                           uint32_t *far) {
    float price[NEFK_LANES], gap[NEFK_LANES];
    size_t left = 0, at = space->part_offset[k], n = space->part_stride[k];
    nefk_row_columns rows = {space->part.entries[0] + at, space->starts + at,
                             bounded ? space->part.entries[2] + at : NULL, space->part.entries[3] + at};
    nefk_instructions_in_use()->approach_rows(size_of(space, space->group[k]), n, rows, space->target + k,
                                              space->at + k, floor, ROUNDS, &space->lanes, price, gap);
    for (uint32_t l = 0; l < lanes; l++) left += take_guess(space, floor, k + l, price[l], gap[l], far + left);
    return left;
}

/* The same for all groups of space->part that are small enough; those that are far from their caps go on, side by
 * side. */
static void approach(nefk_tile_space *space, int bounded, double floor, size_t groups) {
    uint32_t far[NEFK_TILE_GROUPS + 1], which[NEFK_LANES];
    size_t left = 0;
    while (groups && size_of(space, space->group[groups - 1]) > NEFK_DEPTH) groups--;
    for (size_t k = 0; k < groups; k += NEFK_LANES) {
        size_t lanes = groups - k < NEFK_LANES ? groups - k : NEFK_LANES, last = k + lanes - 1;
        int is_row = size_of(space, space->group[k]) == size_of(space, space->group[last]);
        if (is_row && space->part_offset[last] - space->part_offset[k] == last - k) {
            left += approach_row(space, bounded, floor, lanes, (uint32_t)k, far + left);
        } else {
            for (size_t l = 0; l < lanes; l++) which[l] = (uint32_t)(k + l);
            left += approach_lanes(space, bounded, floor, lanes, ROUNDS, which, far + left);
        }
    }
    for (size_t i = 0; i < left; i += NEFK_LANES) {
        size_t lanes = left - i < NEFK_LANES ? left - i : NEFK_LANES;
        uint32_t none[NEFK_LANES + 1];
        approach_lanes(space, bounded, floor, lanes, MORE_ROUNDS, far + i, none);
    }
}

/* The last step of groups of space->part to their caps, by totals, slopes and second derivatives. Prices go into
 * `next`, and stay as they are where that is not exact, which `met` says: then guesses are left in space->less, and how
 * far the starts may be that they mean in space->more. */
static void step(nefk_tile_space *space, double floor, size_t groups, const double *total, double *next) {
    for (size_t k = 0; k < groups; k++) {
        double cap = space->target[k], gap = total[k] - cap, inverse = 1.0 / space->slope[k], t = gap * inverse;
        t += 0.5 * space->curve[k] * inverse * (t * t);
        double price = space->at[k] + space->at[k] * (t + 0.5 * t * t);
        int is_met = (fabs(gap) <= NEFK_NEAR_CUBED * cap) & (price < space->top[k]);
        is_met &= (price > floor) & (price > NEFK_NIGH);
        int is_near = (fabs(gap) <= LOST * cap) & (price > floor) & (price < space->top[k]);
        next[k] = is_met ? price : space->at[k];
        space->met[k] = is_met ? NEFK_MET : NEFK_RUNNING;
        space->less[k] = is_near ? price : space->at[k];
        space->more[k] = is_near ? 0.0 : NEFK_AIM;
    }
}

/* Amounts x, slopes and second derivatives d and y of m items of space->part at their prices, without bounds. */
static void respond_freely(const nefk_problem *problem, nefk_tile_space *space, size_t m, const double *price,
                           double *x) {
    double none[NEFK_BLOCK], any[NEFK_BLOCK];
    nefk_fill(NEFK_BLOCK, 0.0, none);
    nefk_fill(NEFK_BLOCK, INFINITY, any);
    for (size_t i = 0; i < m; i += NEFK_BLOCK) {
        nefk_block items = block_of(&space->part, i);
        items.lower = none;
        items.upper = any;
        nefk_instructions_in_use()->respond(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, items, price + i,
                                            problem->ceiling, x + i, space->d + i, space->y + i);
    }
}

/* As nefk_instructions.cut, of m items of space->part. */
static void cut_items(const nefk_tile_space *space, size_t m, const double *x, const double *of, double *to) {
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        nefk_instructions_in_use()->cut(m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->part, i), x + i,
                                        of ? of + i : NULL, to + i);
}

/* Sums by group of so many rows of space->part, of m items: of their entries, or as nefk_instructions.cut has them. */
static void sum_part(nefk_tile_space *space, int bounded, size_t n_rows, size_t m, const double *x, const double *of,
                     double *sum) {
    double *cut = space->price; /* not in use yet */
    if (bounded) cut_items(space, m, x, of, cut);
    sum_rows(space->part_rows, n_rows, bounded ? cut : (of ? of : x), sum);
}

/* Own prices and amounts of the listed groups; lists those that are left. What bounds cut follows prices as if there
 * were none, and is cut again: a group of which that changes an item is off its cap. */
static size_t approach_listed(const nefk_problem *problem, nefk_tile_space *space, double floor, double *starts,
                              size_t groups) {
    const nefk_instructions *use = nefk_instructions_in_use();
    int bounded = nefk_has_bounds(problem);
    size_t n_rows, m = take_apart(space, bounded, starts, groups, &n_rows), left = 0;
    double *price = starts, *next = space->price, *x = space->e, *total = space->from, *own = space->again;
    approach(space, bounded, floor, groups);
    spread_rows(space->part_rows, n_rows, space->at, price); /* over the starts, which are copied */
    respond_freely(problem, space, m, price, x);
    sum_part(space, bounded, n_rows, m, x, NULL, total);
    sum_part(space, bounded, n_rows, m, x, space->d, space->slope);
    sum_part(space, bounded, n_rows, m, x, space->y, space->curve);
    step(space, floor, groups, total, own);
    spread_rows(space->part_rows, n_rows, own, next);
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        use->follow(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->part, i), next + i,
                    space->d + i, price + i, x + i, space->y + i);
    sum_rows(space->part_rows, n_rows, space->y, space->slope);
    if (bounded) cut_items(space, m, x, NULL, next);
    put_back(space, bounded ? next : x, groups);
    for (size_t k = 0; k < groups; k++) {
        uint32_t g = space->group[k];
        space->low[g] = space->high[g] = own[k];
        space->group[left] = g;
        space->at[left] = space->less[k];
        space->curve[left] = space->more[k];
        left += !((space->met[k] == NEFK_MET) & (space->slope[k] == 0.0));
    }
    return left;
}

size_t nefk_approach_own(const nefk_problem *problem, nefk_tile_space *space, double floor) {
    size_t last = space->searched_rows, stop = last < space->n_rows ? space->rows[last].begin : space->items;
    double *starts = space->lower_price;
    for (size_t c = 0; c < 2; c++)
        if (!space->all.step[c]) nefk_fill(NEFK_TILE, space->all.entries[c][0], space->all.entries[c]);
    find_starts(problem->shape, stop, &space->all, starts);
    nefk_tops tops = {space->top, space->less, space->from, space->to};
    size_t left = nefk_give_to_first(problem, space, starts, stop, floor, tops);
    if (left) left = approach_listed(problem, space, floor, starts, left);
    spread_all(space, space->high, space->price);
    respond(problem, &space->all, stop, space->items, space->price, space->x, NULL, NULL);
    sum_groups(space, space->x, space->total);
    return left;
}
