#include "nefk_kernel.h"

#include "nefk_load.h"
#include "nefk_series.h"

enum { ADDED = 2048 /* items that are added to their groups at a time */ };

static size_t block_size(size_t at, size_t stop) { return stop - at < NEFK_BLOCK ? stop - at : NEFK_BLOCK; }

/* Exact answers of the items whose rough ones are NaN: an item's is the same whatever its neighbours. */
static void respond_beyond(const nefk_problem *problem, size_t m, nefk_block items, const double *prices, double *x,
                           double *d) {
    double exact[NEFK_BLOCK], slope[NEFK_BLOCK];
    nefk_instructions_in_use()->respond(problem->shape, m, items, prices, problem->ceiling, exact, slope, NULL);
    for (size_t i = 0; i < m; i++) {
        if (!isnan(x[i])) continue;
        x[i] = exact[i];
        d[i] = slope[i];
    }
}

void nefk_respond_each(const nefk_problem *problem, double price, size_t start, size_t stop, int roughly, double *x,
                       double *d) {
    const nefk_instructions *use = nefk_instructions_in_use();
    int halves = problem->shape == NEFK_DETECTION || problem->shape == NEFK_FRESHNESS;
    int bounded = nefk_has_bounds(problem), single = roughly && halves && price > 0.0;
    nefk_buffers space;
    space.is_filled = 0;
    double prices[NEFK_BLOCK];
    nefk_fill(NEFK_BLOCK, price, prices);
    for (size_t at = start; at < stop; at += NEFK_BLOCK, x += NEFK_BLOCK, d += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        if (!single) {
            use->respond(problem->shape, m, items, prices, problem->ceiling, x, d, NULL);
            continue;
        }
        if (use->respond_roughly(problem->shape, bounded, m, items, price, x, d)) continue;
        respond_beyond(problem, m, items, prices, x, d);
    }
}

/* Add m amounts and slopes to the pairs of their groups. */
static void add_by_group(const ptrdiff_t *group, size_t m, const double *x, const double *d, double *sums) {
    for (size_t i = 0; i < m; i++) {
        if (i + NEFK_AHEAD < m) __builtin_prefetch(&sums[2 * (group[i + NEFK_AHEAD] + 1)], 1);
        double *sum = &sums[2 * (group[i] + 1)];
        sum[0] += x[i];
        sum[1] += d[i];
    }
}

void nefk_respond_by_group(const nefk_problem *problem, const ptrdiff_t *group, size_t start, size_t count,
                           double price, double *sums) {
    double x[ADDED], d[ADDED];
    for (size_t at = 0; at < count; at += ADDED) {
        size_t m = count - at < ADDED ? count - at : ADDED;
        nefk_respond_each(problem, price, start + at, start + at + m, 1, x, d);
        add_by_group(group + at, m, x, d, sums);
    }
}

void nefk_respond_some_by_group(const nefk_problem *problem, const ptrdiff_t *group, size_t start, size_t count,
                                double price, ptrdiff_t first, ptrdiff_t last, double *sums) {
    double x[ADDED], d[ADDED];
    ptrdiff_t own[ADDED + 1];
    uint32_t listed[ADDED + 1];
    nefk_problem some = *problem;
    some.order = listed;
    for (size_t at = 0; at < count;) {
        size_t m = 0;
        for (; at < count && m < ADDED; at++) {
            listed[m] = (uint32_t)(start + at);
            own[m] = group[at];
            m += (size_t)((group[at] >= first) & (group[at] < last));
        }
        nefk_respond_each(&some, price, 0, m, 1, x, d);
        add_by_group(own, m, x, d, sums);
    }
}

void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                        double *amounts, nefk_response *response) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_buffers space;
    space.is_filled = 0;
    double prices[NEFK_BLOCK], x[NEFK_BLOCK], d[NEFK_BLOCK];
    nefk_response total = {{0, 0}, {0, 0}};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        double *out = amounts ? amounts + at : x;
        const double *own = nefk_load_column(price, NULL, at, m, at > start, prices);
        use->respond(problem->shape, m, items, own, problem->ceiling, out, d, NULL);
        nefk_add(&total.amount.high, &total.amount.low, use->sum(m, out));
        nefk_add(&total.slope.high, &total.slope.low, use->sum(m, d));
    }
    *response = total;
}

_Static_assert(NEFK_BLOCK % NEFK_SAMPLE_RUN == 0, "a block is so many runs");

/* A block's worth of runs of NEFK_SAMPLE_RUN entries, which begin at every so many from `start` on, copied side by side.
 * Returns how many entries. */
static size_t load_runs(const nefk_column *column, const uint32_t *order, size_t start, size_t stop, size_t every,
                        double *buffer) {
    size_t m = 0;
    for (size_t at = start; at < stop && m + NEFK_SAMPLE_RUN <= NEFK_BLOCK; at += every) {
        size_t count = stop - at < NEFK_SAMPLE_RUN ? stop - at : NEFK_SAMPLE_RUN;
        const double *run = nefk_load(column, order, at, count, buffer + m);
        if (run != buffer + m) memcpy(buffer + m, run, count * sizeof *run);
        m += count;
    }
    return m;
}

size_t nefk_respond_sample(const nefk_problem *problem, double price, size_t start, size_t stop, size_t every,
                           nefk_response *response) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const size_t first = (start + every - 1) / every * every, step = NEFK_BLOCK / NEFK_SAMPLE_RUN * every;
    const nefk_column *columns[] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    double entries[4][NEFK_BLOCK], prices[NEFK_BLOCK], x[NEFK_BLOCK], d[NEFK_BLOCK];
    nefk_response total = {{0, 0}, {0, 0}};
    size_t count = 0;
    nefk_fill(NEFK_BLOCK, price, prices);
    for (size_t at = first; at < stop; at += step) {
        size_t m = 0;
        for (size_t k = 0; k < 4; k++) m = load_runs(columns[k], problem->order, at, stop, every, entries[k]);
        for (size_t k = 0; k < 4 && !problem->order; k++)
            for (size_t i = 0; i < step; i += every) nefk_ask_column(columns[k], at + step + i, NEFK_SAMPLE_RUN);
        nefk_block items = {entries[0], entries[1], entries[2], entries[3]};
        use->respond(problem->shape, m, items, prices, problem->ceiling, x, d, NULL);
        nefk_add(&total.amount.high, &total.amount.low, use->sum(m, x));
        nefk_add(&total.slope.high, &total.slope.low, use->sum(m, d));
        count += m;
    }
    *response = total;
    return count;
}

double nefk_blend(const nefk_problem *problem, double share, double less, double more) {
    const double of_all = 1e-99;
    double gap = more - less, mixed = less + share * gap;
    if (problem->shape == NEFK_QUADRATIC && share < of_all && gap < nefk_endless(problem->ceiling)) return less;
    return mixed < more ? mixed : more;
}

void nefk_settle_range(const nefk_problem *problem, nefk_prices prices, size_t start, size_t stop,
                       double *doubles, float *singles, int8_t *side, int streams, nefk_audit *audit) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_buffers space;
    space.is_filled = 0;
    double lows[NEFK_BLOCK], highs[NEFK_BLOCK];
    double x[NEFK_BLOCK], other[NEFK_BLOCK], value[NEFK_BLOCK], place[NEFK_BLOCK];
    nefk_audit total = {{0, 0}, {0, 0}, 0};
    nefk_fill(NEFK_BLOCK, prices.low, lows);
    nefk_fill(NEFK_BLOCK, prices.high, highs);
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        use->respond(problem->shape, m, items, highs, problem->ceiling, x, NULL, NULL);
        if (prices.low != prices.high) {
            use->respond(problem->shape, m, items, lows, problem->ceiling, other, NULL, NULL);
            for (size_t i = 0; i < m; i++) x[i] = nefk_blend(problem, prices.share, x[i], other[i]);
        }
        double bad = use->audit(problem->shape, m, items, highs, x, value, place);
        total.residual = bad <= total.residual ? total.residual : bad; /* a NaN stays */
        nefk_add(&total.amount.high, &total.amount.low, use->sum(m, x));
        nefk_add(&total.value.high, &total.value.low, use->sum(m, value));
        nefk_store(m, problem->order, at, x, place, doubles, singles, side, streams);
    }
    if (streams) nefk_end_streams();
    *audit = total;
}

static const double LEAST_SHARE = 1e-290;

void nefk_share_groups(const nefk_problem *problem, const ptrdiff_t *group, const double *table, size_t start, size_t stop,
                       double *amounts, int8_t *side, nefk_audit *audit) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_buffers space;
    space.is_filled = 0;
    double x[NEFK_BLOCK], price[NEFK_BLOCK], value[NEFK_BLOCK], place[NEFK_BLOCK];
    nefk_audit total = {{0, 0}, {0, 0}, 0};
    int is_inverse = problem->shape == NEFK_EXPONENTIAL, is_lost = 0;
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        const ptrdiff_t *own = group + (at - start);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        for (size_t i = 0; i < m; i++) {
            if (at + i + NEFK_AHEAD < stop) __builtin_prefetch(&table[2 * (own[i + NEFK_AHEAD] + 1)], 0);
            const double *pair = &table[2 * (own[i] + 1)];
            double part = is_inverse ? pair[0] / items.parameter[i] : pair[0] * items.parameter[i];
            x[i] = pair[0] == pair[0] ? part : amounts[at + i];
            price[i] = pair[1];
            is_lost |= (pair[0] > 0.0) & (items.parameter[i] > 0.0) & !(part >= LEAST_SHARE);
        }
        double bad = use->audit(problem->shape, m, items, price, x, value, place);
        total.residual = bad <= total.residual ? total.residual : bad; /* a NaN stays */
        nefk_add(&total.amount.high, &total.amount.low, use->sum(m, x));
        nefk_add(&total.value.high, &total.value.low, use->sum(m, value));
        nefk_store(m, NULL, at, x, place, amounts, NULL, side, 0);
    }
    if (is_lost) total.residual = INFINITY;
    *audit = total;
}

/* Add the items, from `at` on, whose marks are not 0 to a list of `count`, with room for `room` and one more; returns how
 * many there would be with all. */
static size_t list_marked(size_t m, const double *marks, size_t at, ptrdiff_t *list, size_t room, size_t count) {
    for (size_t i = 0; i < m; i += 8) {
        const double *a = marks + i;
        if (i + 8 <= m && ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7])) == 0.0) continue;
        for (size_t j = i; j < m && j < i + 8; j++) { /* no branch: they come at random */
            list[count < room ? count : room] = (ptrdiff_t)(at + j);
            count += marks[j] != 0.0;
        }
    }
    return count;
}

size_t nefk_expand_range(const nefk_problem *problem, double price, double half, double tolerance, size_t start,
                         size_t stop, ptrdiff_t *rough, size_t room, nefk_series_sum *sums) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_buffers space;
    space.is_filled = 0;
    double c[NEFK_TERMS][NEFK_BLOCK], is_rough[NEFK_BLOCK];
    nefk_series_sum total = {{{0, 0}}};
    size_t count = 0;
    int bounded = nefk_has_bounds(problem);
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        use->expand(problem->shape, bounded, m, items, price, half, tolerance, problem->ceiling, c, is_rough);
        for (size_t k = 0; k < NEFK_TERMS; k++)
            nefk_add(&total.term[k].high, &total.term[k].low, use->sum(m, c[k]));
        count = list_marked(m, is_rough, at, rough, room, count);
    }
    *sums = total;
    return count;
}

size_t nefk_list_free(const nefk_problem *problem, double price, int at_lower, size_t start, size_t stop, ptrdiff_t *list,
                      size_t room, nefk_sum *all, nefk_sum *held) {
    const nefk_instructions *use = nefk_instructions_in_use();
    nefk_buffers space;
    space.is_filled = 0;
    double prices[NEFK_BLOCK], x[NEFK_BLOCK], is_free[NEFK_BLOCK];
    nefk_sum total = {0, 0}, stays = {0, 0};
    size_t count = 0;
    nefk_fill(NEFK_BLOCK, price, prices);
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        use->respond(problem->shape, m, items, prices, problem->ceiling, x, NULL, NULL);
        nefk_add(&total.high, &total.low, use->sum(m, x));
        for (size_t i = 0; i < m; i++) {
            int is_held = at_lower ? x[i] <= items.lower[i] : x[i] >= items.upper[i];
            is_free[i] = is_held ? 0.0 : 1.0;
            x[i] = is_held ? x[i] : 0.0;
        }
        nefk_add(&stays.high, &stays.low, use->sum(m, x));
        count = list_marked(m, is_free, at, list, room, count);
    }
    *all = total;
    *held = stays;
    return count;
}

void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                      double *value, double *slope) {
    nefk_buffers space;
    space.is_filled = 0;
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        nefk_instructions_in_use()->worth(problem->shape, m, items, amounts + at, value + at, slope + at);
    }
}

size_t nefk_bounds_range(const nefk_problem *problem, size_t start, size_t stop, nefk_sum *lower, nefk_sum *upper) {
    nefk_buffers space;
    space.is_filled = 0;
    nefk_sum low = {0, 0}, high = {0, 0};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = block_size(at, stop);
        nefk_block items = nefk_load_block(problem, at, m, &space);
        for (size_t i = 0; i < m; i++)
            if (items.lower[i] > items.upper[i]) return at + i;
        nefk_add(&low.high, &low.low, nefk_instructions_in_use()->sum(m, items.lower));
        nefk_add(&high.high, &high.low, nefk_instructions_in_use()->sum(m, items.upper));
    }
    *lower = low;
    *upper = high;
    return stop;
}
