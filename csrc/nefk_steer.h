/* Steps of a search where Newton's creep: of a total of detection or freshness near many starts. There the slope is
 * mostly that of the one item that starts next, up to where that does, and a step leads no further.
 *
 * Two totals tell more than a slope then: the straight line through the last two, or through those at both ends of a
 * bracket, of which that of an end that stays is halved (the Illinois method: Dowell and Jarratt, BIT 11 (1971)). Later a
 * start itself is tried, the nearest to where that leads: which side the answer is on leaves fewer of them. With none left,
 * the total is smooth but for the item that starts next: what it is to take tells the price.
 */
#ifndef NEFK_STEER_H
#define NEFK_STEER_H

#include "nefk_blocks.h"
#include "nefk_kernel.h"
#include "nefk_search.h"

/* What a search remembers: its last price and gap, and gaps at both ends of its bracket, NaN where there is none; its least
 * gap, and how many steps did not lessen it much since. Gaps are of the total from the target, over both together: near
 * the logarithm of their ratio, halved. */
typedef struct { double price, gap, low_gap, high_gap, least; int stalled; } nefk_trail;

enum { NEFK_TO_STARTS = 5 /* totals from which on starts are tried */ };
#define NEFK_NO_ITEM SIZE_MAX

nefk_trail nefk_new_trail(void);

/* Take in a total at a price, between the ends that the bracket has then; the next price, where Newton's is not to be
 * trusted, else NaN. O(1). */
double nefk_follow_trail(nefk_trail *trail, double price, double total, double target, double low, double high);

/* Whether a search is late and gets no nearer: then its bracket is to be halved, so that it ends. */
int nefk_is_stuck(const nefk_trail *trail, size_t step);

/* Whether both ends were tried. */
int nefk_is_between(const nefk_trail *trail);

/* A look at where items start: how many do so strictly between low and high, the one of these that is nearest to `aim`,
 * which item starts first at `high` or above, and where, and how many are `alike` that start just there. */
typedef struct { double low, high, aim; size_t count, alike, above; double away, nearest, next; } nefk_starts;

nefk_starts nefk_look_at_starts(double low, double high, double aim);

/* Take in items first .. first + m, with their starts (m,). O(m). */
void nefk_take_starts(nefk_starts *look, size_t first, size_t m, const double *starts);

/* The next price after such a look, by a total and its slope at a price: a start, if the bracket holds any, else by the
 * item that starts next, which is `above`. O(1). */
double nefk_step_to_start(const nefk_problem *problem, const nefk_starts *look, nefk_block item, double tried,
                          double total, double slope, double target);

/* After a total of n items and its slope at `tried`, which left the search with a next price: that, or another one where
 * Newton's creeps. O(n) late, else O(1). */
double nefk_steer(const nefk_problem *problem, size_t n, nefk_trail *trail, size_t step, double tried, double total,
                  double slope, const nefk_search *search);

#endif
