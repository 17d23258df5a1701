/* Share tree: the capacity handed down a balanced binary tree, every inner node splitting what it gets.
 *
 * Nodes are named in heap order: the root is 1, the children of k are 2k and 2k + 1; leaves lie at two depths at most.
 * An inner node at depth d in state s in 1..N_d gives its left child the share share[d][s], its right child the rest;
 * linear shares are s / (N_d + 1). A leaf's amount is the capacity times the shares on its path.
 *
 * A walk goes down from the root, to each side with the probability of its share, and at each node throws a gate that
 * opens with the probability of the other side's share; a visit to a given leaf throws the gates alone. Linear trees
 * read sides and gates as digits to the bases N_d + 1 of 64 random bits: six of them if `paired` (three depths of a
 * walk, six of a visit), else those of one depth. Others compare uniform numbers.
 *
 * Layout      Three depths a block of eight states, one vector: lane 1 is a node, lanes 2 and 3 its children, 4 to 7
 *             theirs; lane 0 is idle. The deepest depth fills its blocks, so the first block may hold fewer than three:
 *             the tree hangs below one or two nodes that are not there. Blocks lie level by level, from left to right.
 *             A lane without an automaton holds N_d + 1 (1 above the root): whoever asks there goes left for certain,
 *             and nothing moves. So all leaves seem to lie at the deepest depth.
 * Invariant   1 <= state <= N_d for every automaton at depth d, N_d + 1 elsewhere; 1 in lane 0 and above the root.
 * Complexity  O(log2 n) for walk, gates, amount and move; no branch depends on the random numbers.
 * Memory      4.6 bytes a leaf for the states where n is a power of two, 9.2 just past it; 4 more a leaf, and 4 to 8
 *             for walks; allocated by the caller.
 * Reference   Granmo and Oommen (2011), equations 1 to 3 and section 4.3.2.
 */
#ifndef KNAPSOLVE_SHARE_TREE_H
#define KNAPSOLVE_SHARE_TREE_H

#include <stdint.h>

#include "numpy/random/bitgen.h"

#define SHARE_TREE_MAX_BLOCKS 11 /* on a path: 33 depths */
#define SHARE_TREE_VISIT 6       /* depths of a visit */

/* What three depths need; four of a kind, one of them idle. */
typedef struct {
    int32_t *state;    /* (blocks, 8) */
    int32_t base[8];   /* N_d + 1 in each lane; 1 in lane 0 and above the root */
    int32_t top[8];    /* base - 1 */
    uint64_t digit[4]; /* base of each depth */
    uint64_t walk[8];  /* what brings each depth's digits to the front of a walk's word: four lower halves, four upper */
    uint64_t visit[8]; /* the same of a visit's word */
    int32_t word[8];   /* the depth's word among a visit's, in halves */
} share_level;

typedef struct {
    share_level level[SHARE_TREE_MAX_BLOCKS];
    const int32_t *material_at; /* (2^depth,) material at each leaf, or at the leaf it is left of; for walks only */
    const double *share;        /* (depth, 2, width) share of the left and of the right child in each state */
    int64_t width;
    int depth, blocks, above; /* of the deepest leaf; on a path; depths above the root in the first block */
    int linear, paired;
    int vectors; /* whether AVX2 may be used; the answers are the same */
    int on_reward, on_penalty; /* whether polls that were (not) rewarded move automata */
    double capacity, part;     /* part = 1 / product of all bases on a path */
} share_tree;

/* What a poll moves: the blocks on its path, and for each lane which way it goes (+1 or -1, 0 where the gate is shut)
 * when the move is towards the leaf. */
typedef struct {
    int32_t step[SHARE_TREE_MAX_BLOCKS][8];
    int32_t *at[SHARE_TREE_MAX_BLOCKS];
} share_path;

static inline int share_tree_blocks(int depth) { return (depth + 2) / 3; }

/* Whether one word is enough for six digits: probabilities are then off by less than base^5 / 2^64 + 3 base / 2^32 <
 * 2^-18, and that of each way down three depths by one part in 8000, however rare it is (2 base^2 / 2^32). */
static inline int share_tree_pairs(int32_t largest_base) { return largest_base <= 512; }

/* Set depth (at least 1), levels and part, from states (blocks, 8) and the bases of each block on a path (blocks, 8). */
void share_tree_init(share_tree *t, int depth, int32_t *state, const int32_t *base);

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

/* Put an automaton in the middle of its states at an inner node (a heap index). */
void share_tree_plant(share_tree *t, int32_t node);

#endif
