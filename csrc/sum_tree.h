/* Sum tree: draw an item with probability proportional to its weight, exactly.
 *
 * Weights are unsigned integers, so that sums never drift however often they change.
 * Each node (sum_node.h) holds the running sums before its eight children in one 64-byte line;
 * level 0 is the root, the last level's children are the items.
 *
 * Invariant   node[j] = weight of children 0..j-1, for every node; total = sum of all weights < 2^63.
 * Complexity  draw and add: O(log8 n), one line a level; build: O(n).
 * Memory      about 9.2 bytes an item, allocated by the caller.
 * Reference   Wong and Easton (1980), An efficient method for weighted sampling without replacement.
 */
#ifndef KNAPSOLVE_SUM_TREE_H
#define KNAPSOLVE_SUM_TREE_H

#include <stdint.h>

#define SUM_TREE_MAX_LEVELS 12

typedef struct sum_tree sum_tree;

struct sum_tree {
    uint64_t *node;                       /* running sums, eight a node, 64-byte aligned */
    uint64_t total;
    int levels;
    int64_t offset[SUM_TREE_MAX_LEVELS];  /* where each level starts in `node` */
    int64_t (*draw)(const sum_tree *, uint64_t u);
    void (*add)(sum_tree *, int64_t item, uint64_t change);
};

/* Numbers of uint64 that a tree of n items needs. */
int64_t sum_tree_size(int64_t n);

/* Lay the tree out over `node` and choose its code for `level` (cpu_level.h). */
void sum_tree_init(sum_tree *tree, uint64_t *node, int64_t n, int level);

/* Fill all sums from weights (n,). */
void sum_tree_build(sum_tree *tree, const uint64_t *weight, int64_t n);

/* Sum of all weights. */
static inline uint64_t sum_tree_total(const sum_tree *tree) { return tree->total; }

/* The item in whose share of [0, total) u lies. */
static inline int64_t sum_tree_draw(const sum_tree *tree, uint64_t u) { return tree->draw(tree, u); }

/* Change an item's weight by `change` (two's complement for a decrease). */
static inline void sum_tree_add(sum_tree *tree, int64_t item, uint64_t change) { tree->add(tree, item, change); }

/* Map 64 random bits onto [0, total): bias below total / 2^64 of one unit. */
static inline uint64_t scale_bits(uint64_t bits, uint64_t total)
{
    return (uint64_t)(((unsigned __int128)bits * total) >> 64);
}

#endif
