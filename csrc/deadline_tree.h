/* Deadline tree: the smallest deadline of up to some ten thousand items (a tournament, or winner tree).
 *
 * Each inner node holds the item of smaller deadline below it. Pushing a popped item plays its matches anew, from its
 * leaf to the root, without an unpredictable branch; up to a few 10^4 items that beats the calendar of
 * deadline_queue.h, whose constant time has branches and misses.
 *
 * Invariant   link[n_items + i] is item i or, if it is absent, the sentinel entry n_items, whose deadline is kept ahead
 *             of all others; link[k] comes first of link[2k] and link[2k + 1]; link[1] is the root.
 * Order       by (tick, fraction, item).
 * Complexity  pop O(1); push, insert and drop O(log2 n); build and rescale O(n).
 * Memory      24 bytes an item, allocated by the caller.
 * Reference   Knuth, The Art of Computer Programming 3, section 5.4.1 (replacement selection).
 */
#ifndef KNAPSOLVE_DEADLINE_TREE_H
#define KNAPSOLVE_DEADLINE_TREE_H

#include "deadline.h"

/* Play all matches, when entries have been written. */
void deadline_tree_build(deadline_clock *t);

/* Add an absent item, `delay` units after the last deadline served. */
void deadline_tree_insert(deadline_clock *t, int64_t item, double delay);

/* The item with the smallest deadline, DEADLINE_NONE or DEADLINE_LATER; to be pushed or dropped before the next pop. */
int64_t deadline_tree_pop(const deadline_clock *t);

/* Move the item served last to `period` units after its deadline. */
void deadline_tree_push(deadline_clock *t, int64_t item, double period);

/* Make a popped item absent. */
void deadline_tree_drop(deadline_clock *t, int64_t item);

/* Change the scale of ticks as deadline_refit chose. */
void deadline_tree_rescale(deadline_clock *t);

#endif
