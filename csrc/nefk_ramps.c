/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_ramps.h"

#include "every_width.h"
#include "nefk_load.h"
#include "nefk_math.h"
#include "nefk_search.h"

enum { LANES = 8, HALVED = 48 /* pivots, after which doubles are halved */, MOST = 120 /* in all */, FEW = 12 };

/* Sum over fixed lanes. */
NEFK_INLINE double sum_lanes(const double *lane) {
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* What m ramps take in all just above a price, and what more just below it. */
NEFK_INLINE void take_at(size_t m, nefk_ramps ramps, double price, double *taken, double *jump) {
    double more[LANES] = {0}, tied[LANES] = {0};
    for (size_t start = 0; start < m; start += LANES) {
        size_t lanes = m - start < LANES ? m - start : LANES;
        for (size_t l = 0; l < lanes; l++) {
            double top = ramps.top[start + l], end = ramps.end[start + l], rise = ramps.rise[start + l];
            double share = (top - price) / (top - end), part = share < 1.0 ? share * rise : rise;
            uint64_t takes = 0 - (uint64_t)(top > price), jumps = 0 - (uint64_t)((top == price) & (end == price));
            more[l] += nefk_from_bits(nefk_to_bits(part) & takes);
            tied[l] += nefk_from_bits(nefk_to_bits(rise) & jumps);
        }
    }
    *taken = sum_lanes(more);
    *jump = sum_lanes(tied);
}

AT_EVERY_WIDTH(void, nefk_take_at, take_at,
               (size_t m, nefk_ramps ramps, double price, double *taken, double *jump), (m, ramps, price, taken, jump))

/* An end of a ramp within a bracket. */
static double end_within(nefk_ramps ramps, size_t i, nefk_crossing at, size_t tries) {
    double first = ramps.top[i], second = ramps.end[i];
    int is_second = !(first > at.low && first < at.high) || ((tries & 1) && second > at.low && second < at.high);
    return is_second ? second : first;
}

static double middle_of(double a, double b, double c) {
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
}

/* What ramps take that have no end within a bracket: some all that they can, and others `through` it a share of what
 * they take at a price, less `fall` for each unit beyond. */
typedef struct { double all, through, price, fall; } folded;

/* Add those of m ramps. */
NEFK_INLINE void fold_through(size_t m, nefk_ramps ramps, double low, double high, folded *others) {
    double all[LANES] = {0}, through[LANES] = {0}, fall[LANES] = {0};
    for (size_t start = 0; start < m; start += LANES) {
        size_t lanes = m - start < LANES ? m - start : LANES;
        for (size_t l = 0; l < lanes; l++) {
            double top = ramps.top[start + l], end = ramps.end[start + l], rise = ramps.rise[start + l];
            double by_unit = rise / (top - end);
            uint64_t is_full = 0 - (uint64_t)(end >= high), passes = 0 - (uint64_t)((end <= low) & (top >= high));
            all[l] += nefk_from_bits(nefk_to_bits(rise) & is_full);
            by_unit = nefk_from_bits(nefk_to_bits(by_unit) & passes);
            through[l] += (top - others->price) * by_unit;
            fall[l] += by_unit;
        }
    }
    others->all += sum_lanes(all);
    others->through += sum_lanes(through);
    others->fall += sum_lanes(fall);
}

AT_EVERY_WIDTH(void, nefk_fold_through, fold_through,
               (size_t m, nefk_ramps ramps, double low, double high, folded *others), (m, ramps, low, high, others))

/* Keep the ramps that have an end within the bracket; returns how many. */
static size_t keep_within(size_t m, nefk_ramps ramps, double low, double high) {
    size_t kept = 0;
    for (size_t i = 0; i < m; i++) { /* no branch */
        double top = ramps.top[i], end = ramps.end[i], rise = ramps.rise[i];
        ramps.top[kept] = top;
        ramps.end[kept] = end;
        ramps.rise[kept] = rise;
        kept += ((top > low) & (top < high)) | ((end > low) & (end < high));
    }
    return kept;
}

/* The same as nefk_cross of few ramps: what they take at the ends of each. */
static nefk_crossing cross_few(size_t m, nefk_ramps ramps, double target) {
    nefk_crossing at = {-INFINITY, 0.0, INFINITY};
    double more = 0.0, less = 0.0, jump = 0.0;
    for (size_t k = 0; k < 2 * m; k++) {
        double price = k < m ? ramps.top[k] : ramps.end[k - m], taken = 0.0, tied = 0.0;
        for (size_t i = 0; i < m; i++) {
            double top = ramps.top[i], end = ramps.end[i], rise = ramps.rise[i], share = (top - price) / (top - end);
            double part = share < 1.0 ? share * rise : rise;
            taken += top > price ? part : 0.0;
            tied += (top == price) & (end == price) ? rise : 0.0;
        }
        int is_low = taken >= target && price > at.low, is_high = taken < target && price < at.high;
        at.low = is_low ? price : at.low;
        more = is_low ? taken : more;
        at.high = is_high ? price : at.high;
        less = is_high ? taken : less;
        jump = is_high ? tied : jump;
    }
    if (less + jump >= target) return (nefk_crossing){at.high, at.high, at.high};
    at.price = at.low + (more - target) / (more - less - jump) * (at.high - at.low);
    at.price = at.price > at.low ? at.price : at.low;
    at.price = at.price < at.high ? at.price : at.high;
    return at;
}

/* As nefk_cross, within a bracket, beside others. */
static nefk_crossing cross_within(size_t m, nefk_ramps ramps, double target, nefk_crossing at, folded others) {
    for (size_t tries = 0; m && tries < MOST; tries++) {
        double price = middle_of(end_within(ramps, 0, at, tries), end_within(ramps, m / 2, at, tries),
                                 end_within(ramps, m - 1, at, tries));
        if (tries >= HALVED) price = nefk_middle(at.low, at.high);
        double taken, jump;
        nefk_take_at(m, ramps, price, &taken, &jump);
        others.through -= (price - others.price) * others.fall;
        others.price = price;
        taken += others.all + others.through;
        if (taken < target && taken + jump >= target) return (nefk_crossing){price, price, price};
        *(taken >= target ? &at.low : &at.high) = price;
        nefk_fold_through(m, ramps, at.low, at.high, &others);
        m = keep_within(m, ramps, at.low, at.high);
    }
    double more = others.all + others.through - target;
    at.price = others.price + (others.fall > 0.0 ? more / others.fall : 0.0);
    at.price = at.price > at.low ? at.price : at.low;
    at.price = at.price < at.high ? at.price : at.high;
    return at;
}

nefk_crossing nefk_cross(size_t m, nefk_ramps ramps, double target) {
    if (m <= FEW) return cross_few(m, ramps, target);
    return cross_within(m, ramps, target, (nefk_crossing){-INFINITY, 0.0, INFINITY}, (folded){0.0, 0.0, 0.0, 0.0});
}

int nefk_cross_items(const nefk_problem *problem, size_t n, nefk_ramps ramps, size_t room, double target,
                     nefk_crossing *at) {
    double parameter[NEFK_BLOCK], weight[NEFK_BLOCK], lower[NEFK_BLOCK], upper[NEFK_BLOCK];
    folded others = {0.0, 0.0, at->price, 0.0};
    size_t kept = 0;
    for (size_t start = 0; start < n; start += NEFK_BLOCK) {
        size_t m = n - start < NEFK_BLOCK ? n - start : NEFK_BLOCK;
        const double *low = nefk_load(&problem->lower, problem->order, start, m, lower);
        for (size_t i = 0; i < m; i++) target -= low[i];
    }
    for (size_t start = 0; start < n; start += NEFK_BLOCK) {
        size_t m = n - start < NEFK_BLOCK ? n - start : NEFK_BLOCK;
        nefk_ramps some = {ramps.top + kept, ramps.end + kept, ramps.rise + kept};
        if (kept + m > room) return 0;
        const double *d = nefk_load(&problem->parameter, problem->order, start, m, parameter);
        const double *w = nefk_load(&problem->weight, problem->order, start, m, weight);
        const double *low = nefk_load(&problem->lower, problem->order, start, m, lower);
        const double *high = nefk_load(&problem->upper, problem->order, start, m, upper);
        for (size_t i = 0; i < m; i++) nefk_set_ramp(some, i, d[i], w[i], low[i], high[i], target);
        nefk_fold_through(m, some, at->low, at->high, &others);
        kept += keep_within(m, some, at->low, at->high);
    }
    *at = cross_within(kept, ramps, target, *at, others);
    return 1;
}
