/* One Newton step of a family's total in the coordinate in which that total is (nearly) straight. */
#ifndef NEFK_NEWTON_H
#define NEFK_NEWTON_H

#include "nefk_shapes.h"

NEFK_INLINE double nefk_log(double x) { return -nefk_negative_log(x, 1.0 - x); }

/* Detection and freshness: log(total) is nearly straight in log(t), t = -log(1 - price / top), at both ends. */
NEFK_INLINE double nefk_step_in_tail(double price, double top, double step) {
    double y = price / top, left = (top - price) / top;
    double t = nefk_negative_log(left, y);
    double grown = t * nefk_exp_negative(-(step * y / (left * t)));
    double e = nefk_exp_negative(grown);
    double share = grown < 1.0 ? grown * (e + grown * nefk_gamma2_over_square(grown)) : 1.0 - e; /* 1 - exp(-grown) */
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

/* As nefk_newton for a total whose slope is mostly that of one item of detection or freshness, which activates at
 * `steep`: near there its amount is nearly straight in 1 / t while the others' hardly move. A total that is too large
 * even without that item leads to `steep` itself. With steep = 0 there is no such item. */
NEFK_INLINE double nefk_newton_of_few(int shape, double price, double target, double top, double steep, double total,
                                      double slope) {
    double next = nefk_newton(shape, price, target, top, total, slope);
    if (shape != NEFK_DETECTION && shape != NEFK_FRESHNESS) return next;
    double y = price / steep, left = (steep - price) / steep;
    double t = nefk_negative_log(left, y);
    double inverse = 1.0 / t + (target - total) * y / (slope * t * t * left);
    double near = steep * (1.0 - nefk_exp_negative(1.0 / inverse));
    near = inverse > 0.0 ? near : steep;
    near = t > 1.0 ? near : next;
    return left > 0.0 && left < 1.0 ? near : next;
}

#endif
