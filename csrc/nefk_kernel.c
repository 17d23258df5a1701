#include "nefk_kernel.h"

#include <math.h>

#include "nefk_blocks.h"

typedef struct { double parameter[NEFK_BLOCK], weight[NEFK_BLOCK], lower[NEFK_BLOCK], upper[NEFK_BLOCK]; } buffers;

enum { AHEAD = 24 }; /* items between asking memory for a group's entry and using it */

static size_t block_size(size_t at, size_t stop) { return stop - at < NEFK_BLOCK ? stop - at : NEFK_BLOCK; }

/* Entries [start, start + m) of a column, copied into `buffer` unless they lie ready. */
static const double *load(const nefk_column *column, size_t start, size_t m, double *buffer) {
    if (column->index) {
        for (size_t i = 0; i < m; i++) {
            if (i + AHEAD < m) __builtin_prefetch(&column->table[column->index[start + i + AHEAD]], 0);
            buffer[i] = column->table[column->index[start + i]];
        }
    } else if (column->doubles) {
        return column->doubles + start;
    } else if (column->singles) {
        for (size_t i = 0; i < m; i++) buffer[i] = column->singles[start + i];
    } else {
        for (size_t i = 0; i < m; i++) buffer[i] = column->scalar;
    }
    return buffer;
}

static nefk_block load_block(const nefk_problem *problem, size_t start, size_t m, buffers *space) {
    nefk_block items;
    items.parameter = load(&problem->parameter, start, m, space->parameter);
    items.weight = load(&problem->weight, start, m, space->weight);
    items.lower = load(&problem->lower, start, m, space->lower);
    items.upper = load(&problem->upper, start, m, space->upper);
    return items;
}

/* Knuth's two-sum: high + low += term without losing the rounding error. */
static inline void add(double *high, double *low, double term) {
    double sum = *high + term, part = sum - *high;
    *low += (*high - (sum - part)) + (term - part);
    *high = sum;
}

static void add_to_groups(const ptrdiff_t *group, size_t m, const double *x, const double *d, nefk_group_sum *groups) {
    for (size_t i = 0; i < m; i++) {
        if (i + AHEAD < m) __builtin_prefetch(&groups[group[i + AHEAD]], 1);
        nefk_group_sum *sum = &groups[group[i]];
        add(&sum->high, &sum->low, x[i]);
        sum->slope += d[i];
    }
}

void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                        double *amounts, nefk_group_sum *groups, nefk_response *response) {
    const nefk_instructions *use = nefk_instructions_in_use();
    buffers space;
    double prices[NEFK_BLOCK], x[NEFK_BLOCK], d[NEFK_BLOCK];
    nefk_response total = {{0, 0}, {0, 0}};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = load_block(problem, at, m, &space);
        double *out = amounts ? amounts + at : x;
        use->respond(problem->shape, m, items, load(price, at, m, prices), problem->ceiling, out, d);
        add(&total.amount.high, &total.amount.low, use->sum(m, out));
        add(&total.slope.high, &total.slope.low, use->sum(m, d));
        if (groups) add_to_groups(problem->group + at, m, out, d, groups);
    }
    *response = total;
}

/* x := x + share * (other - x), not beyond other. */
static void blend(size_t m, const double *share, const double *other, double *x) {
    for (size_t i = 0; i < m; i++) {
        double mixed = x[i] + share[i] * (other[i] - x[i]);
        x[i] = mixed < other[i] ? mixed : other[i];
    }
}

static int differ(size_t m, const double *a, const double *b) {
    int any = 0;
    for (size_t i = 0; i < m; i++) any |= a[i] != b[i];
    return any;
}

void nefk_settle_range(const nefk_problem *problem, const nefk_prices *prices, size_t start, size_t stop,
                       double *doubles, float *singles, int8_t *side, nefk_group_sum *groups, nefk_audit *audit) {
    const nefk_instructions *use = nefk_instructions_in_use();
    buffers space;
    double lows[NEFK_BLOCK], highs[NEFK_BLOCK], shares[NEFK_BLOCK];
    double x[NEFK_BLOCK], other[NEFK_BLOCK], d[NEFK_BLOCK], value[NEFK_BLOCK], place[NEFK_BLOCK];
    nefk_audit total = {{0, 0}, {0, 0}, {0, 0}, 0};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = load_block(problem, at, m, &space);
        const double *high = load(&prices->high, at, m, highs), *low = load(&prices->low, at, m, lows);
        double *out = doubles ? doubles + at : x;
        use->respond(problem->shape, m, items, high, problem->ceiling, out, d);
        if (differ(m, low, high)) {
            use->respond(problem->shape, m, items, low, problem->ceiling, other, value);
            blend(m, load(&prices->share, at, m, shares), other, out);
        }
        double bad = use->audit(problem->shape, m, items, high, out, value, place);
        total.residual = bad <= total.residual ? total.residual : bad; /* a NaN stays */
        add(&total.amount.high, &total.amount.low, use->sum(m, out));
        add(&total.slope.high, &total.slope.low, use->sum(m, d));
        add(&total.value.high, &total.value.low, use->sum(m, value));
        if (groups) add_to_groups(problem->group + at, m, out, d, groups);
        for (size_t i = 0; i < m; i++) side[at + i] = (int8_t)place[i];
        if (singles)
            for (size_t i = 0; i < m; i++) singles[at + i] = (float)out[i];
    }
    *audit = total;
}

static void fill(size_t m, double *x, double value) {
    for (size_t i = 0; i < m; i++) x[i] = value;
}

size_t nefk_narrow_range(const nefk_problem *problem, double low, double high, double width, double tolerance,
                         size_t start, size_t stop, ptrdiff_t *rough, size_t room,
                         nefk_response *at_low, nefk_response *at_high) {
    const nefk_instructions *use = nefk_instructions_in_use();
    buffers space;
    double lows[NEFK_BLOCK], highs[NEFK_BLOCK], more[NEFK_BLOCK], less[NEFK_BLOCK];
    double more_slope[NEFK_BLOCK], less_slope[NEFK_BLOCK], error[NEFK_BLOCK];
    nefk_response a = {{0, 0}, {0, 0}}, b = {{0, 0}, {0, 0}};
    size_t count = 0;
    fill(NEFK_BLOCK, lows, low);
    fill(NEFK_BLOCK, highs, high);
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = load_block(problem, at, m, &space);
        use->respond(problem->shape, m, items, lows, problem->ceiling, more, more_slope);
        use->respond(problem->shape, m, items, highs, problem->ceiling, less, less_slope);
        for (size_t i = 0; i < m; i++) {
            double drop = more[i] - less[i], straight = 0.5 * width * (more_slope[i] + less_slope[i]);
            error[i] = fabs(drop - straight) - tolerance * more[i];
        }
        for (size_t i = 0; i < m; i++) {
            if (!(error[i] > 0.0)) continue;
            if (count < room) rough[count] = (ptrdiff_t)(at + i);
            count++;
            more[i] = less[i] = more_slope[i] = less_slope[i] = 0.0;
        }
        add(&a.amount.high, &a.amount.low, use->sum(m, more));
        add(&a.slope.high, &a.slope.low, use->sum(m, more_slope));
        add(&b.amount.high, &b.amount.low, use->sum(m, less));
        add(&b.slope.high, &b.slope.low, use->sum(m, less_slope));
    }
    *at_low = a;
    *at_high = b;
    return count;
}

void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                      double *value, double *slope) {
    buffers space;
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = load_block(problem, at, m, &space);
        nefk_instructions_in_use()->worth(problem->shape, m, items, amounts + at, value + at, slope + at);
    }
}

size_t nefk_bounds_range(const nefk_problem *problem, size_t start, size_t stop, nefk_group_sum *groups,
                         nefk_sum *lower, nefk_sum *upper) {
    buffers space;
    nefk_sum low = {0, 0}, high = {0, 0};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = load_block(problem, at, m, &space);
        for (size_t i = 0; i < m; i++)
            if (items.lower[i] > items.upper[i]) return at + i;
        add(&low.high, &low.low, nefk_instructions_in_use()->sum(m, items.lower));
        add(&high.high, &high.low, nefk_instructions_in_use()->sum(m, items.upper));
        if (groups) add_to_groups(problem->group + at, m, items.lower, items.upper, groups);
    }
    *lower = low;
    *upper = high;
    return stop;
}
