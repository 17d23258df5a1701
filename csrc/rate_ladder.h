/* Rate ladder: the item of the largest index, in time that does not depend on how many items there are.
 *
 * The index of an item is c(L) G(L * age) with its rate L, c of renewal_filter.h and G of renewal_gain.h. Among
 * items of one rate the oldest comes first. So rates are rounded to rungs, eight an octave (within 6% of the rate,
 * which moves an item's turn by less than that), and each rung is a queue: a polled item, of age 0, goes to the tail.
 * Only heads compete. Their indices are followed along tangents, which are drawn anew after every n/128 units of time
 * (polls of the whole budget, by the clock of renewal_filter.h); above RUNG_FAST, where that is long against 1/L, they
 * are computed at each poll.
 * Items that were never polled have a queue of their own, whose rate is the optimistic pooled one of the moment.
 *
 * Invariant   within a queue `last` ascends; every item is in one queue, but for the one taken and not yet put back.
 * Order       by index, up to the rounding of rates, what tangents are off by (3% of the index at most where
 *             activity is even) and one part in 2^42; then lower rungs, then the longest waiting.
 * Complexity  take and put: O(rungs in use), some 64 to 100, eight at a time; O(1) of n.
 * Memory      4 bytes an item, allocated by the caller, and 15 kB.
 */
#ifndef KNAPSOLVE_RATE_LADDER_H
#define KNAPSOLVE_RATE_LADDER_H

#include "renewal_filter.h"

enum {
    RUNG_BITS = 3,                /* 2^3 rungs an octave */
    RUNG_LOWEST = -24,            /* rungs span 2^-24 B to 2^24 B */
    RUNGS = 48 << RUNG_BITS,      /* a multiple of 8; queue RUNGS holds the never polled */
    RUNG_FAST = 27 << RUNG_BITS,  /* from 8 B on */
    RUNG_LIVES = 128,
    RUNG_END = -1,
};

typedef struct {
    renewal_item *item;
    int32_t *next; /* (n,) */
    int64_t n;
    double balance;
    double share;     /* B: polls per item and unit of time */
    double worth;     /* of a unit of fresh time, when the tangents were drawn */
    double drawn;     /* when the tangents were drawn */
    double redrawn_after;
    int64_t low, high; /* rungs in use lie in [low, high), multiples of 8 */
    int32_t head[RUNGS + 1];
    int32_t tail[RUNGS + 1];
    double rate[RUNGS];
    double slowness[RUNGS]; /* 1 / rate */
    double since[RUNGS]; /* when the head was polled last; +infinity if there is none */
    double value[RUNGS]; /* index of the head when the tangents were drawn, -1 if there is none */
    double slope[RUNGS];
} rate_ladder;

/* An empty ladder, at the pooled rate P. */
void ladder_init(rate_ladder *ladder, renewal_item *item, int32_t *next, int64_t n, double balance, double share,
                 double pooled);

/* Put an item at the tail of its rung; `now` is the time. */
void ladder_put(rate_ladder *ladder, int32_t item, double now);

/* Take the item of the largest index at `now`, with the pooled rate P; RUNG_END if there is none. */
int32_t ladder_take(rate_ladder *ladder, double now, double pooled);

#endif
