/* What the two items of a group that start first tell of its own price, for detection and freshness:
 * where the first takes the cap alone before the second starts, that is the answer; elsewhere the second one bounds it.
 */
#ifndef NEFK_GROUP_FIRST_H
#define NEFK_GROUP_FIRST_H

#include "nefk_tile.h"

/* Give the cap of each group that may need an own price to the item that starts first, into space->x, at its slope
 * there, into space->low and high; starts are those of the tile's first m items, which are theirs. Lists the groups
 * where that is not the answer, or beyond a bound, in space->group, and returns how many: their amounts are nothing of use. `tops` become those of all groups. O(items). */
size_t nefk_give_to_first(const nefk_problem *problem, nefk_tile_space *space, const double *starts, size_t m,
                          double floor, nefk_tops tops);

/* Better guesses in space->at of so many groups, of which space->target are the caps: no lower than the price at which
 * the second item takes what the first one leaves where the second starts. That is near the answer where it is little,
 * which no slope tells from beyond the start. O(groups). */
void nefk_guess_by_second(const nefk_problem *problem, nefk_tile_space *space, nefk_tops tops, size_t groups);

#endif
