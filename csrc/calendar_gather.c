/* Rows of struct site into the columns of a block: four sites at a time by AVX2, 4 x 4 numbers transposed in registers;
 * the same numbers without. O(1) a site. */
#include "calendar_path.h"

#include "every_width.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* Rows of four sites, half of each, into columns `stride` numbers apart. */
__attribute__((target("avx2"))) static inline void transpose(const double *const row[4], int half, double *out,
                                                             ptrdiff_t stride, __m256d column[4])
{
    __m256d r0 = _mm256_loadu_pd(row[0] + half), r1 = _mm256_loadu_pd(row[1] + half);
    __m256d r2 = _mm256_loadu_pd(row[2] + half), r3 = _mm256_loadu_pd(row[3] + half);
    __m256d a = _mm256_unpacklo_pd(r0, r1), b = _mm256_unpackhi_pd(r0, r1);
    __m256d d = _mm256_unpacklo_pd(r2, r3), e = _mm256_unpackhi_pd(r2, r3);
    column[0] = _mm256_permute2f128_pd(a, d, 0x20);
    column[1] = _mm256_permute2f128_pd(b, e, 0x20);
    column[2] = _mm256_permute2f128_pd(a, d, 0x31);
    column[3] = _mm256_permute2f128_pd(b, e, 0x31);
    for (int f = 0; f < 4; f++) _mm256_storeu_pd(out + f * stride, column[f]);
}

/* The first m - m % 4 sites; returns how many. */
__attribute__((target("avx2"))) static ptrdiff_t gather_fours(const struct calendar *c, struct site_block *b,
                                                              ptrdiff_t m, const int32_t *sites)
{
    ptrdiff_t stride = b->decay - b->ceiling, j = 0;
    __m256d now = _mm256_set1_pd(c->now), column[4];
    for (; j + 4 <= m; j += 4) {
        const double *row[4];
        for (int k = 0; k < 4; k++) row[k] = &c->sites[sites[j + k]].ceiling;
        transpose(row, 0, b->ceiling + j, stride, column);
        transpose(row, 4, b->offset + j, stride, column);
        _mm256_storeu_pd(b->age + j, _mm256_sub_pd(now, column[3]));
    }
    return j;
}
#else
static ptrdiff_t gather_fours(const struct calendar *c, struct site_block *b, ptrdiff_t m, const int32_t *sites)
{
    return 0;
}
#endif

void calendar_gather(const struct calendar *c, struct site_block *b, ptrdiff_t m, const int32_t *sites)
{
    ptrdiff_t j = cpu_level() >= CPU_AVX2 ? gather_fours(c, b, m, sites) : 0;
    for (; j < m; j++) {
        const struct site *s = &c->sites[sites[j]];
        b->ceiling[j] = s->ceiling;
        b->decay[j] = s->decay;
        b->loss[j] = s->loss;
        b->curvature[j] = s->curvature;
        b->offset[j] = s->offset;
        b->max_age[j] = s->max_age;
        b->cap[j] = s->cap;
        b->age[j] = c->now - s->last;
    }
}
