/* What an item takes over a narrow bracket of prices, as a series about the middle.
 *
 * x(mu exp(t)) = sum over k of c[k] t^k for |t| <= half (quadratic and log-exponential: x(mu + t)). Detection and
 * freshness: with r = 1 / z and o = y / (1 - y), dr/dt = -r^2 o (1 + r) and do/dt = o (1 + o).
 */
#ifndef NEFK_SERIES_H
#define NEFK_SERIES_H

#include "nefk_shapes.h"

enum { NEFK_TERMS = 5 };

typedef struct { double c0, c1, c2, c3, c4; } nefk_series;

/* The series of r = 1 / z from r and o = y / (1 - y). With q = -dr/dt and m = r (2 + 3 r) - 1, dq/dt = -q g where
 * g = o m - 1; dm/dt = -h q, dg/dt = b = o (m + o m - h q), and b1 = db/dt. */
NEFK_INLINE nefk_series nefk_reciprocal_series(double r, double o) {
    double thrice = 3.0 * r, m = r * (2.0 + thrice) - 1.0, h = 2.0 + 2.0 * thrice, whole = 1.0 + o;
    double q = (o * r) * (r * (1.0 + r)), om = o * m, g = om - 1.0, square = g * g;
    double rest = om - h * q, e = m + rest, b = o * e;
    double b1 = o * (whole * (e + rest) + q * (6.0 * q + h * g));
    return (nefk_series){r, -q, 0.5 * (q * g), (1.0 / 6.0) * (q * (b - square)),
                         (1.0 / 24.0) * (q * (b1 + g * (square - 3.0 * b)))};
}

/* base * exp(rate t). */
NEFK_INLINE nefk_series nefk_exponential_series(double base, double rate) {
    double c1 = rate * base, c2 = 0.5 * rate * c1, c3 = (1.0 / 3.0) * rate * c2;
    return (nefk_series){base, c1, c2, c3, 0.25 * rate * c3};
}

NEFK_INLINE nefk_series nefk_scaled(double a, nefk_series c) {
    return (nefk_series){a * c.c0, a * c.c1, a * c.c2, a * c.c3, a * c.c4};
}

/* The series of what an item takes where it takes something, of the shapes but detection and freshness. */
NEFK_INLINE nefk_series nefk_series_of(int shape, nefk_item item, nefk_position at, double mu) {
    double a = item.a;
    nefk_series c = {0, 0, 0, 0, 0};
    if (shape == NEFK_POISSON) {
        double root = sqrt(at.y);
        c = nefk_exponential_series(a / root, -0.5);
        c.c0 = a * (at.e / (root * (1.0 + root)));
    } else if (shape == NEFK_HARMONIC) { /* w = x / a has w^2 + w = 1 / y: (2 w + 1)^2 = 1 + 4 / y */
        double e = 1.0 / at.y, root = sqrt(1.0 + 4.0 * e), inverse = 1.0 / root;
        double r1 = -2.0 * e * inverse, r2 = (e - 0.5 * (r1 * r1)) * inverse;
        double r3 = (e * (-1.0 / 3.0) - r1 * r2) * inverse;
        double r4 = ((e * (1.0 / 12.0) - r1 * r3) - 0.5 * (r2 * r2)) * inverse;
        c = nefk_scaled(0.5 * a, (nefk_series){(4.0 * e) / (1.0 + root), r1, r2, r3, r4});
    } else if (shape == NEFK_LOGARITHMIC) {
        c = nefk_exponential_series(a / at.y, -1.0);
        c.c0 = a * (at.e / at.y);
    } else if (shape == NEFK_POWER) {
        c = nefk_exponential_series(nefk_exp_negative(a * -nefk_negative_log(at.y, at.e)), -a);
    } else if (shape == NEFK_QUADRATIC) {
        c.c0 = a * at.e;
        c.c1 = -(a / item.v);
    } else if (shape == NEFK_LOG_EXPONENTIAL) {
        c.c0 = a * (-nefk_negative_log(item.v, 1.0 - item.v) - mu);
        c.c1 = -a;
    } else {
        c.c0 = a * nefk_negative_log(at.y, at.e);
        c.c1 = -a;
    }
    return c;
}

/* 1 where an item takes something over the whole bracket, -1 where it takes nothing, 0 where it activates. */
NEFK_INLINE double nefk_activity(int shape, nefk_item item, double gap, double product, double amount, double half) {
    double room = 1.01 * half * product;
    if (shape == NEFK_QUADRATIC) room = half;
    if (shape == NEFK_LOG_EXPONENTIAL) { gap = amount; room = 1.01 * half * item.a; }
    double active = gap > room ? 1.0 : 0.0;
    active = gap <= -room ? -1.0 : active;
    if (shape == NEFK_HARMONIC || shape == NEFK_POWER) active = 1.0;
    if (shape != NEFK_QUADRATIC) active = item.v > 0.0 ? active : -1.0; /* its price may be negative */
    return shape == NEFK_POWER || item.a > 0.0 ? active : -1.0;
}

/* Whether the last terms of a series are at most `tolerance` of the amount; not where a term is NaN. */
NEFK_INLINE int nefk_is_smooth(nefk_series c, double half, double tolerance) {
    double square = half * half;
    return square * (0.01 * half * fabs(c.c3) + square * fabs(c.c4)) <= tolerance * c.c0; /* in this order: half is large, too */
}

/* A series, or 0 unless it `moves`. */
NEFK_INLINE nefk_series nefk_moving(nefk_series c, double stays, int moves) {
    return (nefk_series){moves ? c.c0 : stays, moves ? c.c1 : 0.0, moves ? c.c2 : 0.0, moves ? c.c3 : 0.0,
                         moves ? c.c4 : 0.0};
}

/* A series where there are no bounds. `rough` says whether the item activates within the bracket, its last terms are
 * too large, or it has no end; then the series is 0. */
NEFK_INLINE nefk_series nefk_free_series(nefk_series c, double active, double half, double tolerance, double ceiling,
                                         double *rough) {
    int moves = (active > 0.0) & nefk_is_smooth(c, half, tolerance) & (c.c0 <= 0.5 * ceiling);
    *rough = moves | (active < 0.0) ? 0.0 : 1.0;
    return nefk_moving(c, 0.0, moves);
}

/* Cut a series to the bounds: also rough is what meets one within the bracket. */
NEFK_INLINE nefk_series nefk_cut_series(nefk_series c, double active, double low, double high, double half,
                                        double tolerance, double *rough) {
    double square = half * half, odd = half * (c.c1 + square * c.c3), even = square * (c.c2 + square * c.c4);
    double more = ((c.c0 + even) - odd) * (1.0 + 1e-6), less = ((c.c0 + even) + odd) * (1.0 - 1e-6);
    double known = nefk_is_smooth(c, half, tolerance) ? active : 0.0;
    double fixed = c.c0 >= INFINITY ? active : 0.0;
    double top = less >= high ? known : fixed, bottom = more <= low ? known : 0.0;
    bottom = active < 0.0 ? 1.0 : bottom;
    double place = top > 0.0 ? high : NAN; /* where it stays, NaN if it moves */
    place = bottom > 0.0 ? low : place;
    double inside = more < high ? known : 0.0;
    inside = less > low ? inside : 0.0;
    double stays = place == place ? place : 0.0, lost = place == place ? 0.0 : 1.0;
    *rough = inside > 0.0 ? 0.0 : lost;
    return nefk_moving(c, stays, inside > 0.0);
}

#endif
