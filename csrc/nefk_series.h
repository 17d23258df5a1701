/* What an item takes over a narrow bracket of prices, as a series about the middle.
 *
 * x(mu exp(t)) = sum over k of c[k] t^k for |t| <= half (quadratic and log-exponential: x(mu + t)). Detection and
 * freshness: with r = 1 / z and o = y / (1 - y), dr/dt = -r^2 o (1 + r) and do/dt = o (1 + o), solved term by term.
 */
#ifndef NEFK_SERIES_H
#define NEFK_SERIES_H

#include "nefk_shapes.h"

enum { NEFK_TERMS = 5 };

typedef struct { double c0, c1, c2, c3, c4; } nefk_series;

/* 1 / z and its derivatives from r = 1 / z and o = y / (1 - y). */
NEFK_INLINE nefk_series nefk_reciprocal_series(double r, double o) {
    double o1 = o * (1.0 + o), o2 = o1 * (0.5 + o), o3 = ((o2 + 2.0 * (o * o2)) + o1 * o1) * (1.0 / 3.0);
    double s = 1.0 + r, q = r * r, p = o * s;
    double r1 = -(q * p);
    double p1 = o1 * s + o * r1, q1 = 2.0 * (r * r1);
    double r2 = -0.5 * (q * p1 + q1 * p);
    double p2 = (o2 * s + o1 * r1) + o * r2, q2 = 2.0 * (r * r2) + r1 * r1;
    double r3 = (-1.0 / 3.0) * ((q * p2 + q1 * p1) + q2 * p);
    double p3 = (o3 * s + o2 * r1) + (o1 * r2 + o * r3), q3 = 2.0 * (r * r3 + r1 * r2);
    double r4 = -0.25 * ((q * p3 + q1 * p2) + (q2 * p1 + q3 * p));
    return (nefk_series){r, r1, r2, r3, r4};
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

/* Cut a series to the bounds. `rough` says whether the item activates or meets a bound within the bracket, or its
 * last terms are more than `tolerance` of the amount; then the series is 0. */
NEFK_INLINE nefk_series nefk_cut_series(nefk_series c, double active, double low, double high, double half,
                                        double tolerance, double *rough) {
    double square = half * half, odd = half * (c.c1 + square * c.c3), even = square * (c.c2 + square * c.c4);
    double more = ((c.c0 + even) - odd) * (1.0 + 1e-6), less = ((c.c0 + even) + odd) * (1.0 - 1e-6);
    double bend = square * (0.01 * half * fabs(c.c3) + square * fabs(c.c4));
    double known = bend <= tolerance * c.c0 ? active : 0.0; /* also where a term is NaN */
    double fixed = c.c0 >= INFINITY ? active : 0.0;
    double top = less >= high ? known : fixed, bottom = more <= low ? known : 0.0;
    bottom = active < 0.0 ? 1.0 : bottom;
    double place = top > 0.0 ? high : NAN; /* where it stays, NaN if it moves */
    place = bottom > 0.0 ? low : place;
    double inside = more < high ? known : 0.0;
    inside = less > low ? inside : 0.0;
    double moves = inside > 0.0 ? 1.0 : 0.0, stays = place == place ? place : 0.0;
    double lost = place == place ? 0.0 : 1.0;
    *rough = inside > 0.0 ? 0.0 : lost;
    c.c0 = moves > 0.0 ? c.c0 : stays;
    c.c1 = moves > 0.0 ? c.c1 : 0.0;
    c.c2 = moves > 0.0 ? c.c2 : 0.0;
    c.c3 = moves > 0.0 ? c.c3 : 0.0;
    c.c4 = moves > 0.0 ? c.c4 : 0.0;
    return c;
}

#endif
