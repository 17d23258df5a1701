/* The index policy over n sites by a calendar of crossing times: crawls the n_crawls largest indices
 * a step while looking only at sites whose index can have reached a level.
 *
 * A waiting site's index path is known, so the step at which it comes to a level is known when the
 * site is crawled. Such sites lie in a ring of buckets, one per coming step; the others are hot and are
 * ranked every step. Invariant: a site that is not hot has a computed index strictly below `level` now
 * and until its bucket is due (whittle_block_safe_age; the margin covers rounding). So if the least of the
 * top n_crawls hot indices is at least `level`, they are the top of all sites, ties included, and the
 * step crawls what brute force would, to the last bit. Otherwise the step asks for a lower level.
 * When too many sites are hot, the level rises and the lower ones go back to the calendar.
 *
 * Where all begin alike the level rises fast, and sites filed for it as it is would be filed again and again.
 * So they are filed for the level to come: a path of levels, rising at known steps, which the level keeps up
 * with. It is a guess (from a sample, see calendar_foresee) that only costs a lowering where it is too high.
 *
 * A step: O(hot + crossings), both a small multiple of n_crawls in the long run. Lowering: O(n).
 */
#ifndef KNAPSOLVE_INDEX_CALENDAR_H
#define KNAPSOLVE_INDEX_CALENDAR_H

#include "site_buckets.h"
#include "top_select.h"
#include "whittle_index.h"

enum { CALENDAR_DONE = 0, CALENDAR_LOWER = 1, CALENDAR_PATH = 32, CALENDAR_SAMPLE = 8192 };

struct calendar {
    ptrdiff_t n_sites, n_crawls;
    struct site *sites;  /* (n_sites,) */
    struct site_buckets due; /* the sites that wait, by the step at which they are due */
    struct ranked *hot;  /* (n_sites,), the first n_hot in use */
    int32_t *room;       /* (n_crawls,) */
    ptrdiff_t n_hot;
    ptrdiff_t slack;      /* hot sites to have in reserve */
    ptrdiff_t window;     /* steps between two cautious rises of the level: doubles up to a round of all sites */
    ptrdiff_t waited;     /* steps since the last rise or window */
    ptrdiff_t least_rest; /* the fewest hot sites left over by a step since then */
    double level;
    double cutoff; /* the least index crawled at the step before, or any other number: a guess ... */
    double swing;  /* ... and how far off it may be, another guess: no answer depends on either */
    ptrdiff_t n_path;        /* rises of the level to come or gone by, at most CALENDAR_PATH */
    const double *path_step; /* (n_path,) ascending: from this step on ... */
    const double *path_level; /* (n_path,) rising: ... the level is this or more */
    double now; /* the step about to be decided; age of site i is now - sites[i].last */
};

/* Decide one step: sites (n_crawls,) ascending, contents (n_crawls,) as the mean dynamics has them or
 * NULL. Returns CALENDAR_LOWER, with nothing decided, when the level must be lowered first. */
int calendar_step(struct calendar *c, int32_t *sites, double *contents);

/* Start to watch the reserve anew. */
void calendar_new_window(struct calendar *c);

/* How many sites to rank for the next level. */
ptrdiff_t calendar_wanted(const struct calendar *c);

/* Set a level that enough sites reach for sure, with nothing foreseen (or see calendar_foresee): start the stream with
 * calendar_wanted(c), and scan all sites in ascending ranges before. */
void calendar_scan(const struct calendar *c, struct top_stream *stream, ptrdiff_t start, ptrdiff_t stop);
void calendar_set_level(struct calendar *c, struct top_stream *stream);

/* Then empty the calendar, and place all sites in ascending ranges. */
void calendar_clear(struct calendar *c);
void calendar_place(struct calendar *c, ptrdiff_t start, ptrdiff_t stop);

#endif
