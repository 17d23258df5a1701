/* Loops over tables by group, which numpy would take several passes for; threads may share a table's parts. All are
 * O(g). */
#ifndef NEFK_BY_GROUP_H
#define NEFK_BY_GROUP_H

#include <stddef.h>
#include <stdint.h>

/* Totals and slopes (g,) at one price, so many entries apart. Either are doubles or, where these are NULL, singles;
 * without slopes, both are NULL. */
typedef struct {
    const double *totals, *slopes;
    const float *single_totals, *single_slopes;
    size_t step, slope_step;
} nefk_taken;

/* The same from one group on. */
nefk_taken nefk_taken_from(nefk_taken taken, size_t first);

/* What groups take together under their caps (g,), the slope of that, and its part that caps hold, into sums (3,).
 * Summed in blocks, for their rounding. */
void nefk_capped_sums(nefk_taken taken, const double *caps, size_t groups, double *sums);

enum { NEFK_CAPPED = 1, NEFK_PASSING = 2, NEFK_LOOSE = 3 }; /* marks of groups: all over a bracket, in it, nowhere */

/* Mark groups as capped in `marks` (g,) of whose rough totals slopes lead to the caps (g,) by `least` or more; slopes
 * are taken to be no less than `flattest` times the total. As loose those that are under the cap even if they take
 * `rise` times the slope more, unless that has no end; all others 0. */
void nefk_mark_surely(nefk_taken taken, const double *caps, size_t groups, double least, double flattest, double rise,
                      int8_t *marks);

/* The sum of those rough totals that do not surely exceed the caps (g,). */
double nefk_not_surely_capped(nefk_taken taken, const double *caps, size_t groups);

enum { NEFK_LINES = 96 }; /* from 1 on, eight for each doubling */

/* Write a guess of each group's own price, by what they take at one price over their caps, along `lines` (NEFK_LINES, 2):
 * where each is at 0, and its slope; beyond the last as at its end; or `loose` where a cap is. `own` (g,) may lie over
 * totals in double precision, or over pairs of single ones and slopes. */
void nefk_guess_along(nefk_taken taken, const double *caps, size_t groups, const double *lines, double *own,
                      double loose);

/* How far own prices (g,) are above a price, in their place: 0 where they are below, or NaN. */
void nefk_excess(double *own, size_t groups, double price);

/* Own prices (k,) of groups that are not marked, or as loose, become NaN, and those of others, if they are NaN, the
 * given one. */
void nefk_take_marked(double *own, const int8_t *marks, size_t count, double price);

/* The sum of caps (k,) of groups that are marked as capped, or if `marks` is NULL of all. */
double nefk_sum_marked(const double *caps, const int8_t *marks, size_t count);

/* Entries (k,) of the groups that are kept, (groups,) of 0 or 1, and NaN for all others. */
void nefk_put_kept(const double *table, size_t k, const uint8_t *kept, size_t groups, double *out);

/* Mark the groups as kept that take more than `least` of their caps, of a table (groups, 2); how many those are. What
 * all others take, and the slope of that, into others (2,), summed in blocks. */
size_t nefk_keep_capped(const double *taken, const double *caps, size_t groups, double least, uint8_t *kept,
                        double *others);

/* Put the totals of a table (groups + 1, 2) that are kept to its front, behind the first one, and their slopes into an
 * array (k + 2,), whose last one is used up; marks lie `step` bytes apart. */
void nefk_split_kept(double *taken, const uint8_t *kept, size_t step, size_t groups, float *slopes);

/* Numbers (groups,) from `next` on that the groups get that are kept; -1 for all others. */
void nefk_name_kept(const uint8_t *kept, size_t groups, int32_t next, int32_t *names);

/* What groups of some sizes (k,) can take together under their caps if every item takes at most `upper`. */
double nefk_most_under_caps(const uint32_t *sizes, double upper, const double *caps, size_t count);

/* Where groups of some sizes (k,) start, side by side, and where the last of them ends: (k + 1,). */
void nefk_starts_of(const uint32_t *sizes, size_t count, uint32_t last, uint32_t *starts);

#endif
