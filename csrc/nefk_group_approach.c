/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_group_approach.h"

#include "every_width.h"
#include "nefk_group_begin.h"
#include "nefk_group_checks.h"
#include "nefk_group_corner.h"
#include "nefk_group_first.h"
#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { ROUNDS = 3, ROUNDS_OF_FEW = 2 /* items */, MORE_ROUNDS = 5 /* of groups that were not near */, TIMES = 2 };
enum { FEW_SMALL = 16 /* items to one in a small group for which this does not pay */ };
static const float NEAR = 3e-3f, NEAR_OF_FEW = 1e-2f; /* relative gaps after which Halley's next is small enough */
static const double ROUNDED = 1e-6; /* more than single precision is off, relatively */
static const double LOST = 1e-2; /* relative gap from which on single precision led nowhere, but perhaps to a start */

int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space) {
    if (problem->shape != NEFK_DETECTION && problem->shape != NEFK_FRESHNESS) return 0;
    size_t small = 0, all = 0;
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t m = rows.size * (size_t)(rows.last - rows.first);
        all += m;
        small += rows.size <= NEFK_DEPTH ? m : 0;
    }
    if (FEW_SMALL * small <= all) return 0;
    return nefk_are_positive(space->searched, space->at); /* or the budget has no price */
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

/* Items of so many groups of space->part, which[0] and so on, side by side, in their units; `m` are those of the largest
 * group. */
NEFK_INLINE void load_lanes(nefk_tile_space *space, int bounded, size_t lanes, size_t m, const uint32_t *which,
                       nefk_units units) {
    nefk_lanes *items = &space->lanes;
    const double *a = space->part.entries[0], *lower = space->part.entries[2], *upper = space->part.entries[3];
    uint32_t at[NEFK_LANES], stride[NEFK_LANES], end[NEFK_LANES];
    for (size_t l = 0; l < NEFK_LANES; l++) {
        size_t k = which[l < lanes ? l : 0], count = l < lanes ? size_of(space, space->group[k]) : 0;
        at[l] = space->part_offset[k];
        stride[l] = space->part_stride[k];
        end[l] = at[l] + (uint32_t)count * stride[l];
    }
    for (size_t j = 0; j < m; j++)
        for (size_t l = 0; l < NEFK_LANES; l++) {
            uint32_t i = at[l], is_here = i < end[l];
            items->a[j][l] = is_here ? (float)(a[i] * units.amount[l]) : 0.0f;
            items->start[j][l] = is_here ? (float)(space->starts[i] * units.price[l]) : 0.0f;
            if (bounded) {
                items->lower[j][l] = is_here ? (float)(lower[i] * units.amount[l]) : 0.0f;
                items->upper[j][l] = is_here ? (float)(upper[i] * units.amount[l]) : 0.0f;
            }
            at[l] = i + (is_here ? stride[l] : 0);
        }
}

/* Entries of so many groups, which[0] and so on, side by side; those of the first in all other lanes. */
NEFK_INLINE void take_lanes(const double *from, size_t lanes, const uint32_t *which, double *to) {
    for (size_t l = 0; l < NEFK_LANES; l++) to[l] = from[which[l < lanes ? l : 0]];
}

/* Better guesses of the prices of so many groups of space->part, which[0] and so on, of which the last is the largest,
 * and brackets of them in space->from and space->to. Those that were not near their caps are listed in `far`; returns
 * how many. */
NEFK_INLINE size_t approach_some(nefk_tile_space *space, int bounded, double floor, int steered, size_t lanes,
                                 const uint32_t *which, uint32_t *far) {
    const nefk_instructions *use = nefk_instructions_in_use();
    float price[NEFK_LANES], gap[NEFK_LANES], low[NEFK_LANES], high[NEFK_LANES];
    double amount[NEFK_LANES], unit[NEFK_LANES], inverse[NEFK_LANES], from[NEFK_LANES], to[NEFK_LANES];
    size_t first = which[0], last = which[lanes - 1], m = size_of(space, space->group[last]), left = 0;
    size_t at = space->part_offset[first];
    int is_row = size_of(space, space->group[first]) == m && space->part_offset[last] - at == lanes - 1;
    nefk_units units = {amount, inverse};
    take_lanes(space->target, lanes, which, amount);
    take_lanes(space->at, lanes, which, unit);
    take_lanes(space->from, lanes, which, from);
    take_lanes(space->to, lanes, which, to);
    for (size_t l = 0; l < NEFK_LANES; l++) {
        amount[l] = 1.0 / amount[l];
        inverse[l] = 1.0 / unit[l];
        low[l] = (float)(from[l] * inverse[l]);
        high[l] = (float)(to[l] * inverse[l]);
        price[l] = 1.0f;
    }
    if (is_row) {
        nefk_row_columns rows = {space->part.entries[0] + at, space->starts + at,
                                 bounded ? space->part.entries[2] + at : NULL, space->part.entries[3] + at};
        use->load_rows(m, space->part_stride[first], rows, units, &space->lanes);
    } else {
        load_lanes(space, bounded, lanes, m, which, units);
    }
    int are_few = m <= NEFK_FEW && !bounded && !steered;
    size_t rounds = steered ? MORE_ROUNDS : (are_few ? ROUNDS_OF_FEW : ROUNDS);
    use->approach(m, &space->lanes, bounded, steered, rounds, low, high, price, gap);
    for (size_t l = 0; l < NEFK_LANES; l++) {
        double guess = unit[l] * (double)price[l];
        from[l] = unit[l] * (double)low[l];
        to[l] = unit[l] * (double)high[l];
        unit[l] = guess > floor ? guess : unit[l];
    }
    for (size_t l = 0; l < lanes; l++) {
        uint32_t k = which[l];
        space->from[k] = from[l];
        space->to[k] = to[l];
        space->at[k] = unit[l] < space->top[k] ? unit[l] : space->at[k];
        far[left] = k;
        left += !(gap[l] <= (are_few ? NEAR_OF_FEW : NEAR));
    }
    return left;
}

/* Begin no lower than where the first item alone would take the cap, as `nefk_give_to_first` leaves it in space->low:
 * without bounds, own prices are above. */
NEFK_INLINE void begin_above_first(nefk_tile_space *space, size_t groups) {
    for (size_t k = 0; k < groups; k++) {
        double least = space->low[space->group[k]] * (1.0 - ROUNDED);
        int tells = (least > space->from[k]) & (least < space->top[k]); /* not where it overflows */
        space->from[k] = tells ? least : space->from[k];
        space->at[k] = space->at[k] > space->from[k] ? space->at[k] : space->from[k];
    }
}

/* The same without guesses of any use: just there if items are few, of which nefk_begin_by_two knows more. Own prices are
 * below where the second item starts, in space->less, and mostly nearer to that: others begin at five eighths of the way,
 * in logs. */
NEFK_INLINE void begin_before_second(nefk_tile_space *space, size_t groups) {
    size_t few = 0;
    begin_above_first(space, groups);
    for (; few < groups && size_of(space, space->group[few]) <= NEFK_FEW; few++)
        space->at[few] = space->from[few] > 0.0 ? space->from[few] : space->at[few];
    for (size_t k = few; k < groups; k++) {
        double least = space->from[k] > 0.0 ? space->from[k] : space->at[k], second = space->less[space->group[k]];
        double middle = sqrt(least * second), next = sqrt(middle * sqrt(middle * second));
        space->at[k] = (next > least) & (next < second) ? next : least;
    }
}

/* The same of all groups of space->part; those that are far from their caps go on, side by side. */
NEFK_INLINE void approach(nefk_tile_space *space, int bounded, double floor, int known, size_t groups) {
    uint32_t which[NEFK_TILE_GROUPS];
    if (known == NEFK_UNKNOWN) begin_before_second(space, groups);
    else if (!bounded) begin_above_first(space, groups);
    for (size_t k = 0; k < groups; k++) which[k] = (uint32_t)k;
    for (size_t time = 0, left = groups, far; time < TIMES; time++, left = far) {
        far = 0;
        for (size_t i = 0; i < left; i += NEFK_LANES)
            far += approach_some(space, bounded, floor, time > 0, left - i < NEFK_LANES ? left - i : NEFK_LANES, which + i,
                                 which + far);
    }
}

AT_EVERY_WIDTH(void, nefk_approach, approach,
               (nefk_tile_space *space, int bounded, double floor, int known, size_t groups),
               (space, bounded, floor, known, groups))

/* The last step of groups of space->part to their caps, by totals, slopes and second derivatives. Prices go into
 * `next`, and stay as they are where that is not exact, which `met` says: then guesses are left in space->less, and how
 * far the starts may be that they mean in space->more. */
NEFK_INLINE void step(nefk_tile_space *space, double floor, size_t groups, const double *total, double *next) {
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

AT_EVERY_WIDTH(void, nefk_step_to_caps, step,
               (nefk_tile_space *space, double floor, size_t groups, const double *total, double *next),
               (space, floor, groups, total, next))

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
static size_t approach_listed(const nefk_problem *problem, nefk_tile_space *space, double floor, int known,
                              double *starts, size_t groups) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_corner corner[NEFK_TILE_GROUPS + 1]; /* one more is written */
    int bounded = nefk_has_bounds(problem);
    size_t n_rows, m = take_apart(space, bounded, starts, groups, &n_rows), left = 0;
    double *price = starts, *next = space->price, *x = space->e, *total = space->from, *own = space->again;
    nefk_fill(groups, floor, space->from);
    nefk_fill(groups, INFINITY, space->to);
    if (!bounded && known != NEFK_UNKNOWN) nefk_begin_rows_as_one(problem->shape, space, n_rows, m, groups);
    nefk_approach(space, bounded, floor, known, groups);
    spread_rows(space->part_rows, n_rows, space->at, price); /* over the starts, which are copied */
    respond_freely(problem, space, m, price, x);
    sum_part(space, bounded, n_rows, m, x, NULL, total);
    sum_part(space, bounded, n_rows, m, x, space->d, space->slope);
    sum_part(space, bounded, n_rows, m, x, space->y, space->curve);
    nefk_step_to_caps(space, floor, groups, total, own);
    size_t corners = bounded ? 0 : nefk_step_in_corners(problem, space, floor, n_rows, x, own, corner);
    spread_rows(space->part_rows, n_rows, own, next);
    for (size_t i = 0; i < m; i += NEFK_BLOCK)
        use->follow(problem->shape, m - i < NEFK_BLOCK ? m - i : NEFK_BLOCK, block_of(&space->part, i), next + i,
                    space->d + i, price + i, x + i, space->y + i);
    nefk_fill_corners(space, corners, corner, x);
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

size_t nefk_approach_own(const nefk_problem *problem, nefk_tile_space *space, double floor, int known) {
    size_t last = space->searched_rows, stop = last < space->n_rows ? space->rows[last].begin : space->items;
    double *starts = space->lower_price;
    for (size_t c = 0; c < 2; c++)
        if (!space->all.step[c]) nefk_fill(NEFK_TILE, space->all.entries[c][0], space->all.entries[c]);
    find_starts(problem->shape, stop, &space->all, starts);
    nefk_tops tops = {space->top, space->less, space->from, space->to};
    size_t listed = nefk_give_to_first(problem, space, starts, stop, floor, tops), small = listed, left = 0;
    while (small && size_of(space, space->group[small - 1]) > NEFK_DEPTH) small--;
    if (small) left = approach_listed(problem, space, floor, known, starts, small);
    for (size_t k = small; k < listed; k++, left++) { /* large ones, which are narrowed */
        space->at[left] = space->at[space->group[k]];
        space->group[left] = space->group[k];
        space->curve[left] = NEFK_AIM;
    }
    spread_all(space, space->high, space->price);
    respond(problem, &space->all, stop, space->items, space->price, space->x, NULL, NULL);
    sum_groups(space, space->x, space->total);
    return left;
}
