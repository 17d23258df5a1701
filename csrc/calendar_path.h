/* What lies ahead of the calendar of index_calendar.h: filing sites for the level as it will rise.
 *
 * A path is a row of rises of the level at known steps. A site is filed at the first step at which its index may
 * have come to the level of that step: stretch by stretch, by its index at the end of each, most sites by a bound
 * alone. Invariant: a filed site's computed index is below the level at every step until its bucket is due.
 * Complexity: a block takes O(m) for the bound and O(m) a stretch for the sites it does not clear; a path, 64
 * rounds of the policy on CALENDAR_SAMPLE sites.
 * Reference: the policy of Avrachenkov and Borkar (2019), section II; the twin is brute force.
 */
#ifndef KNAPSOLVE_CALENDAR_PATH_H
#define KNAPSOLVE_CALENDAR_PATH_H

#include "index_calendar.h"

/* Fill a block with the columns and present ages of m sites. */
void calendar_gather(const struct calendar *c, struct site_block *b, ptrdiff_t m, const int32_t *sites);

/* Copy the j-th site of a block to the i-th place of another, or of the same. */
static inline void calendar_copy(struct site_block *to, ptrdiff_t i, const struct site_block *from, ptrdiff_t j)
{
    if (to == from && i == j) return;
    to->ceiling[i] = from->ceiling[j];
    to->decay[i] = from->decay[j];
    to->loss[i] = from->loss[j];
    to->curvature[i] = from->curvature[j];
    to->offset[i] = from->offset[j];
    to->max_age[i] = from->max_age[j];
    to->cap[i] = from->cap[j];
    to->age[i] = from->age[j];
}

/* The keys of n items (n,), whose sites are given. */
void calendar_rank(const struct calendar *c, ptrdiff_t n, struct ranked *items);

/* File a block of m sites, of these ages now and below the level, for the level and the path ahead of it; spoils
 * both arrays. */
void calendar_file(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b);

/* The same for sites just crawled, after these ages with these contents. */
void calendar_return(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b, const double *waited,
                     const double *content);

/* Set the level for the present ages and foresee how it rises from there on: steps and levels (CALENDAR_PATH,)
 * are filled, and how many rises there are is returned. The policy is run on a sample of the sites, several
 * steps at a time, and levels are taken below its cutoffs by two standard deviations of what is sampled.
 * `sample` (CALENDAR_SAMPLE,) is scratch, and so is `hot`. */
ptrdiff_t calendar_foresee(struct calendar *c, struct site *sample, double *steps, double *levels);

#endif
