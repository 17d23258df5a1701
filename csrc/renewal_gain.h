/* The gain of polling now, for changes at rate L that were last looked for an age ago; u = L * age.
 *
 *     G(u) = 1 - (1 + u) e^-u,   G'(u) = u e^-u.
 *
 * G rises from 0 (as u^2/2) to 1. A poll every age finds L F(u)/u changes a unit of time, F(u) = 1 - e^-u; one more poll
 * a unit of time adds F(u) - u e^-u = G(u) of them (detection), or G(u)/L of fresh time (freshness): so both indices
 * are G over a power of L, and an item is due when its G reaches the common price.
 * Plain arithmetic as in decay_math.h: every vector width gives the same bits. Relative error below 1e-14.
 * Reference: Cho and Garcia-Molina, Effective page refresh policies, ACM TODS 28(4), 2003, section 4.
 */
#ifndef KNAPSOLVE_RENEWAL_GAIN_H
#define KNAPSOLVE_RENEWAL_GAIN_H

#include "decay_math.h"

/* G(u), given e = e^-u. */
DECAY_INLINE double renewal_gain(double u, double e)
{
    double small = u < DECAY_SERIES ? u : DECAY_SERIES;
    double series = e * small * small * decay_series(small); /* e^-u (e^u - 1 - u) */
    return u < DECAY_SERIES ? series : 1.0 - (1.0 + u) * e;
}

/* G(u) / (u F(u)): where in a gap its first change lies, on average, given that it holds one. 1/2 for u = 0. */
DECAY_INLINE double renewal_first(double u)
{
    if (u < 1e-6) return 0.5 - u / 12.0;
    return renewal_gain(u, decay_exp(u)) / (u * decay_loss(u));
}

#endif
