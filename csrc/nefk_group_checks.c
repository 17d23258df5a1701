/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "nefk_group_checks.h"

#include <math.h>

#include "every_width.h"
#include "nefk_math.h"

enum { LANES = 8, BLOCK = 64 };

NEFK_INLINE void classify(size_t n, const uint32_t *begin, const double *own, const double *caps, uint32_t largest,
                          uint32_t more, uint16_t *class) {
    uint32_t is_searched[BLOCK] = {0};
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t m = n - start < BLOCK ? n - start : BLOCK;
        for (size_t i = 0; own && i < m; i++) is_searched[i] = (uint32_t)(own[start + i] == own[start + i]);
        for (size_t i = 0; caps && i < m; i++) is_searched[i] &= (uint32_t)(caps[start + i] > 0.0);
        for (size_t i = 0; i < m; i++) {
            uint32_t size = begin[start + i + 1] - begin[start + i], others = 1u - (is_searched[i] & (uint32_t)(size > 0));
            class[start + i] = (uint16_t)((size < largest ? size : largest) + more * others);
        }
    }
}

AT_EVERY_WIDTH(void, nefk_classify, classify,
               (size_t n, const uint32_t *begin, const double *own, const double *caps, uint32_t largest,
                uint32_t more, uint16_t *class),
               (n, begin, own, caps, largest, more, class))

NEFK_INLINE int are_positive(size_t n, const double *x) {
    uint64_t others = 0;
    for (size_t i = 0; i < n; i++) others += (uint64_t)!(x[i] > 0.0);
    return !others;
}

AT_EVERY_WIDTH(int, nefk_are_positive, are_positive, (size_t n, const double *x), (n, x))

NEFK_INLINE size_t list_between(size_t n, const double *low, const double *high, uint32_t *list) {
    size_t listed = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t stop = n - start < BLOCK ? n : start + BLOCK;
        uint64_t found = 0;
        for (size_t g = start; g < stop; g++) found += (uint64_t)(low[g] != high[g]);
        for (size_t g = start; found && g < stop; g++) {
            list[listed] = (uint32_t)g;
            listed += low[g] != high[g];
        }
    }
    return listed;
}

AT_EVERY_WIDTH(size_t, nefk_list_between, list_between,
               (size_t n, const double *low, const double *high, uint32_t *list), (n, low, high, list))

NEFK_INLINE uint64_t is_off(double mark, double low, double high, double total, double cap, double off) {
    return (uint64_t)((mark != 0.0) & (low == high) & !(fabs(total - cap) <= off * cap));
}

NEFK_INLINE size_t list_off(size_t n, const double *mark, const double *low, const double *high, const double *total,
                            const double *caps, double off, uint32_t *list) {
    size_t listed = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t stop = n - start < BLOCK ? n : start + BLOCK;
        uint64_t found = 0;
        for (size_t g = start; g < stop; g++) found += is_off(mark[g], low[g], high[g], total[g], caps[g], off);
        for (size_t g = start; found && g < stop; g++) {
            list[listed] = (uint32_t)g;
            listed += is_off(mark[g], low[g], high[g], total[g], caps[g], off);
        }
    }
    return listed;
}

AT_EVERY_WIDTH(size_t, nefk_list_off, list_off,
               (size_t n, const double *mark, const double *low, const double *high, const double *total,
                const double *caps, double off, uint32_t *list),
               (n, mark, low, high, total, caps, off, list))

/* The larger of a number and the largest of m others, of which NaNs are none. */
NEFK_INLINE double largest_of(size_t m, const double *x, double most) {
    double lane[LANES];
    size_t i = 0;
    for (size_t l = 0; l < LANES; l++) lane[l] = most;
    for (; i + LANES <= m; i += LANES)
        for (size_t l = 0; l < LANES; l++) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    for (; i < m; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];
    for (size_t l = 1; l < LANES; l++) lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    return lane[0];
}

NEFK_INLINE double check_caps(size_t n, const double *own, const double *total, const double *caps, double price,
                              double rounding, size_t *wrong) {
    double off[BLOCK], most = 0.0;
    uint64_t count = 0;
    for (size_t start = 0; start < n; start += BLOCK) {
        size_t m = n - start < BLOCK ? n - start : BLOCK;
        for (size_t i = 0; i < m; i++) {
            double known = own[start + i], cap = caps[start + i], over = total[start + i] - cap;
            uint64_t is_capped = 0 - (uint64_t)(known == known);
            uint64_t is_below = (uint64_t)(known < price), is_above = (uint64_t)(over > rounding * cap);
            count += (is_below & is_capped) | (is_above & ~is_capped);
            uint64_t has_end = 0 - (uint64_t)(cap < INFINITY), never = nefk_to_bits(INFINITY) & is_capped;
            double share = nefk_from_bits((nefk_to_bits(fabs(over)) & is_capped) | (nefk_to_bits(over) & ~is_capped)) / cap;
            off[i] = nefk_from_bits((nefk_to_bits(share) & has_end) | (never & ~has_end)); /* without one, none binds */
        }
        most = largest_of(m, off, most);
    }
    *wrong += (size_t)count;
    return most;
}

AT_EVERY_WIDTH(double, nefk_check_caps, check_caps,
               (size_t n, const double *own, const double *total, const double *caps, double price, double rounding,
                size_t *wrong),
               (n, own, total, caps, price, rounding, wrong))
