#include "nefk_steer.h"

#include <math.h>

#include "nefk_single.h"



nefk_trail nefk_new_trail(void) { return (nefk_trail){NAN, NAN, NAN, NAN}; }

int nefk_is_between(const nefk_trail *trail) { return !isnan(trail->low_gap) && !isnan(trail->high_gap); }

double nefk_follow_trail(nefk_trail *trail, double price, double total, double target, double low, double high) {
    double gap = (total - target) / (total + target), before = trail->gap, next = NAN;
    int stays = (gap > 0.0) == (before > 0.0) && !isnan(before);
    if (gap > 0.0) {
        trail->low_gap = gap;
        if (stays) trail->high_gap *= 0.5;
    } else {
        trail->high_gap = gap;
        if (stays) trail->low_gap *= 0.5;
    }
    if (fabs(gap) > NEFK_SLOW * fabs(before)) { /* not at first */
        double part = trail->low_gap / (trail->low_gap - trail->high_gap);
        if (nefk_is_between(trail)) next = low * pow(high / low, part);
        else if (stays && gap != before) next = price * pow(price / trail->price, gap / (before - gap));
    }
    trail->price = price;
    trail->gap = gap;
    return next > low && next < high ? next : NAN;
}

size_t nefk_nearest_start(size_t m, const double *starts, double low, double high, double price, double other,
                          double *nearest, size_t *own) {
    size_t count = 0;
    double away = INFINITY;
    *own = m;
    for (size_t i = 0; i < m; i++) {
        double start = starts[i], off = fabs(start - price);
        int is_inside = (start > low) & (start < high), is_nearer = is_inside & (off < away);
        count += (size_t)is_inside;
        away = is_nearer ? off : away;
        *nearest = is_nearer ? start : *nearest;
        *own = start == other ? i : *own;
    }
    return count;
}
