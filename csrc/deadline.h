/* Deadlines in ticks, and the clock that counts them: what both queues (deadline_tree.h, deadline_queue.h) share.
 *
 * A deadline is a 64-bit tick with 32 more fractional bits, modulo 2^64 ticks: advanced k times by the same
 * period it is exact, so nothing drifts.
 *
 * Invariant   every queued deadline lies in [last, last + 2^62 ticks], `last` the deadline served last.
 * Strain      a delay too long or too short for the ticks is noted, for the owner of the amounts to choose their
 *             scale anew: at once the first time, then every n_items times where that would change little.
 */
#ifndef KNAPSOLVE_DEADLINE_H
#define KNAPSOLVE_DEADLINE_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    uint64_t tick;
    uint32_t fraction;
    int32_t next; /* DEADLINE_ABSENT if not queued; in the calendar, the next of the same bucket or DEADLINE_END */
} deadline_entry;

typedef struct {
    deadline_entry *entry; /* (n_items,), in the tree (n_items + 1,) */
    int32_t *link;         /* the tree's winners, or the calendar's buckets and heap */
    int64_t n_items;
    double ticks_per_unit; /* a power of two, so that periods convert exactly */
    double epoch;          /* when tick 0 was, in units of time since the start */
    deadline_entry last;   /* deadline served last */
    int64_t task;          /* work that waits: bits of deadline_task */
    int64_t tolerance;     /* how many more strains until one is noted */
    int64_t strained;      /* the item noted, */
    double strained_delay; /* which is due so many units after `last` */
    int64_t by;            /* ticks are to become 2^by times as many */
} deadline_clock;

enum { DEADLINE_END = -1, DEADLINE_ABSENT = -2 };
enum { DEADLINE_NONE = -1, DEADLINE_LATER = -2 }; /* popped instead of an item: none is queued; work waits */
enum deadline_task {
    DEADLINE_HEAPED = 1, /* the current bucket is in the heap; all others must be done before a pop */
    DEADLINE_STRAINED = 2,
    DEADLINE_RESCALING = 4,
    DEADLINE_LINKING = 8,
    DEADLINE_SEEKING = 16,
    DEADLINE_GATHERING = 32,
};

/* There are 2^DEADLINE_GAP_BITS ticks or more in a mean gap between polls. */
#define DEADLINE_GAP_BITS 20
/* The longest delay: 2^62 ticks, or 2^42 mean gaps. Anything later waits as long as that. */
#define DEADLINE_LONGEST ((uint64_t)1 << 62)
/* Shorter delays have less than 40 bits. */
#define DEADLINE_SHORTEST 256

/* Ticks in a unit of time, a power of two, for `rate` polls a unit of time. */
static inline double deadline_scale(double rate)
{
    int exponent;
    frexp(rate, &exponent); /* 2^(exponent - 1) <= rate < 2^exponent */
    exponent += DEADLINE_GAP_BITS;
    return ldexp(1.0, exponent < 1023 ? exponent : 1023);
}

/* A clock at time 0 for about `rate` polls a unit of time; the entries are still to be written. */
static inline void deadline_init(deadline_clock *c, deadline_entry *entry, int32_t *link, int64_t n, double rate)
{
    *c = (deadline_clock){.entry = entry, .link = link, .n_items = n, .ticks_per_unit = deadline_scale(rate),
                          .tolerance = 1};
}

static inline int deadline_holds(const deadline_clock *c, int64_t item)
{
    return c->entry[item].next != DEADLINE_ABSENT;
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

static inline void deadline_strain(deadline_clock *c, int64_t item, double delay)
{
    if (--c->tolerance > 0) return;
    c->task |= DEADLINE_STRAINED;
    c->strained = item;
    c->strained_delay = delay;
}

/* How many ticks after `last` an item is due. */
static inline double deadline_ticks(deadline_clock *c, int64_t item, double delay)
{
    double ticks = delay * c->ticks_per_unit;
    if (__builtin_expect(!(ticks >= DEADLINE_SHORTEST && ticks < (double)DEADLINE_LONGEST), 0))
        deadline_strain(c, item, delay);
    return ticks;
}

/* Write an entry that is due `delay` units after `last`. */
static inline void deadline_write(deadline_clock *c, int64_t item, double delay)
{
    c->entry[item] = (deadline_entry){c->last.tick, c->last.fraction, DEADLINE_END};
    deadline_advance(c->entry + item, deadline_ticks(c, item, delay));
}

/* Put the item served last off by `period` units. */
static inline void deadline_put_off(deadline_clock *c, int64_t item, double period)
{
    deadline_advance(c->entry + item, deadline_ticks(c, item, period));
}

/* A popped item is served: its deadline is now the last. */
static inline void deadline_serve(deadline_clock *c, int64_t item)
{
    if (__builtin_expect(c->entry[item].tick < c->last.tick, 0)) c->epoch += ldexp(1.0, 64) / c->ticks_per_unit;
    c->last.tick = c->entry[item].tick; /* part by part: `next` has just been written */
    c->last.fraction = c->entry[item].fraction;
}

/* The deadline of the item served last, in units of time since the start. */
static inline double deadline_time(const deadline_clock *c, int64_t item)
{
    const deadline_entry *e = c->entry + item;
    return c->epoch + ((double)e->tick + e->fraction * 0x1p-32) / c->ticks_per_unit;
}

/* Whether item i comes before item j: by tick, fraction, then index. */
static inline int deadline_before(const deadline_entry *entry, int32_t i, int32_t j)
{
    int64_t apart = (int64_t)(entry[i].tick - entry[j].tick);
    if (apart) return apart < 0;
    if (entry[i].fraction != entry[j].fraction) return entry[i].fraction < entry[j].fraction;
    return i < j;
}

/* Answer a strain, now that the items want `rate` polls a unit of time: whether the ticks must be rescaled. */
static inline int deadline_refit(deadline_clock *c, double rate)
{
    c->by = rate > 0.0 ? ilogb(deadline_scale(rate)) - ilogb(c->ticks_per_unit) : 0;
    c->task &= ~DEADLINE_STRAINED;
    c->tolerance = llabs(c->by) < 8 ? c->n_items : 1;
    return c->by != 0;
}

/* Rescale the entries of items [start, stop) to ticks since `last`. */
static inline void deadline_rescale(deadline_clock *c, int64_t start, int64_t stop)
{
    const unsigned __int128 longest = (unsigned __int128)DEADLINE_LONGEST << 32;
    for (deadline_entry *e = c->entry + start; e < c->entry + stop; e++) {
        unsigned __int128 ahead = ((unsigned __int128)(e->tick - c->last.tick) << 32) + e->fraction - c->last.fraction;
        if (c->by < 0) ahead = c->by > -96 ? ahead >> -c->by : 0;
        else if (ahead) ahead = c->by < 96 && ahead <= longest >> c->by ? ahead << c->by : longest;
        e->tick = (uint64_t)(ahead >> 32);
        e->fraction = (uint32_t)ahead;
    }
}

/* All entries are rescaled: go on from `last` as tick 0, with the strained item at its due time. */
static inline void deadline_restart(deadline_clock *c)
{
    c->epoch += ((double)c->last.tick + c->last.fraction * 0x1p-32) / c->ticks_per_unit;
    c->ticks_per_unit = ldexp(c->ticks_per_unit, (int)c->by);
    c->last = (deadline_entry){0};
    if (!deadline_holds(c, c->strained)) return; /* polled, then set to nothing */
    c->entry[c->strained] = (deadline_entry){.next = DEADLINE_END};
    deadline_advance(c->entry + c->strained, c->strained_delay * c->ticks_per_unit);
}

#endif
