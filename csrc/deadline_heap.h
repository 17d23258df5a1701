/* Deadline heap: a binary heap of items over their entries, for the bucket that a calendar is at when it is crowded.
 *
 * Invariant   heap[(k - 1) / 2] comes before heap[k].
 * Order       by (tick, fraction, item).
 * Complexity  push and pop O(log2 n), push O(1) on average in random order.
 * Reference   Williams (1964), Algorithm 232: Heapsort, CACM 7(6).
 */
#ifndef KNAPSOLVE_DEADLINE_HEAP_H
#define KNAPSOLVE_DEADLINE_HEAP_H

#include "deadline.h"

/* Add an item to a heap of n. */
static inline void deadline_heap_push(const deadline_entry *entry, int32_t *heap, int64_t n, int32_t item)
{
    for (; n > 0 && deadline_before(entry, item, heap[(n - 1) / 2]); n = (n - 1) / 2) heap[n] = heap[(n - 1) / 2];
    heap[n] = item;
}

/* Take the first item out of a heap of n. */
static inline int32_t deadline_heap_pop(const deadline_entry *entry, int32_t *heap, int64_t n)
{
    int32_t first = heap[0], item = heap[--n];
    int64_t at = 0, child;
    while ((child = 2 * at + 1) < n) {
        child += child + 1 < n && deadline_before(entry, heap[child + 1], heap[child]);
        if (!deadline_before(entry, heap[child], item)) break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = item;
    return first;
}

#endif
