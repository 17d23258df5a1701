#include "robot_sweep.h"

#include <float.h>
#include <math.h>

#include "cpu_level.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

static double least(double a, double b) { return a < b ? a : b; }

static double state_cost(const RobotModel *model, ptrdiff_t q, ptrdiff_t r)
{
    double cost = model->active_cost * (double)r;
    if (q == 0) cost += model->empty_cost;
    if (q == model->buffer) cost += model->full_cost * (double)r;
    return cost;
}

/* (Tg - g)(q, r) by differences; *size grows to the largest sum of magnitudes added up. */
static double residual(const RobotModel *model, const double *g, ptrdiff_t q, ptrdiff_t r, double *size)
{
    ptrdiff_t W = model->buffer + 1, next = q < model->buffer ? q + 1 : q;
    const double *line = g + r * W;
    double here = line[q], cost = state_cost(model, q, r), depart = 0.0, arrive = 0.0;
    if (q > 0) depart = model->depart * (least(line[q - 1], r < model->robots ? line[W + q - 1] : line[q - 1]) - here);
    if (r > 0) arrive = model->arrive * (double)r * (least(line[next - W], line[next]) - here);
    double sum = fabs(cost) + fabs(depart) + fabs(arrive);
    if (sum > *size) *size = sum;
    return cost + depart + arrive;
}

void robot_bounds(const RobotModel *model, const double *bias, double *lower, double *upper)
{
    double low = INFINITY, high = -INFINITY, size = 0.0;
    for (ptrdiff_t r = 0; r <= model->robots; r++)
        for (ptrdiff_t q = r > 0 ? 0 : 1; q <= model->buffer; q++) {
            double value = residual(model, bias, q, r, &size);
            low = value < low ? value : low;
            high = value > high ? value : high;
        }
    *lower = low - 8.0 * DBL_EPSILON * size;
    *upper = high + 8.0 * DBL_EPSILON * size;
}

/* One sweep from g to out. best (2, K + 1): what is best after an event at this level of robots and the last. */
INLINE void sweep(const RobotModel *model, double step, double shift, const double *restrict g, double *restrict out, double *best)
{
    ptrdiff_t N = model->robots, K = model->buffer, W = K + 1, r, q;
    for (q = 0; q < 2 * W; q++) best[q] = 0.0;
    for (r = 0; r <= N; r++) {
        const double *restrict here = g + r * W, *restrict more = r < N ? here + W : here;
        double *restrict to = out + r * W, *restrict now = best + (r & 1) * W, *restrict last = best + (~r & 1) * W;
        double base = model->active_cost * (double)r, arrive = step * model->arrive * (double)r;
        double depart = step * model->depart, constant = step * (base - shift), stay = 1.0 - arrive - depart;
        for (q = 0; q < W; q++) now[q] = more[q] < here[q] ? more[q] : here[q];
        for (q = 1; q < K; q++) to[q] = (stay * here[q] + depart * now[q - 1]) + (arrive * last[q + 1] + constant);
        to[0] = r > 0 ? (1.0 - arrive) * here[0] + (arrive * last[1] + (constant + step * model->empty_cost)) : INFINITY;
        to[K] = (stay * here[K] + depart * now[K - 1]) + (arrive * last[K] + (constant + step * model->full_cost * (double)r));
    }
}

INLINE void sweeps_body(const RobotModel *model, double step, ptrdiff_t sweeps, double *bias, double *other, double *best)
{
    double *from = bias, *to = other, size = 0.0;
    for (ptrdiff_t k = 0; k < sweeps; k++) {
        double here = from[model->buffer + 2];
        sweep(model, step, residual(model, from, 1, 1, &size) + here / step, from, to, best);
        double *swap = from;
        from = to;
        to = swap;
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
static void sweeps_avx512(const RobotModel *model, double step, ptrdiff_t sweeps, double *bias, double *other, double *best)
{
    sweeps_body(model, step, sweeps, bias, other, best);
}

__attribute__((target("avx2")))
static void sweeps_avx2(const RobotModel *model, double step, ptrdiff_t sweeps, double *bias, double *other, double *best)
{
    sweeps_body(model, step, sweeps, bias, other, best);
}
#endif

void robot_sweeps(const RobotModel *model, double step, ptrdiff_t sweeps, double *bias, double *other, double *best)
{
#if defined(__x86_64__)
    if (model->buffer < 32) { sweeps_body(model, step, sweeps, bias, other, best); return; } /* short lines */
    if (model->cpu == CPU_AVX512) { sweeps_avx512(model, step, sweeps, bias, other, best); return; }
    if (model->cpu == CPU_AVX2) { sweeps_avx2(model, step, sweeps, bias, other, best); return; }
#endif
    sweeps_body(model, step, sweeps, bias, other, best);
}
