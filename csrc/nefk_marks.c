#include "nefk_marks.h"

#include "every_width.h"
#include "nefk_shapes.h"

enum { WORD = 64 /* bits */ };

/* Of up to WORD items; a count that is constant lets compilers take several at once. */
NEFK_INLINE uint64_t word_of(size_t count, const double *weight, const double *rate, double price) {
    uint64_t marks = 0;
    for (size_t i = 0; i < count; i++) marks |= (uint64_t)(weight[i] > rate[i] * price) << i;
    return marks;
}

NEFK_INLINE void mark_started(const nefk_problem *problem, double price, size_t start, size_t stop, uint64_t *marks) {
    nefk_buffers space;
    space.is_filled = 0;
    const nefk_column one = {.scalar = 1.0}, *by = problem->shape == NEFK_DETECTION ? &one : &problem->parameter;
    for (size_t at = start; at < stop; at += NEFK_BLOCK) {
        size_t m = stop - at < NEFK_BLOCK ? stop - at : NEFK_BLOCK, i = 0;
        const double *rate = nefk_load_column(by, problem->order, at, m, space.is_filled, space.parameter);
        const double *weight = nefk_load_column(&problem->weight, problem->order, at, m, space.is_filled, space.weight);
        space.is_filled = 1;
        for (; i + WORD <= m; i += WORD) *marks++ = word_of(WORD, weight + i, rate + i, price);
        if (i < m) *marks++ = word_of(m - i, weight + i, rate + i, price);
    }
}

AT_EVERY_WIDTH(void, nefk_mark_started, mark_started,
               (const nefk_problem *problem, double price, size_t start, size_t stop, uint64_t *marks),
               (problem, price, start, stop, marks))
