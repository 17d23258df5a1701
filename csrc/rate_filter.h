/* Change rates learnt one poll at a time: a changes at rate L, so P(changed | elapsed e) = 1 - exp(-h), h = L e.
 *
 * Each item has a row of `width` doubles: its rate, what its rule keeps, and for Bayes the log posterior on a grid of
 * rates. The pool holds changes, exposure and the time of the half change to begin with for all items:
 * newcomers start at its rate P = (changes + 1/2) / (exposure + start).
 *
 *   recursive       maximum likelihood, kept up to date by one Newton step on log L a poll. What is left of the past:
 *                   U = sum of h over quiet polls, H = sum of s(h) over changed ones, s(h) = h / (e^h - 1), and
 *                   C = -dH / dlog L = sum of s (s + h - 1), all at the present L. The step is
 *                   clip((H - U + a - A) / (U + C + A), -1, 1) with A = a min(1, L / P), a = `prior`; then U grows
 *                   with L, and as s(h) is nearly exp(-h / 2), H and C move as H = H0 exp(-L / L0 (C / H)).
 *                   The prior pulls up rates below the pooled one and leaves those above alone: tails are heavy.
 *                   With a memory T all three sums decay as exp(-e / T); U + C beyond `limit` scales them down to it.
 *                   Limit 0: none, until rates that were known turn out to be wrong (rate_watch); then a strict one.
 *   multiplicative  L *= exp(gain (changed - (1 - exp(-h)))): exponentiated gradient of constant gain.
 *   bayes           log p += changed ? log(1 - exp(-h)) : -h at each rate of the grid; L is the posterior mean.
 *                   With a memory T the evidence decays towards the prior as exp(-e / T).
 * A count k of changes in time e adds k log L - L e instead of the censored likelihood.
 * Units: e and T in one unit of time, L in its reciprocal, weights in polls. Rates stay in [1e-140, 1e140].
 * Invariant: rate > 0; U, H, C >= 0. O(1), for Bayes O(grid), a poll; no allocation.
 * Reference: Cho and Garcia-Molina, Estimating frequency of change, ACM TOIT 3 (2003) for the likelihood; Kushner and
 * Yin, Stochastic approximation (2003) for recursive maximum likelihood; Kivinen and Warmuth (1997) for the gradient.
 */
#ifndef KNAPSOLVE_RATE_FILTER_H
#define KNAPSOLVE_RATE_FILTER_H

#include <stddef.h>

#include "nefk_math.h"

enum { RATE_RECURSIVE = 0, RATE_MULTIPLICATIVE = 1, RATE_BAYES = 2 };
enum { RATE_VALUE = 0, RATE_QUIET = 1, RATE_SCORE = 2, RATE_CURVATURE = 3, RATE_START = 1, RATE_GRID = 4 }; /* columns */
enum { POOL_CHANGES = 0, POOL_EXPOSURE = 1, POOL_START = 2, POOL_DRIFT = 3, POOL_SPREAD = 4, POOL_LEFT = 5, POOL_TERM = 6,
       POOL_SIZE = 7 };

#define RATE_LOWEST 1e-140
#define RATE_HIGHEST 1e140

typedef struct {
    int kind;
    double *row;        /* (n, width) */
    double *pool;       /* (POOL_SIZE,) */
    const double *grid; /* (n_grid,) rates, ascending */
    ptrdiff_t width, n_grid;
    double prior;       /* a, in changes */
    double memory;      /* time after which old polls count 1/e as much; INFINITY: never forgotten */
    double gain;        /* of the multiplicative rule */
    double limit;       /* of U + C in the recursive rule, in changes; INFINITY: none; 0: as rate_watch finds */
} rate_filter;

/* What a poll showed: whether there was a change in `elapsed`, or, where count >= 0, that many in `exposure`. */
typedef struct { double elapsed, weight, count, exposure; int changed; } rate_poll;

NEFK_INLINE double rate_clamp(double rate)
{
    rate = rate < RATE_HIGHEST ? rate : RATE_HIGHEST;
    return rate > RATE_LOWEST ? rate : RATE_LOWEST;
}

/* exp(clip(step, -1, 1)). Most steps are small, and the next poll waits for this one: Taylor's series is shorter. */
NEFK_INLINE double rate_step(double step)
{
    if (fabs(step) < 0.0078125) return 1.0 + step * ((1.0 + 0.5 * step) + step * step * (1.0 / 6.0 + step * (1.0 / 24.0)));
    step = step < 1.0 ? step : 1.0;
    return nefk_exp_negative(step > -1.0 ? -step : 1.0);
}

/* h / (e^h - 1) for h >= 0: expected score of a change, and 1 - (share of the time that was exposed). */
NEFK_INLINE double rate_score_changed(double h)
{
    double quiet = nefk_exp_negative(h), small = quiet + h * nefk_gamma2_over_square(h); /* (1 - e^-h) / h */
    return (h < 1.0 ? quiet : h * quiet) / (h < 1.0 ? small : 1.0 - quiet);
}

/* Rate of all items together, at which newcomers start. */
NEFK_INLINE double rate_pooled(const double *pool)
{
    return rate_clamp((pool[POOL_CHANGES] + 0.5) / (pool[POOL_EXPOSURE] + pool[POOL_START]));
}

/* A, what the prior takes back of its own pull `prior` at this rate. */
NEFK_INLINE double rate_prior_pull(const rate_filter *f, double rate)
{
    double ratio = rate * (f->pool[POOL_EXPOSURE] + f->pool[POOL_START]) / (f->pool[POOL_CHANGES] + 0.5);
    return f->prior * (ratio < 1.0 ? ratio : 1.0);
}

/* Account for a poll in the pool; a change had the exposure E[first change | changed] at the item's own rate. */
NEFK_INLINE void rate_pool(double *pool, double rate, rate_poll poll)
{
    double changes = poll.changed, exposure = poll.elapsed;
    if (poll.count >= 0.0) {
        changes = poll.count;
        exposure = poll.exposure;
    } else if (poll.changed) {
        exposure = (1.0 - rate_score_changed(rate * poll.elapsed)) / rate;
    }
    pool[POOL_CHANGES] += poll.weight * changes;
    pool[POOL_EXPOSURE] += poll.weight * exposure;
}

#define RATE_MOST_BENT 745.0 /* h / (e^h - 1) is 0 beyond */
#define RATE_MOST_QUIET 1e200 /* that a poll may add: its weight and time can make more than a double holds */

#define RATE_STRICT 15.0     /* limit where rates change */
#define RATE_WATCHED 10.0    /* evidence from which an item's surprises count */
#define RATE_RECENT 3000.0   /* polls over which they are added up */
#define RATE_UNLIKELY 6.0
#define RATE_FIRST_TERM 1e4  /* polls */

/* The limit of evidence that holds now. Surprises (s(h) after a change, -h after none) have mean 0 as long as rates
 * last, among polls picked by what was `known` before them: a long quiet gap itself adds to what is known. Where their
 * sum over the last RATE_RECENT polls is RATE_UNLIKELY times the root of that of their squares, all items are held to
 * RATE_STRICT for a term; if it happens again after that, for twice as long. The pool holds both sums, how many polls
 * are left of the term, and its length. */
NEFK_INLINE double rate_watch(double *pool, double known, double surprise)
{
    if (known > RATE_WATCHED) {
        double u = surprise > -50.0 ? surprise : -50.0;
        pool[POOL_DRIFT] += u - pool[POOL_DRIFT] / RATE_RECENT;
        pool[POOL_SPREAD] += u * u - pool[POOL_SPREAD] / RATE_RECENT;
        double drift = pool[POOL_DRIFT], spread = pool[POOL_SPREAD];
        if (pool[POOL_LEFT] > 0.0) {
            pool[POOL_LEFT] -= 1.0;
            if (pool[POOL_LEFT] == 0.0) pool[POOL_DRIFT] = pool[POOL_SPREAD] = 0.0;
        } else if (drift * drift > RATE_UNLIKELY * RATE_UNLIKELY * spread && spread > 50.0) {
            pool[POOL_TERM] = pool[POOL_TERM] > 0.0 ? 2.0 * pool[POOL_TERM] : RATE_FIRST_TERM;
            pool[POOL_LEFT] = pool[POOL_TERM];
        }
    }
    return pool[POOL_LEFT] > 0.0 ? RATE_STRICT : INFINITY;
}

NEFK_INLINE double rate_quiet(double weight, double h)
{
    double more = weight * h;
    return more < RATE_MOST_QUIET ? more : RATE_MOST_QUIET;
}

NEFK_INLINE void rate_learn_recursive(const rate_filter *f, double *row, rate_poll poll)
{
    double rate = row[RATE_VALUE], quiet = row[RATE_QUIET], score = row[RATE_SCORE], curvature = row[RATE_CURVATURE];
    double before = quiet + curvature;
    if (f->memory < INFINITY) {
        double kept = nefk_exp_negative(poll.elapsed / f->memory);
        quiet *= kept;
        score *= kept;
        curvature *= kept;
    }
    double surprise;
    if (poll.count >= 0.0) {
        surprise = poll.count - rate * poll.exposure;
        score += poll.weight * poll.count;
        quiet += rate_quiet(poll.weight, rate * poll.exposure);
    } else if (poll.changed) {
        double h = rate * poll.elapsed, s = rate_score_changed(h), bend = s + h - 1.0;
        surprise = s;
        score += poll.weight * s;
        curvature += bend > 0.0 ? poll.weight * (s * bend) : 0.0;
    } else {
        surprise = -rate * poll.elapsed;
        quiet += rate_quiet(poll.weight, rate * poll.elapsed);
    }
    double known = quiet + curvature, limit = f->limit > 0.0 ? f->limit : rate_watch(f->pool, before, surprise);
    if (known > limit) {
        double kept = limit / known;
        quiet *= kept;
        score *= kept;
        curvature *= kept;
    }
    double prior = rate_prior_pull(f, rate);
    double step = (score - quiet + f->prior - prior) / (quiet + curvature + prior);
    double ratio = rate_step(step), bent = score > 0.0 ? curvature / score : 0.0;
    bent = bent < RATE_MOST_BENT ? bent : RATE_MOST_BENT;
    double less = bent * (ratio - 1.0), most = quiet > score ? quiet : score;
    double then = score * nefk_exp_negative(less > -40.0 ? less : -40.0); /* lowering the rate, up to balance only */
    row[RATE_VALUE] = fabs(step) < 0.5 ? rate * ratio : rate_clamp(rate * ratio); /* only large steps go far */
    row[RATE_QUIET] = quiet * ratio;
    row[RATE_SCORE] = then < most ? then : most;
    row[RATE_CURVATURE] = row[RATE_SCORE] * (bent * ratio);
}

NEFK_INLINE void rate_learn_multiplicative(const rate_filter *f, double *row, rate_poll poll)
{
    double h = row[RATE_VALUE] * (poll.count >= 0.0 ? poll.exposure : poll.elapsed), surprise;
    surprise = poll.count >= 0.0 ? poll.count - h : poll.changed - (1.0 - nefk_exp_negative(h));
    double step = f->gain * poll.weight * surprise;
    row[RATE_VALUE] = rate_clamp(row[RATE_VALUE] * rate_step(step));
}

/* Bayes: column RATE_START holds the pooled rate at which the item began; its prior is the Gamma of shape
 * `prior` and that mean, in log L. */
NEFK_INLINE double rate_log_prior(const rate_filter *f, double ratio) { return f->prior * (log(ratio) - ratio); }

/* The posterior mean. Between sharp points (standard deviation below 0.7 of their distance) it is that of the normal
 * in log L through the top three: sums over the grid would snap to its points. O(grid). */
static inline void rate_bayes_mean(const rate_filter *f, double *row)
{
    const double *evidence = row + RATE_GRID;
    ptrdiff_t at = 0;
    for (ptrdiff_t g = 1; g < f->n_grid; g++) at = evidence[g] > evidence[at] ? g : at;
    if (at > 0 && at < f->n_grid - 1) {
        double left = evidence[at] - evidence[at - 1], right = evidence[at] - evidence[at + 1], bend = left + right;
        if (bend > 2.0) {
            double apart = log(f->grid[at + 1] / f->grid[at]), mode = 0.5 * (left - right) / bend;
            row[RATE_VALUE] = rate_clamp(f->grid[at] * exp(apart * (mode + 0.5 * apart / bend)));
            return;
        }
    }
    double top = evidence[at], mass = 0.0, sum = 0.0;
    for (ptrdiff_t g = 0; g < f->n_grid; g++) {
        double p = nefk_exp_negative(top - evidence[g]);
        mass += p;
        sum += p * f->grid[g];
    }
    row[RATE_VALUE] = rate_clamp(sum / mass);
}

static inline void rate_learn_bayes(const rate_filter *f, double *row, rate_poll poll)
{
    double *evidence = row + RATE_GRID;
    if (f->memory < INFINITY) {
        double kept = nefk_exp_negative(poll.elapsed / f->memory);
        for (ptrdiff_t g = 0; g < f->n_grid; g++) {
            double prior = rate_log_prior(f, f->grid[g] / row[RATE_START]);
            evidence[g] = prior + (evidence[g] - prior) * kept;
        }
    }
    for (ptrdiff_t g = 0; g < f->n_grid; g++) {
        double h = f->grid[g] * (poll.count >= 0.0 ? poll.exposure : poll.elapsed), told = -h;
        h = h < 1e300 ? h : 1e300;
        if (poll.count >= 0.0) {
            told = poll.count * log(f->grid[g] / row[RATE_START]) - h;
        } else if (poll.changed) {
            double quiet = nefk_exp_negative(h);
            double found = h < 1.0 ? h * (quiet + h * nefk_gamma2_over_square(h)) : 1.0 - quiet;
            told = -nefk_negative_log(found > 1e-300 ? found : 1e-300, quiet);
        }
        told *= poll.weight;
        evidence[g] += told > -1e300 ? told : -1e300; /* else nothing is finite, and nothing best */
    }
    rate_bayes_mean(f, row);
}

/* Start item i at the pooled rate. O(width). */
static inline void rate_filter_admit(const rate_filter *f, ptrdiff_t i)
{
    double *row = f->row + i * f->width, pooled = rate_pooled(f->pool);
    row[RATE_VALUE] = pooled;
    row[RATE_QUIET] = row[RATE_SCORE] = row[RATE_CURVATURE] = 0.0;
    if (f->kind == RATE_BAYES) row[RATE_START] = pooled;
    if (f->kind != RATE_BAYES) return;
    for (ptrdiff_t g = 0; g < f->n_grid; g++) row[RATE_GRID + g] = rate_log_prior(f, f->grid[g] / pooled);
    rate_bayes_mean(f, row);
}

/* What polls told of item i, in changes' worth of evidence; INFINITY where the rule does not keep it. */
NEFK_INLINE double rate_filter_known(const rate_filter *f, ptrdiff_t i)
{
    const double *row = f->row + i * f->width;
    return f->kind == RATE_RECURSIVE ? row[RATE_QUIET] + row[RATE_CURVATURE] : INFINITY;
}

NEFK_INLINE void rate_filter_prefetch(const rate_filter *f, ptrdiff_t i)
{
    __builtin_prefetch(f->row + i * f->width, 1);
}

/* Learn from one poll of item i. */
NEFK_INLINE void rate_filter_learn(const rate_filter *f, ptrdiff_t i, rate_poll poll)
{
    double *row = f->row + i * f->width;
    rate_pool(f->pool, row[RATE_VALUE], poll);
    if (f->kind == RATE_RECURSIVE) rate_learn_recursive(f, row, poll);
    else if (f->kind == RATE_MULTIPLICATIVE) rate_learn_multiplicative(f, row, poll);
    else rate_learn_bayes(f, row, poll);
}

#endif
