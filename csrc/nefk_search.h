/* The price at which a non-increasing total meets its target: one step of a safeguarded Newton search.
 *
 * Keeps the bracket total(low) >= target >= total(high). Newton runs in the coordinate in which the family's
 * total is (nearly) straight. From the fifth step in a row on that does not halve the bracket in the order of
 * doubles, steps go beyond Newton's, doubly so each time (towards 0 in logs), to move the other end; a step that leaves
 * the bracket, or goes further than its middle, gives way to the middle. So it ends after some hundred totals at
 * worst, and usually 5. At a vertical piece (an item that activates, a tie) it ends with neighbouring doubles.
 * Units: totals and targets in capacity, prices in value per capacity. O(1) a step.
 */
#ifndef NEFK_SEARCH_H
#define NEFK_SEARCH_H

/* What `target` is met by: running, total(price) within tolerance, or neighbours low < high (price = high). */
enum { NEFK_RUNNING = 0, NEFK_MET = 1, NEFK_ENCLOSED = 2 };

/* All doubles, so that an array (n, 8) of them is an array of searches. */
typedef struct {
    double low, high;  /* bracket; low = -1: below every price, where each item takes its upper bound */
    double price;      /* where the total is wanted next; the answer in the end */
    double target, tolerance;
    double top;        /* price above which nothing is taken, or a guess of it (only shapes the steps) */
    double slow, state;
} nefk_search;

/* Take the total at search->price and its slope (minus the derivative by log price; quadratic: by price). */
void nefk_search_update(nefk_search *search, int shape, double total, double slope);

/* The double half way between low and high in the order of doubles. */
double nefk_middle(double low, double high);

#endif
