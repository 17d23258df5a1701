/* A Gaussian process on a grid, exact in its feature space.
 *
 * A curve on m grid points is f = Phi w with w ~ N(0, I) a priori, Phi Phi' the prior covariance; `features`
 * is Phi transposed, (r, m) row by row. Observations y = f(x_k) + noise of variance s add up in the precision
 * of w, P = I + sum phi_k phi_k' / s, held as its lower triangle row by row (r (r + 1) / 2), and in the
 * information vector b = sum phi_k y / s, (r,). The posterior is w ~ N(P^-1 b, P^-1), and the
 * cost does not grow with the number of observations; gp_gather now and then undoes the rounding of long sums.
 * What is long goes by rows, so that it can be left between them: P and b are valid after any row.
 * Units: curves and y are unit values (changes found per poll); s their square.
 * Reference: Rasmussen and Williams (2006), section 2.1.1, equations 2.7 and 2.8.
 */
#ifndef KNAPSOLVE_GP_POSTERIOR_H
#define KNAPSOLVE_GP_POSTERIOR_H

#include <stddef.h>

/* Add y, seen at the grid point whose features are phi[j * stride]. O(r^2). */
void gp_observe(ptrdiff_t r, const double *phi, ptrdiff_t stride, double y, double noise, double *precision,
                double *information);

/* Rows [from, to) of P and b from the counts and sums of y at each grid point, (m,) each. O(r m) a row. */
void gp_gather(ptrdiff_t r, ptrdiff_t m, const double *features, const double *counts, const double *sums, double noise,
               double *precision, double *information, ptrdiff_t from, ptrdiff_t to);

/* Rows [from, to) of the Cholesky factor of P = L L', packed as P is, and of L^-1 b, (r,), after those before. O(r^2 / 2)
 * a row. Every pivot of P is at least 1, so rounding below that is undone: it cannot fail. */
void gp_factor(const double *precision, const double *information, double *factor, double *solved, ptrdiff_t from,
               ptrdiff_t to);

/* The posterior mean of w from L^-1 b, in its place. O(r^2 / 2). */
void gp_solve(ptrdiff_t r, const double *factor, double *solved);

/* Rows [from, to) of white = L^-1 features, (r, m) with rows `stride` apart, after those before: f = Phi mean + white' z
 * for z ~ N(0, I). O(r m / 2) a row. */
void gp_whiten(ptrdiff_t m, const double *features, const double *factor, double *white, ptrdiff_t stride,
               ptrdiff_t from, ptrdiff_t to);

/* The curve of weights w, (m,). O(r m). */
void gp_curve(ptrdiff_t r, ptrdiff_t m, const double *features, ptrdiff_t stride, const double *w, double *curve);

/* w += L'^-1 z and z = L' w, between the weights' own units and independent standard ones. O(r^2 / 2). */
void gp_add_unwhitened(ptrdiff_t r, const double *factor, const double *z, double *scratch, double *w);
void gp_whitened(ptrdiff_t r, const double *factor, const double *w, double *z);

#endif
