/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_group_lanes.h"

#include "every_width.h"
#include "nefk_group_approach.h"

enum { ROUNDS = 3, ROUNDS_OF_FEW = 2 /* items */, MORE_ROUNDS = 5 /* of groups that were not near */, TIMES = 2 };
static const float NEAR = 3e-3f, NEAR_OF_FEW = 1e-2f; /* relative gaps after which Halley's next is small enough */
static const double ROUNDED = 1e-6; /* more than single precision is off, relatively */

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
