/* The share tree's walk, gates and moves with one AVX2 vector a block, for linear shares and paired digits.
 *
 * All seven automata of a block compare their digit at once; the bits of the answer look up the child, which takes
 * three depths in the time of two. The same answers and random numbers as the portable code of share_tree.c.
 * What a poll showed is a branch: where most polls show the same, nothing waits for the environment.
 */
#ifndef KNAPSOLVE_SHARE_TREE_VECTORS_H
#define KNAPSOLVE_SHARE_TREE_VECTORS_H

#include "cpu_level.h"
#include "share_tree.h"

#define MOST_DEPTHS (4 * SHARE_TREE_VISIT) /* as many as four words serve */

#if defined(__x86_64__)
#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2")))
#define INLINE_AVX2 static inline __attribute__((always_inline, target("avx2")))

#define ON(b) (-((b) != 0))
/* Eight times the child where the automata whose bit is set (lane j at bit j) go left. */
#define GOES(m) (8 * (((m) & 2) ? (((m) & 4) ? ((m) & 16 ? 0 : 1) : ((m) & 32 ? 2 : 3)) \
                                : (((m) & 8) ? ((m) & 64 ? 4 : 5) : ((m) & 128 ? 6 : 7))))
#define GOES4(m) GOES(m), GOES((m) + 1), GOES((m) + 2), GOES((m) + 3)
#define GOES16(m) GOES4(m), GOES4((m) + 4), GOES4((m) + 8), GOES4((m) + 12)
#define GOES64(m) GOES16(m), GOES16((m) + 16), GOES16((m) + 32), GOES16((m) + 48)
static const uint8_t NEXT_LANE[256] __attribute__((aligned(64))) = {GOES64(0), GOES64(64), GOES64(128), GOES64(192)};

/* Lanes on the way to child c, those of them that go left, and the three of them first. */
#define ON_PATH(c) {0, -1, ON((c) < 4), ON((c) > 3), ON((c) / 2 == 0), ON((c) / 2 == 1), ON((c) / 2 == 2), ON((c) / 2 == 3)}
#define LEFT_OF(c) {0, ON((c) < 4), ON((c) < 2), ON((c) == 4 || (c) == 5), ON((c) == 0), ON((c) == 2), ON((c) == 4), ON((c) == 6)}
#define WAY_TO(c) {1, 2 + (c) / 4, 4 + (c) / 2, 0, 0, 0, 0, 0}
#define EIGHT(f) {f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7)}
static const int32_t PATH_LANES[8][8] __attribute__((aligned(64))) = EIGHT(ON_PATH);
static const int32_t LEFT_LANES[8][8] __attribute__((aligned(64))) = EIGHT(LEFT_OF);
static const int32_t WAY_LANES[8][8] __attribute__((aligned(64))) = EIGHT(WAY_TO);

INLINE_AVX2 __m256i load(const void *lanes) { return _mm256_loadu_si256((const __m256i *)lanes); }
INLINE_AVX2 void store(int32_t *lanes, __m256i v) { _mm256_storeu_si256((__m256i *)lanes, v); }

/* The upper halves of word * by modulo 2^64, in the lower halves; `by` in halves: four lower ones, four upper ones. */
INLINE_AVX2 __m256i upper_halves(__m256i word, const uint64_t *by)
{
    __m256i lower = load(by), low = _mm256_srli_epi64(_mm256_mul_epu32(word, lower), 32);
    __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(word, 32), lower);
    return _mm256_add_epi64(_mm256_add_epi64(low, high), _mm256_mul_epu32(word, load(by + 4)));
}

/* The upper half of each depth's lane, in all lanes of the depth. */
INLINE_AVX2 __m256i of_depth(__m256i depths)
{
    return _mm256_permutevar8x32_epi32(depths, _mm256_setr_epi32(1, 1, 3, 3, 5, 5, 5, 5));
}

/* A gate opens with the other side's share: to the left of the automaton where s <= digit, to the right where
 * s > digit, so that the step is 1 - right - (s > digit), in masks: beyond - left. */
INLINE_AVX2 __m256i step_of(__m256i s, __m256i base, __m256i gate, __m256i left, __m256i on_path)
{
    __m256i present = _mm256_and_si256(_mm256_cmpgt_epi32(base, s), on_path);
    return _mm256_and_si256(_mm256_sub_epi32(_mm256_cmpgt_epi32(s, gate), left), present);
}

/* The three numerators on the way to a child, given who goes left there. */
INLINE_AVX2 __m256d numerators(__m256i s, __m256i base, __m256i left, const int32_t *way_lanes)
{
    __m256i part = _mm256_abs_epi32(_mm256_sub_epi32(s, _mm256_andnot_si256(left, base)));
    return _mm256_cvtepi32_pd(_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(part, load(way_lanes))));
}

INLINE_AVX2 double amount_of(const share_tree *t, __m256d product)
{
    __m128d two = _mm256_castpd256_pd128(product);
    two = _mm_mul_sd(_mm_mul_sd(two, _mm_unpackhi_pd(two, two)), _mm256_extractf128_pd(product, 1));
    return t->capacity * (t->part * _mm_cvtsd_f64(two));
}

/* As descend() by a walk; the amount too, unless that is null. The words are read one by one (volatile): a vector
 * cannot be read soon after its parts were written. */
INLINE_AVX2 int64_t walk_down(const share_tree *t, bitgen_t *bits, share_path *path, double *amount)
{
    uint64_t words[MOST_DEPTHS / 3];
    int64_t place = 0; /* eight times the block, then the child */
    int blocks = t->blocks;
    for (int g = 0; g < blocks; g++) words[g] = bits->next_uint64(bits->state);
    __m256d product = _mm256_set1_pd(1.0);
    for (int g = 0; g < blocks; g++) {
        const share_level *level = t->level + g;
        int32_t *state = path->at[g] = level->state + place;
        __m256i base = load(level->base), digit = load(level->digit), s = load(state);
        __m256i word = _mm256_set1_epi64x((int64_t)*(const volatile uint64_t *)(words + g));
        __m256i side = _mm256_mul_epu32(upper_halves(word, level->walk), digit), gate = _mm256_mul_epu32(side, digit);
        __m256i left = _mm256_cmpgt_epi32(s, of_depth(side));
        int64_t next = NEXT_LANE[_mm256_movemask_ps(_mm256_castsi256_ps(left))];
        store(path->step[g], step_of(s, base, of_depth(gate), left, load(PATH_LANES[0] + next)));
        if (amount) product = _mm256_mul_pd(product, numerators(s, base, left, WAY_LANES[0] + next));
        place = 8 * place + next;
    }
    if (amount) *amount = amount_of(t, product);
    return place / 8;
}

WITH_AVX2 static int64_t walk_vectors(const share_tree *t, bitgen_t *bits, share_path *path, double *amount)
{
    return amount ? walk_down(t, bits, path, amount) : walk_down(t, bits, path, 0);
}

/* States after a move, which stay in 1..N; where nothing moves they may be N + 1. */
INLINE_AVX2 __m256i moved(__m256i s, const share_level *level, __m256i step, int towards)
{
    __m256i top = _mm256_max_epi32(s, load(level->top));
    __m256i after = towards > 0 ? _mm256_add_epi32(s, step) : _mm256_sub_epi32(s, step);
    return _mm256_min_epi32(_mm256_max_epi32(after, _mm256_set1_epi32(1)), top);
}

INLINE_AVX2 void move_towards(share_tree *t, const share_path *path, int towards)
{
    for (int g = 0; g < t->blocks; g++)
        store(path->at[g], moved(load(path->at[g]), t->level + g, load(path->step[g]), towards));
}

WITH_AVX2 static void move_vectors(share_tree *t, const share_path *path, int v)
{
    if (v) {
        if (t->on_reward) move_towards(t, path, 1);
    } else if (t->on_penalty) {
        move_towards(t, path, -1);
    }
}

/* As amount_at(). */
WITH_AVX2 static double amount_vectors(const share_tree *t, int64_t bottom)
{
    __m256d product = _mm256_set1_pd(1.0);
    for (int g = 0, shift = 3 * t->blocks - 3; g < t->blocks; g++, shift -= 3) {
        const share_level *level = t->level + g;
        int64_t prefix = bottom >> shift, child = prefix & 7;
        __m256i s = load(level->state + (prefix - child)), left = load(LEFT_LANES[child]);
        product = _mm256_mul_pd(product, numerators(s, load(level->base), left, WAY_LANES[child]));
    }
    return amount_of(t, product);
}

/* Gates, move (towards the leaf, away from it or not at all) and new amount at once. */
INLINE_AVX2 double visit_towards(share_tree *t, int64_t bottom, __m256i words, int towards)
{
    __m256d product = _mm256_set1_pd(1.0);
    for (int g = 0, shift = 3 * t->blocks - 3; g < t->blocks; g++, shift -= 3) {
        const share_level *level = t->level + g;
        int64_t prefix = bottom >> shift, child = prefix & 7;
        int32_t *state = level->state + (prefix - child);
        __m256i base = load(level->base), s = load(state), left = load(LEFT_LANES[child]);
        __m256i word = _mm256_permutevar8x32_epi32(words, load(level->word));
        __m256i gate = _mm256_mul_epu32(upper_halves(word, level->visit), load(level->digit));
        s = moved(s, level, step_of(s, base, of_depth(gate), left, load(PATH_LANES[child])), towards);
        store(state, s);
        product = _mm256_mul_pd(product, numerators(s, base, left, WAY_LANES[child]));
    }
    return amount_of(t, product);
}

WITH_AVX2 static double visit_vectors(share_tree *t, int64_t bottom, int depth, bitgen_t *bits, int v)
{
    uint64_t words[4] = {0};
    int n = (depth + SHARE_TREE_VISIT - 1) / SHARE_TREE_VISIT;
    for (int k = 0; k < n; k++) words[k] = bits->next_uint64(bits->state);
    if (!(v ? t->on_reward : t->on_penalty)) return amount_vectors(t, bottom);
    const volatile uint64_t *word = words;
    __m128i low = _mm_insert_epi64(_mm_cvtsi64_si128((int64_t)word[0]), (int64_t)word[1], 1);
    __m128i high = _mm_insert_epi64(_mm_cvtsi64_si128((int64_t)word[2]), (int64_t)word[3], 1);
    __m256i all = _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
    return v ? visit_towards(t, bottom, all, 1) : visit_towards(t, bottom, all, -1);
}

static inline int vectors_serve(void) { return cpu_level() >= CPU_AVX2; }
#else
static inline int64_t walk_vectors(const share_tree *t, bitgen_t *bits, share_path *path, double *amount) { return 0; }
static inline void move_vectors(share_tree *t, const share_path *path, int v) {}
static inline double amount_vectors(const share_tree *t, int64_t bottom) { return 0.0; }
static inline double visit_vectors(share_tree *t, int64_t bottom, int depth, bitgen_t *bits, int v) { return 0.0; }
static inline int vectors_serve(void) { return 0; }
#endif

#endif
