/* Loops over the items of a block, and over groups that lie in rows: the bodies of nefk_instructions.
 *
 * Each is compiled once for every instruction set (nefk_blocks.c), where the shape is a compile-time constant.
 */
#ifndef NEFK_BLOCK_LOOPS_H
#define NEFK_BLOCK_LOOPS_H

#include <string.h>

#include "nefk_blocks.h"
#include "nefk_newton.h"
#include "nefk_search.h"
#include "nefk_series.h"

enum { LANES = 8 };

/* Cut amounts to their bounds; no slope where they are cut. */
NEFK_INLINE void cut(double low, double high, double ceiling, double *amount, double *slope) {
    double x = *amount, d = *slope;
    high = high < ceiling ? high : ceiling;
    d = x < high ? d : 0.0;
    *slope = x > low ? d : 0.0;
    x = x < high ? x : high;
    *amount = x > low ? x : low;
}

NEFK_INLINE void respond_shape(int shape, int fused, size_t m, nefk_block items, const double *price, double ceiling,
                               double *restrict x, double *restrict d, double *restrict c, int order) {
    int halves = shape == NEFK_DETECTION || shape == NEFK_FRESHNESS;
    double s[NEFK_BLOCK], odds[NEFK_BLOCK];
    for (size_t i = 0; i < m && halves; i++)
        nefk_respond_first(shape, items.parameter[i], items.weight[i], price[i], fused, &s[i], &odds[i]);
    for (size_t i = 0; i < m; i++) {
        double amount, slope, curve = 0.0;
        if (halves) nefk_respond_second(items.parameter[i], s[i], odds[i], &amount, &slope, &curve);
        else nefk_respond(shape, items.parameter[i], items.weight[i], price[i], fused, &amount, &slope);
        cut(items.lower[i], items.upper[i], ceiling, &amount, &slope);
        x[i] = amount;
        if (order > 0) d[i] = slope;
        if (order > 1) c[i] = slope > 0.0 ? curve : 0.0;
    }
}

/* nefk_instructions.respond_roughly: what is near cancels in double precision, the rest is in single. */
NEFK_INLINE int respond_shape_roughly(int shape, int bounded, int fused, size_t m, nefk_block items, double price,
                                      double *restrict x, double *restrict d) {
    const float least_y = 1e-24f, least_e = 1e-30f; /* slopes are within NEFK_ROUGH from there on */
    const double tiny = 1e-290;
    float y[NEFK_BLOCK], e[NEFK_BLOCK], amount[NEFK_BLOCK], slope[NEFK_BLOCK];
    int n_beyond = 0;
    for (size_t i = 0; i < m; i++) {
        nefk_item item = nefk_item_of(shape, items.parameter[i], items.weight[i]);
        double product, gap = nefk_gap_of(item, price, fused, &product), inverse = 1.0 / item.v;
        y[i] = (float)(product * inverse);
        e[i] = (float)(item.a > 0.0 ? gap * inverse : -1.0);
        e[i] = item.a < INFINITY && !(item.v > 0.0 && item.v < tiny) ? e[i] : 2.0f; /* beyond */
    }
    for (size_t i = 0; i < m; i++) {
        float odds, r = nefk_inverse_single(e[i], y[i], &odds);
        int takes = e[i] > 0.0f, is_within = (y[i] >= least_y) & (e[i] >= least_e) & (e[i] <= 1.0f);
        amount[i] = takes ? (is_within ? r : NAN) : 0.0f;
        slope[i] = takes ? (r * odds) * ((r + 1.0f) * r) : 0.0f; /* r^3 alone would overflow */
        n_beyond += takes & !is_within;
    }
    for (size_t i = 0; i < m; i++) {
        double taken = items.parameter[i] * amount[i], steep = items.parameter[i] * slope[i];
        if (bounded) { /* a NaN stays */
            double low = items.lower[i], high = items.upper[i];
            steep = (taken > low) & (taken < high) ? steep : 0.0;
            taken = taken >= high ? high : taken;
            taken = taken <= low ? low : taken;
        }
        x[i] = taken;
        d[i] = steep;
    }
    return !n_beyond;
}

/* nefk_instructions.expand. In short loops: the processor overlaps them better. */
NEFK_INLINE void expand_shape(int shape, int bounded, int fused, size_t m, nefk_block items, double price, double half,
                              double tolerance, double ceiling, double c[][NEFK_BLOCK], double *restrict rough) {
    double s[NEFK_BLOCK], odds[NEFK_BLOCK], active[NEFK_BLOCK];
    double *restrict c0 = c[0], *restrict c1 = c[1], *restrict c2 = c[2], *restrict c3 = c[3], *restrict c4 = c[4];
    int halves = shape == NEFK_DETECTION || shape == NEFK_FRESHNESS;
    for (size_t i = 0; i < m && halves; i++) {
        nefk_item item = nefk_item_of(shape, items.parameter[i], items.weight[i]);
        double product, gap = nefk_gap_of(item, price, fused, &product);
        nefk_respond_first(shape, items.parameter[i], items.weight[i], price, fused, &s[i], &odds[i]);
        active[i] = nefk_activity(shape, item, gap, product, 0.0, half);
    }
    for (size_t i = 0; i < m && halves; i++) {
        double top, bottom;
        nefk_gamma2_inverse(s[i], &top, &bottom);
        s[i] = bottom / top;
    }
    for (size_t i = 0; i < m; i++) {
        nefk_item item = nefk_item_of(shape, items.parameter[i], items.weight[i]);
        nefk_series own;
        if (halves) {
            own = nefk_scaled(item.a, nefk_reciprocal_series(s[i], odds[i]));
            if (!bounded) own = nefk_free_series(own, active[i], half, tolerance, ceiling, &rough[i]);
        } else {
            own = nefk_series_of(shape, item, nefk_position_of(item, price, fused), price);
            active[i] = nefk_activity(shape, item, item.v - price * item.p, price * item.p, own.c0, half);
        }
        c0[i] = own.c0;
        c1[i] = own.c1;
        c2[i] = own.c2;
        c3[i] = own.c3;
        c4[i] = own.c4;
    }
    for (size_t i = 0; i < m && bounded; i++) {
        double high = items.upper[i] < ceiling ? items.upper[i] : ceiling;
        nefk_series own = {c0[i], c1[i], c2[i], c3[i], c4[i]};
        own = nefk_cut_series(own, active[i], items.lower[i], high, half, tolerance, &rough[i]);
        c0[i] = own.c0;
        c1[i] = own.c1;
        c2[i] = own.c2;
        c3[i] = own.c3;
        c4[i] = own.c4;
    }
}

NEFK_INLINE void worth_shape(int shape, size_t m, nefk_block items, const double *restrict x,
                             double *restrict value, double *restrict slope) {
    size_t tiny = 0;
    int halves = shape == NEFK_DETECTION || shape == NEFK_FRESHNESS;
    for (size_t i = 0; i < m && halves; i++) tiny += (size_t)nefk_is_tiny(items.parameter[i], x[i]);
    if (halves && tiny)
        for (size_t i = 0; i < m; i++)
            nefk_worth(shape, 1, items.parameter[i], items.weight[i], x[i], &value[i], &slope[i]);
    else
        for (size_t i = 0; i < m; i++)
            nefk_worth(shape, 0, items.parameter[i], items.weight[i], x[i], &value[i], &slope[i]);
}

NEFK_INLINE double largest(size_t m, const double *x) { /* a NaN wins */
    double lane[LANES] = {0}, most = 0.0;
    size_t i = 0;
    for (; i + LANES <= m; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] = x[i + j] <= lane[j] ? lane[j] : x[i + j];
    for (; i < m; i++) lane[0] = x[i] <= lane[0] ? lane[0] : x[i];
    for (size_t j = 0; j < LANES; j++) most = lane[j] <= most ? most : lane[j];
    return most;
}

/* Entry i * step of `price` is item i's: where all have one price, its reciprocal is taken once. */
NEFK_INLINE double audit_shape(int shape, size_t m, nefk_block items, const double *restrict price, size_t step,
                               const double *restrict x, double *restrict value, double *restrict side) {
    double bad[NEFK_BLOCK], slope[NEFK_BLOCK];
    worth_shape(shape, m, items, x, value, slope);
    for (size_t i = 0; i < m; i++) {
        double amount = x[i], low = items.lower[i], high = items.upper[i], place;
        bad[i] = nefk_violation(shape, items.parameter[i], items.weight[i], amount, low, high, slope[i],
                                price[i * step]);
        place = amount >= high ? 1.0 : 0.0;
        side[i] = amount <= low ? -1.0 : place;
    }
    return largest(m, bad);
}

NEFK_INLINE double lane_sum(size_t m, const double *x) {
    double lane[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= m; i += LANES)
        for (size_t j = 0; j < LANES; j++) lane[j] += x[i + j];
    for (size_t j = 0; i < m; i++, j++) lane[j] += x[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* One round of nefk_instructions.advance, `are_few`: of few items each. A search that stays where it is moves on to a
 * neighbouring double. */
NEFK_INLINE void advance_shape(int shape, int are_few, size_t m, nefk_rounds at, double tolerance, double near,
                               double *restrict low, double *restrict high, double *restrict more,
                               double *restrict less, double *restrict price, double *restrict met) {
    const double ulp = 0x1p-52;
    int halley = shape == NEFK_DETECTION || shape == NEFK_FRESHNESS;
    for (size_t i = 0; i < m; i++) {
        double here = price[i], total = at.total[i], gap = total - at.target[i], start = at.start[i];
        double next = halley ? nefk_halley(here, at.target[i], start, total, at.slope[i], at.curve[i])
                    : are_few ? nefk_newton_of_few(shape, here, at.target[i], at.top[i], total, at.slope[i])
                             : nefk_newton(shape, here, at.target[i], at.top[i], total, at.slope[i]);
        double a = gap > 0.0 ? here : low[i], b = gap < 0.0 ? here : high[i];
        double least = a > 0.0 ? a : b * 0x1p-60, middle = sqrt(least) * sqrt(b);
        double beside = here + (gap > 0.0 ? ulp : -0.5 * ulp) * fabs(here), last = b - 0.5 * ulp * fabs(b);
        if (shape == NEFK_QUADRATIC || shape == NEFK_LOG_EXPONENTIAL) middle = 0.5 * (a + b);
        next = next == here ? beside : next;
        last = b <= start ? last : next; /* not beyond the activation */
        next = next >= b ? last : next;
        double untried = fabs(gap) <= near * at.target[i] ? next : NAN;
        next = next > a ? next : middle;
        next = next < b ? next : middle;
        untried = untried == next ? 1.0 : 0.0;
        low[i] = a;
        high[i] = b;
        more[i] = gap > 0.0 ? total : more[i];
        less[i] = gap < 0.0 ? total : less[i];
        double hit = fabs(gap) <= tolerance * at.target[i] ? NEFK_MET : NEFK_RUNNING;
        hit = (b - a) <= 1.1 * ulp * fabs(b) && hit == NEFK_RUNNING ? NEFK_ENCLOSED : hit;
        next = hit != NEFK_RUNNING ? here : next;
        met[i] = untried > 0.0 && hit == NEFK_RUNNING ? NEFK_MET : hit;
        price[i] = next;
    }
}

/* What NEFK_ROW_LANES groups of m items take at their prices, and minus the derivatives. */
NEFK_INLINE void take_lanes(int shape, int fused, size_t m, nefk_table items, const double *price, double ceiling,
                            double *restrict total, double *restrict slope) {
    nefk_block row = items.row;
    for (size_t l = 0; l < NEFK_ROW_LANES; l++) total[l] = slope[l] = 0.0;
    for (size_t j = 0; j < m; j++) {
        for (size_t l = 0; l < NEFK_ROW_LANES; l++) {
            double amount, fall;
            nefk_respond(shape, row.parameter[l], row.weight[l], price[l], fused, &amount, &fall);
            cut(row.lower[l], row.upper[l], ceiling, &amount, &fall);
            total[l] += amount;
            slope[l] += fall;
        }
        row = (nefk_block){row.parameter + items.parameter, row.weight + items.weight, row.lower + items.lower,
                           row.upper + items.upper};
    }
}

/* Lower the upper ends of brackets to where no item takes anything. */
NEFK_INLINE void end_above_starts(int shape, size_t m, nefk_table items, double *restrict high) {
    nefk_block row = items.row;
    double top[NEFK_ROW_LANES] = {0};
    if (shape == NEFK_HARMONIC || shape == NEFK_POWER || shape == NEFK_LOG_EXPONENTIAL) return;
    for (size_t j = 0; j < m; j++) {
        for (size_t l = 0; l < NEFK_ROW_LANES; l++) {
            nefk_item item = nefk_item_of(shape, row.parameter[l], row.weight[l]);
            double start = item.a > 0.0 ? item.v / item.p : 0.0;
            top[l] = start > top[l] ? start : top[l];
        }
        row.parameter += items.parameter;
        row.weight += items.weight;
    }
    for (size_t l = 0; l < NEFK_ROW_LANES; l++) high[l] = top[l] < high[l] ? top[l] + 0x1p-51 * top[l] : high[l];
}

/* nefk_instructions.search_rows. */
NEFK_INLINE size_t search_lanes(int shape, int fused, size_t m, size_t n, nefk_table items, double ceiling,
                                size_t rounds, nefk_rounds at, double tolerance, double near) {
    double low[NEFK_ROW_LANES], high[NEFK_ROW_LANES], price[NEFK_ROW_LANES], met[NEFK_ROW_LANES];
    double more[NEFK_ROW_LANES] = {0}, less[NEFK_ROW_LANES] = {0}, target[NEFK_ROW_LANES];
    double total[NEFK_ROW_LANES], slope[NEFK_ROW_LANES], top[NEFK_ROW_LANES];
    const size_t few = 8; /* one in so many is searched for faster by itself */
    size_t round = 0, n_open = n;
    for (size_t l = 0; l < NEFK_ROW_LANES; l++) {
        size_t k = l < n ? l : n - 1; /* lanes of no group have the last one's cap, and any items */
        low[l] = at.low[k], high[l] = at.high[k], price[l] = at.price[k], target[l] = at.target[k];
    }
    end_above_starts(shape, m, items, high);
    for (size_t l = 0; l < NEFK_ROW_LANES; l++) price[l] = price[l] < high[l] ? price[l] : 0.5 * (low[l] + high[l]);
    memcpy(top, high, sizeof top);
    nefk_rounds lanes = {low, high, more, less, price, met, target, top, top, total, slope, NULL};
    for (; round < rounds && n_open * few > n; round++) {
        take_lanes(shape, fused, m, items, price, ceiling, total, slope);
        advance_shape(shape, 1, NEFK_ROW_LANES, lanes, tolerance, near, low, high, more, less, price, met);
        n_open = 0;
        for (size_t l = 0; l < n; l++) n_open += met[l] == NEFK_RUNNING;
    }
    memcpy(at.price, price, n * sizeof *price);
    memcpy(at.met, met, n * sizeof *met);
    return round;
}

/* nefk_instructions.follow. */
NEFK_INLINE void follow_shape(int shape, size_t m, nefk_block items, const double *restrict next,
                              const double *restrict d, double *restrict price, double *restrict x,
                              double *restrict c) {
    const double furthest = 2e-5, exact = 1e-14;
    for (size_t i = 0; i < m; i++) {
        nefk_item item = nefk_item_of(shape, items.parameter[i], items.weight[i]);
        double before = price[i], after = next[i], part = (after - before) / before, t = part - 0.5 * part * part;
        double bend = c[i] * t, amount = x[i] + t * (0.5 * bend - d[i]);
        double third = bend * bend * fabs(t), most = exact * (d[i] * d[i]);
        double starts = item.v > after * item.p ? item.a : 0.0; /* if it has not started yet */
        double off = third <= most ? 0.0 : 1.0;
        off = fabs(t) <= furthest ? off : 1.0;
        starts = d[i] > 0.0 ? 0.0 : starts;
        off = starts > 0.0 ? 1.0 : off;
        x[i] = after != before ? amount : x[i];
        c[i] = after != before ? off : 0.0;
        price[i] = after;
    }
}

/* nefk_instructions.cut. */
NEFK_INLINE void cut_amounts(size_t m, nefk_block items, const double *x, double *restrict to) {
    for (size_t i = 0; i < m; i++) {
        double amount = x[i] < items.upper[i] ? x[i] : items.upper[i];
        to[i] = amount > items.lower[i] ? amount : items.lower[i];
    }
}

NEFK_INLINE void cut_others(size_t m, nefk_block items, const double *x, const double *of, double *restrict to) {
    for (size_t i = 0; i < m; i++) {
        double entry = x[i] < items.upper[i] ? of[i] : 0.0;
        to[i] = x[i] > items.lower[i] ? entry : 0.0;
    }
}

NEFK_INLINE void starts_shape(int shape, size_t m, nefk_block items, double *restrict starts) {
    for (size_t i = 0; i < m; i++) {
        nefk_item item = nefk_item_of(shape, items.parameter[i], items.weight[i]);
        double start = item.v / item.p;
        starts[i] = item.a > 0.0 ? start + 0x1p-52 * start : 0.0;
    }
}

#endif
