/* Deadline tree: the smallest deadline of up to some ten thousand items (a tournament, or winner tree).
 *
 * Each inner node holds the item of smaller deadline below it. Pushing a popped item plays its matches anew, from its
 * leaf to the root, without an unpredictable branch; up to a few 10^4 items that beats the calendar of
 * deadline_queue.h, whose constant time has branches and misses.
 *
 * Invariant   winner[k] comes first of winner[2k] and winner[2k + 1]; absent items stand as the sentinel entry n_leaves,
 *             whose deadline is moved ahead of all others at each pop.
 * Order       by (tick, fraction, item).
 * Complexity  pop O(1); push, insert and drop O(log2 n).
 * Memory      16 bytes an item and 8 a leaf (n to 2n of them), allocated by the caller.
 * Reference   Knuth, The Art of Computer Programming 3, section 5.4.1 (replacement selection).
 */
#ifndef KNAPSOLVE_DEADLINE_TREE_H
#define KNAPSOLVE_DEADLINE_TREE_H

#include "deadline.h"

typedef struct {
    deadline_entry *entry; /* (n_leaves + 1,), the last one the sentinel */
    int32_t *winner;       /* (2 n_leaves,), leaves last */
    int64_t n_leaves;      /* a power of two */
    double ticks_per_unit;
    uint64_t now;   /* tick of the last pop */
    uint64_t turns; /* how often the tick has wrapped round */
} deadline_tree;

int64_t deadline_tree_leaves(int64_t n);

/* An empty tree at time 0, fit for about `rate` pops a unit of time. */
void deadline_tree_init(deadline_tree *t, deadline_entry *entry, int32_t *winner, int64_t n, double rate);

/* Add an absent item, `delay` units after the last pop. */
void deadline_tree_insert(deadline_tree *t, int64_t item, double delay);

/* The item with the smallest deadline, or -1 if there is none; to be pushed or dropped before the next pop. */
int64_t deadline_tree_pop(deadline_tree *t);

/* Move a popped item to `period` units after its deadline. */
void deadline_tree_push(deadline_tree *t, int64_t item, double period);

/* Make a popped item absent. */
void deadline_tree_drop(deadline_tree *t, int64_t item);

/* Whether an item is in the tree. */
int deadline_tree_holds(const deadline_tree *t, int64_t item);

/* The deadline of the item popped last, in units of time since the start. */
double deadline_tree_time(const deadline_tree *t, int64_t item);

#endif
