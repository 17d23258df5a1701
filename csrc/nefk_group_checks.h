/* Loops over the groups of a tile, in the order in which they are gathered, at the best vector width: what few groups
 * differ in is first looked for in blocks of them. */
#ifndef NEFK_GROUP_CHECKS_H
#define NEFK_GROUP_CHECKS_H

#include <stddef.h>
#include <stdint.h>

/* Classes of groups (n,) that begin at `begin` (n + 1,): their sizes, or `largest` where that is less; and `more` beyond
 * that if they have no guess of an own price in `own`, which may be NULL, no item, or a cap of 0. Without caps, none is.
 */
void nefk_classify(size_t n, const uint32_t *begin, const double *own, const double *caps, uint32_t largest,
                   uint32_t more, uint16_t *class);

/* Whether all of some numbers (n,) are positive. */
int nefk_are_positive(size_t n, const double *x);

/* List the groups (n,) whose prices differ; returns how many. */
size_t nefk_list_between(size_t n, const double *low, const double *high, uint32_t *list);

/* List the groups (n,) with a mark other than 0 and one price whose totals are off their caps by more than `off` times
 * that; returns how many. */
size_t nefk_list_off(size_t n, const double *mark, const double *low, const double *high, const double *total,
                     const double *caps, double off, uint32_t *list);

/* How far totals are off the caps of groups (n,) at most, over the cap: where a group has an own price, on either side,
 * else above it alone. Adds to `wrong` how many own prices are below `price`, and how many totals of other groups exceed
 * caps by more than `rounding` times that. */
double nefk_check_caps(size_t n, const double *own, const double *total, const double *caps, double price,
                       double rounding, size_t *wrong);

#endif
