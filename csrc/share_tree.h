/* Share tree: the capacity handed down a balanced binary tree, every inner node splitting what it gets.
 *
 * Nodes are in heap order: the root is 1, the children of k are 2k and 2k + 1; leaves lie at two depths at most.
 * An inner node at depth d in state s in 1..N_d gives its left child the share share[d][s], its right child the rest;
 * linear shares are s / (N_d + 1). A leaf's amount is the capacity times the shares on its path.
 *
 * A walk goes down from the root, to each side with the probability of its share, and at each node throws a gate that
 * opens with the probability of the other side's share. Linear trees read side and gate as two digits to the base
 * N_d + 1 of 64 random bits, or of 32 if `paired`; others compare two uniform numbers.
 *
 * Invariant   1 <= state[k] <= N_d for every inner node k at depth d.
 * Complexity  O(log2 n) for walk, gates, amount and move; no branch depends on the random numbers.
 * Memory      4 bytes an inner node (n to 2n of them), 4 a leaf, 8 more a node for walks; allocated by the caller.
 * Reference   Granmo and Oommen (2011), equations 1 to 3 and section 4.3.2.
 */
#ifndef KNAPSOLVE_SHARE_TREE_H
#define KNAPSOLVE_SHARE_TREE_H

#include <stdint.h>

#include "numpy/random/bitgen.h"

#define SHARE_TREE_MAX_DEPTH 32

typedef struct {
    int32_t *state;             /* (n_inner,) */
    const int32_t *material_at; /* (2 n_inner,) material at each leaf, -1 elsewhere; for walks only */
    const int32_t *base;        /* (depth,) N_d + 1 */
    const double *share;        /* (depth, 2, width) share of the left and of the right child in each state */
    int64_t width;
    int depth; /* of the deepest leaf: there is room for 2^depth inner nodes */
    int linear, paired;
    double capacity;
} share_tree;

/* Whether 32 random bits a level are enough: a probability is then off by at most base / 2^32 < 2^-23. */
static inline int share_tree_pairs(int32_t largest_base) { return largest_base <= 512; }

/* What decides on each depth's gate: a digit to compare with the state, or a number to compare with the left share. */
typedef union {
    int32_t digit[SHARE_TREE_MAX_DEPTH];
    double uniform[SHARE_TREE_MAX_DEPTH];
} share_tree_gates;

/* Draw a leaf by a walk, and the gates on its path; with its amount, unless that is null. */
int32_t share_tree_draw(const share_tree *t, bitgen_t *bits, share_tree_gates *gates, double *amount);

/* Draw the gates on the path of a leaf that was not drawn by a walk. */
void share_tree_throw(const share_tree *t, int32_t leaf, bitgen_t *bits, share_tree_gates *gates);

/* The amount at a leaf. */
double share_tree_amount(const share_tree *t, int32_t leaf);

/* Move every automaton on the path whose gate is open: direction +1 towards the leaf's side, -1 away from it. */
void share_tree_move(share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction);

/* The same; returns the leaf's new amount. */
double share_tree_move_to(share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction);

#endif
