/* Columns of items brought into buffers that stay in the first-level cache, and sums that lose no rounding error. */
#ifndef NEFK_LOAD_H
#define NEFK_LOAD_H

#include <string.h>

#include "nefk_blocks.h"
#include "nefk_kernel.h"

enum { NEFK_AHEAD = 32 }; /* items between asking memory for an entry out of order and using it */

/* Entries [start, start + m) of a column, copied into `buffer` unless they lie ready. `order` as in nefk_problem. */
static inline const double *nefk_load(const nefk_column *column, const uint32_t *order, size_t start, size_t m,
                                      double *buffer) {
    if (column->doubles && !order) return column->doubles + start;
    if (column->doubles) {
        const double *from = column->doubles;
        for (size_t i = 0; i < m; i++) {
            if (i + NEFK_AHEAD < m) __builtin_prefetch(&from[order[start + i + NEFK_AHEAD]], 0);
            buffer[i] = from[order[start + i]];
        }
    } else if (column->singles) {
        const float *from = column->singles;
        for (size_t i = 0; i < m; i++) buffer[i] = from[order ? order[start + i] : start + i];
    } else {
        for (size_t i = 0; i < m; i++) buffer[i] = column->scalar;
    }
    return buffer;
}

/* Knuth's two-sum: high + low += term without losing the rounding error. */
static inline void nefk_add(double *high, double *low, double term) {
    double sum = *high + term, part = sum - *high;
    *low += (*high - (sum - part)) + (term - part);
    *high = sum;
}

/* Write m amounts and their sides at positions [start, start + m), or at the entries that `order` names. */
static inline void nefk_store(size_t m, const uint32_t *order, size_t start, const double *x, const double *place,
                              double *doubles, float *singles, int8_t *side) {
    if (!order) {
        for (size_t i = 0; i < m; i++) side[start + i] = (int8_t)place[i];
        if (doubles) memcpy(doubles + start, x, m * sizeof *x);
        else for (size_t i = 0; i < m; i++) singles[start + i] = (float)x[i];
        return;
    }
    for (size_t i = 0; i < m; i++) {
        size_t to = order[start + i];
        side[to] = (int8_t)place[i];
        if (doubles) doubles[to] = x[i];
        else singles[to] = (float)x[i];
    }
}

#endif
