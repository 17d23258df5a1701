/* The share tree's walk, gates and moves with one AVX2 vector a block, for linear shares and paired digits.
 *
 * All seven automata of a block compare their digit at once; the bits of the answer look up the child, which takes
 * three depths in the time of two. The same answers and random numbers as the portable code of share_tree.c.
 */
#ifndef KNAPSOLVE_SHARE_TREE_VECTORS_H
#define KNAPSOLVE_SHARE_TREE_VECTORS_H

#include "cpu_level.h"
#include "share_tree.h"

/* Blocks before those that hold depths 3g to 3g + 2: (8^g - 1) / 7. */
static inline int64_t blocks_before(int g) { return 0111111111111 & (((int64_t)1 << 3 * g) - 1); }

/* Where the g-th block of a path to `bottom` begins; prefix = bottom >> 3 (blocks - 1 - g), child included. */
static inline int64_t block_at(int64_t prefix, int g) { return (prefix & ~(int64_t)7) + 8 * blocks_before(g); }

#if defined(__x86_64__)
#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2")))
#define INLINE_AVX2 static inline __attribute__((always_inline, target("avx2")))

#define ON(b) (-((b) != 0))
/* Eight times one plus the child where the automata whose bit is set (lane j at bit j) go left. */
#define GOES(m) (8 + 8 * (((m) & 2) ? (((m) & 4) ? ((m) & 16 ? 0 : 1) : ((m) & 32 ? 2 : 3)) \
                                : (((m) & 8) ? ((m) & 64 ? 4 : 5) : ((m) & 128 ? 6 : 7))))
#define GOES4(m) GOES(m), GOES((m) + 1), GOES((m) + 2), GOES((m) + 3)
#define GOES16(m) GOES4(m), GOES4((m) + 4), GOES4((m) + 8), GOES4((m) + 12)
#define GOES64(m) GOES16(m), GOES16((m) + 16), GOES16((m) + 32), GOES16((m) + 48)
static const uint8_t NEXT_LANE[256] __attribute__((aligned(64))) = {GOES64(0), GOES64(64), GOES64(128), GOES64(192)};

/* Lanes on the way to child c, and those of them that go left. */
#define ON_PATH(c) {0, -1, ON((c) < 4), ON((c) > 3), ON((c) / 2 == 0), ON((c) / 2 == 1), ON((c) / 2 == 2), ON((c) / 2 == 3)}
#define LEFT_OF(c) {0, ON((c) < 4), ON((c) < 2), ON((c) == 4 || (c) == 5), ON((c) == 0), ON((c) == 2), ON((c) == 4), ON((c) == 6)}
static const int32_t PATH_LANES[8][8] __attribute__((aligned(64))) = {
    ON_PATH(0), ON_PATH(1), ON_PATH(2), ON_PATH(3), ON_PATH(4), ON_PATH(5), ON_PATH(6), ON_PATH(7)};
static const int32_t LEFT_LANES[8][8] __attribute__((aligned(64))) = {
    LEFT_OF(0), LEFT_OF(1), LEFT_OF(2), LEFT_OF(3), LEFT_OF(4), LEFT_OF(5), LEFT_OF(6), LEFT_OF(7)};

/* The three of them first. */
#define WAY_TO(c) {1, 2 + (c) / 4, 4 + (c) / 2, 0, 0, 0, 0, 0}
static const int32_t WAY_LANES[8][8] __attribute__((aligned(64))) = {
    WAY_TO(0), WAY_TO(1), WAY_TO(2), WAY_TO(3), WAY_TO(4), WAY_TO(5), WAY_TO(6), WAY_TO(7)};

INLINE_AVX2 __m256i load(const int32_t *lanes) { return _mm256_loadu_si256((const __m256i *)lanes); }
INLINE_AVX2 void store(int32_t *lanes, __m256i v) { _mm256_storeu_si256((__m256i *)lanes, v); }

/* 32 random bits a depth, from draws of 64; a block's three depths take one and a half. */
typedef struct {
    uint64_t draw[SHARE_TREE_MAX_DEPTH / 2 + 3];
} path_words;

static inline void draw_words(path_words *w, int depth, bitgen_t *bits)
{
    int n = (depth + 1) / 2;
    for (int k = 0; k < n; k++) w->draw[k] = bits->next_uint64(bits->state);
    w->draw[n] = w->draw[n + 1] = 0; /* a last block of one depth or two reads more than it needs */
}

/* Which word each lane of an even and of an odd block takes, of the four read. */
static const int32_t WORD_OF_LANE[2][8] __attribute__((aligned(32))) = {{0, 0, 1, 1, 2, 2, 2, 2}, {1, 1, 2, 2, 3, 3, 3, 3}};

/* Digits of block g in the lanes of its three depths. The words are read one by one (volatile): a vector cannot be
 * read soon after its halves were written. */
INLINE_AVX2 void split_words(const path_words *w, int g, __m256i base, __m256i *side, __m256i *gate)
{
    const volatile uint64_t *draw = w->draw + 3 * g / 2;
    __m128i four = _mm_insert_epi64(_mm_cvtsi64_si128((int64_t)draw[0]), (int64_t)draw[1], 1);
    __m256i word = _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), load(WORD_OF_LANE[g & 1]));
    __m256i odd_base = _mm256_srli_epi64(base, 32);
    __m256i even = _mm256_mul_epu32(word, base), odd = _mm256_mul_epu32(_mm256_srli_epi64(word, 32), odd_base);
    *side = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    even = _mm256_mul_epu32(even, base);
    odd = _mm256_mul_epu32(odd, odd_base);
    *gate = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

/* A gate opens with the other side's share: to the left of the automaton where s <= digit, to the right where
 * s > digit, so that the step is 1 - right - (s > digit), in masks: beyond - left. */
INLINE_AVX2 __m256i step_of(__m256i s, __m256i base, __m256i gate, __m256i left, __m256i on_path)
{
    __m256i present = _mm256_and_si256(_mm256_cmpgt_epi32(base, s), on_path);
    return _mm256_and_si256(_mm256_sub_epi32(_mm256_cmpgt_epi32(s, gate), left), present);
}

/* block_share of all eight children; bases are below 2^15. */
INLINE_AVX2 __m256i child_shares(__m256i s, __m256i base)
{
    __m256i rest = _mm256_sub_epi32(base, s);
    __m256i low = _mm256_unpacklo_epi32(s, rest), high = _mm256_unpackhi_epi32(s, rest); /* lanes 0 1 4 5, 2 3 6 7 */
    __m256i first = _mm256_permutevar8x32_epi32(low, _mm256_setr_epi32(2, 2, 2, 2, 3, 3, 3, 3));
    __m256i second = _mm256_permutevar8x32_epi32(high, _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
    __m256i third = _mm256_permute2x128_si256(low, high, 0x31);
    return _mm256_mullo_epi32(_mm256_madd_epi16(first, second), third);
}

/* As descend() by a walk; the amount too, unless that is null. */
INLINE_AVX2 int64_t walk_down(const share_tree *t, bitgen_t *bits, share_path *path, double *amount)
{
    path_words words;
    double share[8] __attribute__((aligned(32))), x = t->capacity;
    const int32_t *state = t->state;
    int64_t at = 0;
    int blocks = path->blocks = share_tree_blocks(t->depth);
    draw_words(&words, t->depth, bits);
    for (int g = 0; g < blocks; g++) {
        __m256i base = load(t->base + 8 * g), s = load(state + at), side, gate;
        split_words(&words, g, base, &side, &gate);
        __m256i left = _mm256_cmpgt_epi32(s, side);
        int64_t next = NEXT_LANE[_mm256_movemask_ps(_mm256_castsi256_ps(left))];
        store(path->step[g], step_of(s, base, gate, left, load(PATH_LANES[0] + next - 8)));
        path->at[g] = at;
        if (amount) { /* shares are ready before the child is known */
            __m256i product = child_shares(s, base);
            __m256d part = _mm256_broadcast_sd(t->part + g);
            _mm256_store_pd(share, _mm256_mul_pd(part, _mm256_cvtepi32_pd(_mm256_castsi256_si128(product))));
            _mm256_store_pd(share + 4, _mm256_mul_pd(part, _mm256_cvtepi32_pd(_mm256_extracti128_si256(product, 1))));
            x *= *(const double *)((const char *)share + next - 8);
        }
        at = 8 * at + next;
    }
    if (amount) *amount = x;
    return at / 8 - blocks_before(blocks);
}

WITH_AVX2 static int64_t walk_vectors(const share_tree *t, bitgen_t *bits, share_path *path, double *amount)
{
    return amount ? walk_down(t, bits, path, amount) : walk_down(t, bits, path, 0);
}

/* States after a move, which stay in 1..N; where nothing moves they may be N + 1. */
INLINE_AVX2 __m256i moved(__m256i s, __m256i base, __m256i step, const int32_t *direction)
{
    __m256i one = _mm256_set1_epi32(1), top = _mm256_max_epi32(s, _mm256_sub_epi32(base, one));
    __m256i after = _mm256_add_epi32(s, _mm256_sign_epi32(step, load(direction)));
    return _mm256_min_epi32(_mm256_max_epi32(after, one), top);
}

WITH_AVX2 static void move_vectors(share_tree *t, const share_path *path, int v)
{
    for (int g = 0; g < path->blocks; g++) {
        int32_t *state = t->state + path->at[g];
        store(state, moved(load(state), load(t->base + 8 * g), load(path->step[g]), t->direction[v]));
    }
}

/* block_share of one child; what was written as a vector is slow to read in pieces. */
INLINE_AVX2 double child_share(__m256i s, __m256i base, int64_t child)
{
    __m256i part = _mm256_blendv_epi8(_mm256_sub_epi32(base, s), s, load(LEFT_LANES[child]));
    __m256d way = _mm256_cvtepi32_pd(_mm256_castsi256_si128(_mm256_permutevar8x32_epi32(part, load(WAY_LANES[child]))));
    __m128d two = _mm256_castpd256_pd128(way);
    two = _mm_mul_sd(two, _mm_unpackhi_pd(two, two));
    return _mm_cvtsd_f64(_mm_mul_sd(two, _mm256_extractf128_pd(way, 1)));
}

/* As amount_at(). */
WITH_AVX2 static double amount_vectors(const share_tree *t, int64_t bottom, int blocks)
{
    double x = t->capacity;
    for (int g = 0, shift = 3 * blocks - 3; g < blocks; g++, shift -= 3) {
        int64_t prefix = bottom >> shift;
        x *= t->part[g] * child_share(load(t->state + block_at(prefix, g)), load(t->base + 8 * g), prefix & 7);
    }
    return x;
}

/* Gates, move and new amount at once. */
WITH_AVX2 static double visit_vectors(share_tree *t, int64_t bottom, int depth, bitgen_t *bits, int v)
{
    path_words words;
    double x = t->capacity;
    int blocks = share_tree_blocks(depth);
    draw_words(&words, depth, bits);
    for (int g = 0, shift = 3 * blocks - 3; g < blocks; g++, shift -= 3) {
        int64_t prefix = bottom >> shift, child = prefix & 7;
        int32_t *state = t->state + block_at(prefix, g);
        __m256i base = load(t->base + 8 * g), s = load(state), side, gate;
        split_words(&words, g, base, &side, &gate);
        s = moved(s, base, step_of(s, base, gate, load(LEFT_LANES[child]), load(PATH_LANES[child])), t->direction[v]);
        store(state, s);
        x *= t->part[g] * child_share(s, base, child);
    }
    return x;
}

static inline int vectors_serve(void) { return cpu_level() >= CPU_AVX2; }
#else
static inline int64_t walk_vectors(const share_tree *t, bitgen_t *bits, share_path *path, double *amount) { return 0; }
static inline void move_vectors(share_tree *t, const share_path *path, int v) {}
static inline double amount_vectors(const share_tree *t, int64_t bottom, int blocks) { return 0.0; }
static inline double visit_vectors(share_tree *t, int64_t bottom, int depth, bitgen_t *bits, int v) { return 0.0; }
static inline int vectors_serve(void) { return 0; }
#endif

#endif
