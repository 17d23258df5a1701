/* The concave families: how much an item takes at a price, and how good that amount is.
 *
 * Every family but the power has the form f'(x) = (v / p) * shape(x / a), so that an item's answer to the price
 * mu depends on y = mu p / v alone and scales with a; (a, p, v) come from its parameter and weight w:
 *
 *   detection    a = rate,      p = 1,     v = w          freshness    a = p = rate,  v = w
 *   poisson, harmonic           a = p = rate,  v = w      logarithmic  a = p = scale, v = w
 *   exponential  a = 1 / rate,  p = 1,     v = w rate     quadratic    a = 1 / curvature, p = 1, v = w
 *
 * e = 1 - y = (v - mu p) / v is formed without cancellation: it is what decides x near activation.
 * Linear is the quadratic of curvature 0 (a = inf: everything as soon as the price is below the weight).
 * Units: a and x share the capacity's unit, mu is value per capacity.
 */
#ifndef NEFK_SHAPES_H
#define NEFK_SHAPES_H

#include "nefk_math.h"

enum nefk_shape {
    NEFK_DETECTION, NEFK_FRESHNESS, NEFK_POISSON, NEFK_HARMONIC, NEFK_LOGARITHMIC, NEFK_EXPONENTIAL,
    NEFK_QUADRATIC, NEFK_POWER,
    NEFK_LOG_EXPONENTIAL /* exponential where its price would underflow: `mu` is the logarithm of the price */
};

typedef struct { double a, p, v; } nefk_item;

NEFK_INLINE nefk_item nefk_item_of(int shape, double parameter, double weight) {
    nefk_item item = {parameter, parameter, weight};
    if (shape == NEFK_DETECTION) item.p = 1.0;
    if (shape == NEFK_EXPONENTIAL || shape == NEFK_LOG_EXPONENTIAL) { item.a = 1.0 / parameter; item.p = 1.0; item.v = weight * parameter; }
    if (shape == NEFK_QUADRATIC) { item.a = 1.0 / parameter; item.p = 1.0; }
    if (shape == NEFK_POWER) { item.a = 1.0 / (1.0 - parameter); item.p = 1.0; }
    return item;
}

/* Amount x that an item takes at price mu, and d = -dx/dlog(mu) (quadratic: -dx/dmu, as mu may change sign).
 * An item that takes nothing has x = d = 0; below price 0 every item takes without end (quadratic: as it says). O(1), branch-free; `shape` and `fused` are compile-time constants.
 * Reference: w f'(x) = mu; Cho and Garcia-Molina 2003 (freshness), Azar et al. 2018 (poisson), Kolobov et al.
 * 2019 (harmonic, in the form that does not cancel). */
NEFK_INLINE void nefk_respond(int shape, double parameter, double weight, double mu, int fused,
                              double *x, double *d) {
    nefk_item item = nefk_item_of(shape, parameter, weight);
    double a = item.a, product = mu * item.p;
    double gap = (item.v - product) - nefk_product_error(mu, item.p, product, fused);
    double both = 1.0 / (item.v * gap), inverse = gap * both, y = product * inverse, e = gap * inverse;
    double takes = a > 0.0 ? gap : 0.0; /* positive where the item takes something */
    double amount, slope;
    if (shape == NEFK_DETECTION || shape == NEFK_FRESHNESS) {
        double top, bottom;
        nefk_gamma2_inverse(nefk_negative_log(e, y), &top, &bottom);
        double ratio = bottom / top; /* 1 / z */
        amount = a * ratio;
        slope = amount * ((ratio + 1.0) * ratio) * (product * item.v * both); /* y / e */
    } else if (shape == NEFK_POISSON) {
        double root = sqrt(y);
        amount = a * (e / (root * (1.0 + root)));
        slope = 0.5 * a / root;
    } else if (shape == NEFK_HARMONIC) {
        double root = sqrt(1.0 + 4.0 / y);
        amount = a * ((2.0 / y) / (1.0 + root));
        slope = a / (y * root);
        takes = a > 0.0 ? item.v : 0.0;
    } else if (shape == NEFK_LOGARITHMIC) {
        amount = a * (e / y);
        slope = a / y;
    } else if (shape == NEFK_EXPONENTIAL) {
        amount = y > 0.0 ? a * nefk_negative_log(y, e) : INFINITY;
        slope = a;
    } else if (shape == NEFK_LOG_EXPONENTIAL) {
        amount = a * (-nefk_negative_log(item.v, 1.0 - item.v) - mu);
        slope = a;
        takes = item.v > 0.0 ? amount : 0.0;
    } else if (shape == NEFK_QUADRATIC) {
        amount = a * e;
        slope = a * inverse;
    } else { /* power: x = y^(-1 / (1 - exponent)) */
        amount = nefk_exp_negative(a * -nefk_negative_log(y, e));
        slope = amount * a;
        takes = item.v;
    }
    if (shape == NEFK_HARMONIC || shape == NEFK_POWER) takes = mu < INFINITY ? takes : 0.0;
    if (shape != NEFK_QUADRATIC && shape != NEFK_LOG_EXPONENTIAL) {
        amount = mu < 0.0 ? INFINITY : amount;
        takes = mu < 0.0 ? 1.0 : takes;
    }
    *x = takes > 0.0 ? amount : 0.0;
    *d = takes > 0.0 ? slope : 0.0;
}

/* Weighted value w f(x) and weighted derivative w f'(x) of an amount x >= 0, evaluated from x alone, so that
 * they check nefk_respond. O(1), branch-free; at x = 0 the limits, which may be infinite. */
NEFK_INLINE void nefk_worth(int shape, double parameter, double weight, double x, double *value, double *slope) {
    nefk_item item = nefk_item_of(shape, parameter, weight);
    double a = item.a, v = item.v;
    int empty = x <= 0.0, still = a <= 0.0; /* still: nothing ever changes */
    if (shape == NEFK_DETECTION || shape == NEFK_FRESHNESS) {
        double z = a / x, expz = nefk_exp_negative(z), square = nefk_gamma2_over_square(z, expz);
        double fresh = expz + z * square; /* (1 - exp(-z)) / z */
        double share = z * z * square;
        int far = z > 700.0; /* also z = inf */
        fresh = far ? 1.0 / z : fresh;
        share = far ? 1.0 : share;
        fresh = still ? 1.0 : fresh;
        share = still ? 0.0 : share;
        fresh = empty & !still ? 0.0 : fresh;
        double all = shape == NEFK_DETECTION ? (a > 1e300 ? x : x * (z * fresh)) : fresh;
        all = (shape == NEFK_DETECTION) & (empty | still) ? 0.0 : all;
        *value = v * all;
        *slope = share * v / (shape == NEFK_DETECTION ? 1.0 : (still ? 1.0 : a));
    } else if (shape == NEFK_POISSON) {
        double part = a / (x + a);
        *value = v * (still ? 1.0 : x / (x + a));
        *slope = still ? 0.0 : (v / a) * (part * part);
    } else if (shape == NEFK_HARMONIC) {
        double y = a / (x + a), e = x / (x + a);
        double log = empty ? -INFINITY : -nefk_negative_log(e, y);
        log = still | (v <= 0.0) ? 0.0 : log;
        *value = v * log;
        *slope = still | (v <= 0.0) ? 0.0 : v * (a / (x * (x + a)));
    } else if (shape == NEFK_LOGARITHMIC) {
        double y = x / (x + a), e = a / (x + a);
        *value = v * nefk_negative_log(e, y);
        *slope = v / (x + a);
    } else if (shape == NEFK_EXPONENTIAL || shape == NEFK_LOG_EXPONENTIAL) {
        double u = x * parameter, expu = nefk_exp_negative(u);
        double complement = u * (expu + u * nefk_gamma2_over_square(u, expu)); /* 1 - exp(-u) */
        *value = weight * (u > 700.0 ? 1.0 : complement);
        *slope = v * expu;
        if (shape == NEFK_LOG_EXPONENTIAL) *slope = -nefk_negative_log(v, 1.0 - v) - u; /* its logarithm */
    } else if (shape == NEFK_QUADRATIC) {
        double u = x * parameter;
        *value = v * x * (1.0 - 0.5 * u);
        *slope = v - v * u;
    } else {
        double log = nefk_negative_log(x, 1.0 - x);
        double power = nefk_exp_negative(parameter * log);
        *value = empty ? 0.0 : v * power / parameter;
        *slope = v <= 0.0 ? 0.0 : (empty ? INFINITY : v * nefk_exp_negative((parameter - 1.0) * log));
    }
}

/* How far an amount is from optimal at price mu: relative violation of w f'(x) = mu, one-sided at bounds.
 * Relative to mu; for the quadratic to the larger of mu and w, of which w f' is a difference; where logarithms
 * of prices are compared, to what one unit in the last place of x changes. O(1), branch-free. */
NEFK_INLINE double nefk_violation(int shape, double parameter, double weight, double x, double low, double high,
                                  double slope, double mu) {
    double scale = fabs(mu), steep = x * parameter;
    if (shape == NEFK_QUADRATIC) scale = weight > scale ? weight : scale;
    if (shape == NEFK_LOG_EXPONENTIAL) scale = steep > 1.0 ? steep : 1.0;
    double excess = slope == mu ? 0.0 : (slope - mu) / scale;
    double above = excess > 0.0 ? excess : 0.0, below = excess < 0.0 ? -excess : 0.0;
    double bad = fabs(excess);
    bad = x >= high ? below : bad;
    bad = x <= low ? above : bad;
    return low >= high ? 0.0 : bad;
}

#endif
