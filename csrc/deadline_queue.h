/* Deadline queue: the smallest deadline of any number of items, in constant time (a calendar queue).
 *
 * A bucket is 2^shift ticks wide; bucket b of the calendar holds every entry whose (tick >> shift) is b modulo the
 * number of buckets, as a singly linked list. A bucket with a long list has this year's entries moved into a heap
 * while the calendar's hand is there.
 *
 * Invariant   every queued deadline lies in [now, now + 2^63), in the list of its bucket; or in the heap, and then
 *             before now + 2^shift.
 * Order       by (tick, fraction, item): ties go to the lower item.
 * Complexity  pop and push O(1) on average while one bucket's width is near the mean gap between pops; the queue
 *             measures its own work and links all entries anew when it is not. Where many deadlines share a bucket
 *             all the same, as exact ties do, O(log n).
 * Pauses      work that may take O(n) is done a slice at a time: a pop that meets it returns DEADLINE_LATER until
 *             deadline_queue_work has done it. Only a pop may be called before that.
 * Memory      20 bytes an item and 4 a bucket (3n/4 to 3n/2 of them), allocated by the caller.
 * Reference   Brown (1988), Calendar queues, CACM 31(10).
 */
#ifndef KNAPSOLVE_DEADLINE_QUEUE_H
#define KNAPSOLVE_DEADLINE_QUEUE_H

#include "deadline.h"

typedef struct {
    deadline_clock clock; /* its link: (n_buckets,) heads of the lists, then (n_items,) the heap */
    int64_t n_queued;
    int64_t n_heaped;
    int64_t n_buckets; /* a power of two */
    uint64_t now;      /* tick at which the current bucket starts */
    int64_t shift;     /* bucket width is 2^shift ticks */
    uint64_t measured; /* `now` when measuring began */
    int64_t pops, steps;
    int64_t cursor;    /* how far the work has come */
    uint64_t nearest;
} deadline_queue;

/* Number of buckets for n items. */
int64_t deadline_queue_buckets(int64_t n);

/* An empty queue at time 0, fit for about `rate` pops a unit of time; its entries are still to be written. */
void deadline_queue_init(deadline_queue *q, deadline_entry *entry, int32_t *link, int64_t n, double rate);

/* Link all entries, when they have been written: that work waits. */
void deadline_queue_build(deadline_queue *q);

/* Queue an absent item, `delay` units after the last deadline served. */
void deadline_queue_insert(deadline_queue *q, int64_t item, double delay);

/* Take the item with the smallest deadline out, or return DEADLINE_NONE or DEADLINE_LATER.
 * Its entry keeps the deadline until it is pushed again. */
int64_t deadline_queue_pop(deadline_queue *q);

/* Queue the item served last again, `period` units after its deadline. */
void deadline_queue_push(deadline_queue *q, int64_t item, double period);

/* Change the scale of ticks as deadline_refit chose: that work waits. */
void deadline_queue_rescale(deadline_queue *q);

/* Do a slice of the work that waits; whether pops may go on. */
int deadline_queue_work(deadline_queue *q);

#endif
