/* The exact sum of doubles, as integers: no rounding, whatever the order and the magnitudes.
 *
 * A finite double is m 2^(b - 1075), |m| < 2^53, 1 <= b <= 2046. Bucket k holds the sum of m 2^(b mod 32) over all
 * numbers with b / 32 = k; its low and high halves are 64-bit words of a two's complement number of 128 bits, which
 * 2^40 numbers cannot overflow. The sum is that of bucket[k] 2^(32 k - 1075).
 * O(n), one pass. Reference: Neal, Fast exact summation using small and large superaccumulators (2015).
 */
#ifndef KNAPSOLVE_EXACT_SUM_H
#define KNAPSOLVE_EXACT_SUM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { EXACT_BUCKETS = 64 };

/* Add x (n,), all finite, to the buckets (2 EXACT_BUCKETS,): low half, high half of each. */
static inline void exact_sum_add(uint64_t *bucket, const double *x, ptrdiff_t n)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        uint64_t bits, b;
        memcpy(&bits, &x[i], 8);
        b = (bits >> 52) & 2047;
        uint64_t m = (bits & (((uint64_t)1 << 52) - 1)) | (b ? (uint64_t)1 << 52 : 0);
        b = b ? b : 1;
        unsigned __int128 part = (unsigned __int128)m << (b & 31), sum;
        uint64_t *at = bucket + 2 * (b >> 5);
        sum = ((unsigned __int128)at[1] << 64) | at[0];
        sum = bits >> 63 ? sum - part : sum + part;
        at[0] = (uint64_t)sum;
        at[1] = (uint64_t)(sum >> 64);
    }
}

#endif
