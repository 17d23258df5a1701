/* Own prices of most small groups at the cost of one evaluation: items that take their cap alone are known in closed
 * form; elsewhere single precision leads so near that one step in double precision ends the search, and amounts follow
 * that step by their series.
 */
#ifndef NEFK_GROUP_APPROACH_H
#define NEFK_GROUP_APPROACH_H

#include "nefk_tile.h"

/* Whether this is for the groups of the tile that may need own prices, with guesses in space->at: of detection or
 * freshness, some items in small groups. */
int nefk_approaches(const nefk_problem *problem, const nefk_tile_space *space);

/* What is known of own prices: that they are above the floor, and a guess; a guess alone; or nothing, and the guess is
 * for groups of which no bound is known. */
enum { NEFK_KNOWN_ABOVE, NEFK_GUESSED, NEFK_UNKNOWN };

/* Answer all items of the tile: those groups at own prices near the guesses, which become their space->low and high,
 * all others at space->high. Amounts go into space->x, their prices into space->price and totals by group into
 * space->total. Returns how many groups are without an answer, which are listed in space->group, with better guesses.
 * O(items). */
size_t nefk_approach_own(const nefk_problem *problem, nefk_tile_space *space, double floor, int known);

#endif
