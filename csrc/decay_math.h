/* Exponentials of decay, written so that a compiler turns loops over them into vector code.
 *
 * Only +, -, *, comparisons and integer shifts: no fma, no library call, no branch. Every vector
 * width therefore gives the same bits, and so does the scalar remainder of a loop.
 * Arguments are finite or +infinity and non-negative; relative error below 4e-16.
 */
#ifndef KNAPSOLVE_DECAY_MATH_H
#define KNAPSOLVE_DECAY_MATH_H

#include <stdint.h>
#include <string.h>

#define DECAY_INLINE static inline __attribute__((always_inline))

/* Above this e^-t is below 1e-307: no term it multiplies is seen beside 1. */
#define DECAY_LARGEST 708.0
/* Below this the differences that cancel are taken from their own series. */
#define DECAY_SERIES 0.5

/* e^-t: t = n ln 2 - r with |r| <= ln(2)/2, Taylor's series to r^13, and n put into the exponent. */
DECAY_INLINE double decay_exp(double t)
{
    const double shift = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to a whole number */
    t = t < DECAY_LARGEST ? t : DECAY_LARGEST;
    double shifted = shift - t * 1.4426950408889634;
    double n = shifted - shift;
    double r = -t - n * 6.93147180369123816490e-01;
    r = r - n * 1.90821492927058770002e-10;
    double p = 1.0 / 6227020800.0;
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r * r + r + 1.0;
    uint64_t bits;
    double power;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits << 52) + ((uint64_t)1023 << 52);
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* (e^z - 1 - z) / z^2 for |z| <= 1/2, by its series. */
DECAY_INLINE double decay_series(double z)
{
    double p = 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 87178291200.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z + 1.0 / 39916800.0;
    p = p * z + 1.0 / 3628800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z + 1.0 / 5040.0;
    p = p * z + 1.0 / 720.0;
    p = p * z + 1.0 / 120.0;
    p = p * z + 1.0 / 24.0;
    p = p * z + 1.0 / 6.0;
    return p * z + 0.5;
}

/* e^-t - 1 + t, without cancellation where t is small. */
DECAY_INLINE double decay_curvature(double t)
{
    double small = t < DECAY_SERIES ? t : DECAY_SERIES;
    double series = small * small * decay_series(-small);
    return t < DECAY_SERIES ? series : decay_exp(t) - 1.0 + t;
}

/* 1 - e^-t, likewise. */
DECAY_INLINE double decay_loss(double t)
{
    double small = t < DECAY_SERIES ? t : DECAY_SERIES;
    double series = small - small * small * decay_series(-small);
    return t < DECAY_SERIES ? series : 1.0 - decay_exp(t);
}

/* ln(1 + z) for z > -1, finite; to 1e-15 relatively, or to 1e-11 where `rough` does (for guesses). */
DECAY_INLINE double decay_log1p(double z, int rough)
{
    double y = 1.0 + z, power, m;
    uint64_t bits, low;
    memcpy(&bits, &y, sizeof bits);
    low = bits - 0x3FE6A09E667F3BCDu; /* m in [sqrt(1/2), sqrt(2)) */
    uint64_t exponent = ((low >> 52) + 1024) & 4095;
    bits = bits - ((exponent - 1024) << 52);
    memcpy(&m, &bits, sizeof m);
    exponent |= 0x4330000000000000u; /* 2^52 + a small whole number, to make a double of it */
    memcpy(&power, &exponent, sizeof power);
    power = power - 4503599627371520.0; /* 2^52 + 1024 */
    double s = (m - 1.0) / (m + 1.0), q = s * s;
    double p = 1.0 / 13.0;
    if (!rough) {
        p = 1.0 / 21.0;
        p = p * q + 1.0 / 19.0;
        p = p * q + 1.0 / 17.0;
        p = p * q + 1.0 / 15.0;
        p = p * q + 1.0 / 13.0;
    }
    p = p * q + 1.0 / 11.0;
    p = p * q + 1.0 / 9.0;
    p = p * q + 1.0 / 7.0;
    p = p * q + 1.0 / 5.0;
    p = p * q + 1.0 / 3.0;
    double value = power * 6.93147180559945309417e-01 + 2.0 * (s + s * q * p);
    return y == 1.0 ? z : value * (z / (y - 1.0)); /* gives back what 1 + z rounded off */
}

#endif
