/* Exact moves through a standard normal cut by half-spaces.
 *
 * z in R^r with density exp(-|z|^2 / 2) where every row_i . z + slack_i >= 0. A move flies a quarter of the circle
 * z(t) = z cos t + v sin t, v a fresh standard normal, and bounces off the walls: it leaves the law unchanged,
 * and without walls its end is independent of its start. Times of hits come from a quadratic in tan(t / 2):
 * no trigonometric function is called. A flight of too many bounces may be taken back: its reverse has as many,
 * so that too leaves the law unchanged and bounds the work.
 * A slide goes along the line through z of direction v, to a point of it drawn by a slice under the density: it leaves
 * the law unchanged, gets out of every corner, and needs many steps where a flight needs one.
 * Rows may be of any length: only their directions matter. O(r n) a bounce for n walls.
 * References: Pakman and Paninski, "Exact Hamiltonian Monte Carlo for truncated multivariate Gaussians", JCGS 2014;
 * Neal, "Slice sampling", Annals of Statistics 2003.
 */
#ifndef KNAPSOLVE_TRUNCATED_NORMAL_H
#define KNAPSOLVE_TRUNCATED_NORMAL_H

#include <stddef.h>

enum { WALL_BLOCK = 8 };

struct truncated_normal {
    ptrdiff_t r, n, stride; /* n walls, a multiple of WALL_BLOCK; fill up with rows 0 and slack 1 */
    const double *rows;     /* (r, n), `stride` apart */
    const double *slack;    /* (n,) */
    double breach;          /* how far beyond a wall rounding may carry a point, in the units of slack */
    double *value, *speed, *near; /* (n,) each, scratch */
};

/* The least row_i . z + slack_i. */
double truncated_normal_least(const struct truncated_normal *t, const double *z);

/* Whether it is not negative; no scratch is used. */
int truncated_normal_inside(const struct truncated_normal *t, const double *z);

/* A move in parts, so that it can be left between them. Launch: y = z, (r,), inside; v, (r,), a standard normal, is used up.
 * Fly: look for the next wall at most `most` times, turning at each; the number of looks. *left, 1 at the launch, is the
 * tangent of half the time left, and 0 on arrival; side, (r,), is scratch. Land: z = y and 1, or 0 if y is not inside. */
void truncated_normal_launch(const struct truncated_normal *t, const double *z, const double *v, double *y);
ptrdiff_t truncated_normal_fly(const struct truncated_normal *t, double *y, double *v, double *side, double *left,
                               ptrdiff_t most);
int truncated_normal_land(const struct truncated_normal *t, double *z, const double *y);

/* One slide from z, (r,), inside, along v, (r,), which is not 0; `exponential` standard, `uniform` in [0, 1). O(r n).
 * again: nothing but slides from this z came since t->value was computed. */
void truncated_normal_slide(const struct truncated_normal *t, double *z, const double *v, double exponential,
                            double uniform, int again);

#endif
