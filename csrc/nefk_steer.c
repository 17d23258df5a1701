#include "nefk_steer.h"

#include <math.h>
#include <stdint.h>

#include "nefk_load.h"
#include "nefk_single.h"
#include "nefk_shapes.h"

static const double LEAST_AWAY = 1e-17; /* of a start */
static const double SAME = 1e-12;       /* log ratio of how far an item and the others are from a start */
static const double SHORT = 0.1;        /* of a step to a start: what Newton's method does well */
static const double FAR_APART = 100.0; /* from a start, over each other */
enum { SHARES = 8, LATE = 10, LONG = 16 /* steps from which on the bracket is halved where some lead no nearer */,
       STALLED = 2 /* that many */ };

nefk_trail nefk_new_trail(void) { return (nefk_trail){NAN, NAN, NAN, NAN, INFINITY, 0}; }

int nefk_is_stuck(const nefk_trail *trail, size_t step) { return step >= LONG && trail->stalled >= STALLED; }

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
    trail->stalled = fabs(gap) <= NEFK_SLOW * trail->least || trail->stalled >= STALLED ? 0 : trail->stalled + 1;
    trail->least = fabs(gap) < trail->least ? fabs(gap) : trail->least;
    if (fabs(gap) > NEFK_SLOW * fabs(before)) { /* not at first */
        double part = trail->low_gap / (trail->low_gap - trail->high_gap);
        if (nefk_is_between(trail)) next = low * pow(high / low, part);
        else if (stays && gap != before) next = price * pow(price / trail->price, gap / (before - gap));
    }
    trail->price = price;
    trail->gap = gap;
    return next > low && next < high ? next : NAN;
}

nefk_starts nefk_look_at_starts(double low, double high, double aim) {
    return (nefk_starts){low, high, aim, 0, 0, NEFK_NO_ITEM, INFINITY, aim, INFINITY};
}

void nefk_take_starts(nefk_starts *look, size_t first, size_t m, const double *starts) {
    nefk_starts now = *look;
    for (size_t i = 0; i < m; i++) { /* no branch */
        double start = starts[i], off = fabs(start - now.aim);
        int is_inside = (start > now.low) & (start < now.high), is_nearer = is_inside & (off < now.away);
        int is_next = (start >= now.high) & (start < now.next);
        now.count += (size_t)is_inside;
        now.alike = is_next ? 1 : now.alike + (size_t)(start == now.next);
        now.away = is_nearer ? off : now.away;
        now.nearest = is_nearer ? start : now.nearest;
        now.above = is_next ? first + i : now.above;
        now.next = is_next ? start : now.next;
    }
    *look = now;
}

static double away_from(double start, double price, double least) {
    return start - price > least ? start - price : least;
}

/* The price at which `alike` items and the others together take a target, where a total and its slope were found at a
 * price: those by the law of one that no bounds hold, the others along their slope in log price. Which share of the gap
 * is theirs, so that both end at one price, is found by the Illinois method on how far both are from the item's start. */
static double price_beside(const nefk_problem *problem, nefk_block item, double alike, double tried, double total,
                           double slope, double target, double start) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const double least = LEAST_AWAY * start;
    const double none = 0.0, any = INFINITY;
    double x, d, value, price = tried, low = 0.0, high = 1.0, at_low = NAN, at_high = NAN, share = 1.0, last = 0.0;
    item.lower = &none, item.upper = &any;
    use->respond(problem->shape, 1, item, &tried, problem->ceiling, &x, &d, NULL);
    if (total > target && !(slope > 0.0)) { /* bounds hold all: as if there were none */
        double amount = target / alike;
        use->worth(problem->shape, 1, item, &amount, &value, &price);
        return price;
    }
    alike = slope < alike * d ? slope / d : alike; /* bounds hold the others */
    double gap = (target - total) / alike, others = slope / alike - d;
    for (int step = 0; step < SHARES; step++) {
        double amount = x + share * gap, along = others > 0.0 ? tried * exp((share - 1.0) * gap / others) : tried;
        amount = amount > 0.0 ? amount : 0.0;
        use->worth(problem->shape, 1, item, &amount, &value, &price);
        double off = log(away_from(start, price, least) / away_from(start, along, least));
        if (fabs(off) <= SAME) break;
        if (share == 1.0) {
            along = others > 0.0 ? tried * exp(-gap / others) : tried;
            at_high = off;
            at_low = log(away_from(start, tried, least) / away_from(start, along, least));
            if (!(at_low * at_high < 0.0)) break;
        } else if (off * at_low > 0.0) {
            at_high *= off * last > 0.0 ? 0.5 : 1.0;
            low = share, at_low = off;
        } else {
            at_low *= off * last > 0.0 ? 0.5 : 1.0;
            high = share, at_high = off;
        }
        last = off;
        share = low + (high - low) * (at_low / (at_low - at_high));
    }
    return price;
}

double nefk_step_to_start(const nefk_problem *problem, const nefk_starts *look, nefk_block item, double tried,
                          double total, double slope, double target) {
    if (look->count && !(look->next == tried && total < target)) return look->nearest;
    double price = price_beside(problem, item, (double)look->alike, tried, total, slope, target, look->next);
    price = price >= look->high ? nextafter(look->high, 0.0) : price; /* NaN where nothing falls */
    return price > look->low ? price : look->aim;
}

/* The price to which a straight line leads through the last two gaps, late through those at both ends of a bracket, in the
 * logarithm of how far prices are below the start of items: where several start at once, or bounds hold some, that of one
 * tells little. NaN if it leads nowhere. */
static double along_start(const nefk_trail *last, const nefk_trail *now, double start, const nefk_search *search,
                          int is_late) {
    double low = start - search->low, high = start - search->high, here = start - now->price, there = start - last->price;
    double gap = now->gap, before = last->gap, next = NAN;
    if (is_late && high > 0.0 && low > FAR_APART * high)
        next = start - low * pow(high / low, now->low_gap / (now->low_gap - now->high_gap));
    else if (here > 0.0 && there > 0.0 && gap * before > 0.0 && fabs(gap) > NEFK_SLOW * fabs(before))
        next = start - here * pow(here / there, gap / (before - gap));
    return next > search->low && next < search->high ? next : NAN;
}

double nefk_steer(const nefk_problem *problem, size_t n, nefk_trail *trail, size_t step, double tried, double total,
                  double slope, const nefk_search *search) {
    nefk_trail last = *trail;
    double other = nefk_follow_trail(trail, tried, total, search->target, search->low, search->high);
    double next = isnan(other) ? search->price : other, starts[NEFK_BLOCK];
    if (nefk_is_stuck(trail, step)) return search->low > 0.0 ? nefk_middle(search->low, search->high) : search->price;
    if (step < NEFK_TO_STARTS || !nefk_is_between(trail)) return next;
    nefk_starts look = nefk_look_at_starts(search->low, search->high, next);
    nefk_buffers space = {.is_filled = 0};
    for (size_t at = 0; at < n; at += NEFK_BLOCK) {
        size_t m = n - at < NEFK_BLOCK ? n - at : NEFK_BLOCK;
        nefk_instructions_in_use()->starts(problem->shape, m, nefk_load_block(problem, at, m, &space), starts);
        nefk_take_starts(&look, at, m, starts);
    }
    if (look.above == NEFK_NO_ITEM) return look.nearest;
    if (!look.count && fabs(next - tried) <= SHORT * (look.next - tried)) return next;
    nefk_block item = nefk_load_block(problem, look.above, 1, &space);
    double along = look.count ? NAN : along_start(&last, trail, look.next, search, step >= LATE);
    return isnan(along) ? nefk_step_to_start(problem, &look, item, tried, total, slope, search->target) : along;
}
