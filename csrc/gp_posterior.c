#include "gp_posterior.h"

#include <math.h>
#include <string.h>

#include "every_width.h"

#define GP_INLINE static inline __attribute__((always_inline))

void gp_observe(ptrdiff_t r, const double *phi, ptrdiff_t stride, double y, double noise, double *precision,
                double *information)
{
    for (ptrdiff_t i = 0; i < r; i++) {
        double weight = phi[i * stride] / noise;
        for (ptrdiff_t j = 0; j <= i; j++) *precision++ += weight * phi[j * stride];
        information[i] += weight * y;
    }
}

void gp_gather(ptrdiff_t r, ptrdiff_t m, const double *features, const double *counts, const double *sums, double noise,
               double *precision, double *information, ptrdiff_t from, ptrdiff_t to)
{
    precision += from * (from + 1) / 2;
    for (ptrdiff_t i = from; i < to; i++) {
        const double *row = features + i * m;
        double total = 0.0;
        for (ptrdiff_t k = 0; k < m; k++) total += row[k] * sums[k];
        information[i] = total / noise;
        for (ptrdiff_t j = 0; j <= i; j++) {
            const double *other = features + j * m;
            total = 0.0;
            for (ptrdiff_t k = 0; k < m; k++) total += row[k] * counts[k] * other[k];
            *precision++ = total / noise + (i == j ? 1.0 : 0.0);
        }
    }
}

void gp_factor(const double *precision, const double *information, double *factor, double *solved, ptrdiff_t from,
               ptrdiff_t to)
{
    double *row = factor + from * (from + 1) / 2;
    precision += from * (from + 1) / 2;
    for (ptrdiff_t i = from; i < to; row += ++i) {
        const double *other = factor;
        double rest = information[i], pivot = precision[i];
        for (ptrdiff_t j = 0; j < i; other += ++j) {
            double sum = precision[j];
            for (ptrdiff_t k = 0; k < j; k++) sum -= row[k] * other[k];
            row[j] = sum / other[j];
            pivot -= row[j] * row[j];
            rest -= row[j] * solved[j];
        }
        row[i] = sqrt(pivot > 1.0 ? pivot : 1.0);
        solved[i] = rest / row[i];
        precision += i + 1;
    }
}

void gp_solve(ptrdiff_t r, const double *factor, double *solved)
{
    const double *row = factor + r * (r + 1) / 2;
    for (ptrdiff_t i = r; i-- > 0;) { /* back substitution, row by row */
        row -= i + 1;
        solved[i] /= row[i];
        for (ptrdiff_t j = 0; j < i; j++) solved[j] -= row[j] * solved[i];
    }
}

GP_INLINE void whiten(ptrdiff_t m, const double *features, const double *factor, double *white, ptrdiff_t stride,
                      ptrdiff_t from, ptrdiff_t to)
{
    factor += from * (from + 1) / 2;
    for (ptrdiff_t i = from; i < to; factor += ++i) {
        double *restrict out = white + i * stride;
        double scale = 1.0 / factor[i];
        memcpy(out, features + i * m, sizeof(double) * (size_t)m);
        for (ptrdiff_t j = 0; j < i; j++) {
            const double *above = white + j * stride;
            double weight = factor[j];
            for (ptrdiff_t k = 0; k < m; k++) out[k] -= weight * above[k];
        }
        for (ptrdiff_t k = 0; k < m; k++) out[k] *= scale;
    }
}

AT_EVERY_WIDTH(void, gp_whiten, whiten,
               (ptrdiff_t m, const double *features, const double *factor, double *white, ptrdiff_t stride,
                ptrdiff_t from, ptrdiff_t to),
               (m, features, factor, white, stride, from, to))

GP_INLINE void add_rows(ptrdiff_t r, ptrdiff_t m, const double *features, ptrdiff_t stride, const double *w,
                        double *restrict curve)
{
    for (ptrdiff_t k = 0; k < m; k++) curve[k] = 0.0;
    for (ptrdiff_t j = 0; j < r; j++) {
        const double *row = features + j * stride;
        double weight = w[j];
        for (ptrdiff_t k = 0; k < m; k++) curve[k] += weight * row[k];
    }
}

AT_EVERY_WIDTH(void, gp_curve, add_rows,
               (ptrdiff_t r, ptrdiff_t m, const double *features, ptrdiff_t stride, const double *w, double *curve),
               (r, m, features, stride, w, curve))

void gp_add_unwhitened(ptrdiff_t r, const double *factor, const double *z, double *scratch, double *w)
{
    const double *row = factor + r * (r + 1) / 2;
    memcpy(scratch, z, sizeof(double) * (size_t)r);
    for (ptrdiff_t i = r; i-- > 0;) {
        row -= i + 1;
        scratch[i] /= row[i];
        w[i] += scratch[i];
        for (ptrdiff_t j = 0; j < i; j++) scratch[j] -= row[j] * scratch[i];
    }
}

void gp_whitened(ptrdiff_t r, const double *factor, const double *w, double *z)
{
    for (ptrdiff_t j = 0; j < r; j++) z[j] = 0.0;
    for (ptrdiff_t i = 0; i < r; factor += ++i)
        for (ptrdiff_t j = 0; j <= i; j++) z[j] += factor[j] * w[i];
}
