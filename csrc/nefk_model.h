/* Items over a narrow bracket of prices: few of them exactly, all others by the sums of their series. */
#ifndef NEFK_MODEL_H
#define NEFK_MODEL_H

#include "nefk_blocks.h"
#include "nefk_kernel.h"
#include "nefk_search.h"
#include "nefk_series.h"

/* The sums of the items' series about the middle, and apart the `count` items that are rough there, of at most `room`. */
typedef struct {
    double middle, half, low, high, term[NEFK_TERMS];
    double *columns[4];          /* of what describes the rough items */
    double *price, *x, *d, *c;   /* theirs, and answers */
    size_t count, room;
} nefk_model;

/* A model of no items yet, within `half` of a price in log price, that works in `items` and `answers` (4, room). */
nefk_model nefk_new_model(double price, double half, double *items, double *answers, size_t room);

/* Take in m items, at most NEFK_BLOCK; 0 if too many are rough. Not for shapes whose steps are in price. O(m). */
int nefk_add_to_model(const nefk_problem *problem, size_t m, nefk_block items, nefk_model *model);

/* Where a model takes the target of a search: its price, or neighbouring prices, with the state that says which. The
 * search stays running where the model does not tell. O(rough items times steps). */
void nefk_search_model(const nefk_problem *problem, const nefk_model *model, nefk_search *search);

#endif
