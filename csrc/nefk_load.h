/* Columns of items brought into buffers that stay in the first-level cache, and sums that lose no rounding error. */
#ifndef NEFK_LOAD_H
#define NEFK_LOAD_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif
#include <string.h>

#include "nefk_blocks.h"
#include "nefk_kernel.h"

enum { NEFK_AHEAD = 32 };     /* items between asking memory for an entry out of order and using it */
enum { NEFK_IN_ORDER = 256 }; /* in order, in a loop that goes to many other places, among which processors see none */
enum { NEFK_FIRST = 64 };     /* entries of the next block: each is a page, which processors turn to late */

/* Entries of one width that lie side by side; of width 0 where there is nothing to ask for. */
typedef struct { uintptr_t from; size_t width; } nefk_entries;

/* Ask memory for entry k, perhaps beyond the ends, which is no matter. */
static inline void nefk_ask(nefk_entries entries, size_t k) {
    if (entries.width) __builtin_prefetch((const void *)(entries.from + entries.width * k));
}

/* Those of a column, unless it is a scalar or its entries lie in another order. */
static inline nefk_entries nefk_entries_of(const nefk_column *column) {
    nefk_entries entries = {column->doubles ? (uintptr_t)column->doubles : (uintptr_t)column->singles,
                            column->doubles ? sizeof(double) : sizeof(float)};
    if (!entries.from || column->place) entries.width = 0;
    return entries;
}

static inline void nefk_fill(size_t m, double value, double *to) {
    for (size_t i = 0; i < m; i++) to[i] = value;
}

/* Where entry k of a problem's column is in its arrays. */
static inline size_t nefk_place_of(const nefk_column *column, const uint32_t *order, size_t k) {
    size_t entry = order ? order[k] : k;
    return column->place ? column->place[entry] : entry;
}

/* Whether m entries seem to lie so close by each other, in order, that memory need not be asked for them. */
static inline int nefk_is_dense(const uint32_t *order, size_t m) {
    enum { CLOSE = 8 };
    return m && order[m - 1] - order[0] < CLOSE * m;
}

/* Entries [start, start + m) of a column, copied into `buffer` unless they lie ready. `order` as in nefk_problem. */
static inline const double *nefk_load(const nefk_column *column, const uint32_t *order, size_t start, size_t m,
                                      double *buffer) {
    if (column->place && (column->doubles || column->singles)) {
        for (size_t i = 0; i < m; i++) {
            size_t ahead = nefk_place_of(column, order, start + (i + NEFK_AHEAD < m ? i + NEFK_AHEAD : i));
            size_t at = nefk_place_of(column, order, start + i);
            if (column->doubles) __builtin_prefetch(&column->doubles[ahead], 0);
            buffer[i] = column->doubles ? column->doubles[at] : column->singles[at];
        }
        return buffer;
    }
    if (column->doubles && !order) return column->doubles + start;
    if (column->doubles) {
        const double *from = column->doubles;
        const uint32_t *at = order + start;
        size_t asked = nefk_is_dense(at, m) || m < NEFK_AHEAD ? 0 : m - NEFK_AHEAD, i = 0;
        for (; i < asked; i++) {
            __builtin_prefetch(&from[at[i + NEFK_AHEAD]], 0);
            buffer[i] = from[at[i]];
        }
        for (; i < m; i++) buffer[i] = from[at[i]];
    } else if (column->singles) {
        const float *from = column->singles;
        for (size_t i = 0; i < m; i++) buffer[i] = from[order ? order[start + i] : start + i];
    } else {
        nefk_fill(m, column->scalar, buffer);
    }
    return buffer;
}

/* Knuth's two-sum: high + low += term without losing the rounding error. */
static inline void nefk_add(double *high, double *low, double term) {
    double sum = *high + term, part = sum - *high;
    *low += (*high - (sum - part)) + (term - part);
    *high = sum;
}

/* Copy m doubles past the caches, for arrays that none of them would keep. */
static inline void nefk_stream(size_t m, const double *x, double *to) {
#ifdef __SSE2__
    size_t i = 0;
    for (; i < m && (uintptr_t)(to + i) % 16; i++) to[i] = x[i];
    for (; i + 2 <= m; i += 2) _mm_stream_pd(to + i, _mm_loadu_pd(x + i));
    for (; i < m; i++) to[i] = x[i];
#else
    memcpy(to, x, m * sizeof *x);
#endif
}

static inline void nefk_end_streams(void) {
#ifdef __SSE2__
    _mm_sfence(); /* before another thread reads */
#endif
}

/* Write m amounts, and their sides unless that is NULL, at positions [start, start + m), or amounts alone at the entries
 * that `order` names. `streams`: past the caches, to be ended by nefk_end_streams. */
static inline void nefk_store(size_t m, const uint32_t *order, size_t start, const double *x, const double *place,
                              double *doubles, float *singles, int8_t *side, int streams) {
    if (!order) {
        for (size_t i = 0; side && i < m; i++) side[start + i] = (int8_t)place[i];
        if (doubles && streams) nefk_stream(m, x, doubles + start);
        else if (doubles) memcpy(doubles + start, x, m * sizeof *x);
        else for (size_t i = 0; i < m; i++) singles[start + i] = (float)x[i];
        return;
    }
    const uint32_t *at = order + start;
    size_t asked = !doubles || nefk_is_dense(at, m) || m < NEFK_AHEAD ? 0 : m - NEFK_AHEAD, i = 0;
    for (; i < asked; i++) {
        __builtin_prefetch(&doubles[at[i + NEFK_AHEAD]], 1);
        doubles[at[i]] = x[i];
    }
    for (; i < m && doubles; i++) doubles[at[i]] = x[i];
    for (; i < m; i++) singles[at[i]] = (float)x[i];
}

/* Room for blocks of the columns; those that are one number for all items are filled by the first block. */
typedef struct {
    double parameter[NEFK_BLOCK], weight[NEFK_BLOCK], lower[NEFK_BLOCK], upper[NEFK_BLOCK];
    int is_filled;
} nefk_buffers;

static inline const double *nefk_load_column(const nefk_column *column, const uint32_t *order, size_t start, size_t m,
                                 int is_filled, double *buffer) {
    if (column->doubles || column->singles) return nefk_load(column, order, start, m, buffer);
    if (!is_filled) nefk_fill(NEFK_BLOCK, column->scalar, buffer);
    return buffer;
}

/* Ask memory for `count` entries of a column from `start` on. */
static inline void nefk_ask_column(const nefk_column *column, size_t start, size_t count) {
    const size_t by_line = 64 / sizeof(double);
    nefk_entries entries = nefk_entries_of(column);
    for (size_t i = 0; i < count; i += by_line) nefk_ask(entries, start + i);
}

/* Items start .. start + m of a problem. */
static inline nefk_block nefk_load_block(const nefk_problem *problem, size_t start, size_t m, nefk_buffers *space) {
    const nefk_column *columns[] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    nefk_block items;
    for (size_t c = 0; c < 4 && !problem->order; c++) nefk_ask_column(columns[c], start + m, NEFK_FIRST);
    items.parameter = nefk_load_column(&problem->parameter, problem->order, start, m, space->is_filled, space->parameter);
    items.weight = nefk_load_column(&problem->weight, problem->order, start, m, space->is_filled, space->weight);
    items.lower = nefk_load_column(&problem->lower, problem->order, start, m, space->is_filled, space->lower);
    items.upper = nefk_load_column(&problem->upper, problem->order, start, m, space->is_filled, space->upper);
    space->is_filled = 1;
    return items;
}

/* Sum of m doubles. */
static inline double nefk_sum_all(const double *x, size_t m) {
    double high = 0.0, low = 0.0;
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        nefk_add(&high, &low, nefk_instructions_in_use()->sum(m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, x + at));
    return high + low;
}

#endif
