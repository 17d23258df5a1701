/* Eight replications of one LAKG game side by side, with random access, over materials of known rates.
 *
 * A step polls one material in every lane: draw it in proportion to its amount, see whether it changed, move its
 * automaton. Draws and walks are lane by lane, their random numbers (lane_random.h) for all lanes at once; each
 * part of the step is done for all lanes before the next, so that eight chains of dependent loads overlap.
 *
 * Shapes      units (resolution + 1,); rate (n,); each lane's state (n,) and, for pages, last (n,).
 * Units       amounts in integer units (sum_tree.h); time so that the capacity is polls per unit of it.
 * Invariant   in every lane, tree total = sum of units[state[i]], exactly; 1 <= state[i] <= resolution; total > 0.
 * Complexity  O(LANES log8 n) a step; no memory of its own.
 * Reference   Granmo, Oommen, Myrer and Olsen (2007), section II.
 */
#ifndef KNAPSOLVE_LAKG_LANES_H
#define KNAPSOLVE_LAKG_LANES_H

#include <stdint.h>

#include "lane_random.h"
#include "sum_tree.h"

typedef struct {
    sum_tree *tree[LANES];   /* weights of the materials, all of one size */
    int32_t *state[LANES];
    double *last[LANES];     /* pages: time of each material's last poll; NULL: Bernoulli polls */
    int64_t found[LANES];    /* polls so far that found a change */
    uint64_t word[4][LANES]; /* the generators' states */
    const uint64_t *units;   /* weight of an automaton in each state */
    const double *rate;      /* changes per unit of time; Bernoulli: times the units of an amount of 1 */
    int32_t resolution;
    uint64_t full_at;        /* the knapsack is full from this total on */
    int64_t polls;           /* in each lane so far; poll k (from 1) is at time k * period */
    double period;
} lakg_lanes;

/* Poll `steps` times in each lane, with the vector code of `level` (cpu_level.h): every level does the same. */
void lakg_lanes_run(lakg_lanes *game, int64_t steps, int level);

/* Exponential variates (n,) of random words (n,), n a multiple of LANES. */
void lane_exponentials(const uint64_t *word, double *out, int64_t n);

#endif
