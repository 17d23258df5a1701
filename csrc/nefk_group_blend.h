/* Amounts of groups of which the total jumps over the cap, or over what the budget leaves them: between those at two
 * neighbouring prices.
 */
#ifndef NEFK_GROUP_BLEND_H
#define NEFK_GROUP_BLEND_H

#include "nefk_tile.h"

/* Where a group's space->low and high differ, share its amounts at both, which space->x has at the high prices, beside
 * their totals: to its cap, if `own` (g,) says that the prices are its own; else `prices.share` of the room that is left
 * to it, or if these are free, of its jump, but no more than the cap. Own prices that are just these become NaN then.
 * Detection and freshness items that bounds cut follow their jump as far as these allow.
 * O(items of these groups times steps). */
void nefk_blend_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                       double *own);

#endif
