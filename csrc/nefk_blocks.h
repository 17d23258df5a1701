/* Blocks of at most NEFK_BLOCK items, computed with the best vector instructions that run here.
 *
 * One source (nefk_block_loops.h, and nefk_row_lanes.h for rows) compiled for each instruction set; all give the same
 * bits.
 */
#ifndef NEFK_BLOCKS_H
#define NEFK_BLOCKS_H

#include <stddef.h>

#include "nefk_single.h"

enum { NEFK_BLOCK = 512, NEFK_ROW_LANES = 32 /* groups that functions of rows take at once */ };

/* What describes m items: arrays (m,). */
typedef struct { const double *parameter, *weight, *lower, *upper; } nefk_block;

/* Searches of m prices at once, arrays (m,): brackets, what is taken at their ends, at each price, and its slope;
 * `top` as in nefk_newton, `start` and `curve` as in nefk_halley; `met` is a state as in nefk_search. */
typedef struct {
    double *low, *high, *more, *less, *price, *met;
    const double *target, *top, *start, *total, *slope, *curve;
} nefk_rounds;

/* What describes items that lie in rows, one of each of some groups: the first rows, and how far it is to the next. */
typedef struct { nefk_block row; size_t parameter, weight, lower, upper; } nefk_table;

/* Of the items of n groups that start first, at the largest prices, arrays (n,): their starts, what describes them (of
 * several that start at once, as one item: their rates are added, and so are weights of freshness), and where the next
 * one starts, 0 if there is none. */
typedef struct { double *start, *next, *parameter, *weight; } nefk_tops;

#define NEFK_TOGETHER 1e-4 /* of a price: items that start so near each other share what is left */

/* Of items at their group's price: where they start, amounts, and slopes and second derivatives by log price. */
typedef struct { const double *starts, *x, *d, *c; } nefk_row_answers;

/* Of NEFK_ROW_LANES groups: the item that starts next to the price, what the others take together, slope and second
 * derivative of that, and how many items start so near that they share what is left, itself included. */
typedef struct {
    double item[NEFK_ROW_LANES], others[NEFK_ROW_LANES], steep[NEFK_ROW_LANES], bend[NEFK_ROW_LANES];
    double near[NEFK_ROW_LANES];
} nefk_neighbours;

typedef struct {
    /* Amounts x (m,) at prices (m,), cut to [lower, min(upper, ceiling)], and d = -dx/dlog(price) (m,), 0 at bounds,
     * unless d is NULL, and c = d2x/dlog(price)2 (m,), likewise, of detection and freshness unless c is NULL. */
    void (*respond)(int shape, size_t m, nefk_block items, const double *price, double ceiling, double *x, double *d,
                    double *c);
    /* The same, of detection and freshness at one positive price, without bounds unless `bounded`, within NEFK_ROUGH of
     * themselves, which stay far below any ceiling; 0 if some are beyond the range of single precision: their x are NaN. */
    int (*respond_roughly)(int shape, int bounded, size_t m, nefk_block items, double price, double *x, double *d);
    /* Amounts x (m,) over the prices within `half` of one, as series: c (NEFK_TERMS, m), and rough (m,), as in
     * nefk_cut_series; without bounds unless `bounded`. */
    void (*expand)(int shape, int bounded, size_t m, nefk_block items, double price, double half, double tolerance,
                   double ceiling, double c[][NEFK_BLOCK], double *rough);
    /* Weighted value and derivative (m,) of amounts x (m,). */
    void (*worth)(int shape, size_t m, nefk_block items, const double *x, double *value, double *slope);
    /* Weighted value (m,) and the largest violation of optimality; side (m,) is -1, 0 or 1. */
    double (*audit)(int shape, size_t m, nefk_block items, const double *price, const double *x, double *value,
                    double *side);
    /* Sum of m doubles over eight fixed lanes. */
    double (*sum)(size_t m, const double *x);
    /* Narrow each bracket by the total at its price; unless that ends the search, the price becomes Newton's next, or
     * the middle of the bracket where that lies outside. A gap of at most `near` of the target also ends it, at
     * Newton's next price, untried. */
    void (*advance)(int shape, size_t m, nefk_rounds at, double tolerance, double near);
    /* Rounds of that, at most so many, while many searches go on: of n groups, at most NEFK_ROW_LANES, whose m items lie
     * in rows, not of detection or freshness. Reads brackets, prices and targets of `at`, and writes prices and `met`.
     * What follows the last group in the first rows must be there to be read. Returns rounds. */
    size_t (*search_rows)(int shape, size_t m, size_t n, nefk_table items, double ceiling, size_t rounds, nefk_rounds at,
                          double tolerance, double near);
    /* Rounds of nefk_approach_lanes. */
    void (*approach)(size_t m, nefk_lanes *items, int bounded, int steered, size_t rounds, float *low, float *high, float *price,
                     float *gap);
    /* nefk_load_rows; what follows the last of the groups is no matter, but must be there to be read. */
    void (*load_rows)(size_t m, size_t n, nefk_row_columns from, nefk_units units, nefk_lanes *items);
    /* Amounts x (m,) of detection and freshness, without bounds, follow their prices to `next` (m,), by their slopes
     * and second derivatives d and c; c becomes 1 where that is not exact to some 1e-14 of the price, else 0. */
    void (*follow)(int shape, size_t m, nefk_block items, const double *next, const double *d, double *price, double *x,
                   double *c);
    /* Entries `of` (m,) of the items whose amounts x (m,) lie within their bounds, else 0; or, where `of` is NULL, the
     * amounts as bounds cut them. */
    void (*cut)(size_t m, nefk_block items, const double *x, const double *of, double *to);
    /* Where items start, of shapes of finite slope at 0: a double just above, at which they surely take nothing. */
    void (*starts)(int shape, size_t m, nefk_block items, double *starts);
    /* Functions of rows (m, n), one entry of each of n groups, which take NEFK_ROW_LANES groups at once: for
     * the last ones they read beyond the end of the last row, and write beyond the n groups. So there must be room,
     * and groups have to be taken from the first to the last. Sums (n,) of rows: */
    void (*add_rows)(size_t m, size_t n, const double *x, double *sum);
    /* The items that start first; whether several of a group may start at once. */
    int (*top_rows)(int shape, size_t m, size_t n, const double *starts, const double *parameter, const double *weight,
                     nefk_tops tops);
    /* Of the first NEFK_ROW_LANES groups alone, at their prices. */
    void (*find_neighbours)(size_t m, size_t n, const double *price, nefk_row_answers items, nefk_neighbours *to);
} nefk_instructions;

const nefk_instructions *nefk_instructions_in_use(void);

/* Use at most this level of cpu_level.h from now on; returns the level in use. */
int nefk_use_level(int level);

#endif
