/* The groups of a tile that are searched for, in rows of their own: what is left of rows once some groups are answered. */
#ifndef NEFK_GROUP_APART_H
#define NEFK_GROUP_APART_H

#include "nefk_tile.h"

/* Copy the items of the groups in space->group, and their starts, into rows of space->part, and what the groups have to
 * the front; with bounds if `bounded`. Returns how many items. O(items). */
size_t nefk_take_apart(nefk_tile_space *space, int bounded, const double *starts, size_t groups,
                         size_t *n_rows);

/* The amounts x of those items, back to where they were in space->x. O(items). */
void nefk_put_back(nefk_tile_space *space, const double *x, size_t groups);

#endif
