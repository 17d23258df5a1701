/* Amounts that follow the rates: a price kept while one rate after another changes.
 *
 * At price mu item i takes x_i(mu), clipped to its bounds (nefk_shapes.h). When its rate changes, the total moves
 * by the difference of its two answers at mu, and one Newton step on log mu brings it back to the capacity; what
 * such steps leave of second order is taken out by an exact search, which the caller makes every n polls or so.
 * Where amounts are in proportion to the rates (detection, equal weights, no bounds) `total` is the sum of the
 * rates, x = capacity L / total, and nothing is left over.
 * Where marginal values hardly differ (nearly equal weights, a change in nearly every poll), amounts jump from one
 * number to the next: then, at the last price that takes too much, every item takes the same `share` of what it
 * would have above its lower bound.
 * Units: amounts and capacity in polls per unit of time, rates in its reciprocal, mu in value per poll.
 * Invariant: total = sum of x_i(mu) and slope = sum of -dx_i / dlog mu up to the second order. O(1) a change.
 */
#ifndef KNAPSOLVE_RATE_PRICE_H
#define KNAPSOLVE_RATE_PRICE_H

#include "nefk_kernel.h"
#include "nefk_shapes.h"

typedef struct {
    int shape, proportional;
    nefk_column weight, lower, upper, own; /* own: an item's price above mu, where its group's cap binds */
    double changes, current; /* a change found is worth changes + current / rate; rates.problem */
    double capacity, price, total, slope;
    double scale; /* proportional: capacity / total */
    double floor, share; /* sum of the lower bounds; share < 1: no price meets the capacity */
    double moved; /* how far log mu has moved since the sums were taken */
} rate_price;

typedef struct { double amount, slope; } rate_answer;

NEFK_INLINE double rate_column(const nefk_column *c, ptrdiff_t i)
{
    return c->doubles ? c->doubles[i] : c->singles ? c->singles[i] : c->scalar;
}

/* What item i takes at the present price, given its rate, and how that answers log mu. */
static inline rate_answer rate_price_answer(const rate_price *p, ptrdiff_t i, double rate)
{
    if (p->proportional) return (rate_answer){rate * p->scale, rate};
    double low = rate_column(&p->lower, i), high = rate_column(&p->upper, i), weight = rate_column(&p->weight, i);
    double mu = p->price + rate_column(&p->own, i), x, d;
    if (p->current > 0.0) weight = fmin(weight * (p->changes + fmin(p->current / rate, 1e100)), 1e140);
    if (p->shape == NEFK_DETECTION || p->shape == NEFK_FRESHNESS) {
        double s, odds, curve;
        nefk_respond_first(p->shape, rate, weight, mu, 0, &s, &odds);
        nefk_respond_second(rate, s, odds, &x, &d, &curve);
    } else if (p->shape == NEFK_POISSON) {
        nefk_respond(NEFK_POISSON, rate, weight, mu, 0, &x, &d);
    } else {
        nefk_respond(NEFK_HARMONIC, rate, weight, mu, 0, &x, &d);
    }
    if (!(x > low)) return (rate_answer){low, 0.0};
    rate_answer answer = x < high ? (rate_answer){x, d * (p->price / mu)} : (rate_answer){high, 0.0};
    if (p->share < 1.0) answer = (rate_answer){low + p->share * (answer.amount - low), p->share * answer.slope};
    return answer;
}

/* Cut the amounts down to the capacity at the present price, where the total is too much. */
static inline void rate_price_cut(rate_price *p)
{
    double cut = (p->capacity - p->floor) / (p->total - p->floor);
    double share = fmin(p->share * fmax(cut, 0.0), 1.0);
    cut = p->share > 0.0 ? share / p->share : 0.0;
    p->total = p->floor + cut * (p->total - p->floor);
    p->slope *= cut;
    p->share = share;
}

/* The Newton step on log mu, within limits. */
NEFK_INLINE double rate_price_step(const rate_price *p, double limit)
{
    double gap = p->total - p->capacity;
    double step = p->slope > 1e-3 * p->capacity ? gap / p->slope : 1e3 * gap / p->capacity;
    step = step < limit ? step : limit;
    return step > -limit ? step : -limit;
}

/* An item's answer has changed: follow. */
static inline void rate_price_follow(rate_price *p, rate_answer before, rate_answer after)
{
    if (p->proportional) {
        p->total += after.slope - before.slope; /* rates */
        p->scale = p->capacity / p->total;
        return;
    }
    p->total += after.amount - before.amount;
    p->slope += after.slope - before.slope;
    if (p->share < 1.0) {
        rate_price_cut(p);
        return;
    }
    if (!(p->slope > 0.0) || p->moved > 1.0) { /* slopes summed at other prices mislead, most at activations: wait */
        p->moved += 1.0;
        return;
    }
    double step = rate_price_step(p, 0.25);
    p->price *= nefk_exp_negative(-step);
    p->total -= step * p->slope;
    p->moved += fabs(step);
}

/* Take the sums anew over rates[0], rates[width], ... */
static inline void rate_price_add(rate_price *p, const double *rates, ptrdiff_t width, ptrdiff_t n)
{
    p->total = p->slope = p->floor = 0.0;
    for (ptrdiff_t i = 0; i < n; i++) {
        rate_answer answer = rate_price_answer(p, i, rates[i * width]);
        p->total += p->proportional ? rates[i * width] : answer.amount;
        p->slope += answer.slope;
        p->floor += rate_column(&p->lower, i);
    }
    p->scale = p->capacity / p->total;
}

/* The sums anew, and the price moved until they meet the capacity, if `search`: Newton in a bracket, halved where
 * Newton leaves it. O(n) a step, usually one to four. */
static inline void rate_price_settle(rate_price *p, const double *rates, ptrdiff_t width, ptrdiff_t n, int search)
{
    double low = 0.0, high = INFINITY; /* prices that take too much, too little */
    p->moved = 0.0;
    p->share = 1.0;
    for (int k = 0; k < 100; k++) {
        rate_price_add(p, rates, width, n);
        if (p->proportional || !search || fabs(p->total - p->capacity) <= 1e-7 * p->capacity) break;
        if (p->total > p->capacity) low = p->price;
        else high = p->price;
        double next = p->price * exp(rate_price_step(p, 2.0));
        if (next == p->price) next = nextafter(next, next == low ? INFINITY : 0.0);
        if (!(next > low && next < high)) next = high < INFINITY && low > 0.0 ? sqrt(low) * sqrt(high) : next;
        if (!(next > low && next < high)) next = low; /* neighbours */
        if (next == p->price || !(next > 0.0)) break;
        p->price = next;
    }
    if (!p->proportional && p->total > p->capacity * (1.0 + 1e-7)) rate_price_cut(p);
}

#endif
