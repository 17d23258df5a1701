/* Elementary functions of the knapsack kernels: one double in, one double out, no branch, no table.
 *
 * Written as straight-line scalar code so that one source vectorises for every instruction set, and with
 * plain multiplications and additions (no fused ones), so that every instruction set gives the same bits.
 * Errors are at most a few units in the last place over the stated domains.
 */
#ifndef NEFK_MATH_H
#define NEFK_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define NEFK_INLINE static inline __attribute__((always_inline))

NEFK_INLINE double nefk_from_bits(uint64_t bits) { double x; memcpy(&x, &bits, 8); return x; }
NEFK_INLINE uint64_t nefk_to_bits(double x) { uint64_t bits; memcpy(&bits, &x, 8); return bits; }

/* Exact error of the product p = a * b: a * b - p. Dekker's splitting where there is no fused multiply-add;
 * both give the same number for magnitudes within 1e-140 .. 1e140. */
NEFK_INLINE double nefk_product_error(double a, double b, double p, int fused) {
    if (fused) return __builtin_fma(a, b, -p);
    const double split = 134217729.0; /* 2^27 + 1 */
    double ca = split * a, cb = split * b;
    double ah = ca - (ca - a), bh = cb - (cb - b);
    double al = a - ah, bl = b - bh;
    return ((ah * bh - p) + ah * bl + al * bh) + al * bl;
}

/* Series of FreeBSD's e_log.c: log((1 + s) / (1 - s)) / s - 2, as a function of z = s^2 <= 0.0295. */
NEFK_INLINE double nefk_log_series(double z) {
    double z2 = z * z, z4 = z2 * z2;
    return (((6.666666666666735130e-01 + 3.999999999940941908e-01 * z)
             + (2.857142874366239149e-01 + 2.222219843214978396e-01 * z) * z2)
            + ((1.818357216161805012e-01 + 1.531383769920937332e-01 * z) + 1.479819860510658591e-01 * z2) * z4) * z;
}

/* -log(e) for normal e > 0, where y = 1 - e is given too: relative accuracy holds down to y = 0.
 * Reduction to [sqrt(1/2), sqrt(2)). */
NEFK_INLINE double nefk_negative_log(double e, double y) {
    const uint64_t root_half = 0x3fe6a09e667f3bcdULL, mantissa = 0x000fffffffffffffULL;
    uint64_t shifted = nefk_to_bits(e) - root_half;
    uint64_t exponent = (shifted + (2000ULL << 52)) >> 52; /* k + 2000 */
    double k = nefk_from_bits(0x4330000000000000ULL | exponent) - (4503599627370496.0 + 2000.0);
    double m = nefk_from_bits((shifted & mantissa) + root_half);
    double f = k == 0.0 ? -y : m - 1.0;
    double s = f / (2.0 + f), half = 0.5 * f * f;
    double small = s * (half + nefk_log_series(s * s)) + k * 1.90821492927058770002e-10;
    return ((half - small) - f) - k * 6.93147180369123816490e-01;
}

/* log(whole / part) and (whole - part) / part of whole > part > 0, where the difference is given too: relative
 * accuracy holds down to difference = 0. One division for both. */
NEFK_INLINE double nefk_log_ratio(double whole, double part, double difference, double *odds) {
    uint64_t shifted = nefk_to_bits(part) - nefk_to_bits(7.07106781186547524401e-01 * whole);
    uint64_t exponent = (shifted + (2000ULL << 52)) >> 52; /* k + 2000 */
    double k = nefk_from_bits(0x4330000000000000ULL | exponent) - (4503599627370496.0 + 2000.0);
    double near = part * nefk_from_bits(0x3ff0000000000000ULL - (shifted & 0xfff0000000000000ULL)); /* part / 2^k */
    double gap = k == 0.0 ? difference : whole - near, sum = whole + near, both = 1.0 / (part * sum);
    double s = gap * part * both;
    *odds = difference * sum * both;
    return ((2.0 * s + s * nefk_log_series(s * s)) - k * 1.90821492927058770002e-10) - k * 6.93147180369123816490e-01;
}

/* exp(-z), z clamped to [-700, 700]. Taylor series of degree 13 on [-ln(2)/2, ln(2)/2]. */
NEFK_INLINE double nefk_exp_negative(double z) {
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer */
    z = z > 700.0 ? 700.0 : z;
    z = z < -700.0 ? -700.0 : z;
    double rounded = z * 1.44269504088896338700e+00 + shift;
    double k = rounded - shift;
    double r = (k * 6.93147180369123816490e-01 - z) + k * 1.90821492927058770002e-10;
    double r2 = r * r, r4 = r2 * r2;
    double p = ((0.5 + r * (1.0 / 6.0)) + (1.0 / 24.0 + r * (1.0 / 120.0)) * r2)
               + ((1.0 / 720.0 + r * (1.0 / 5040.0)) + (1.0 / 40320.0 + r * (1.0 / 362880.0)) * r2) * r4
               + ((1.0 / 3628800.0 + r * (1.0 / 39916800.0)) + (1.0 / 479001600.0 + r * (1.0 / 6227020800.0)) * r2)
                     * (r4 * r4);
    p = p * r2 + r + 1.0;
    return p * nefk_from_bits(0x3ff0000000000000ULL - (nefk_to_bits(rounded) << 52));
}

/* g(z) / z^2 with g(z) = 1 - (1 + z) exp(-z) = P(2, z), for 0 <= z <= 1, where the plain form cancels.
 * A Chebyshev fit, error 2e-19; beyond 1 the value at 1. */
NEFK_INLINE double nefk_gamma2_over_square(double z) {
    double t = z < 1.0 ? z : 1.0;
    double t2 = t * t, t4 = t2 * t2;
    return ((0.4999999999999999998 - 0.3333333333333332632 * t)
                + (0.1249999999999960705 - 0.03333333333324672111 * t) * t2)
               + ((0.006944444443451721608 - 0.001190476183697909665 * t)
                  + (0.0001736110813650054736 - 0.00002204576774675214214 * t) * t2) * t4
               + (((2.479981533988262052e-6 - 2.502739717623971483e-7 * t)
                   + (2.272985021930589336e-8 - 1.781007488685426536e-9 * t) * t2)
                  + 9.392224924947724887e-11 * t4) * (t4 * t4);
}

/* z >= 0 with z - log(1 + z) = s^2 / 2, that is P(2, z) = 1 - exp(-s^2 / 2), for 0 <= s <= 12.5. z / s is analytic on the real line; a (10, 9) rational fit on s <= 12.5 has error 2e-18
 * and only positive coefficients, so nothing cancels. Returned as numerator and denominator of z. */
NEFK_INLINE void nefk_gamma2_inverse(double s, double *numerator, double *denominator) {
    s = s > 12.5 ? 12.5 : s;
    double s2 = s * s, s4 = s2 * s2, s8 = s4 * s4;
    double p = (((1.0 + 1.6913275090434756945 * s) + (1.3219856416134211368 + 0.62016776334108349251 * s) * s2)
                + ((0.19057011198325556909 + 0.039359369909043946186 * s)
                   + (0.0053928739377060900777 + 0.00046516518421317037468 * s) * s2) * s4)
               + ((0.000022672578252804005356 + 5.168777266264052681e-7 * s) + 3.7709211756668554372e-9 * s2) * s8;
    double q = (((1.0 + 1.3579941757101421346 * s) + (0.84154313859893647132 + 0.3056350270753290273 * s) * s2)
                + ((0.070113697907641686937 + 0.010241962395864553673 * s)
                   + (0.00091416508779244108879 + 0.00004518187212214557693 * s) * s2) * s4)
               + (1.0336321059815600459e-6 + 7.5420535504500154783e-9 * s) * s8;
    *numerator = s * p;
    *denominator = q;
}

#endif
