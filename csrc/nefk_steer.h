/* Steps of a search where Newton's creep: of a total of detection or freshness near many starts. There the slope is
 * mostly that of the one item that starts next, up to where that does, and a step leads no further.
 *
 * Two totals tell more than a slope then: the straight line through the last two, or through those at both ends of a
 * bracket, of which that of an end that stays is halved (the Illinois method: Dowell and Jarratt, BIT 11 (1971)). Later a
 * start itself is tried, the nearest to where that leads: which side the answer is on leaves fewer of them, and with none
 * left the total is smooth. What an item that is just below its start takes is found by its amount: its price hardly
 * moves.
 */
#ifndef NEFK_STEER_H
#define NEFK_STEER_H

#include <stddef.h>

/* What a search remembers: its last price and gap, and gaps at both ends of its bracket, NaN where there is none. Gaps
 * are of the total from the target, over both together: near the logarithm of their ratio, halved. */
typedef struct { double price, gap, low_gap, high_gap; } nefk_trail;

enum { NEFK_TO_STARTS = 5 /* totals from which on starts are tried */ };

nefk_trail nefk_new_trail(void);

/* Take in a total at a price, between the ends that the bracket has then; the next price, where Newton's is not to be
 * trusted, else NaN. O(1). */
double nefk_follow_trail(nefk_trail *trail, double price, double total, double target, double low, double high);

/* Whether both ends were tried. */
int nefk_is_between(const nefk_trail *trail);

/* Of some starts (m,) strictly within a bracket the nearest to a price, in *nearest; returns how many there are. In
 * *own is put the position of one at another price, m if there is none. O(m). */
size_t nefk_nearest_start(size_t m, const double *starts, double low, double high, double price, double other,
                          double *nearest, size_t *own);

#endif
