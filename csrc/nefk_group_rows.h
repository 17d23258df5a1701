/* Own prices of small groups that lie side by side in rows, not of detection or freshness: Newton's method, a group to a
 * lane of a vector.
 */
#ifndef NEFK_GROUP_ROWS_H
#define NEFK_GROUP_ROWS_H

#include "nefk_tile.h"

/* Search the groups of the tile that may need own prices, from the guesses in space->at, where they lie in rows: prices
 * become their space->low and high. Returns how many are without one, large ones too, which are listed in space->group,
 * with better guesses; adds items answered to `answered`. O(items times rounds). */
size_t nefk_search_rows(const nefk_problem *problem, nefk_tile_space *space, double floor, double *answered);

#endif
