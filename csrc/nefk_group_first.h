/* Groups whose cap the item that starts first takes alone, before another one starts, or those that start there
 * together: of detection and freshness, of which such items take in proportion to their rates. */
#ifndef NEFK_GROUP_FIRST_H
#define NEFK_GROUP_FIRST_H

#include "nefk_tile.h"

/* Give the cap of each group that may need an own price to the items that start first, into space->x, at its slope
 * there, into space->low and high; starts are those of the tile's first m items, which are theirs. Lists the groups
 * where that is not the answer, or beyond a bound, in space->group, and returns how many: their amounts are nothing of
 * use. `tops` become those of all groups. O(items). */
size_t nefk_give_to_first(const nefk_problem *problem, nefk_tile_space *space, const double *starts, size_t m,
                          double floor, nefk_tops tops);

#endif
