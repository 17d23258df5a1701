#include "deadline_queue.h"

/* How far ahead of the calendar's hand entries are fetched into cache. */
#define AHEAD 6

int64_t deadline_queue_buckets(int64_t n)
{
    int64_t buckets = 16;
    while (buckets < n) buckets *= 2;
    return buckets;
}

static void clear(deadline_queue *q)
{
    for (int64_t b = 0; b < q->n_buckets; b++) q->bucket[b] = DEADLINE_END;
}

void deadline_queue_init(deadline_queue *q, deadline_entry *entry, int32_t *bucket, int64_t n, double rate)
{
    *q = (deadline_queue){.entry = entry, .bucket = bucket, .n_items = n, .n_buckets = deadline_queue_buckets(n),
                          .shift = DEADLINE_GAP_BITS, .ticks_per_unit = deadline_scale(rate)};
    clear(q);
    for (int64_t i = 0; i < n; i++) entry[i] = (deadline_entry){.next = DEADLINE_ABSENT};
}

static inline int64_t bucket_of(const deadline_queue *q, uint64_t tick)
{
    return (int64_t)((tick >> q->shift) & (uint64_t)(q->n_buckets - 1));
}

static inline void link_entry(deadline_queue *q, int64_t item)
{
    int32_t *head = q->bucket + bucket_of(q, q->entry[item].tick);
    q->entry[item].next = *head;
    *head = (int32_t)item;
}

void deadline_queue_insert(deadline_queue *q, int64_t item, double delay)
{
    q->entry[item].tick = q->now;
    q->entry[item].fraction = 0;
    deadline_advance(&q->entry[item], delay * q->ticks_per_unit);
    link_entry(q, item);
    q->n_queued++;
}

void deadline_queue_push(deadline_queue *q, int64_t item, double period)
{
    deadline_entry *e = q->entry + item;
    deadline_advance(e, period * q->ticks_per_unit);
    if ((int64_t)(e->tick - q->now) < 0) e->tick = q->now; /* only past 2^63 ticks of waiting */
    link_entry(q, item);
    q->n_queued++;
}

/* Jump the hand to the bucket of the earliest entry: for when a whole year held nothing. */
static void jump(deadline_queue *q)
{
    uint64_t nearest = UINT64_MAX;
    for (int64_t i = 0; i < q->n_items; i++) {
        uint64_t ahead = q->entry[i].tick - q->now;
        if (q->entry[i].next != DEADLINE_ABSENT && ahead < nearest) nearest = ahead;
    }
    uint64_t to = ((q->now + nearest) >> q->shift) << q->shift;
    if (to < q->now) q->turns++;
    q->now = to;
}

static void start_measuring(deadline_queue *q)
{
    q->measured = q->now;
    q->pops = q->steps = 0;
}

/* Choose the width anew from the mean gap between the pops seen, and link every entry again. */
static void rebucket(deadline_queue *q)
{
    double gap = (double)(q->now - q->measured) / (double)(q->pops ? q->pops : 1);
    int shift = 0;
    while (shift < 56 && ldexp(1.0, shift) < gap) shift++;
    if (shift != q->shift) {
        q->shift = shift;
        q->now = (q->now >> shift) << shift;
        clear(q);
        for (int64_t i = 0; i < q->n_items; i++)
            if (q->entry[i].next != DEADLINE_ABSENT) link_entry(q, i);
    }
    start_measuring(q);
}

int64_t deadline_queue_pop(deadline_queue *q)
{
    if (q->n_queued == 0) return -1;
    if (q->steps > 6 * q->pops + 8 * q->n_buckets) rebucket(q);
    else if (q->pops > 16 * q->n_buckets) start_measuring(q);
    q->pops++;
    for (int64_t year = 0;; year++) {
        int64_t b = bucket_of(q, q->now);
        int32_t best = DEADLINE_END, before_best = DEADLINE_END, before = DEADLINE_END;
        for (int32_t i = q->bucket[b]; i >= 0; before = i, i = q->entry[i].next) {
            q->steps++;
            if ((q->entry[i].tick - q->now) >> q->shift) continue; /* of another year */
            if (best < 0 || deadline_before(q->entry, i, best)) {
                best = i;
                before_best = before;
            }
        }
        if (best >= 0) {
            deadline_entry *e = q->entry + best;
            if (before_best < 0) q->bucket[b] = e->next;
            else q->entry[before_best].next = e->next;
            e->next = DEADLINE_ABSENT;
            q->n_queued--;
            return best;
        }
        q->steps++;
        uint64_t width = (uint64_t)1 << q->shift;
        if (q->now + width < q->now) q->turns++;
        q->now += width;
        int32_t soon = q->bucket[(b + AHEAD) & (q->n_buckets - 1)];
        if (soon >= 0) __builtin_prefetch(q->entry + soon);
        if (year == q->n_buckets) jump(q);
    }
}

double deadline_queue_time(const deadline_queue *q, int64_t item)
{
    const deadline_entry *e = q->entry + item;
    double ticks = ldexp((double)q->turns, 64) + (double)e->tick + e->fraction * 0x1p-32;
    return ticks / q->ticks_per_unit;
}
