/* One node of a sum tree: the running sums before each of its eight children, in one 64-byte line.
 *
 * node[j] = weight of children 0..j-1, so node[0] = 0 and sums ascend.
 * All are below 2^63, which AVX2's signed comparison needs (turning the highest bit over costs it a sixth of a draw):
 * fixed amounts are counted in units of which there are less than 2^62 in all, or counted anew; LAKG's sum starts below
 * 2^62 and rises only while below the capacity, 2^55 units, by at most 2^55 a poll. sum_tree.c asserts it.
 * child   the last child whose share starts at or below u: O(1)
 * add     change the weight of a child, that is all sums after it: O(1)
 * The AVX2 and AVX-512 versions are inlined only into code compiled for them, and give the same answers.
 */
#ifndef KNAPSOLVE_SUM_NODE_H
#define KNAPSOLVE_SUM_NODE_H

#include <stdint.h>

#define SUM_NODE_INLINE static inline __attribute__((always_inline))

/* From entry 7 - child on, eight masks: all ones after that child. */
static const int64_t SUM_NODE_AFTER[16] __attribute__((aligned(64))) = {0,  0,  0,  0,  0,  0,  0,  0,
                                                                        -1, -1, -1, -1, -1, -1, -1, -1};

SUM_NODE_INLINE int sum_node_child_portable(const uint64_t *p, uint64_t u)
{
    return (u >= p[1]) + (u >= p[2]) + (u >= p[3]) + (u >= p[4]) + (u >= p[5]) + (u >= p[6]) + (u >= p[7]);
}

SUM_NODE_INLINE void sum_node_add_portable(uint64_t *p, int child, uint64_t change)
{
    const int64_t *mask = SUM_NODE_AFTER + 7 - child;
    for (int j = 0; j < 8; j++) p[j] += change & (uint64_t)mask[j];
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Two halves of four; signed comparison serves below 2^63. */
__attribute__((target("avx2,popcnt"))) SUM_NODE_INLINE int sum_node_child_avx2(const uint64_t *p, uint64_t u)
{
    __m256i wanted = _mm256_set1_epi64x((int64_t)u);
    __m256i low = _mm256_cmpgt_epi64(_mm256_load_si256((const __m256i *)p), wanted);
    __m256i high = _mm256_cmpgt_epi64(_mm256_load_si256((const __m256i *)(p + 4)), wanted);
    unsigned above = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
                     (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
    return 7 - __builtin_popcount(above);
}

__attribute__((target("avx2"))) SUM_NODE_INLINE void sum_node_add_avx2(uint64_t *p, int child, uint64_t change)
{
    __m256i *half = (__m256i *)p, all = _mm256_set1_epi64x((int64_t)change);
    const __m256i *mask = (const __m256i *)(SUM_NODE_AFTER + 7 - child);
    __m256i low = _mm256_and_si256(_mm256_loadu_si256(mask), all);
    __m256i high = _mm256_and_si256(_mm256_loadu_si256(mask + 1), all);
    _mm256_store_si256(half, _mm256_add_epi64(_mm256_load_si256(half), low));
    _mm256_store_si256(half + 1, _mm256_add_epi64(_mm256_load_si256(half + 1), high));
}

/* One register. */
__attribute__((target("avx512f,popcnt"))) SUM_NODE_INLINE int sum_node_child_avx512(const uint64_t *p, uint64_t u)
{
    __m512i wanted = _mm512_set1_epi64((int64_t)u);
    return __builtin_popcount(_mm512_cmple_epu64_mask(_mm512_load_si512(p), wanted)) - 1;
}

__attribute__((target("avx512f"))) SUM_NODE_INLINE void sum_node_add_avx512(uint64_t *p, int child, uint64_t change)
{
    __m512i sums = _mm512_load_si512(p);
    __mmask8 after = (__mmask8)(0xfe << child);
    _mm512_store_si512(p, _mm512_mask_add_epi64(sums, after, sums, _mm512_set1_epi64((int64_t)change)));
}
#endif

#endif
