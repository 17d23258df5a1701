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

/* Whether items of a shape have a price above which they take nothing; and with a slope without end there. */
static inline int has_starts(int shape) {
    return shape != NEFK_HARMONIC && shape != NEFK_POWER && shape != NEFK_LOG_EXPONENTIAL;
}

static inline int has_jumps(int shape) { return shape == NEFK_DETECTION || shape == NEFK_FRESHNESS; }

/* A switch that does DO(shape) with the shape as a constant. */
#define NEFK_EACH_SHAPE(DO)                                                                                       \
    switch (shape) {                                                                                         \
        case NEFK_DETECTION: DO(NEFK_DETECTION);                                                             \
        case NEFK_FRESHNESS: DO(NEFK_FRESHNESS);                                                             \
        case NEFK_POISSON: DO(NEFK_POISSON);                                                                 \
        case NEFK_HARMONIC: DO(NEFK_HARMONIC);                                                               \
        case NEFK_LOGARITHMIC: DO(NEFK_LOGARITHMIC);                                                         \
        case NEFK_EXPONENTIAL: DO(NEFK_EXPONENTIAL);                                                         \
        case NEFK_QUADRATIC: DO(NEFK_QUADRATIC);                                                             \
        case NEFK_LOG_EXPONENTIAL: DO(NEFK_LOG_EXPONENTIAL);                                                 \
        default: DO(NEFK_POWER);                                                                             \
    }

typedef struct { double a, p, v; } nefk_item;

NEFK_INLINE nefk_item nefk_item_of(int shape, double parameter, double weight) {
    nefk_item item = {parameter, parameter, weight};
    if (shape == NEFK_DETECTION) item.p = 1.0;
    if (shape == NEFK_EXPONENTIAL || shape == NEFK_LOG_EXPONENTIAL) { item.a = 1.0 / parameter; item.p = 1.0; item.v = weight * parameter; }
    if (shape == NEFK_QUADRATIC) { item.a = 1.0 / parameter; item.p = 1.0; }
    if (shape == NEFK_POWER) { item.a = 1.0 / (1.0 - parameter); item.p = 1.0; }
    return item;
}

/* y = mu p / v and e = 1 - y of an item; `gap` is positive where it takes something. */
typedef struct { double gap, y, e; } nefk_position;

/* v - mu p, without cancellation, and mu p. */
NEFK_INLINE double nefk_gap_of(nefk_item item, double mu, int fused, double *product) {
    *product = mu * item.p;
    return (item.v - *product) - nefk_product_error(mu, item.p, *product, fused);
}

NEFK_INLINE nefk_position nefk_position_of(nefk_item item, double mu, int fused) {
    double product, gap = nefk_gap_of(item, mu, fused, &product), inverse = 1.0 / item.v;
    nefk_position at = {item.a > 0.0 ? gap : 0.0, product * inverse, gap * inverse};
    return at;
}

/* First half of nefk_respond for detection and freshness: s = sqrt(-2 log e), -1 where nothing is taken. Its own
 * loop, because the processor overlaps two short chains of operations better than one long one. */
NEFK_INLINE void nefk_respond_first(int shape, double parameter, double weight, double mu, int fused,
                                    double *s, double *odds) {
    nefk_item item = nefk_item_of(shape, parameter, weight);
    double product, gap = nefk_gap_of(item, mu, fused, &product);
    double root = sqrt(2.0 * nefk_log_ratio(item.v, gap, product, odds));
    *s = gap > 0.0 && item.a > 0.0 ? root : -1.0;
    *s = mu < 0.0 ? 0.0 : *s; /* without end */
}

/* Second half: x = a / z(s), d, and the second derivative of x by log(mu). */
NEFK_INLINE void nefk_respond_second(double a, double s, double odds, double *x, double *d, double *c) {
    double top, bottom;
    nefk_gamma2_inverse(s, &top, &bottom);
    double ratio = bottom / top, amount = a * ratio; /* 1 / z */
    double slope = amount * ((ratio + 1.0) * ratio) * odds;
    double curve = slope * (odds * (ratio * (3.0 * ratio + 2.0) - 1.0) - 1.0);
    *x = s >= 0.0 ? amount : 0.0;
    *d = s >= 0.0 ? slope : 0.0;
    *c = s >= 0.0 ? curve : 0.0;
}

/* Amount x that an item takes at price mu, and d = -dx/dlog(mu) (quadratic: -dx/dmu, as mu may change sign).
 * An item that takes nothing has x = d = 0; below price 0 every item takes without end (quadratic: as it says). O(1), branch-free; `shape` and `fused` are compile-time constants. For all
 * shapes but detection and freshness, which go by halves.
 * Reference: w f'(x) = mu; Cho and Garcia-Molina 2003 (freshness), Azar et al. 2018 (poisson), Kolobov et al.
 * 2019 (harmonic, in the form that does not cancel). */
NEFK_INLINE void nefk_respond(int shape, double parameter, double weight, double mu, int fused,
                              double *x, double *d) {
    nefk_item item = nefk_item_of(shape, parameter, weight);
    nefk_position at = nefk_position_of(item, mu, fused);
    double a = item.a, y = at.y, e = at.e, takes = at.gap, amount, slope;
    if (shape == NEFK_POISSON) {
        double root = sqrt(y);
        amount = a * (e / (root * (1.0 + root)));
        slope = 0.5 * a / root;
    } else if (shape == NEFK_HARMONIC) {
        double least = (y > 0.0) & (y < 1e-307) ? 1e-307 : y; /* 4 / y must not overflow */
        double root = sqrt(1.0 + 4.0 / least);
        amount = a * ((2.0 / least) / (1.0 + root));
        slope = a / (least * root);
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
        slope = a / item.v;
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

/* Whether a rate and an amount are so small that squares of theirs may underflow. */
NEFK_INLINE int nefk_is_tiny(double a, double x) { return (a * (x > 0.0 ? x : 1.0) < 0x1p-900) & (a > 0.0); }

/* Weighted value w f(x) and weighted derivative w f'(x) of an amount x >= 0, evaluated from x alone, so that
 * they check nefk_respond. O(1), branch-free; at x = 0 the limits, which may be infinite. Detection and freshness may be
 * tiny if `is_tiny`, a compile-time constant. */
NEFK_INLINE void nefk_worth(int shape, int is_tiny, double parameter, double weight, double x, double *value,
                            double *slope) {
    nefk_item item = nefk_item_of(shape, parameter, weight);
    double a = item.a, v = item.v;
    int empty = x <= 0.0, still = a <= 0.0; /* still: nothing ever changes */
    if (shape == NEFK_DETECTION || shape == NEFK_FRESHNESS) {
        double up = is_tiny && nefk_is_tiny(a, x) ? 0x1p600 : 1.0; /* nothing must underflow */
        double b = a * up, y = empty ? 1.0 : x * up, unit = 1.0 / (b * y);
        double z = b * (b * unit), inverse = y * (y * unit); /* a / x and x / a at once */
        double expz = nefk_exp_negative(z), square = nefk_gamma2_over_square(z);
        double fresh = z < 1.0 ? expz + z * square : (1.0 - expz) * inverse;   /* (1 - exp(-z)) / z */
        double share = z < 1.0 ? z * z * square : 1.0 - (1.0 + z) * expz;      /* P(2, z) */
        fresh = z <= 700.0 ? fresh : inverse; /* beyond, also for an infinite or undefined z */
        share = (z <= 700.0) & !empty ? share : 1.0;
        fresh = empty ? 0.0 : fresh;
        if (shape == NEFK_DETECTION) {
            double all = a < INFINITY ? a * fresh : x;
            all = empty ? 0.0 : all;
            *value = still ? 0.0 : v * all;
            *slope = still ? 0.0 : v * share;
        } else {
            double per_rate = v * (y * unit) * up;
            *value = still ? v : v * fresh;
            *slope = still ? 0.0 : share * per_rate;
        }
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
        double complement = u < 1.0 ? u * (expu + u * nefk_gamma2_over_square(u)) : 1.0 - expu;
        *value = weight * complement;
        *slope = v * expu;
        if (shape == NEFK_LOG_EXPONENTIAL) /* its logarithm */
            *slope = v > 0.0 ? -nefk_negative_log(v, 1.0 - v) - u : -INFINITY;
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

#define NEFK_LEAST 9.9e-305 /* just above exp(-700), where nefk_exp_negative ends */

/* How far an amount is from optimal at price mu: relative violation of w f'(x) = mu, one-sided at bounds.
 * Relative to mu; for the quadratic to the larger of mu and w, of which w f' is a difference; where logarithms
 * of prices are compared, to what one unit in the last place of x changes. A power whose amount would be less than
 * NEFK_LEAST has that instead, as a bound. O(1), branch-free. */
NEFK_INLINE double nefk_violation(int shape, double parameter, double weight, double x, double low, double high,
                                  double slope, double mu) {
    double scale = fabs(mu), steep = x * parameter;
    if (shape == NEFK_EXPONENTIAL && steep >= 700.0) slope = slope < mu ? slope : mu; /* nefk_exp_negative ends there */
    if (shape == NEFK_POWER) low = low > NEFK_LEAST ? low : NEFK_LEAST;
    if (shape == NEFK_QUADRATIC) scale = weight > scale ? weight : scale;
    if (shape == NEFK_LOG_EXPONENTIAL) scale = steep > 1.0 ? steep : 1.0;
    scale = scale > 1e-290 ? scale : 1e-290; /* prices below are as good as 0 */
    double excess = slope == mu ? 0.0 : (slope - mu) * (1.0 / scale); /* one division where all have one price and scale */
    double above = excess > 0.0 ? excess : 0.0, below = excess < 0.0 ? -excess : 0.0;
    double bad = fabs(excess);
    bad = x >= high ? below : bad;
    bad = x <= low ? above : bad;
    return low >= high ? 0.0 : bad;
}

#endif
