/* Which items may take something at a price, as a bit of each. */
#ifndef NEFK_MARKS_H
#define NEFK_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "nefk_load.h"

/* Set the bits of items [start, stop) that start above a price, but for rounding, from the first of `marks` on, of one
 * of the shapes whose items start at weight / parameter, or detection; and clear those beyond. O(stop - start). */
void nefk_mark_started(const nefk_problem *problem, double price, size_t start, size_t stop, uint64_t *marks);

#endif
