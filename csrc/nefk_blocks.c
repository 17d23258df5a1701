/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_blocks.h"

#include "cpu_level.h"
#include "nefk_block_loops.h"

#define NAME(function) function##_narrow
#define WIDTH 2
#define TARGET
#include "nefk_row_lanes.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define NAME(function) function##_wide
#define WIDTH 4
#define TARGET __attribute__((target("avx2,fma")))
#include "nefk_row_lanes.h"
#endif

#define RESPOND(SHAPE)                                                                                       \
    if (c && (SHAPE == NEFK_DETECTION || SHAPE == NEFK_FRESHNESS))                                           \
        respond_shape(SHAPE, fused, m, items, price, ceiling, x, d, c, 2);                                   \
    else if (d) respond_shape(SHAPE, fused, m, items, price, ceiling, x, d, c, 1);                           \
    else respond_shape(SHAPE, fused, m, items, price, ceiling, x, d, c, 0);                                  \
    break
#define EXPAND(SHAPE)                                                                                        \
    if (!bounded && (SHAPE == NEFK_DETECTION || SHAPE == NEFK_FRESHNESS))                                    \
        expand_shape(SHAPE, 0, fused, m, items, price, half, tolerance, ceiling, c, rough);                  \
    else expand_shape(SHAPE, 1, fused, m, items, price, half, tolerance, ceiling, c, rough);                 \
    break
#define WORTH(SHAPE) worth_shape(SHAPE, m, items, x, value, slope); break
#define AUDIT(SHAPE)                                                                                         \
    if (is_one) return audit_shape(SHAPE, m, items, price, 0, x, value, side);                               \
    return audit_shape(SHAPE, m, items, price, 1, x, value, side)
#define ADVANCE(SHAPE) advance_shape(SHAPE, 0, m, at, tolerance, near, at.low, at.high, at.more, at.less, at.price,    \
                                     at.met);                                                                \
    break

#define SEARCH_ROWS(SHAPE)                                                                                   \
    if (SHAPE == NEFK_DETECTION || SHAPE == NEFK_FRESHNESS) return 0; /* other ways lead there */            \
    return search_lanes(SHAPE, fused, m, n, items, ceiling, rounds, at, tolerance, near)
#define STARTS(SHAPE) starts_shape(SHAPE, m, items, starts); break
#define FOLLOW(SHAPE) follow_shape(SHAPE, m, items, next, d, price, x, c); break

#define COMPILED_FOR(SET, LANES, TARGET, FUSED)                                                              \
    TARGET static void respond_##SET(int shape, size_t m, nefk_block items, const double *price,             \
                                     double ceiling, double *x, double *d, double *c) {                      \
        const int fused = FUSED;                                                                             \
        NEFK_EACH_SHAPE(RESPOND)                                                                                  \
    }                                                                                                        \
    TARGET static int respond_roughly_##SET(int shape, int bounded, size_t m, nefk_block items, double price, \
                                            double *x, double *d) {                                          \
        const int fused = FUSED, kind = shape == NEFK_FRESHNESS;                                             \
        if (kind && bounded) return respond_shape_roughly(NEFK_FRESHNESS, 1, fused, m, items, price, x, d);  \
        if (kind) return respond_shape_roughly(NEFK_FRESHNESS, 0, fused, m, items, price, x, d);             \
        if (bounded) return respond_shape_roughly(NEFK_DETECTION, 1, fused, m, items, price, x, d);          \
        return respond_shape_roughly(NEFK_DETECTION, 0, fused, m, items, price, x, d);                       \
    }                                                                                                        \
    TARGET static void expand_##SET(int shape, int bounded, size_t m, nefk_block items, double price,        \
                                    double half, double tolerance, double ceiling, double c[][NEFK_BLOCK], double *rough) { \
        const int fused = FUSED;                                                                             \
        NEFK_EACH_SHAPE(EXPAND)                                                                              \
    }                                                                                                        \
    TARGET static void worth_##SET(int shape, size_t m, nefk_block items, const double *x, double *value,    \
                                   double *slope) {                                                          \
        NEFK_EACH_SHAPE(WORTH)                                                                                    \
    }                                                                                                        \
    TARGET static double audit_##SET(int shape, size_t m, nefk_block items, const double *price,             \
                                     const double *x, double *value, double *side) {                         \
        size_t same = 0;                                                                                     \
        for (size_t i = 0; i < m; i++) same += price[i] == price[0];                                         \
        const int is_one = same == m;                                                                        \
        NEFK_EACH_SHAPE(AUDIT)                                                                                    \
    }                                                                                                        \
    TARGET static void advance_##SET(int shape, size_t m, nefk_rounds at, double tolerance, double near) {   \
        NEFK_EACH_SHAPE(ADVANCE)                                                                             \
    }                                                                                                        \
    TARGET static size_t search_rows_##SET(int shape, size_t m, size_t n, nefk_table items, double ceiling,  \
                                           size_t rounds, nefk_rounds at, double tolerance, double near) {   \
        const int fused = FUSED;                                                                             \
        NEFK_EACH_SHAPE(SEARCH_ROWS)                                                                         \
    }                                                                                                        \
    TARGET static void approach_##SET(size_t m, nefk_lanes *items, int bounded, int steered, size_t rounds, float *low, \
                                      float *high, float *price, float *gap) {                               \
        if (bounded) nefk_approach_lanes(m, items, 1, 1, rounds, low, high, price, gap);                     \
        else if (steered) nefk_approach_lanes(m, items, 0, 1, rounds, low, high, price, gap);                \
        else nefk_approach_lanes(m, items, 0, 0, rounds, low, high, price, gap);                             \
    }                                                                                                        \
    TARGET static void load_rows_##SET(size_t m, size_t n, nefk_row_columns from, nefk_units units,          \
                                       nefk_lanes *items) {                                                  \
        nefk_load_rows(m, n, from, units, items);                                                            \
    }                                                                                                        \
    TARGET static void cut_##SET(size_t m, nefk_block items, const double *x, const double *of, double *to) { \
        if (of) cut_others(m, items, x, of, to);                                                             \
        else cut_amounts(m, items, x, to);                                                                   \
    }                                                                                                        \
    TARGET static void follow_##SET(int shape, size_t m, nefk_block items, const double *next, const double *d, \
                                    double *price, double *x, double *c) {                                   \
        NEFK_EACH_SHAPE(FOLLOW)                                                                              \
    }                                                                                                        \
    TARGET static double sum_##SET(size_t m, const double *x) { return lane_sum(m, x); }                     \
    TARGET static void starts_##SET(int shape, size_t m, nefk_block items, double *starts) {                 \
        NEFK_EACH_SHAPE(STARTS)                                                                              \
    }                                                                                                        \
    TARGET static void add_rows_##SET(size_t m, size_t n, const double *x, double *sum) {                    \
        for (size_t i = 0; i < n; i += NEFK_ROW_LANES) add_lanes_##LANES(m, n, x + i, sum + i);              \
    }                                                                                                        \
    TARGET static int top_rows_##SET(int shape, size_t m, size_t n, const double *starts,                    \
                                     const double *parameter, const double *weight, nefk_tops to) {          \
        int ties = 0;                                                                                        \
        for (size_t i = 0; i < n; i += NEFK_ROW_LANES)                                                       \
            ties |= top_lanes_##LANES(shape, m, n, starts + i, parameter + i, weight + i, to, i);            \
        return ties;                                                                                         \
    }                                                                                                        \
    TARGET static void find_neighbours_##SET(size_t m, size_t n, const double *price, nefk_row_answers items, \
                                             nefk_neighbours *to) {                                          \
        find_lanes_##LANES(m, n, price, items, to);                                                          \
    }

COMPILED_FOR(portable, narrow, , 0)
#if defined(__x86_64__) && defined(__GNUC__)
COMPILED_FOR(avx2, wide, __attribute__((target("avx2,fma"))), 1)
COMPILED_FOR(avx512, wide, __attribute__((target("avx512f,avx512dq,avx2,fma"))), 1)
#endif

static const nefk_instructions SETS[] = {
    {respond_portable, respond_roughly_portable, expand_portable, worth_portable, audit_portable, sum_portable, advance_portable,
     search_rows_portable, approach_portable, load_rows_portable, follow_portable, cut_portable, starts_portable,
     add_rows_portable, top_rows_portable, find_neighbours_portable},
#if defined(__x86_64__) && defined(__GNUC__)
    {respond_avx2, respond_roughly_avx2, expand_avx2, worth_avx2, audit_avx2, sum_avx2, advance_avx2,
     search_rows_avx2, approach_avx2, load_rows_avx2, follow_avx2, cut_avx2, starts_avx2,
     add_rows_avx2, top_rows_avx2, find_neighbours_avx2},
    {respond_avx512, respond_roughly_avx512, expand_avx512, worth_avx512, audit_avx512, sum_avx512, advance_avx512,
     search_rows_avx512, approach_avx512, load_rows_avx512, follow_avx512, cut_avx512, starts_avx512,
     add_rows_avx512, top_rows_avx512, find_neighbours_avx512},
#endif
};
static int level_in_use = CPU_PORTABLE;

const nefk_instructions *nefk_instructions_in_use(void) { return &SETS[level_in_use]; }

int nefk_use_level(int level) {
    int best = cpu_level();
    level_in_use = level < CPU_PORTABLE ? CPU_PORTABLE : (level < best ? level : best);
    return level_in_use;
}
