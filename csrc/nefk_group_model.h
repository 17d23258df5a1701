/* One group over a narrow bracket of prices: few of its items exactly, all others by the sums of their series. */
#ifndef NEFK_GROUP_MODEL_H
#define NEFK_GROUP_MODEL_H

#include "nefk_search.h"
#include "nefk_series.h"
#include "nefk_tile.h"

/* A group over a narrow bracket of prices: the sums of its items' series about the middle, and apart the `count` items
 * that are rough there, with room for what they take. */
typedef struct {
    double middle, low, high, term[NEFK_TERMS];
    nefk_block rough;
    double *price, *x, *d, *c;
    size_t count;
} nefk_group_model;

/* Model group k of space->part within `half` of a price, in log price; 0 if too many items are rough. Not for shapes
 * whose steps are in price. Uses space->y and space->e up. O(items). */
int nefk_model_group(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price, double half,
                     nefk_group_model *model);

/* Where a model takes the target of a search: its price, or neighbouring prices, with the state that says which. The
 * search stays running where the model does not tell. O(rough items times steps). */
void nefk_search_model(const nefk_problem *problem, const nefk_group_model *model, nefk_search *search);

#endif
