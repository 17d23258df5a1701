#include "nefk_kernel.h"

#include "cpu_features.h"
#include "nefk_shapes.h"

enum { LANES = 8 };

typedef struct { const double *parameter, *weight, *lower, *upper, *price; } block_input;

/* One block, one shape: x and d of m <= NEFK_BLOCK items, and their lane sums. */
NEFK_INLINE void respond_shape(int shape, int fused, size_t m, block_input in, double ceiling, double *x, double *d) {
    for (size_t i = 0; i < m; i++) {
        double amount, slope, low = in.lower[i], high = in.upper[i];
        nefk_respond(shape, in.parameter[i], in.weight[i], in.price[i], fused, &amount, &slope);
        high = high < ceiling ? high : ceiling;
        slope = (amount < high) & (amount > low) ? slope : 0.0;
        amount = amount < high ? amount : high;
        amount = amount > low ? amount : low;
        x[i] = amount;
        d[i] = slope;
    }
}

NEFK_INLINE void worth_shape(int shape, size_t m, block_input in, const double *x, double *value, double *slope) {
    for (size_t i = 0; i < m; i++)
        nefk_worth(shape, in.parameter[i], in.weight[i], x[i], &value[i], &slope[i]);
}

/* Sum of m doubles over eight lanes: the same additions in the same order everywhere. */
NEFK_INLINE double lane_sum(size_t m, const double *x) {
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= m; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += x[i + j];
    for (size_t j = 0; i < m; i++, j++) lane[j] += x[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

typedef struct {
    void (*respond)(int, size_t, block_input, double, double *, double *);
    void (*worth)(int, size_t, block_input, const double *, double *, double *);
    double (*sum)(size_t, const double *);
} instruction_set;

/* The same source compiled for one instruction set. */
#define EACH_SHAPE(CALL)                                                                                     \
    switch (shape) {                                                                                         \
        case NEFK_DETECTION: CALL(NEFK_DETECTION); break;                                                    \
        case NEFK_FRESHNESS: CALL(NEFK_FRESHNESS); break;                                                    \
        case NEFK_POISSON: CALL(NEFK_POISSON); break;                                                        \
        case NEFK_HARMONIC: CALL(NEFK_HARMONIC); break;                                                      \
        case NEFK_LOGARITHMIC: CALL(NEFK_LOGARITHMIC); break;                                                \
        case NEFK_EXPONENTIAL: CALL(NEFK_EXPONENTIAL); break;                                                \
        case NEFK_QUADRATIC: CALL(NEFK_QUADRATIC); break;                                                    \
        default: CALL(NEFK_POWER);                                                                           \
    }
#define RESPOND(SHAPE) respond_shape(SHAPE, fused, m, in, ceiling, x, d)
#define WORTH(SHAPE) worth_shape(SHAPE, m, in, x, value, slope)
#define VARIANT(NAME, TARGET, FUSED)                                                                         \
    TARGET static void respond_##NAME(int shape, size_t m, block_input in, double ceiling, double *x,        \
                                      double *d) {                                                           \
        const int fused = FUSED;                                                                             \
        EACH_SHAPE(RESPOND)                                                                                  \
    }                                                                                                        \
    TARGET static void worth_##NAME(int shape, size_t m, block_input in, const double *x, double *value,     \
                                    double *slope) {                                                         \
        EACH_SHAPE(WORTH)                                                                                    \
    }                                                                                                        \
    TARGET static double sum_##NAME(size_t m, const double *x) { return lane_sum(m, x); }

VARIANT(portable, , 0)
#if defined(__x86_64__) && defined(__GNUC__)
VARIANT(avx2, __attribute__((target("avx2,fma"))), 1)
VARIANT(avx512, __attribute__((target("avx512f,avx512dq,avx2,fma"))), 1)
#else
#define respond_avx2 respond_portable
#define worth_avx2 worth_portable
#define sum_avx2 sum_portable
#define respond_avx512 respond_portable
#define worth_avx512 worth_portable
#define sum_avx512 sum_portable
#endif

static const instruction_set SETS[] = {
    {respond_portable, worth_portable, sum_portable},
    {respond_avx2, worth_avx2, sum_avx2},
    {respond_avx512, worth_avx512, sum_avx512},
};
static int level_in_use = CPU_PORTABLE;

int nefk_use_level(int level) {
    int best = cpu_best_level();
    level_in_use = level < best ? level : best;
    return level_in_use;
}

/* Entries [start, start + m) of a column, copied into `buffer` unless they lie ready. */
static const double *load(const nefk_column *column, size_t start, size_t m, double *buffer) {
    if (column->index) {
        for (size_t i = 0; i < m; i++) buffer[i] = column->doubles[column->index[start + i]];
    } else if (column->doubles) {
        return column->doubles + start;
    } else if (column->singles) {
        for (size_t i = 0; i < m; i++) buffer[i] = column->singles[start + i];
    } else {
        for (size_t i = 0; i < m; i++) buffer[i] = column->scalar;
    }
    return buffer;
}

typedef struct { double parameter[NEFK_BLOCK], weight[NEFK_BLOCK], lower[NEFK_BLOCK], upper[NEFK_BLOCK],
                 price[NEFK_BLOCK]; } block_buffers;

static block_input load_block(const nefk_problem *problem, const nefk_column *price, size_t start, size_t m,
                              block_buffers *buffers) {
    block_input in;
    in.parameter = load(&problem->parameter, start, m, buffers->parameter);
    in.weight = load(&problem->weight, start, m, buffers->weight);
    in.lower = load(&problem->lower, start, m, buffers->lower);
    in.upper = load(&problem->upper, start, m, buffers->upper);
    in.price = load(price, start, m, buffers->price);
    return in;
}

/* Knuth's two-sum: total += term without losing the rounding error. */
static void accumulate(nefk_sum *total, double term) {
    double high = total->high + term, part = high - total->high;
    total->low += (total->high - (high - part)) + (term - part);
    total->high = high;
}

void nefk_respond_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                        double *amounts, nefk_response *response) {
    const instruction_set set = SETS[level_in_use];
    block_buffers buffers;
    double x[NEFK_BLOCK], d[NEFK_BLOCK];
    nefk_response total = {{0, 0}, {0, 0}};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = stop - at < NEFK_BLOCK ? stop - at : NEFK_BLOCK;
        block_input in = load_block(problem, price, at, m, &buffers);
        double *out = amounts ? amounts + (at - start) : x;
        set.respond(problem->shape, m, in, problem->ceiling, out, d);
        accumulate(&total.amount, set.sum(m, out));
        accumulate(&total.slope, set.sum(m, d));
    }
    *response = total;
}

/* Relative violation of the optimality conditions by one item, and the bound it sits at. */
static double violation(double x, double low, double high, double slope, double price, double scale, int8_t *side) {
    *side = x <= low ? -1 : (x >= high ? 1 : 0);
    if (low >= high) return 0.0;
    double excess = slope == price ? 0.0 : (slope - price) / scale;
    if (*side < 0) return excess > 0.0 ? excess : 0.0;
    if (*side > 0) return excess < 0.0 ? -excess : 0.0;
    return fabs(excess);
}

void nefk_audit_range(const nefk_problem *problem, const nefk_column *price, size_t start, size_t stop,
                      const double *amounts, int8_t *side, nefk_audit *audit) {
    const instruction_set set = SETS[level_in_use];
    block_buffers buffers;
    double value[NEFK_BLOCK], slope[NEFK_BLOCK];
    nefk_audit total = {{0, 0}, {0, 0}, 0, 0, 0};
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = stop - at < NEFK_BLOCK ? stop - at : NEFK_BLOCK;
        block_input in = load_block(problem, price, at, m, &buffers);
        const double *x = amounts + at;
        set.worth(problem->shape, m, in, x, value, slope);
        accumulate(&total.amount, set.sum(m, x));
        accumulate(&total.value, set.sum(m, value));
        for (size_t i = 0; i < m; i++) {
            double scale = fabs(in.price[i]);
            if (problem->shape == NEFK_QUADRATIC && in.weight[i] > scale) scale = in.weight[i];
            double bad = violation(x[i], in.lower[i], in.upper[i], slope[i], in.price[i], scale, side + at + i);
            total.residual = bad <= total.residual ? total.residual : bad; /* a NaN stays */
            total.at_lower += side[at + i] < 0;
            total.at_upper += side[at + i] > 0;
        }
    }
    *audit = total;
}

void nefk_worth_range(const nefk_problem *problem, size_t start, size_t stop, const double *amounts,
                      double *value, double *slope) {
    const nefk_column free_of_charge = {0};
    block_buffers buffers;
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = stop - at < NEFK_BLOCK ? stop - at : NEFK_BLOCK;
        block_input in = load_block(problem, &free_of_charge, at, m, &buffers);
        SETS[level_in_use].worth(problem->shape, m, in, amounts + at, value + at, slope + at);
    }
}
