/* Deadlines in ticks: what both queues (deadline_tree.h, deadline_queue.h) hold.
 *
 * A deadline is a 64-bit tick with 32 more fractional bits, modulo 2^64: advanced k times by the same
 * period it is exact, so nothing drifts. Deadlines in one queue lie within 2^63 ticks of each other.
 */
#ifndef KNAPSOLVE_DEADLINE_H
#define KNAPSOLVE_DEADLINE_H

#include <math.h>
#include <stdint.h>

typedef struct {
    uint64_t tick;
    uint32_t fraction;
    int32_t next; /* calendar: next entry of the same bucket, DEADLINE_END or DEADLINE_ABSENT */
} deadline_entry;

enum { DEADLINE_END = -1, DEADLINE_ABSENT = -2 };

/* The longest delay: 2^62 ticks, or 2^42 mean gaps. Anything later waits as long as that. */
#define DEADLINE_LONGEST ((uint64_t)1 << 62)
/* There are 2^DEADLINE_GAP_BITS ticks or more in a mean gap between polls. */
#define DEADLINE_GAP_BITS 20

/* Ticks in a unit of time, a power of two so that periods convert exactly, for `rate` polls a unit of time. */
static inline double deadline_scale(double rate)
{
    int exponent;
    frexp(rate, &exponent); /* 2^(exponent - 1) <= rate < 2^exponent */
    return ldexp(1.0, DEADLINE_GAP_BITS + exponent);
}

/* Advance by `ticks`: the whole ones, and 32 bits of the rest with their carry. */
static inline void deadline_advance(deadline_entry *e, double ticks)
{
    if (!(ticks < (double)DEADLINE_LONGEST)) {
        e->tick += DEADLINE_LONGEST;
        return;
    }
    int64_t whole = (int64_t)ticks;
    uint64_t rest = (uint64_t)e->fraction + (uint64_t)(int64_t)((ticks - (double)whole) * 4294967296.0);
    e->tick += (uint64_t)whole + (rest >> 32);
    e->fraction = (uint32_t)rest;
}

/* Whether item i comes before item j: by tick, fraction, then index. */
static inline int deadline_before(const deadline_entry *entry, int32_t i, int32_t j)
{
    int64_t apart = (int64_t)(entry[i].tick - entry[j].tick);
    if (apart) return apart < 0;
    if (entry[i].fraction != entry[j].fraction) return entry[i].fraction < entry[j].fraction;
    return i < j;
}

#endif
