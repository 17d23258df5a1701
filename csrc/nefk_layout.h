/* Items brought into order by group: through a list of their positions, or copied side by side. */
#ifndef NEFK_LAYOUT_H
#define NEFK_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

/* Counting sort. Item start + i of group names[group[i] + 1] (-1 .. k - 1, here counted from 0; group[i] without names)
 * goes into `order`: to next[group] (k + 1,), which moves on; if items are taken from the last one on (`down`), before
 * next[group], which moves back. Items whose bit in `active` is 0 are left out, unless that is NULL. O(count). */
void nefk_sort_into_groups(const ptrdiff_t *group, const int32_t *names, const uint64_t *active, size_t start,
                           size_t count, int down, uint32_t *next, uint32_t *order);

/* Where items go that lie in runs, one after the other. entries[group + 1] >> NEFK_TILE_BITS is an item's run, and the
 * rest the number of its group within that. Where `entries` is NULL, runs are of groups as they are numbered: of
 * `width` each from -1 on, or from 0 on after a run of group -1, and (k `multiplier`) >> `shift` is k / width for all k
 * below `width` times the runs; `lead` is 0, or width - 1. Or, where width is 0, `first` of group + 1 for each run, and a
 * number beyond all; guess[(group + 1) >> bits] is the run or, mostly, the one before it.
 *
 * `next` holds where the next item of each run goes if they are taken from the first one on; if from the last one on
 * (`down`), where the one before went. Items whose bit in `active` is 0 are left out, unless that is NULL. */
typedef struct {
    const uint32_t *entries, *guess, *first;
    const uint64_t *active;
    uint32_t *next;
    uint64_t multiplier;
    uint32_t width, lead;
    int shift, bits, down, asks; /* `asks` for what comes later, unless all is in the cache */
} nefk_runs;

/* A column by its bytes: entries of `width` 8 or 4; none of width 0. */
typedef struct { const char *from; char *to; size_t width; } nefk_move;

/* Copy entries i (count,) of two columns to where item i of group[i] (count,) goes, and its number to `member`, unless
 * that is NULL. O(count). */
void nefk_move_to_runs(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b, uint16_t *member);

/* The same backwards: entries i (count,) of a column from there. O(count). */
void nefk_move_back(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a);

/* The least and the largest of some numbers (count,), and of -1, into ends (2,). */
void nefk_extent(const ptrdiff_t *group, size_t count, ptrdiff_t *ends);

#endif
