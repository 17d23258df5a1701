/* Own prices of small groups in single precision, as many side by side as nefk_single.h takes. */
#ifndef NEFK_GROUP_LANES_H
#define NEFK_GROUP_LANES_H

#include "nefk_tile.h"

/* Better guesses of the prices of the groups of space->part, from those in space->at, and brackets of them in space->from
 * and space->to; those that are far from their caps go on, side by side. `known` as in nefk_group_approach.h. O(items
 * times rounds). */
void nefk_approach(nefk_tile_space *space, int bounded, double floor, int known, size_t groups);

#endif
