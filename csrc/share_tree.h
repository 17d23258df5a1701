/* Share tree: the capacity handed down a balanced binary tree, every inner node splitting what it gets.
 *
 * Nodes are named in heap order: the root is 1, the children of k are 2k and 2k + 1; leaves lie at two depths at most.
 * An inner node at depth d in state s in 1..N_d gives its left child the share share[d][s], its right child the rest;
 * linear shares are s / (N_d + 1). A leaf's amount is the capacity times the shares on its path.
 *
 * A walk goes down from the root, to each side with the probability of its share, and at each node throws a gate that
 * opens with the probability of the other side's share. Linear trees read side and gate as two digits to the base
 * N_d + 1 of 64 random bits, or of 32 if `paired`; others compare two uniform numbers.
 *
 * Layout      Three depths a block of eight states, one vector: lane 1 is a node at depth 3g, lanes 2 and 3 its
 *             children, 4 to 7 theirs; lane 0 is idle. Blocks are in heap order too, eight children each: block 0 is
 *             the root's, child c of block b is 8b + 1 + c. A lane without an automaton holds N_d + 1: whoever asks
 *             there goes left for certain, and nothing moves. So all leaves seem to lie at one depth.
 * Invariant   1 <= state <= N_d for every automaton at depth d, N_d + 1 elsewhere; 1 in lane 0.
 * Complexity  O(log2 n) for walk, gates, amount and move; no branch depends on the random numbers.
 * Memory      4.6 bytes a leaf where the deepest depth fills its blocks (n = 8^k), 37 where it has just begun one
 *             (n = 8^k + 1); 4 more a leaf, and 4 to 8 for walks; allocated by the caller.
 * Reference   Granmo and Oommen (2011), equations 1 to 3 and section 4.3.2.
 */
#ifndef KNAPSOLVE_SHARE_TREE_H
#define KNAPSOLVE_SHARE_TREE_H

#include <stdint.h>

#include "numpy/random/bitgen.h"

#define SHARE_TREE_MAX_BLOCKS 11 /* on a path: 33 depths */
#define SHARE_TREE_MAX_DEPTH (3 * SHARE_TREE_MAX_BLOCKS)

typedef struct {
    int32_t *state;             /* (n_blocks, 8) */
    const int32_t *material_at; /* (2^depth,) material at each leaf, or at the leaf it is left of; for walks only */
    const int32_t *base;        /* (blocks on a path, 8) N_d + 1 in each lane, 1 in lane 0 */
    const double *part;         /* (blocks on a path,) 1 / product of the three bases */
    const double *share;        /* (depth, 2, width) share of the left and of the right child in each state */
    int64_t width;
    int depth; /* of the deepest leaf */
    int linear, paired;
    int vectors; /* whether AVX2 may be used; the answers are the same */
    double capacity;
    int32_t direction[2][8]; /* of moves when not rewarded and when rewarded, in each lane: +1 towards the leaf, -1, 0 */
} share_tree;

/* What a poll moves: the blocks on its path, and for each lane which way it goes (+1 or -1, 0 where the gate is shut)
 * when the move is towards the leaf. */
typedef struct {
    int32_t step[SHARE_TREE_MAX_BLOCKS][8];
    int64_t at[SHARE_TREE_MAX_BLOCKS]; /* where the block's states begin */
    int blocks;
} share_path;

static inline int share_tree_blocks(int depth) { return (depth + 2) / 3; }

/* Whether 32 random bits a level are enough: a probability is then off by at most base / 2^32 < 2^-23. */
static inline int share_tree_pairs(int32_t largest_base) { return largest_base <= 512; }

/* Whether `vectors` may be set here for this tree. */
int share_tree_vectors(const share_tree *t);

/* Draw a material by a walk, and the gates on its path; with its amount, unless that is null. */
int32_t share_tree_draw(const share_tree *t, bitgen_t *bits, share_path *path, double *amount);

/* The amount at a leaf. */
double share_tree_amount(const share_tree *t, int32_t leaf);

/* Draw the gates on the path of a leaf (a heap index) that was not drawn by a walk, and move; returns the leaf's new
 * amount. */
double share_tree_visit(share_tree *t, int32_t leaf, bitgen_t *bits, int v);

/* Move every automaton on the path whose gate is open, as the scheme says for a poll that showed v. */
void share_tree_move(share_tree *t, const share_path *path, int v);

#endif
