/* Random numbers for eight replications at once: lane l of a vector belongs to replication l.
 *
 * lane_random_bits          xoshiro256++, one generator a lane: 64 random bits each (Blackman and Vigna 2021).
 * lane_random_exponential   -log w of w uniform on the multiples of 2^-52 in (0, 1], by the polynomial of
 *                           fdlibm's e_log.c (Sun Microsystems 1993, below one unit in the last place).
 * Every operation is exact or rounded once, in a fixed order: all vector levels give the same bits.
 */
#ifndef KNAPSOLVE_LANE_RANDOM_H
#define KNAPSOLVE_LANE_RANDOM_H

#include <stdint.h>

#define LANES 8
#define LANE_INLINE static inline __attribute__((always_inline))

typedef uint64_t lane_words __attribute__((vector_size(8 * LANES)));
typedef double lane_reals __attribute__((vector_size(8 * LANES)));

#define LANE_ROTATE(x, k) (((x) << (k)) | ((x) >> (64 - (k))))

LANE_INLINE void lane_random_bits(lane_words s[4], lane_words *bits)
{
    lane_words t = s[1] << 17;
    *bits = LANE_ROTATE(s[0] + s[3], 23) + s[0];
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = LANE_ROTATE(s[3], 45);
}

LANE_INLINE void lane_random_exponential(const lane_words *bits, lane_reals *wait)
{
    const uint64_t one = 0x3ff0000000000000u, root_half = 0x3fe6a09e667f3bcdu; /* as doubles: 1 and sqrt(1/2) */
    lane_reals w = 2.0 - (lane_reals)((*bits >> 12) | one);
    lane_words from = (lane_words)w + (one - root_half); /* w = 2^k z with sqrt(1/2) <= z < sqrt(2) */
    lane_reals k = (lane_reals)((from >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
    lane_reals f = (lane_reals)((from & 0x000fffffffffffffu) + root_half) - 1.0;
    lane_reals half = 0.5 * f * f, s = f / (2.0 + f), s2 = s * s, s4 = s2 * s2;
    lane_reals even = s4 * (3.999999999940941908e-01 + s4 * (2.222219843214978396e-01 + s4 * 1.531383769920937332e-01));
    lane_reals odd = s2 * (6.666666666666735130e-01 + s4 * (2.857142874366239149e-01 +
                           s4 * (1.818357216161805012e-01 + s4 * 1.479819860511658591e-01)));
    lane_reals log_w = s * (half + (odd + even)) + k * 1.90821492927058770002e-10 - half + f +
                       k * 6.93147180369123816490e-01;
    *wait = 0.0 - log_w; /* not -0.0 */
}

#endif
