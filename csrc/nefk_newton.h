/* One Newton step of a family's total in the coordinate in which that total is (nearly) straight. */
#ifndef NEFK_NEWTON_H
#define NEFK_NEWTON_H

#include "nefk_shapes.h"

NEFK_INLINE double nefk_log(double x) { return -nefk_negative_log(x, 1.0 - x); }

/* 1 - exp(-t) of t >= 0. */
NEFK_INLINE double nefk_share(double t) {
    double e = nefk_exp_negative(t);
    return t < 1.0 ? t * (e + t * nefk_gamma2_over_square(t)) : 1.0 - e;
}

/* Detection and freshness: log(total) is nearly straight in log(t), t = -log(1 - price / top), at both ends. */
NEFK_INLINE double nefk_step_in_tail(double price, double top, double step) {
    double y = price / top, left = (top - price) / top;
    double t = nefk_negative_log(left, y);
    double share = nefk_share(t * nefk_exp_negative(-(step * y / (left * t))));
    double plain = price * nefk_exp_negative(-step);
    return left > 0.0 && left < 1.0 ? top * share : plain;
}

/* The next price after `price`, where `total` is taken and falls by `slope` (by log price; quadratic: by price);
 * NaN or infinite where that says nothing about a direction. O(1), branch-free; `shape` is a compile-time constant. */
NEFK_INLINE double nefk_newton(int shape, double price, double target, double top, double total, double slope) {
    double gap = target - total, next, ratio;
    if (shape == NEFK_QUADRATIC || shape == NEFK_LOG_EXPONENTIAL) { /* straight in the price (there: log price) */
        next = price - gap / slope;
    } else if (shape == NEFK_EXPONENTIAL) {
        next = price * nefk_exp_negative(gap / slope);
    } else if (shape == NEFK_LOGARITHMIC) { /* straight in 1 / price */
        ratio = 1.0 + gap / slope;
        next = ratio > 0.0 ? price / ratio : NAN;
    } else if (shape == NEFK_POISSON) { /* straight in price^(-1/2) */
        ratio = 1.0 + 0.5 * gap / slope;
        next = ratio > 0.0 ? price / (ratio * ratio) : NAN;
    } else { /* near a power of the price */
        double quotient = total / target;
        double step = nefk_log(quotient) * total / slope;
        step = quotient > 1e-300 ? step : NAN;
        step = quotient < 1e300 ? step : NAN; /* also for the target 0 */
        next = price * nefk_exp_negative(-step);
        if (shape == NEFK_DETECTION || shape == NEFK_FRESHNESS) next = nefk_step_in_tail(price, top, step);
    }
    next = slope > 0.0 ? next : NAN;
    return slope < INFINITY ? next : NAN;
}

/* The same of a few items, without logarithms: harmonic ones as if they were one, of which total (total + a) = b / price.
 * Where bounds hold so much that none falls so little, the total is near a power of the price after all. */
NEFK_INLINE double nefk_newton_of_few(int shape, double price, double target, double top, double total, double slope) {
    if (shape != NEFK_HARMONIC) return nefk_newton(shape, price, target, top, total, slope);
    const double furthest = 1.6;
    double part = slope / total, falls = 2.0 * (target - total) / ((total + target) * part);
    double rest = target * (1.0 - part) + total * (2.0 * part - 1.0);
    falls = falls < furthest ? (falls > -furthest ? falls : -furthest) : furthest;
    double as_one = price * (total * (total * part) / (target * rest)), as_power = price * (2.0 - falls) / (2.0 + falls);
    return part >= 0.5 ? as_one : as_power;
}

/* The next price by Halley's method, for detection and freshness: log(total) against log(t), where
 * t = -log(1 - price / start). `start` is the price at which an item activates, best one near by, `curve` the
 * second derivative of the total by log price. NaN where that says nothing. O(1), branch-free. */
NEFK_INLINE double nefk_halley(double price, double target, double start, double total, double slope, double curve) {
    double left = start - price, odds, growth;
    double t = nefk_log_ratio(start, left, price, &odds);
    double gap = nefk_log_ratio(target, total, target - total, &growth);
    double q = odds / t, inverse = 1.0 / slope, step = gap * total * inverse;
    double damping = 1.0 + 0.5 * step * (curve * inverse + 1.0 + odds - q - slope / total);
    damping = damping > 0.3 ? damping : 0.3;
    double next = start * nefk_share(t * nefk_exp_negative(step * q / damping));
    return left > 0.0 && slope > 0.0 ? next : NAN;
}

#endif
