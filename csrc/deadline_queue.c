#include "deadline_queue.h"

#include <string.h>

#include "deadline_heap.h"

/* How far ahead of the calendar's hand entries are fetched into cache. */
#define AHEAD 6
/* A bucket with more entries than that is served from the heap. */
#define LONG 24
/* Entries in a slice of work: some milliseconds, even if each misses the cache. */
#define SLICE ((int64_t)1 << 17)

int64_t deadline_queue_buckets(int64_t n)
{
    int64_t buckets = 16;
    while (4 * buckets < 3 * n) buckets *= 2;
    return buckets;
}

void deadline_queue_init(deadline_queue *q, deadline_entry *entry, int32_t *link, int64_t n, double rate)
{
    *q = (deadline_queue){.n_buckets = deadline_queue_buckets(n), .shift = DEADLINE_GAP_BITS};
    deadline_init(&q->clock, entry, link, n, rate);
}

static inline int64_t bucket_of(const deadline_queue *q, uint64_t tick)
{
    return (int64_t)((tick >> q->shift) & (uint64_t)(q->n_buckets - 1));
}

static inline uint64_t bucket_start(const deadline_queue *q, uint64_t tick) { return (tick >> q->shift) << q->shift; }

static inline void link_entry(deadline_queue *q, int64_t item)
{
    int32_t *head = q->clock.link + bucket_of(q, q->clock.entry[item].tick);
    q->clock.entry[item].next = *head;
    *head = (int32_t)item;
}

static void heap_entry(deadline_queue *q, int64_t item)
{
    q->clock.entry[item].next = DEADLINE_END;
    deadline_heap_push(q->clock.entry, q->clock.link + q->n_buckets, q->n_heaped++, (int32_t)item);
}

/* Whether an entry belongs into the heap: it is in use, and the deadline in or before the current bucket. */
static inline int is_heaped(const deadline_queue *q, uint64_t tick)
{
    return q->clock.task & DEADLINE_HEAPED && (int64_t)(tick - q->now) < (int64_t)1 << q->shift;
}

static inline void queue_entry(deadline_queue *q, int64_t item)
{
    q->n_queued++;
    if (__builtin_expect(is_heaped(q, q->clock.entry[item].tick), 0)) heap_entry(q, item);
    else link_entry(q, item);
}

static void start_measuring(deadline_queue *q)
{
    q->measured = q->now;
    q->pops = q->steps = 0;
}

static void start_task(deadline_queue *q, int64_t task, int64_t cursor)
{
    q->clock.task |= task;
    q->cursor = cursor;
}

void deadline_queue_insert(deadline_queue *q, int64_t item, double delay)
{
    deadline_write(&q->clock, item, delay);
    uint64_t tick = q->clock.entry[item].tick;
    if ((int64_t)(tick - q->now) < 0 && !is_heaped(q, tick)) { /* the hand has passed items that were not served */
        q->now = bucket_start(q, tick);
        start_measuring(q);
    }
    queue_entry(q, item);
}

void deadline_queue_push(deadline_queue *q, int64_t item, double period)
{
    deadline_put_off(&q->clock, item, period);
    queue_entry(q, item);
}

void deadline_queue_build(deadline_queue *q)
{
    q->clock.task &= ~DEADLINE_HEAPED;
    start_task(q, DEADLINE_LINKING, -q->n_buckets);
}

void deadline_queue_rescale(deadline_queue *q) { start_task(q, DEADLINE_RESCALING, 0); }

/* Choose the width anew from the mean gap between the pops seen; whether all entries must be linked again. */
static int measure(deadline_queue *q)
{
    double gap = (double)(q->now - q->measured) / (double)(q->pops ? q->pops : 1);
    int64_t shift = 0;
    while (shift < 56 && ldexp(1.0, (int)shift) < gap) shift++;
    start_measuring(q);
    if (llabs(shift - q->shift) < 2) return 0;
    q->shift = shift;
    q->now = q->measured = bucket_start(q, q->now);
    deadline_queue_build(q);
    return 1;
}

/* Where the hand is, find the earliest of this year's entries and the one before it; count the list. By branches, not
 * by conditional moves: those would make the caller, who fetches what goes with the item, wait for the entry. */
static inline int64_t scan(const deadline_queue *q, int64_t b, int32_t *best, int32_t *before_best)
{
    const deadline_entry *entry = q->clock.entry;
    int64_t length = 0;
    int32_t before = DEADLINE_END;
    *best = *before_best = DEADLINE_END;
    for (int32_t i = q->clock.link[b]; i >= 0; before = i, i = entry[i].next) {
        if (++length > LONG) break;
        if ((entry[i].tick - q->now) >> q->shift) continue; /* of another year */
        if (*best < 0 || deadline_before(entry, i, *best)) {
            __asm__ volatile("");
            *best = i;
            *before_best = before;
        }
    }
    return length;
}

/* Pop from the lists: walk on from the hand. */
static inline int64_t pop_linked(deadline_queue *q)
{
    deadline_entry *entry = q->clock.entry;
    int32_t *bucket = q->clock.link, best, before_best;
    for (int64_t year = 0; year <= q->n_buckets; year++) {
        int64_t b = bucket_of(q, q->now);
        int64_t length = scan(q, b, &best, &before_best);
        q->steps += length;
        if (__builtin_expect(length > LONG, 0)) {
            start_task(q, DEADLINE_GATHERING | DEADLINE_HEAPED, -1);
            return DEADLINE_LATER;
        }
        if (best >= 0) {
            if (before_best < 0) bucket[b] = entry[best].next;
            else entry[before_best].next = entry[best].next;
            entry[best].next = DEADLINE_ABSENT;
            q->n_queued--;
            return best;
        }
        q->steps++;
        q->now += (uint64_t)1 << q->shift;
        int32_t soon = bucket[(b + AHEAD) & (q->n_buckets - 1)];
        if (soon >= 0) __builtin_prefetch(entry + soon);
    }
    start_task(q, DEADLINE_SEEKING, 0); /* a whole year held nothing */
    q->nearest = UINT64_MAX;
    return DEADLINE_LATER;
}

/* Pop from the heap, or if that is exhausted leave it and the bucket, for DEADLINE_NONE. */
static __attribute__((noinline)) int64_t pop_heaped(deadline_queue *q)
{
    if (q->n_heaped == 0) {
        q->clock.task = 0;
        q->now += (uint64_t)1 << q->shift;
        return DEADLINE_NONE;
    }
    int32_t item = deadline_heap_pop(q->clock.entry, q->clock.link + q->n_buckets, q->n_heaped--);
    q->clock.entry[item].next = DEADLINE_ABSENT;
    q->n_queued--;
    q->steps += 8;
    return item;
}

static inline int64_t pop(deadline_queue *q)
{
    if (__builtin_expect(q->clock.task & ~DEADLINE_HEAPED, 0)) return DEADLINE_LATER;
    if (q->n_queued == 0) return DEADLINE_NONE;
    if (q->steps > 6 * q->pops + 8 * q->n_buckets || q->pops > 16 * q->n_buckets)
        if (measure(q)) return DEADLINE_LATER;
    q->pops++;
    if (__builtin_expect(q->clock.task, 0)) {
        int64_t item = pop_heaped(q);
        if (item >= 0) return item;
    }
    return pop_linked(q);
}

int64_t deadline_queue_pop(deadline_queue *q)
{
    for (;;) {
        int64_t item = pop(q);
        if (item != DEADLINE_LATER || !deadline_queue_work(q)) return item;
    }
}

/* Where the slice ends that starts at the cursor. */
static int64_t slice_end(const deadline_queue *q)
{
    return q->cursor + SLICE < q->clock.n_items ? q->cursor + SLICE : q->clock.n_items;
}

static void rescale(deadline_queue *q)
{
    int64_t end = slice_end(q);
    deadline_rescale(&q->clock, q->cursor, end);
    q->cursor = end;
    if (end < q->clock.n_items) return;
    deadline_restart(&q->clock);
    q->clock.task &= ~DEADLINE_RESCALING;
    q->now = 0;
    q->shift = DEADLINE_GAP_BITS;
    start_measuring(q);
    deadline_queue_build(q);
}

static void link_entries(deadline_queue *q)
{
    if (q->cursor < 0) { /* buckets still to be emptied */
        int64_t end = q->cursor + 8 * SLICE < 0 ? q->cursor + 8 * SLICE : 0;
        memset(q->clock.link + q->n_buckets + q->cursor, -1, 4 * (size_t)(end - q->cursor)); /* DEADLINE_END */
        q->cursor = end;
        q->n_queued = q->n_heaped = 0;
        return;
    }
    for (int64_t end = slice_end(q); q->cursor < end; q->cursor++)
        if (deadline_holds(&q->clock, q->cursor)) {
            link_entry(q, q->cursor);
            q->n_queued++;
        }
    if (q->cursor == q->clock.n_items) q->clock.task &= ~DEADLINE_LINKING;
}

/* Move the hand to the bucket of the earliest entry. */
static void seek(deadline_queue *q)
{
    for (int64_t end = slice_end(q); q->cursor < end; q->cursor++) {
        uint64_t ahead = q->clock.entry[q->cursor].tick - q->now;
        if (deadline_holds(&q->clock, q->cursor) && ahead < q->nearest) q->nearest = ahead;
    }
    if (q->cursor < q->clock.n_items) return;
    q->now = bucket_start(q, q->now + q->nearest);
    q->clock.task &= ~DEADLINE_SEEKING;
}

/* Move this year's entries of the current bucket into the heap; the cursor is the last that stays, or -1. */
static void gather(deadline_queue *q)
{
    deadline_entry *entry = q->clock.entry;
    int32_t *from = q->cursor < 0 ? q->clock.link + bucket_of(q, q->now) : &entry[q->cursor].next;
    for (int64_t k = 0; *from >= 0; k++) {
        if (k == SLICE / 8) return; /* each may rise through the whole heap */
        int32_t i = *from;
        if ((entry[i].tick - q->now) >> q->shift) {
            q->cursor = i;
            from = &entry[i].next;
        } else {
            *from = entry[i].next;
            heap_entry(q, i);
        }
    }
    q->clock.task &= ~DEADLINE_GATHERING;
}

int deadline_queue_work(deadline_queue *q)
{
    if (q->clock.task & DEADLINE_RESCALING) rescale(q);
    else if (q->clock.task & DEADLINE_LINKING) link_entries(q);
    else if (q->clock.task & DEADLINE_SEEKING) seek(q);
    else if (q->clock.task & DEADLINE_GATHERING) gather(q);
    return !(q->clock.task & ~DEADLINE_HEAPED);
}
