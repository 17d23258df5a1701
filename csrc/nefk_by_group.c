/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_by_group.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "every_width.h"
#include "nefk_kernel.h"
#include "nefk_math.h"

enum { LANES = 8, BLOCK = 512 };

/* Sum of at most BLOCK terms, over fixed lanes. */
NEFK_INLINE double sum_block(const double *term, size_t m) {
    double lane[LANES] = {0};
    size_t g = 0;
    for (; g + LANES <= m; g += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] += term[g + l];
    for (; g < m; g++) lane[0] += term[g];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Read as bytes, as doubles may be written over them. */
NEFK_INLINE double single(const float *table, size_t at) {
    float entry;
    memcpy(&entry, (const char *)table + at * sizeof entry, sizeof entry);
    return entry;
}

NEFK_INLINE double total_of(nefk_taken at, size_t g) {
    return at.totals ? at.totals[g * at.step] : single(at.single_totals, g * at.step);
}

NEFK_INLINE double slope_of(nefk_taken at, size_t g) {
    if (at.slopes) return at.slopes[g * at.slope_step];
    return at.single_slopes ? single(at.single_slopes, g * at.slope_step) : 0.0;
}

/* Pairs of singles side by side: loops that know so are several times as fast. */
NEFK_INLINE int in_pairs(nefk_taken at) {
    return at.single_totals && at.single_slopes == at.single_totals + 1 && at.step == 2;
}

NEFK_INLINE nefk_taken pairs_of(nefk_taken at) {
    at.totals = at.slopes = NULL;
    at.single_slopes = at.single_totals + 1;
    at.step = at.slope_step = 2;
    return at;
}

/* Without a branch, which would be guessed wrong half the time. Inlined with constant steps where entries lie side by
 * side, or in pairs. */
NEFK_INLINE void sum_capped(nefk_taken at, const double *caps, size_t groups, double *sums) {
    double taken[BLOCK], steep[BLOCK], held[BLOCK];
    for (size_t start = 0; start < groups; start += BLOCK) {
        size_t m = groups - start < BLOCK ? groups - start : BLOCK;
        for (size_t g = 0; g < m; g++) {
            double x = total_of(at, start + g), cap = caps[start + g], d = slope_of(at, start + g);
            uint64_t loose = 0 - (uint64_t)(x <= cap);
            taken[g] = nefk_from_bits(nefk_to_bits(x) & loose);
            steep[g] = nefk_from_bits(nefk_to_bits(d) & loose);
            held[g] = nefk_from_bits(nefk_to_bits(cap) & ~loose);
        }
        double caught = sum_block(held, m);
        sums[0] += sum_block(taken, m) + caught;
        sums[1] += sum_block(steep, m);
        sums[2] += caught;
    }
}

NEFK_INLINE void capped_sums(nefk_taken at, const double *caps, size_t groups, double *sums) {
    sums[0] = sums[1] = sums[2] = 0.0;
    if (in_pairs(at)) {
        sum_capped(pairs_of(at), caps, groups, sums);
    } else if (at.totals && at.slopes && at.step == 1 && at.slope_step == 1) {
        at.step = at.slope_step = 1;
        sum_capped(at, caps, groups, sums);
    } else if (at.totals && at.single_slopes && at.step == 1 && at.slope_step == 1) {
        at.slopes = NULL;
        at.step = at.slope_step = 1;
        sum_capped(at, caps, groups, sums);
    } else {
        sum_capped(at, caps, groups, sums);
    }
}

AT_EVERY_WIDTH(void, nefk_capped_sums, capped_sums,
               (nefk_taken at, const double *caps, size_t groups, double *sums), (at, caps, groups, sums))

NEFK_INLINE void mark_each(nefk_taken at, const double *caps, size_t groups, double least, double flattest, double rise,
                           int8_t *marks) {
    for (size_t g = 0; g < groups; g++) {
        double total = total_of(at, g), over = total * (1.0 - NEFK_ROUGH) - caps[g];
        double slope = slope_of(at, g), flat = flattest * total;
        double highest = total * (1.0 + 2.0 * NEFK_ROUGH) + FLT_MIN; /* singles below that are rounded away */
        double more = rise > 0.0 ? rise * slope : 0.0; /* a slope may be infinite */
        int is_capped = over > least * (slope > flat ? slope : flat);
        int takes_none = (total == 0.0) & (caps[g] == 0.0); /* or too little to count: settling looks again */
        int is_loose = (rise < INFINITY) & ((highest + more <= caps[g]) | takes_none);
        marks[g] = (int8_t)(NEFK_CAPPED * is_capped + NEFK_LOOSE * is_loose);
    }
}

NEFK_INLINE void mark_surely(nefk_taken at, const double *caps, size_t groups, double least, double flattest,
                             double rise, int8_t *marks) {
    if (in_pairs(at)) mark_each(pairs_of(at), caps, groups, least, flattest, rise, marks);
    else mark_each(at, caps, groups, least, flattest, rise, marks);
}

AT_EVERY_WIDTH(void, nefk_mark_surely, mark_surely,
               (nefk_taken at, const double *caps, size_t groups, double least, double flattest, double rise,
                int8_t *marks),
               (at, caps, groups, least, flattest, rise, marks))

NEFK_INLINE double not_surely_capped(nefk_taken at, const double *caps, size_t groups) {
    double part = 0.0, term[BLOCK];
    for (size_t start = 0; start < groups; start += BLOCK) {
        size_t m = groups - start < BLOCK ? groups - start : BLOCK;
        for (size_t g = 0; g < m; g++) {
            double total = total_of(at, start + g);
            term[g] = total * (1.0 - 2.0 * NEFK_ROUGH) <= caps[start + g] ? total : 0.0;
        }
        part += sum_block(term, m);
    }
    return part;
}

AT_EVERY_WIDTH(double, nefk_not_surely_capped, not_surely_capped,
               (nefk_taken at, const double *caps, size_t groups), (at, caps, groups))

/* Along lines (NEFK_LINES, 2), of which a quotient >= 1 has one by its exponent and its first three bits. In blocks, as
 * the guesses may lie over what they are made of, and without a branch, which would be guessed wrong half the time; lines
 * are looked up last, as nothing else takes numbers one by one. */
NEFK_INLINE void guess_each(nefk_taken at, const double *caps, size_t groups, const double *lines, double *own,
                            double loose) {
    double quotient[BLOCK], guess[BLOCK];
    uint64_t line[BLOCK], is_loose[BLOCK];
    const uint64_t none = nefk_to_bits(loose);
    const double most = (double)(1ULL << NEFK_LINES / 8), last = most * (1.0 - 0x1p-53);
    for (size_t start = 0; start < groups; start += BLOCK) {
        size_t m = groups - start < BLOCK ? groups - start : BLOCK;
        for (size_t g = 0; g < m; g++) {
            double taken = total_of(at, start + g), cap = caps[start + g], times = taken / cap;
            times = times > 1.0 ? times : 1.0;
            times = times < most ? times : last;
            quotient[g] = times;
            line[g] = (nefk_to_bits(times) >> 49) - (1023ULL << 3);
            is_loose[g] = 0 - (uint64_t)(taken <= cap);
        }
        for (size_t g = 0; g < m; g++) {
            uint64_t price = nefk_to_bits(lines[2 * line[g]] + lines[2 * line[g] + 1] * quotient[g]);
            guess[g] = nefk_from_bits((price & ~is_loose[g]) | (none & is_loose[g]));
        }
        memcpy(own + start, guess, m * sizeof *guess);
    }
}

NEFK_INLINE void guess_along(nefk_taken at, const double *caps, size_t groups, const double *lines, double *own,
                             double loose) {
    if (at.single_totals && at.step == 2) guess_each(pairs_of(at), caps, groups, lines, own, loose);
    else guess_each(at, caps, groups, lines, own, loose);
}

AT_EVERY_WIDTH(void, nefk_guess_along, guess_along,
               (nefk_taken at, const double *caps, size_t groups, const double *lines, double *own, double loose),
               (at, caps, groups, lines, own, loose))

nefk_taken nefk_taken_from(nefk_taken at, size_t first) {
    if (at.totals) at.totals += first * at.step;
    if (at.single_totals) at.single_totals += first * at.step;
    if (at.slopes) at.slopes += first * at.slope_step;
    if (at.single_slopes) at.single_slopes += first * at.slope_step;
    return at;
}

NEFK_INLINE void excess(double *own, size_t groups, double price) {
    for (size_t g = 0; g < groups; g++) {
        double over = own[g] - price;
        own[g] = over > 0.0 ? over : 0.0;
    }
}

AT_EVERY_WIDTH(void, nefk_excess, excess, (double *own, size_t groups, double price), (own, groups, price))

NEFK_INLINE void take_marked(double *own, const int8_t *marks, size_t count, double price) {
    const uint64_t none = nefk_to_bits(NAN);
    for (size_t g = 0; g < count; g++) { /* no branch */
        double guess = own[g], known = isnan(guess) ? price : guess;
        uint64_t binds = 0 - (uint64_t)((marks[g] != 0) & (marks[g] != NEFK_LOOSE));
        own[g] = nefk_from_bits((nefk_to_bits(known) & binds) | (none & ~binds));
    }
}

AT_EVERY_WIDTH(void, nefk_take_marked, take_marked, (double *own, const int8_t *marks, size_t count, double price),
               (own, marks, count, price))

NEFK_INLINE double sum_marked(const double *caps, const int8_t *marks, size_t count) {
    double sum = 0.0, term[BLOCK];
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t m = count - start < BLOCK ? count - start : BLOCK;
        const double *terms = marks ? term : caps + start;
        for (size_t g = 0; marks && g < m; g++) { /* no branch, which would be guessed wrong as often as not */
            uint64_t counts = marks[start + g] == NEFK_CAPPED;
            term[g] = nefk_from_bits(nefk_to_bits(caps[start + g]) & (0 - counts));
        }
        sum += sum_block(terms, m);
    }
    return sum;
}

AT_EVERY_WIDTH(double, nefk_sum_marked, sum_marked, (const double *caps, const int8_t *marks, size_t count),
               (caps, marks, count))

NEFK_INLINE double most_under_caps(const uint32_t *sizes, double upper, const double *caps, size_t count) {
    double sum = 0.0, term[BLOCK];
    for (size_t start = 0; start < count; start += BLOCK) {
        size_t m = count - start < BLOCK ? count - start : BLOCK;
        for (size_t g = 0; g < m; g++) {
            double size = (double)sizes[start + g], cap = caps[start + g], most = size * upper;
            most = most < cap ? most : cap;
            term[g] = size > 0.0 ? most : 0.0;
        }
        sum += sum_block(term, m);
    }
    return sum;
}

AT_EVERY_WIDTH(double, nefk_most_under_caps, most_under_caps,
               (const uint32_t *sizes, double upper, const double *caps, size_t count), (sizes, upper, caps, count))

void nefk_starts_of(const uint32_t *sizes, size_t count, uint32_t last, uint32_t *starts) {
    uint32_t start = last;
    for (size_t g = 0; g < count; g++) start -= sizes[g];
    for (size_t g = 0; g < count; g++) {
        starts[g] = start;
        start += sizes[g];
    }
    starts[count] = start;
}

void nefk_put_kept(const double *table, size_t k, const uint8_t *kept, size_t groups, double *out) {
    const uint64_t none = nefk_to_bits(NAN);
    for (size_t g = 0, at = 0; g < groups; g++) {
        uint64_t is_kept = kept[g], mask = 0 - is_kept;
        double value = k ? table[at < k ? at : k - 1] : NAN;
        out[g] = nefk_from_bits((nefk_to_bits(value) & mask) | (none & ~mask));
        at += is_kept;
    }
}

NEFK_INLINE size_t keep_capped(const double *taken, const double *caps, size_t groups, double least, uint8_t *kept,
                               double *others) {
    double total[BLOCK], slope[BLOCK];
    uint64_t is_other[BLOCK], k = groups;
    others[0] = others[1] = 0.0;
    for (size_t start = 0; start < groups; start += BLOCK) {
        size_t m = groups - start < BLOCK ? groups - start : BLOCK;
        const double *pairs = taken + 2 * start;
        for (size_t g = 0; g < m; g++) {
            double x = pairs[2 * g], d = pairs[2 * g + 1];
            uint64_t other = 0 - (uint64_t)!(x > least * caps[start + g]);
            total[g] = nefk_from_bits(nefk_to_bits(x) & other);
            slope[g] = nefk_from_bits(nefk_to_bits(d) & other);
            is_other[g] = other;
        }
        for (size_t g = 0; g < m; g++) {
            kept[start + g] = (uint8_t)(is_other[g] + 1);
            k += is_other[g];
        }
        others[0] += sum_block(total, m);
        others[1] += sum_block(slope, m);
    }
    return k;
}

AT_EVERY_WIDTH(size_t, nefk_keep_capped, keep_capped,
               (const double *taken, const double *caps, size_t groups, double least, uint8_t *kept, double *others),
               (taken, caps, groups, least, kept, others))

void nefk_split_kept(double *taken, const uint8_t *kept, size_t step, size_t groups, float *slopes) {
    size_t k = 1; /* written no further than it is read */
    for (size_t g = 0; g < groups; g++) {
        double x = taken[2 * g + 2], d = taken[2 * g + 3];
        taken[k] = x;
        slopes[k] = (float)d;
        k += kept[g * step];
    }
}

void nefk_name_kept(const uint8_t *kept, size_t groups, int32_t next, int32_t *names) {
    for (size_t g = 0; g < groups; g++) {
        int32_t is_kept = kept[g];
        names[g] = (next & -is_kept) | (is_kept - 1);
        next += is_kept;
    }
}
