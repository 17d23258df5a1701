#include "decay_fit.h"

#include <math.h>

#include "decay_math.h"

void decay_totals_add(struct age_totals *totals, ptrdiff_t slots, double age, double content)
{
    ptrdiff_t used = 0, at = 0, merged = 0;
    while (used < slots && totals[used].count > 0.0) used++;
    while (at < used && totals[at].age < age) at++;
    if (at < used && totals[at].age == age) {
        totals[at].count += 1.0;
        totals[at].content += content;
        return;
    }
    if (used == slots) { /* make room: merge the closest pair among the old ages */
        for (ptrdiff_t j = 1; j + 1 < slots; j++)
            if (totals[j + 1].age * totals[merged].age < totals[merged + 1].age * totals[j].age) merged = j;
        struct age_totals *a = &totals[merged], *b = a + 1;
        a->age = (a->age * a->count + b->age * b->count) / (a->count + b->count);
        a->count += b->count;
        a->content += b->content;
        used--;
        for (ptrdiff_t j = merged + 1; j < used; j++) totals[j] = totals[j + 1];
        for (at = 0; at < used && totals[at].age < age;) at++;
    }
    for (ptrdiff_t j = used; j > at; j--) totals[j] = totals[j - 1];
    totals[at].age = age;
    totals[at].count = 1.0;
    totals[at].content = content;
}

/* d ln f / d ln c at t = c k: t/(e^t - 1) - 1, from 0 (t = 0) down to -1. */
static double elasticity(double t)
{
    if (t < DECAY_SERIES) return -t * decay_series(t) / (1.0 + t * decay_series(t));
    double left = decay_exp(t);
    return t * left / (1.0 - left) - 1.0;
}

static double mean_content(double decay, double age) { return decay_loss(decay * age) / decay; }

/* Derivative of the objective with respect to ln c, with lam at its best. */
static double score(const struct age_totals *totals, ptrdiff_t used, double max_age, const struct decay_prior *prior,
                    double log_decay)
{
    double decay = exp(log_decay), seen = 0.0, expected = 0.0, seen_slope = 0.0, expected_slope = 0.0;
    for (ptrdiff_t j = 0; j < used; j++) {
        double age = totals[j].age < max_age ? totals[j].age : max_age;
        double slope = elasticity(decay * age), mean = totals[j].count * mean_content(decay, age);
        seen += totals[j].content;
        expected += mean;
        seen_slope += totals[j].content * slope;
        expected_slope += mean * slope;
    }
    double prior_slope = (prior->log_decay - log_decay) / (prior->spread * prior->spread);
    return (expected > 0.0 ? seen_slope - seen * expected_slope / expected : 0.0) + prior_slope;
}

static double best_log_decay(const struct age_totals *totals, ptrdiff_t used, double max_age,
                             const struct decay_prior *prior)
{
    double low = log(prior->low), high = log(prior->high);
    double at_low = score(totals, used, max_age, prior, low), at_high = score(totals, used, max_age, prior, high);
    if (!(at_low > 0.0)) return low;
    if (!(at_high < 0.0)) return high;
    /* invariant: the score is positive at low and not at high; every third cut is a bisection */
    for (int n = 0; n < 100 && high - low > 1e-13 * (1.0 + fabs(low)); n++) {
        double middle = n % 3 == 2 ? 0.5 * (low + high) : low + (high - low) * at_low / (at_low - at_high);
        double least = 0.01 * (high - low); /* keep off the ends, so that both move */
        middle = middle < low + least ? low + least : middle > high - least ? high - least : middle;
        double here = score(totals, used, max_age, prior, middle);
        if (here > 0.0) {
            low = middle;
            at_low = here;
        } else {
            high = middle;
            at_high = here;
            if (here == 0.0) return middle;
        }
    }
    return 0.5 * (low + high);
}

/* At most `most`, which also stands for what rounding made no number. */
static double bounded(double value, double most) { return value < most ? value : most; }

/* The sandwich of the information and the variance of the scores. With slopes taken from their mean weighted by
 * the expected contents, ln lam and ln c separate: nothing cancels, and the prior keeps the spread positive. */
static void errors(const struct age_totals *totals, ptrdiff_t used, double max_age, const struct decay_prior *prior,
                   struct decay_estimate *e)
{
    double expected = 0.0, middle = 0.0, spread = 0.0, v00 = 0.0, v01 = 0.0, v11 = 0.0;
    for (int pass = 0; pass < 2; pass++) {
        for (ptrdiff_t j = 0; j < used; j++) {
            double age = totals[j].age < max_age ? totals[j].age : max_age, t = e->decay * age;
            double mean = totals[j].count * e->rate * mean_content(e->decay, age), slope = elasticity(t);
            if (pass == 0) {
                expected += mean;
                middle += mean * slope;
                continue;
            }
            double part = mean / expected, away = slope - middle;
            double variance = part * 0.5 * (1.0 + decay_exp(t)); /* its ratio to the mean is (1 + e^-t) / 2 */
            spread += part * away * away;
            v00 += variance;
            v01 += variance * away;
            v11 += variance * away * away;
        }
        if (pass == 0) middle /= expected;
    }
    double known = 1.0 / (prior->spread * prior->spread * expected);
    double d = 1.0 / (spread + known);
    e->decay_error = bounded(sqrt(d * (d * (v11 + known)) / expected), prior->spread);
    double leverage = middle * d;
    e->rate_error = bounded(sqrt((v00 - 2.0 * leverage * v01 + leverage * (leverage * (v11 + known))) / expected), 1e100);
}

struct decay_estimate decay_fit(const struct age_totals *totals, ptrdiff_t slots, double max_age,
                                const struct decay_prior *prior)
{
    struct decay_estimate e;
    ptrdiff_t used = 0;
    double seen = 0.0, expected = 0.0;
    while (used < slots && totals[used].count > 0.0) used++;
    e.decay = exp(best_log_decay(totals, used, max_age, prior));
    for (ptrdiff_t j = 0; j < used; j++) {
        double age = totals[j].age < max_age ? totals[j].age : max_age;
        seen += totals[j].content;
        expected += totals[j].count * mean_content(e.decay, age);
    }
    if (seen > 0.0) {
        e.rate = seen / expected;
        errors(totals, used, max_age, prior, &e);
    } else { /* nothing collected yet: the rate that would have brought one item is the scale of the doubt */
        e.rate = 0.0;
        e.rate_error = expected > 0.0 ? bounded(1.0 / expected, 1e100) : 1e100;
        e.decay_error = prior->spread;
    }
    return e;
}
