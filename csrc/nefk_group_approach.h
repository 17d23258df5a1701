/* Own prices of most small groups at the cost of one evaluation: single precision leads so near that one Halley step in
 * double precision ends the search, and amounts follow that step by their series.
 */
#ifndef NEFK_GROUP_APPROACH_H
#define NEFK_GROUP_APPROACH_H

#include "nefk_tile.h"

/* Whether this is for the listed groups: of detection or freshness, without bounds, most items in small groups. */
int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space, size_t groups);

/* Answer all items of the tile: groups at space->high, those listed in space->group at own prices near the guesses in
 * space->at, which become their space->low and high. Amounts go into space->x, their prices into space->price and
 * totals by group into space->total. Returns how many groups are left on the list, with better guesses and without an
 * answer. O(items). */
size_t nefk_approach_own(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor, size_t groups);

#endif
