/* Groups whose cap leaves an item an amount in its corner: for detection and freshness, near the price where an item
 * starts to take something, its amount falls so fast that no price tells it but two beside each other, between which
 * it takes what the others leave. Searches by prices take long there.
 */
#ifndef NEFK_GROUP_CORNER_H
#define NEFK_GROUP_CORNER_H

#include "nefk_tile.h"

#define NEFK_AIM 3e-2 /* of a price: how far the start may be that a guess means */

/* The items of space->part whose starts are the nearest to the guesses in space->at of so many groups, or the ends of
 * the groups, if these are within space->reach of them, over the guess. Where `moves`, guesses go to just below those
 * starts. O(items). */
void nefk_aim_at_starts(nefk_tile_space *space, size_t groups, int moves, uint32_t *item);

/* After the items' amounts x and slopes d were found at the guesses: enclose the prices of the groups that leave the
 * item aimed at an amount in its corner, by what the others are expected to take there. O(items). */
void nefk_enclose_corners(const nefk_problem *problem, nefk_tile_space *space, size_t groups, const uint32_t *item);

/* A group of space->part whose item, of all the tile's, is in its corner, and what the others leave to that. */
typedef struct { uint32_t group, item; double amount; } nefk_corner;

/* The last step of groups in rows of space->part that are not met where an item is in its corner: what the others leave
 * to it, by their amounts x, slopes and second derivatives at the prices in space->at. Own prices are written to `price`
 * (groups,), and the groups are met, and listed. Returns how many. Without bounds. Reads beyond the rows, as
 * nefk_instructions' functions of rows do. O(items). */
size_t nefk_step_in_corners(const nefk_problem *problem, nefk_tile_space *space, double floor, size_t n_rows,
                            const double *x, double *price, nefk_corner *corners);

/* Those amounts of n groups, after the others' amounts x followed to those prices. */
void nefk_fill_corners(nefk_tile_space *space, size_t n, const nefk_corner *corners, double *x);

#endif
