/* The groups' own prices: the price at which a group's items alone take its cap, of many groups at once. */
#ifndef NEFK_GROUP_SEARCH_H
#define NEFK_GROUP_SEARCH_H

#include "nefk_tile.h"

/* Largest slope, at their lower bounds, of the items that can move of some of the tile's groups, written to best
 * (groups,). O(items); space->y and d are used up. */
void nefk_best_slopes(const nefk_problem *problem, size_t groups, const uint32_t *which, nefk_tile_space *space,
                      double *best);

/* Own prices of the groups of the tile that are listed in space->group, from the guesses in space->at: written to
 * space->low and high by group, beside each other where no price meets the cap. All at once, the slow ones one by one;
 * space->price, x, d and y are used up. Unless `tries_all`, a last step from near by is not tried. A guess that lies
 * within `reach` of an item's start, over the guess, is taken to mean that; if that is NULL, none is. Returns items
 * answered. O(items times steps). */
double nefk_search_own(const nefk_grouped *all, nefk_tile_space *space, double floor, size_t groups,
                       int tries_all, const double *reach);

#endif
