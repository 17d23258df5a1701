/* Deadline queue: the smallest deadline of any number of items, in constant time (a calendar queue).
 *
 * A bucket is 2^shift ticks wide; bucket b of the calendar holds every entry whose
 * (tick >> shift) is b modulo the number of buckets, as a singly linked list.
 *
 * Invariant   every queued deadline lies in [now, now + 2^63), in the list of its bucket.
 * Order       by (tick, fraction, item): ties go to the lower item.
 * Complexity  pop and push O(1) on average while one bucket's width is near the mean gap
 *             between pops; the queue measures its own work and re-buckets when it is not. Deadlines
 *             that tie exactly share a bucket whatever its width: O(number of ties) a pop.
 * Memory      16 bytes an item and 4 a bucket (n to 2n of them), allocated by the caller.
 * Reference   Brown (1988), Calendar queues, CACM 31(10).
 */
#ifndef KNAPSOLVE_DEADLINE_QUEUE_H
#define KNAPSOLVE_DEADLINE_QUEUE_H

#include "deadline.h"

typedef struct {
    deadline_entry *entry; /* (n_items,) */
    int32_t *bucket;       /* (n_buckets,) heads of the lists */
    int64_t n_items;
    int64_t n_queued;
    int64_t n_buckets; /* a power of two */
    uint64_t now;      /* tick at which the current bucket starts */
    int64_t shift;     /* bucket width is 2^shift ticks */
    double ticks_per_unit; /* a power of two, so that periods convert exactly */
    uint64_t turns;    /* how often the tick has wrapped round */
    uint64_t measured; /* `now` at the last re-bucketing */
    int64_t pops, steps;
} deadline_queue;

/* Number of buckets for n items. */
int64_t deadline_queue_buckets(int64_t n);

/* An empty queue at time 0, fit for about `rate` pops a unit of time. */
void deadline_queue_init(deadline_queue *q, deadline_entry *entry, int32_t *bucket, int64_t n, double rate);

/* Queue an absent item at `delay` units after the start of the current bucket. */
void deadline_queue_insert(deadline_queue *q, int64_t item, double delay);

/* Take the item with the smallest deadline out, or return -1 if none is queued.
 * Its entry keeps the deadline until it is pushed again. */
int64_t deadline_queue_pop(deadline_queue *q);

/* Queue a popped item again, `period` units after its last deadline. */
void deadline_queue_push(deadline_queue *q, int64_t item, double period);

/* Whether an item is queued. */
static inline int deadline_queue_holds(const deadline_queue *q, int64_t item)
{
    return q->entry[item].next != DEADLINE_ABSENT;
}

/* The deadline of the item popped last, in units of time since the start. */
double deadline_queue_time(const deadline_queue *q, int64_t item);

#endif
