/* Where searches of groups of detection or freshness begin: as if the items of each were one, with all their rates. Such
 * an item that starts where the first of them do takes a target at no less than the own price; in their mean, near it,
 * as far as they are alike; and with the rates of those alone that start first, at no more.
 */
#ifndef NEFK_GROUP_BEGIN_H
#define NEFK_GROUP_BEGIN_H

#include "nefk_tile.h"

/* Bring guesses, and ends of brackets, of groups of space->part that are not small there, where some of them are beyond;
 * of items (m,) in rows, without bounds. O(m). */
void nefk_begin_rows_as_one(int shape, nefk_tile_space *space, size_t n_rows, size_t m, size_t groups);

/* Begin the searches of n groups of space->part, which[0] and so on, there, if their guesses are beyond. Where the items
 * that start first take the target before another one does, as bounds allow, its price is enclosed. Not of items with
 * lower bounds. Works at the front of the items' x, d, y, e and price, and of the groups' total, slope and curve.
 * O(items). */
void nefk_begin_as_one(const nefk_problem *problem, nefk_tile_space *space, size_t n, const uint32_t *which,
                       double floor);

#endif
