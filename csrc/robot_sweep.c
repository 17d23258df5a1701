#include "robot_sweep.h"

#include <float.h>
#include <math.h>

#include "cpu_level.h"

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

/* Weights of one line: out = stay * g + depart * departure + arrive * arrival + constant. */
typedef struct {
    double stay, depart, arrive, constant;
} Weights;

/* n states from `here` on; `more` is the line with one robot more, `less` with one less. */
static void line_portable(ptrdiff_t n, Weights w, const double *here, const double *more, const double *less, double *out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = w.stay * here[i] + w.depart * least(more[i - 1], here[i - 1]) + (w.arrive * least(less[i + 1], here[i + 1]) + w.constant);
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2")))
static void line_avx2(ptrdiff_t n, Weights w, const double *here, const double *more, const double *less, double *out)
{
    __m256d stay = _mm256_set1_pd(w.stay), depart = _mm256_set1_pd(w.depart);
    __m256d arrive = _mm256_set1_pd(w.arrive), constant = _mm256_set1_pd(w.constant);
    ptrdiff_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256d d = _mm256_min_pd(_mm256_loadu_pd(more + i - 1), _mm256_loadu_pd(here + i - 1));
        __m256d a = _mm256_min_pd(_mm256_loadu_pd(less + i + 1), _mm256_loadu_pd(here + i + 1));
        __m256d first = _mm256_add_pd(_mm256_mul_pd(stay, _mm256_loadu_pd(here + i)), _mm256_mul_pd(depart, d));
        _mm256_storeu_pd(out + i, _mm256_add_pd(first, _mm256_add_pd(_mm256_mul_pd(arrive, a), constant)));
    }
    line_portable(n - i, w, here + i, more + i, less + i, out + i);
}

__attribute__((target("avx512f")))
static void line_avx512(ptrdiff_t n, Weights w, const double *here, const double *more, const double *less, double *out)
{
    __m512d stay = _mm512_set1_pd(w.stay), depart = _mm512_set1_pd(w.depart);
    __m512d arrive = _mm512_set1_pd(w.arrive), constant = _mm512_set1_pd(w.constant);
    for (ptrdiff_t i = 0; i < n; i += 8) {
        __mmask8 m = n - i >= 8 ? (__mmask8)0xff : (__mmask8)((1u << (n - i)) - 1u);
        __m512d d = _mm512_min_pd(_mm512_maskz_loadu_pd(m, more + i - 1), _mm512_maskz_loadu_pd(m, here + i - 1));
        __m512d a = _mm512_min_pd(_mm512_maskz_loadu_pd(m, less + i + 1), _mm512_maskz_loadu_pd(m, here + i + 1));
        __m512d first = _mm512_add_pd(_mm512_mul_pd(stay, _mm512_maskz_loadu_pd(m, here + i)), _mm512_mul_pd(depart, d));
        _mm512_mask_storeu_pd(out + i, m, _mm512_add_pd(first, _mm512_add_pd(_mm512_mul_pd(arrive, a), constant)));
    }
}
#endif

typedef void (*LineKernel)(ptrdiff_t, Weights, const double *, const double *, const double *, double *);

static LineKernel best_line(int level)
{
#if defined(__x86_64__)
    if (level == CPU_AVX512) return line_avx512;
    if (level == CPU_AVX2) return line_avx2;
#endif
    (void)level;
    return line_portable;
}

/* One sweep from g to out; the ends q = 0 and q = K apart, where an event is missing. */
static void sweep(const RobotModel *model, LineKernel kernel, double step, double shift, const double *g, double *out)
{
    ptrdiff_t N = model->robots, K = model->buffer, W = K + 1;
    for (ptrdiff_t r = 0; r <= N; r++) {
        const double *here = g + r * W, *more = r < N ? here + W : here, *less = r > 0 ? here - W : here;
        double *to = out + r * W, base = model->active_cost * (double)r, arrive = step * model->arrive * (double)r;
        double depart = step * model->depart, constant = step * (base - shift);
        Weights w = {1.0 - arrive - depart, depart, arrive, constant};
        to[0] = r > 0 ? (1.0 - arrive) * here[0] + (arrive * least(less[1], here[1]) + (constant + step * model->empty_cost)) : INFINITY;
        kernel(K - 1, w, here + 1, more + 1, less + 1, to + 1);
        to[K] = w.stay * here[K] + depart * least(more[K - 1], here[K - 1])
                + (arrive * least(less[K], here[K]) + (constant + step * model->full_cost * (double)r));
    }
}

void robot_sweeps(const RobotModel *model, double step, ptrdiff_t sweeps, double *bias, double *other)
{
    LineKernel kernel = best_line(model->cpu);
    double *from = bias, *to = other, size = 0.0;
    for (ptrdiff_t k = 0; k < sweeps; k++) {
        double here = from[model->buffer + 2];
        sweep(model, kernel, step, residual(model, from, 1, 1, &size) + here / step, from, to);
        double *swap = from;
        from = to;
        to = swap;
    }
}
