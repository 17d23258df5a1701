/* Own prices of quadratic items, linear ones too, whose totals are straight lines, with jumps, between the prices at
 * which items begin to take something and those at which they have all that they can.
 */
#ifndef NEFK_GROUP_BREAKS_H
#define NEFK_GROUP_BREAKS_H

#include "nefk_tile.h"

/* Whether all items are linear. */
static inline int nefk_is_linear(const nefk_tile_space *space) {
    return !space->all.step[0] && space->all.entries[0][0] == 0.0;
}

/* Enclose own prices of the groups of space->part between such prices next to each other, from what is known in
 * space->from, to, more and less; space->e, price and x are used up. Where a total jumps over the cap, the prices beside
 * the jump, and space->met says that they are. Returns items answered. O(items times log of a group's). */
double nefk_bisect_breaks(const nefk_problem *problem, nefk_tile_space *space, size_t groups);

#endif
