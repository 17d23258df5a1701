/* Own prices of quadratic items, linear ones too, whose totals are straight lines, with jumps, between the prices at
 * which items begin to take something and those at which they have all that they can.
 */
#ifndef NEFK_GROUP_BREAKS_H
#define NEFK_GROUP_BREAKS_H

#include "nefk_tile.h"

/* Enclose own prices of the groups of space->part between such prices next to each other, from what is known in
 * space->from, to, more and less; space->e, price and x are used up. Where a total jumps over the cap, the prices beside
 * the jump, and space->met says that they are. Returns items answered. O(items). */
double nefk_cross_groups(const nefk_problem *problem, nefk_tile_space *space, size_t groups);

#endif
