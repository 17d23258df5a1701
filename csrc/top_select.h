/* The top of a set of keyed sites, in the total order: larger key first, then lower site.
 *
 * top_select permutes items (n,) so that the first k are the top k (in no order). Expected O(n)
 * whatever the input: pivots are drawn from a fixed pseudo-random sequence, and no two items are equal.
 * top_stream does the same for items that arrive one at a time in ascending site order, in memory for
 * 2 k of them: one comparison for an item that does not belong, O(1) expected for one that does.
 */
#ifndef KNAPSOLVE_TOP_SELECT_H
#define KNAPSOLVE_TOP_SELECT_H

#include <stddef.h>
#include <stdint.h>

struct ranked {
    double key;
    int32_t site;
    int32_t unused;
};

struct top_stream {
    struct ranked *items; /* (2 * wanted,) */
    ptrdiff_t wanted, size;
    double floor; /* a later item with a key at or below this is not in the top */
};

void top_select(struct ranked *items, ptrdiff_t n, ptrdiff_t k);

/* The same for 0 < k <= n and keys that are not NaN, where the k-th key is likely to lie in [low, high]; returns that
 * key. spare (n,) is scratch, or NULL: then the guess is not used. */
double top_select_near(struct ranked *items, ptrdiff_t n, ptrdiff_t k, double low, double high, struct ranked *spare);

/* The least key among n items. */
double top_least(const struct ranked *items, ptrdiff_t n);

/* A key that is NaN counts as -INFINITY, so that any `wanted` items fill the top. */
void top_stream_start(struct top_stream *stream, struct ranked *items, ptrdiff_t wanted);
void top_stream_feed(struct top_stream *stream, ptrdiff_t n, const double *keys, int32_t first_site);
/* Leaves the top `wanted` in items[0..wanted); at least `wanted` must have been fed. */
void top_stream_finish(struct top_stream *stream);

/* Sort n site numbers ascending, with room for as many; radix, as many passes of 11 bits as the largest takes, O(n + 2048) each. */
void top_sort_sites(int32_t *sites, ptrdiff_t n, int32_t *room);

#endif
