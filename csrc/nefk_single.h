/* Own prices of many small groups, roughly: Halley's method in single precision, for detection and freshness.
 *
 * LANES groups at once, item j of group l at [j][l], so that every sum over a group's items is a sum of vectors and a
 * group's price a lane of one. In units of the group: amounts over its cap, prices over a first guess.
 * What comes out is a guess, good to some 1e-6, from which one round in double precision usually ends a search; nothing
 * else depends on it. O(items times rounds), no branch but for loops.
 */
#ifndef NEFK_SINGLE_H
#define NEFK_SINGLE_H

#include "nefk_math.h"

#define NEFK_SLOW 0.7f    /* of the last gap: a step that leaves more of it was Newton's last */
#define NEFK_BENDING 0.1f /* share of a slope from which on one item bends a group's total */
#define NEFK_STEEP 300.0f /* gap over the step, of a price, from which on an item is in its corner */
#define NEFK_APART 1e-5f  /* more than what single precision makes of a price is off, relatively */

enum { NEFK_FEW = 8 /* items of a group, the first two of which tell most */ };
enum { NEFK_AT_ONCE = 8 /* items of a group in short loops */ };
enum { NEFK_LANES = 32, NEFK_DEPTH = 384 /* most items of a group */ };

/* The items of NEFK_LANES groups: a as in nefk_shapes.h, and prices at which they start; both 0 where there is none.
 * Bounds are looked at where items have some. A row more than there are items keeps arrays from lying a multiple of 4096
 * bytes apart, where processors take one for another. */
typedef struct {
    float a[NEFK_DEPTH + 1][NEFK_LANES], start[NEFK_DEPTH + 1][NEFK_LANES];
    float lower[NEFK_DEPTH + 1][NEFK_LANES], upper[NEFK_DEPTH + 1][NEFK_LANES];
    float inverse_start[NEFK_DEPTH][NEFK_LANES]; /* is used up */
} nefk_lanes;

NEFK_INLINE float nefk_single_of(uint32_t bits) { float x; memcpy(&x, &bits, 4); return x; }
NEFK_INLINE uint32_t nefk_bits_of(float x) { uint32_t bits; memcpy(&bits, &x, 4); return bits; }

/* As nefk_negative_log, by a Chebyshev fit of error 2e-7: a division takes longer. */
NEFK_INLINE float nefk_negative_log_single(float e, float y) {
    const uint32_t root_half = 0x3f3504f3u, mantissa = 0x007fffffu;
    uint32_t shifted = nefk_bits_of(e) - root_half;
    float k = (float)((int32_t)((shifted + (200u << 23)) >> 23) - 200);
    float f = k == 0.0f ? -y : nefk_single_of((shifted & mantissa) + root_half) - 1.0f;
    float f2 = f * f, odd = (-0.50000375f - 0.24968907f * f2) + (-0.17278206f - 0.09895351f * f2) * (f2 * f2);
    float even = (0.99999997f + 0.33334606f * f2) + (0.19913348f + 0.16126248f * f2) * (f2 * f2);
    return -(k * 0.69314718f + f * (even + f * odd));
}

/* 1 / z, as by nefk_gamma2_inverse of y = 1 - e in (0, 1), and y / e, from twice the negative logarithm of e; error some
 * 3e-7. */
NEFK_INLINE float nefk_inverse_from_log(float e, float y, float twice, float *odds) {
    float s = sqrtf(twice);
    float p = 0.9999999893910065f + s * (0.8333763339796209f + s * (0.2939732830645737f
              + s * (0.05023282841905856f + s * 0.003429517509334647f)));
    float q = 1.0f + s * (0.5000427172205866f + s * (0.09951622957740619f + s * 0.006870614461624364f));
    float top = s * p, both = 1.0f / (top * e);
    *odds = y * top * both;
    return q * e * both;
}

NEFK_INLINE float nefk_inverse_single(float e, float y, float *odds) {
    return nefk_inverse_from_log(e, y, 2.0f * nefk_negative_log_single(e, y), odds);
}

/* exp(-t) = scale (1 + p), t cut to [-80, 80]; returns scale, which is 1 at small t. */
NEFK_INLINE float nefk_split_exp(float t, float *p) {
    t = t < 80.0f ? t : 80.0f;
    t = t > -80.0f ? t : -80.0f;
    float rounded = t * 1.44269504f + 12582912.0f, k = rounded - 12582912.0f; /* 1.5 * 2^23: rounds */
    float r = k * 0.69314718f - t;
    *p = r * (1.0f + r * (0.5f + r * (0.16666667f + r * (0.041666668f + r * (0.0083333338f + r * 0.0013888889f)))));
    return nefk_single_of(0x3f800000u - (nefk_bits_of(rounded) << 23));
}

/* What NEFK_LANES groups take, how that falls and bends by log price, and of the item of the largest slope that slope
 * and its start. */
typedef struct {
    float total[NEFK_LANES], fall[NEFK_LANES], bend[NEFK_LANES], most[NEFK_LANES], best[NEFK_LANES];
} nefk_lane_sums;

/* Add items first .. first + n, at most NEFK_AT_ONCE, at their prices (NEFK_LANES,). In short loops: the processor
 * overlaps them better. `bounded` is a compile-time constant. */
NEFK_INLINE void nefk_add_items(size_t first, size_t n, const nefk_lanes *items, int bounded, const float *price,
                                nefk_lane_sums *sums) {
    float e[NEFK_AT_ONCE][NEFK_LANES], y[NEFK_AT_ONCE][NEFK_LANES], r[NEFK_AT_ONCE][NEFK_LANES];
    float odds[NEFK_AT_ONCE][NEFK_LANES];
    for (size_t j = 0; j < n; j++)
        for (size_t l = 0; l < NEFK_LANES; l++) {
            y[j][l] = price[l] * items->inverse_start[first + j][l];
            e[j][l] = 1.0f - y[j][l];
            r[j][l] = 2.0f * nefk_negative_log_single(e[j][l], y[j][l]);
        }
    for (size_t j = 0; j < n; j++)
        for (size_t l = 0; l < NEFK_LANES; l++)
            r[j][l] = nefk_inverse_from_log(e[j][l], y[j][l], r[j][l], &odds[j][l]);
    for (size_t j = 0; j < n; j++) {
        const float *start = items->start[first + j];
        float x[NEFK_LANES], d[NEFK_LANES], c[NEFK_LANES];
        for (size_t l = 0; l < NEFK_LANES; l++) {
            float inverse = r[j][l], amount = items->a[first + j][l] * inverse;
            float slope = amount * ((inverse + 1.0f) * inverse) * odds[j][l];
            float curve = slope * (odds[j][l] * (inverse * (3.0f * inverse + 2.0f) - 1.0f) - 1.0f);
            x[l] = e[j][l] > 0.0f ? amount : 0.0f;
            d[l] = e[j][l] > 0.0f ? slope : 0.0f;
            c[l] = e[j][l] > 0.0f ? curve : 0.0f;
        }
        for (size_t l = 0; l < NEFK_LANES && bounded; l++) {
            float least = items->lower[first + j][l], upper = items->upper[first + j][l], amount = x[l];
            int is_free = (amount > least) & (amount < upper);
            x[l] = amount < upper ? (amount > least ? amount : least) : upper;
            d[l] = is_free ? d[l] : 0.0f;
            c[l] = is_free ? c[l] : 0.0f;
        }
        for (size_t l = 0; l < NEFK_LANES; l++) {
            sums->total[l] += x[l];
            sums->fall[l] += d[l];
            sums->bend[l] += c[l];
            sums->best[l] = d[l] > sums->most[l] ? start[l] : sums->best[l];
            sums->most[l] = d[l] > sums->most[l] ? d[l] : sums->most[l];
        }
    }
}

/* Over its start, the price at which an item takes an amount, over its a as `inverse` is one over that: 1 - (1 + z) exp(-z).
 * Nothing but a guess where that is small. */
NEFK_INLINE float nefk_slope_single(float z) {
    float p, scale = nefk_split_exp(z, &p);
    return 1.0f - (1.0f + z) * scale * (1.0f + p);
}

/* As nefk_trail, of NEFK_LANES groups; 0 where there is no gap at an end, and infinity for no last gap. */
typedef struct { float price[NEFK_LANES], gap[NEFK_LANES], low_gap[NEFK_LANES], high_gap[NEFK_LANES]; } nefk_lane_trail;

/* As nefk_follow_trail, of lane l, between the ends low and high, by straight lines in the price; `next` where that is to
 * be trusted. */
NEFK_INLINE float nefk_steer_lane(nefk_lane_trail *trail, size_t l, float low, float high, float price, float sum,
                                  float next) {
    float gap = (sum - 1.0f) / (sum + 1.0f), last = trail->gap[l], before = trail->price[l];
    float left = gap * last > 0.0f ? 0.5f : 1.0f;
    float more = sum > 1.0f ? gap : trail->low_gap[l] * left, less = sum < 1.0f ? gap : trail->high_gap[l] * left;
    float across = low + (high - low) * (more / (more - less)), along = price + (price - before) * (gap / (last - gap));
    int is_between = (more > 0.0f) & (less < 0.0f), creeps = fabsf(gap) > NEFK_SLOW * fabsf(last);
    float straight = is_between ? across : (left < 1.0f ? along : next);
    trail->price[l] = price;
    trail->gap[l] = gap;
    trail->low_gap[l] = more;
    trail->high_gap[l] = less;
    return creeps & (straight > low) & (straight < high) ? straight : next;
}

/* Begin above where the first two of few items would take the cap, if the first one took no more than where the second
 * one starts: halfway to that, in logs, unless there is a guess between. */
NEFK_INLINE void nefk_begin_by_two(size_t m, const nefk_lanes *items, const float *top, const float *next_top,
                                   float *low, float *price) {
    float a[NEFK_LANES] = {0}, next_a[NEFK_LANES] = {0};
    for (size_t j = 0; j < m; j++)
        for (size_t l = 0; l < NEFK_LANES; l++) {
            float start = items->start[j][l], own = items->a[j][l];
            a[l] += start == top[l] ? own : 0.0f;
            next_a[l] += start == next_top[l] ? own : 0.0f;
        }
    float y[NEFK_LANES], e[NEFK_LANES], rest[NEFK_LANES], two[NEFK_LANES];
    for (size_t l = 0; l < NEFK_LANES; l++) {
        y[l] = next_top[l] / top[l];
        e[l] = 1.0f - y[l];
    }
    for (size_t l = 0; l < NEFK_LANES; l++) two[l] = 2.0f * nefk_negative_log_single(e[l], y[l]);
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float odds;
        rest[l] = 1.0f - a[l] * nefk_inverse_from_log(e[l], y[l], two[l], &odds);
        y[l] = next_a[l] / rest[l];
    }
    for (size_t l = 0; l < NEFK_LANES; l++) two[l] = next_top[l] * nefk_slope_single(y[l]) * (1.0f - NEFK_APART);
    for (size_t l = 0; l < NEFK_LANES; l++) {
        int tells = (e[l] > 0.0f) & (rest[l] > 0.0f) & (two[l] > low[l]);
        float least = tells ? two[l] : low[l], middle = sqrtf(least * next_top[l]);
        int is_between = (price[l] > least * (1.0f + 4.0f * NEFK_APART)) & (price[l] < next_top[l]);
        low[l] = least;
        price[l] = is_between | !(middle > 0.0f) ? price[l] : middle;
    }
}

/* A round's step of NEFK_LANES groups, from what they take at their prices. In short loops. */
NEFK_INLINE void nefk_step_lanes(int bounded, int steered, const nefk_lane_sums *sums, const float *top,
                                 nefk_lane_trail *trail, float *low, float *high, float *price, float *gap) {
    float t[NEFK_LANES], step[NEFK_LANES], odds[NEFK_LANES], start[NEFK_LANES], both[NEFK_LANES], next[NEFK_LANES];
    float e[NEFK_LANES], y[NEFK_LANES];
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float here = price[l], sum = sums->total[l], fall = sums->fall[l];
        float begin = sums->most[l] > NEFK_BENDING * fall ? sums->best[l] : top[l];
        float beyond = begin - here, unit = 1.0f / (begin * beyond);
        odds[l] = here * begin * unit;
        e[l] = beyond * beyond * unit;
        y[l] = here * beyond * unit;
        start[l] = begin;
        both[l] = 1.0f / (fall * sum);
    }
    for (size_t l = 0; l < NEFK_LANES; l++) t[l] = nefk_negative_log_single(e[l], y[l]);
    for (size_t l = 0; l < NEFK_LANES; l++)
        step[l] = nefk_negative_log_single(sums->total[l], 1.0f - sums->total[l]) * sums->total[l] * sums->total[l] * both[l];
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float sum = sums->total[l], fall = sums->fall[l];
        float bent = sums->bend[l] * sum * both[l] + 1.0f + odds[l] - fall * fall * both[l];
        float damped = t[l] + 0.5f * step[l] * (t[l] * bent - odds[l]), least = 0.3f * t[l]; /* as nefk_halley, times t */
        e[l] = step[l] * odds[l] / (damped > least ? damped : least);
    }
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float p, scale = nefk_split_exp(e[l], &p);
        y[l] = t[l] * (scale * (1.0f + p));
    }
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float q, scale = nefk_split_exp(y[l], &q);
        next[l] = start[l] * (scale == 1.0f ? -q : 1.0f - scale * (1.0f + q));
    }
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float here = price[l], sum = sums->total[l], to = next[l];
        float a = sum > 1.0f ? here : low[l], b = sum < 1.0f ? here : high[l];
        to = steered ? nefk_steer_lane(trail, l, a, b, here, sum, to) : to;
        float middle = sqrtf(a * b);
        float left = fabsf(sum - 1.0f) < 1e-5f ? here : middle; /* as near as rounding leaves a bracket */
        to = to > a ? to : left;
        to = to < b ? to : left;
        low[l] = a;
        high[l] = b;
        price[l] = to;
        float off = fabsf(sum - 1.0f), moved = NEFK_STEEP * fabsf(to - here) / here;
        gap[l] = bounded || off < moved ? off : moved;
    }
}

/* Prices (NEFK_LANES,) after some rounds from those given, between `low` and `high` (NEFK_LANES,), which are narrowed:
 * the latter at first to where the second item starts, if there is one, or with bounds, to where the first one does. `gap`
 * (NEFK_LANES,): how far what was taken before the last step is from the cap, or without bounds NEFK_STEEP times that
 * step, if that is less. `bounded` and `steered`, as in nefk_steer.h, are compile-time
 * constants. */
NEFK_INLINE void nefk_approach_lanes(size_t m, nefk_lanes *items, int bounded, int steered, size_t rounds, float *low,
                                     float *high, float *price, float *gap) {
    float top[NEFK_LANES] = {0}, next_top[NEFK_LANES] = {0};
    for (size_t j = 0; j < m; j++)
        for (size_t l = 0; l < NEFK_LANES; l++) {
            float start = items->start[j][l], less = start > top[l] ? top[l] : start;
            next_top[l] = less > next_top[l] ? less : next_top[l];
            top[l] = start > top[l] ? start : top[l];
            items->inverse_start[j][l] = 1.0f / start;
        }
    for (size_t l = 0; l < NEFK_LANES; l++) {
        float most = next_top[l] > 0.0f && !bounded ? next_top[l] : top[l];
        high[l] = most < high[l] ? most : high[l];
    }
    if (!bounded && !steered && m <= NEFK_FEW) nefk_begin_by_two(m, items, top, next_top, low, price);
    nefk_lane_trail trail = {{0}, {0}, {0}, {0}};
    for (size_t l = 0; l < NEFK_LANES; l++) trail.gap[l] = INFINITY;
    for (size_t round = 0; round < rounds; round++) {
        nefk_lane_sums sums = {{0}, {0}, {0}, {0}, {0}};
        for (size_t j = 0; j < m; j += NEFK_AT_ONCE)
            nefk_add_items(j, m - j < NEFK_AT_ONCE ? m - j : NEFK_AT_ONCE, items, bounded, price, &sums);
        nefk_step_lanes(bounded, steered, &sums, top, &trail, low, high, price, gap);
    }
}

/* The columns of items that lie in rows (m, n), one of each of n groups: a as in nefk_shapes.h, starts, and bounds, which
 * are NULL if there are none. */
typedef struct { const double *a, *starts, *lower, *upper; } nefk_row_columns;

/* One over what counts as 1 in each of NEFK_LANES groups: its cap, and a guess of its price. */
typedef struct { const double *amount, *price; } nefk_units;

/* The items of NEFK_LANES groups that lie in rows, in their units. */
NEFK_INLINE void nefk_load_rows(size_t m, size_t n, nefk_row_columns from, nefk_units units, nefk_lanes *items) {
    for (size_t j = 0; j < m; j++)
        for (size_t l = 0; l < NEFK_LANES; l++) {
            items->a[j][l] = (float)(from.a[j * n + l] * units.amount[l]);
            items->start[j][l] = (float)(from.starts[j * n + l] * units.price[l]);
        }
    for (size_t j = 0; j < m && from.lower; j++)
        for (size_t l = 0; l < NEFK_LANES; l++) {
            items->lower[j][l] = (float)(from.lower[j * n + l] * units.amount[l]);
            items->upper[j][l] = (float)(from.upper[j * n + l] * units.amount[l]);
        }
}

#endif
