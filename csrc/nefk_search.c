#include "nefk_search.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "nefk_newton.h"

enum { PATIENCE = 5, FALL = 16 /* most steps to lower prices, at first */ };
static const double SMALLEST = 1e-290; /* a price below is tried as 0 */
static const double UNBOUNDED = 1e299;

/* Position of a double in the order of all doubles, as a signed integer. */
static int64_t rank_of(double x) {
    int64_t bits;
    memcpy(&bits, &x, 8);
    return bits >= 0 ? bits : INT64_MIN - bits;
}

static double of_rank(int64_t rank) {
    int64_t bits = rank >= 0 ? rank : INT64_MIN - rank;
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

/* low < high; their ranks may differ by more than an int64 holds, so halve first. */
double nefk_middle(double low, double high) {
    int64_t a = rank_of(low), b = rank_of(high);
    return of_rank((a >> 1) + (b >> 1) + (a & b & 1));
}

static double width(const nefk_search *s) { return (double)rank_of(s->high) - (double)rank_of(s->low); }

/* One Newton step from s->price. */
static double newton(const nefk_search *s, int shape, double total, double slope) {
#define NEWTON(SHAPE) return nefk_newton(SHAPE, s->price, s->target, s->top, total, slope)
    NEFK_EACH_SHAPE(NEWTON)
#undef NEWTON
}

/* Newton creeps up from one side: step beyond it, further each time, or halve where that is nearer. Down towards 0, in
 * logs: along a line, a step would soon be below 0. */
static double overshot(nefk_search *s, int unsigned_price, double proposal) {
    double times = ldexp(1.0, (int)(s->slow < 60.0 ? s->slow : 60.0) - PATIENCE);
    double beyond = proposal + (proposal - s->price) * times;
    double half = nefk_middle(s->low < 0.0 && s->high > 0.0 ? 0.0 : s->low, s->high);
    if (unsigned_price && proposal > 0.0 && proposal < s->price) beyond = proposal * pow(proposal / s->price, times);
    if (proposal < s->price ? beyond > half : beyond < half) return beyond;
    s->slow = 0.0;
    return NAN;
}

void nefk_search_update(nefk_search *s, int shape, double total, double slope) {
    double before = width(s), proposal;
    if (fabs(total - s->target) <= s->tolerance * s->target) {
        s->state = NEFK_MET;
        return;
    }
    if (total > s->target) s->low = s->price;
    else s->high = s->price;
    s->slow = width(s) <= 0.5 * before ? 0.0 : s->slow + 1.0;
    int is_early = s->slow < PATIENCE, ends_at_top = has_jumps(shape);
    proposal = newton(s, shape, total, slope);
    if (proposal == s->price) proposal = nextafter(s->price, total > s->target ? s->high : s->low);
    int unsigned_price = shape != NEFK_QUADRATIC && shape != NEFK_LOG_EXPONENTIAL;
    if (s->slow >= PATIENCE) proposal = overshot(s, unsigned_price, proposal);
    double low = unsigned_price && s->low < 0.0 ? 0.0 : s->low;
    if (unsigned_price && s->low < 0.0) {
        int nothing_moves = !(slope > 0.0) && total < s->target;
        int is_held = nothing_moves && has_starts(shape) && s->price < s->top; /* others may start */
        if (proposal < SMALLEST || nothing_moves || s->high < SMALLEST) proposal = 0.0; /* settles the sign */
        if (is_held && is_early) proposal = s->price * ldexp(1.0, -(2 << (int)s->slow));
    }
    if (ends_at_top && s->price >= s->top && total < s->target && !(slope > 0.0))
        proposal = nextafter(s->top, 0.0); /* ties that start there take all of small targets, within a jump */
    int inside = proposal > s->low && proposal < s->high;
    if (!inside) proposal = nefk_middle(low, s->high);
    if (!inside && ends_at_top && s->high > UNBOUNDED && low < s->top) proposal = s->top;
    int is_bounded = shape == NEFK_QUADRATIC && s->high < UNBOUNDED; /* by a weight, mostly, of which size prices are */
    if (!inside && is_bounded && is_early && proposal > 0.0 && proposal * FALL < s->high)
        proposal = s->high / FALL;
    if (!inside && !(proposal > low && proposal < s->high)) { /* at price 0: the worthless share the rest */
        s->state = NEFK_ENCLOSED;
        proposal = s->high;
    }
    s->price = proposal;
}
