#include "nefk_group_first.h"

#include "nefk_group_starts.h"

/* Of the groups from g on. */
static nefk_tops tops_from(nefk_tops tops, size_t g) {
    return (nefk_tops){tops.start + g, tops.next + g, tops.parameter + g, tops.weight + g};
}

/* As nefk_tops, of one group's items (m,) of which several start at `top`. */
static void add_ties(int shape, size_t m, const double *starts, const double *parameter, const double *weight,
                     double top, nefk_tops to) {
    double rates = 0.0, weights = 0.0, next = 0.0;
    for (size_t i = 0; i < m; i++) {
        int is_tied = starts[i] == top;
        rates += is_tied ? parameter[i] : 0.0;
        weights = is_tied ? (shape == NEFK_FRESHNESS ? weights : 0.0) + weight[i] : weights;
        next = !is_tied & (starts[i] > next) ? starts[i] : next;
    }
    *to.parameter = rates;
    *to.weight = weights;
    *to.next = next;
}

/* The items that start first, of all groups that may need own prices; whether several of one in a row with others may
 * start at once. */
static int find_tops(int shape, const double *starts, const nefk_tile_space *space, nefk_tops tops) {
    int ties = 0;
    const double *parameter = space->all.entries[0], *weight = space->all.entries[1];
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t at = rows.begin, n = rows.last - rows.first, best = at;
        nefk_tops here = tops_from(tops, rows.first);
        if (n > 1) {
            ties |= nefk_instructions_in_use()->top_rows(shape, rows.size, n, starts + at, parameter + at, weight + at, here);
            continue;
        }
        double top = largest(starts + at, rows.size);
        while (starts[best] < top) best++;
        double before = largest(starts + at, best - at);
        double after = largest(starts + best + 1, at + rows.size - best - 1);
        *here.start = top;
        *here.next = before > after ? before : after;
        *here.parameter = parameter[best];
        *here.weight = weight[best];
        if (*here.next == top && top > 0.0)
            add_ties(shape, rows.size, starts + at, parameter + at, weight + at, top, here);
    }
    return ties;
}

/* One item that starts first takes the cap. */
static inline void take_alone(size_t n, const double *starts, const double *top, const double *caps, double *restrict x) {
    for (size_t g = 0; g < n; g++) {
        double cap = caps[g];
        x[g] = starts[g] == top[g] ? cap : 0.0;
    }
}

/* Those that start first share the cap as their rates, of which all[g] is the sum and shares[g] what a unit takes. One
 * alone takes just the cap. */
static inline void take_if_first(size_t n, const double *starts, const double *top, const double *rates,
                                 const double *all, const double *shares, const double *caps, double *restrict x) {
    for (size_t g = 0; g < n; g++) {
        double rate = rates[g], cap = caps[g], own = rate * shares[g];
        own = rate == all[g] ? cap : own;
        x[g] = starts[g] == top[g] ? own : 0.0;
    }
}

/* Slopes of those items at the caps; values are not needed. */
static void find_slopes(const nefk_problem *problem, nefk_tile_space *space, nefk_tops tops, double *slope) {
    double value[NEFK_BLOCK];
    for (size_t g = 0, groups = space->searched; g < groups; g += NEFK_BLOCK) {
        nefk_block items = {tops.parameter + g, tops.weight + g, NULL, NULL};
        nefk_instructions_in_use()->worth(problem->shape, groups - g < NEFK_BLOCK ? groups - g : NEFK_BLOCK, items,
                                          space->cap + g, value, slope + g);
    }
}

/* How far the amounts of m items of the tile are beyond their bounds. */
static void find_excess(const nefk_tile_space *space, size_t m, const double *x, double *excess) {
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        nefk_instructions_in_use()->cut(m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, block_of(&space->all, at), x + at,
                                        NULL, excess + at);
    for (size_t i = 0; i < m; i++) excess[i] = fabs(excess[i] - x[i]);
}

/* Whether the items of group g that start first, of such a slope at the cap, take it alone, unless bounds keep them. */
static inline int is_alone(const double *slope, nefk_tops tops, double floor, size_t g) {
    return (slope[g] >= tops.next[g]) & (slope[g] > floor) & (slope[g] > NEFK_NIGH) & (slope[g] < NEFK_FAR);
}

/* Whether those of some group of a row may. */
static int some_are_alone(nefk_rows rows, const double *slope, nefk_tops tops, double floor) {
    for (size_t g = rows.first; g < rows.last; g++)
        if (is_alone(slope, tops, floor, g)) return 1;
    return 0;
}

size_t nefk_give_to_first(const nefk_problem *problem, nefk_tile_space *space, const double *starts, size_t m,
                          double floor, nefk_tops tops) {
    size_t groups = space->searched, left = 0;
    double *slope = space->slope, *excess = space->total, *shares = space->more;
    const double *rates = space->all.entries[0];
    int ties = find_tops(problem->shape, starts, space, tops), bounded = nefk_has_bounds(problem);
    find_slopes(problem, space, tops, slope);
    for (size_t g = 0; g < groups; g++) shares[g] = space->cap[g] / tops.parameter[g];
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t n = rows.last - rows.first;
        if (!bounded && !some_are_alone(rows, slope, tops, floor)) continue; /* amounts are written later */
        if (n == 1) {
            double top = tops.start[rows.first], cap = space->cap[rows.first], share = shares[rows.first];
            double all = tops.parameter[rows.first];
            for (size_t i = rows.begin; i < rows.begin + rows.size; i++) {
                double own = rates[i] == all ? cap : rates[i] * share;
                space->x[i] = starts[i] == top ? own : 0.0;
            }
        }
        for (size_t j = 0; n > 1 && j < rows.size; j++) {
            size_t at = rows.begin + j * n;
            if (!ties) take_alone(n, starts + at, tops.start + rows.first, space->cap + rows.first, space->x + at);
            else take_if_first(n, starts + at, tops.start + rows.first, rates + at, tops.parameter + rows.first,
                               shares + rows.first, space->cap + rows.first, space->x + at);
        }
    }
    nefk_fill(groups, 0.0, excess);
    if (bounded) {
        find_excess(space, m, space->x, space->d);
        sum_rows(space->rows, space->searched_rows, space->d, excess);
    }
    for (size_t g = 0; g < groups; g++) {
        space->low[g] = space->high[g] = slope[g]; /* if it is not, they are found */
        space->group[left] = (uint32_t)g;
        left += !(is_alone(slope, tops, floor, g) & (excess[g] == 0.0));
    }
    return left;
}
