/* A Gaussian process on a grid, exact in its feature space.
 *
 * A curve on m grid points is f = Phi w with w ~ N(0, I) a priori, Phi Phi' the prior covariance; `features`
 * is Phi transposed, (r, m) row by row. Observations y = f(x_k) + noise of variance s add up in the precision
 * of w, P = I + sum phi_k phi_k' / s, held as its lower triangle row by row (r (r + 1) / 2), and in the
 * information vector b = sum phi_k y / s, (r,). The posterior is w ~ N(P^-1 b, P^-1), and the
 * cost does not grow with the number of observations; gp_gather now and then undoes the rounding of long sums.
 * Units: curves and y are unit values (changes found per poll); s their square.
 * Reference: Rasmussen and Williams (2006), section 2.1.1, equations 2.7 and 2.8.
 */
#ifndef KNAPSOLVE_GP_POSTERIOR_H
#define KNAPSOLVE_GP_POSTERIOR_H

#include <stddef.h>

/* Add y, seen at the grid point whose features are phi[j * stride]. O(r^2). */
void gp_observe(ptrdiff_t r, const double *phi, ptrdiff_t stride, double y, double noise, double *precision,
                double *information);

/* P and b from the counts and sums of y at each grid point, (m,) each. O(r^2 m / 2). */
void gp_gather(ptrdiff_t r, ptrdiff_t m, const double *features, const double *counts, const double *sums, double noise,
               double *precision, double *information);

/* Cholesky factor of P = L L', packed as P is, and the posterior mean of w, (r,). O(r^3 / 3).
 * Every pivot of P is at least 1, so rounding below that is undone: it cannot fail. */
void gp_solve(ptrdiff_t r, const double *precision, const double *information, double *factor, double *mean);

/* white = L^-1 features, (r, m) with rows `stride` apart: f = Phi mean + white' z for z ~ N(0, I). O(r^2 m / 2). */
void gp_whiten(ptrdiff_t r, ptrdiff_t m, const double *features, const double *factor, double *white,
               ptrdiff_t stride);

/* The curve of weights w, (m,). O(r m). */
void gp_curve(ptrdiff_t r, ptrdiff_t m, const double *features, ptrdiff_t stride, const double *w, double *curve);

/* w += L'^-1 z and z = L' w, between the weights' own units and independent standard ones. O(r^2 / 2). */
void gp_add_unwhitened(ptrdiff_t r, const double *factor, const double *z, double *scratch, double *w);
void gp_whitened(ptrdiff_t r, const double *factor, const double *w, double *z);

#endif
