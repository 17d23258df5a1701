#include "sum_tree.h"

#include <string.h>

#include "cpu_level.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

static int64_t nodes_above(int64_t n) { return (n + 7) / 8; }

static int count_levels(int64_t n)
{
    int levels = 1;
    while ((n = nodes_above(n)) > 1) levels++;
    return levels;
}

int64_t sum_tree_size(int64_t n)
{
    int64_t nodes = 0;
    do {
        n = nodes_above(n);
        nodes += n;
    } while (n > 1);
    return 8 * nodes;
}

/* ---- portable ---------------------------------------------------------- */

static int64_t draw_portable(const sum_tree *tree, uint64_t u)
{
    int64_t at = 0;
    for (int l = 0; l < tree->levels; l++) {
        const uint64_t *p = tree->node + tree->offset[l] + 8 * at;
        int child = (u >= p[0]) + (u >= p[1]) + (u >= p[2]) + (u >= p[3]) + (u >= p[4]) + (u >= p[5]) + (u >= p[6]);
        u -= child ? p[child - 1] : 0;
        at = 8 * at + child;
    }
    return at;
}

static void add_portable(sum_tree *tree, int64_t item, uint64_t change)
{
    for (int l = tree->levels - 1; l >= 0; l--) {
        uint64_t *p = tree->node + tree->offset[l] + (item & ~(int64_t)7);
        int child = item & 7;
        for (int j = 0; j < 8; j++) p[j] += j >= child ? change : 0;
        item >>= 3;
    }
}

#if defined(__x86_64__)
/* ---- AVX2: two halves of four, sums below 2^63 so signed comparison serves --- */

static const int64_t AVX2_FROM[16] __attribute__((aligned(64))) = {0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1};

__attribute__((target("avx2,popcnt"))) static int64_t draw_avx2(const sum_tree *tree, uint64_t u)
{
    int64_t at = 0;
    for (int l = 0; l < tree->levels; l++) {
        const uint64_t *p = tree->node + tree->offset[l] + 8 * at;
        __m256i wanted = _mm256_set1_epi64x((int64_t)u);
        __m256i low = _mm256_cmpgt_epi64(_mm256_load_si256((const __m256i *)p), wanted);
        __m256i high = _mm256_cmpgt_epi64(_mm256_load_si256((const __m256i *)(p + 4)), wanted);
        unsigned above = (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(low)) |
                         (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(high)) << 4;
        int child = 8 - __builtin_popcount(above);
        u -= child ? p[child - 1] : 0;
        at = 8 * at + child;
    }
    return at;
}

__attribute__((target("avx2"))) static void add_avx2(sum_tree *tree, int64_t item, uint64_t change)
{
    __m256i all = _mm256_set1_epi64x((int64_t)change);
    for (int l = tree->levels - 1; l >= 0; l--) {
        __m256i *p = (__m256i *)(tree->node + tree->offset[l] + (item & ~(int64_t)7));
        const __m256i *mask = (const __m256i *)(AVX2_FROM + 8 - (item & 7));
        __m256i low = _mm256_and_si256(_mm256_loadu_si256(mask), all);
        __m256i high = _mm256_and_si256(_mm256_loadu_si256(mask + 1), all);
        _mm256_store_si256(p, _mm256_add_epi64(_mm256_load_si256(p), low));
        _mm256_store_si256(p + 1, _mm256_add_epi64(_mm256_load_si256(p + 1), high));
        item >>= 3;
    }
}

/* ---- AVX-512: one register a node --------------------------------------- */

__attribute__((target("avx512f,popcnt"))) static int64_t draw_avx512(const sum_tree *tree, uint64_t u)
{
    int64_t at = 0;
    for (int l = 0; l < tree->levels; l++) {
        const uint64_t *p = tree->node + tree->offset[l] + 8 * at;
        __mmask8 below = _mm512_cmple_epu64_mask(_mm512_load_si512(p), _mm512_set1_epi64((int64_t)u));
        int child = __builtin_popcount(below);
        u -= child ? p[child - 1] : 0;
        at = 8 * at + child;
    }
    return at;
}

__attribute__((target("avx512f"))) static void add_avx512(sum_tree *tree, int64_t item, uint64_t change)
{
    __m512i all = _mm512_set1_epi64((int64_t)change);
    for (int l = tree->levels - 1; l >= 0; l--) {
        uint64_t *p = tree->node + tree->offset[l] + (item & ~(int64_t)7);
        __m512i sums = _mm512_load_si512(p);
        _mm512_store_si512(p, _mm512_mask_add_epi64(sums, (__mmask8)(0xff << (item & 7)), sums, all));
        item >>= 3;
    }
}
#endif

void sum_tree_init(sum_tree *tree, uint64_t *node, int64_t n, int level)
{
    tree->node = node;
    tree->levels = count_levels(n);
    int64_t counts[SUM_TREE_MAX_LEVELS], start = 0;
    for (int l = tree->levels - 1; l >= 0; l--) counts[l] = n = nodes_above(n);
    for (int l = 0; l < tree->levels; l++) {
        tree->offset[l] = start;
        start += 8 * counts[l];
    }
    tree->draw = draw_portable;
    tree->add = add_portable;
#if defined(__x86_64__)
    if (level >= CPU_AVX2) {
        tree->draw = level >= CPU_AVX512 ? draw_avx512 : draw_avx2;
        tree->add = level >= CPU_AVX512 ? add_avx512 : add_avx2;
    }
#else
    (void)level;
#endif
}

void sum_tree_build(sum_tree *tree, const uint64_t *weight, int64_t n)
{
    memset(tree->node, 0, 8 * sum_tree_size(n));
    for (int64_t i = 0; i < n; i++) tree->node[tree->offset[tree->levels - 1] + i] = weight[i];
    for (int l = tree->levels - 1; l >= 0; l--) {
        int64_t nodes = l + 1 < tree->levels ? (tree->offset[l + 1] - tree->offset[l]) / 8 : nodes_above(n);
        for (int64_t k = 0; k < nodes; k++) {
            uint64_t *p = tree->node + tree->offset[l] + 8 * k;
            for (int j = 1; j < 8; j++) p[j] += p[j - 1];
            if (l) tree->node[tree->offset[l - 1] + k] = p[7];
        }
    }
}
