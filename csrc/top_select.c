#include "top_select.h"

#include <math.h>
#include <string.h>

static inline int before(const struct ranked *a, const struct ranked *b)
{
    return (a->key > b->key) | ((a->key == b->key) & (a->site < b->site));
}

static inline void swap(struct ranked *a, struct ranked *b)
{
    struct ranked held = *a;
    *a = *b;
    *b = held;
}

/* Move one of items[low, high] to `high` that is likely to be near the k-th: of a few drawn, the one of its rank. */
static void draw_pivot(struct ranked *items, ptrdiff_t low, ptrdiff_t high, ptrdiff_t k, uint64_t *random)
{
    enum { DRAWN = 15 };
    ptrdiff_t drawn[DRAWN], n = high - low + 1, few = n < 64 ? 1 : DRAWN;
    for (ptrdiff_t i = 0; i < few; i++) {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        ptrdiff_t at = low + (ptrdiff_t)(*random % (uint64_t)n), j = i;
        for (; j > 0 && before(&items[at], &items[drawn[j - 1]]); j--) drawn[j] = drawn[j - 1];
        drawn[j] = at;
    }
    swap(&items[drawn[(k - low) * few / n]], &items[high]);
}

/* Bring those of items[low, high) that come before the pivot to the front; returns where the others begin.
 * Blocks from both ends: first the places of the misplaced are noted, without a branch, then they are swapped
 * (Edelkamp and Weiss, "BlockQuicksort", 2016). */
static ptrdiff_t partition(struct ranked *items, ptrdiff_t low, ptrdiff_t high, struct ranked pivot)
{
    enum { BLOCK = 64 };
    uint8_t left[BLOCK], right[BLOCK];
    ptrdiff_t n_left = 0, n_right = 0, at_left = 0, at_right = 0;
    while (high - low >= 2 * BLOCK) {
        if (n_left == 0) {
            at_left = 0;
            for (ptrdiff_t i = 0; i < BLOCK; i++) {
                left[n_left] = (uint8_t)i;
                n_left += !before(&items[low + i], &pivot);
            }
        }
        if (n_right == 0) {
            at_right = 0;
            for (ptrdiff_t i = 0; i < BLOCK; i++) {
                right[n_right] = (uint8_t)i;
                n_right += before(&items[high - 1 - i], &pivot);
            }
        }
        ptrdiff_t m = n_left < n_right ? n_left : n_right;
        for (ptrdiff_t i = 0; i < m; i++) swap(&items[low + left[at_left + i]], &items[high - 1 - right[at_right + i]]);
        n_left -= m;
        at_left += m;
        n_right -= m;
        at_right += m;
        if (n_left == 0) low += BLOCK;
        if (n_right == 0) high -= BLOCK;
    }
    for (ptrdiff_t i = low; i < high; i++) {
        swap(&items[i], &items[low]);
        low += before(&items[low], &pivot);
    }
    return low;
}

/* Invariant: items[0, low) come before all of items[low, high], those before all of items(high, n);
 * the k-th boundary lies in [low, high + 1]. */
void top_select(struct ranked *items, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t low = 0, high = n - 1;
    uint64_t random = 0x9E3779B97F4A7C15u;
    if (k <= 0 || k >= n) return;
    while (low < high) {
        draw_pivot(items, low, high, k, &random);
        ptrdiff_t i = partition(items, low, high, items[high]);
        swap(&items[i], &items[high]);
        if (k < i)
            high = i - 1;
        else if (k > i + 1)
            low = i + 1;
        else
            return;
    }
}

double top_least(const struct ranked *items, ptrdiff_t n)
{
    double least = INFINITY;
    for (ptrdiff_t i = 0; i < n; i++) least = items[i].key < least ? items[i].key : least;
    return least;
}

/* Bring the items above `high` to the front, then those from `low` on, then the rest, and count the first two.
 * Every item is written to all three, of which one keeps it: no branch. */
static void split(struct ranked *items, ptrdiff_t n, double low, double high, struct ranked *spare, ptrdiff_t *n_above,
                  ptrdiff_t *n_near)
{
    ptrdiff_t above = 0, near = 0, rest = n;
    for (ptrdiff_t i = 0; i < n; i++) {
        struct ranked item = items[i];
        int is_above = item.key > high, is_rest = item.key < low;
        items[above] = item;
        spare[near] = item;
        spare[rest - 1] = item;
        above += is_above;
        near += !(is_above | is_rest);
        rest -= is_rest;
    }
    memcpy(items + above, spare, (size_t)near * sizeof *items);
    memcpy(items + above + near, spare + rest, (size_t)(n - rest) * sizeof *items);
    *n_above = above;
    *n_near = near;
}

double top_select_near(struct ranked *items, ptrdiff_t n, ptrdiff_t k, double low, double high, struct ranked *spare)
{
    ptrdiff_t above = 0, near = n, start = 0, stop = n;
    if (spare) split(items, n, low, high, spare, &above, &near);
    if (k > above) start = k > above + near ? above + near : above;
    if (k <= above + near) stop = k <= above ? above : above + near;
    top_select(items + start, stop - start, k - start);
    return top_least(items + start, k - start);
}

void top_stream_start(struct top_stream *stream, struct ranked *items, ptrdiff_t wanted)
{
    stream->items = items;
    stream->wanted = wanted;
    stream->size = 0;
    stream->floor = -INFINITY;
}

static void cut(struct top_stream *stream)
{
    top_select(stream->items, stream->size, stream->wanted);
    stream->size = stream->wanted;
    stream->floor = top_least(stream->items, stream->wanted);
}

void top_stream_feed(struct top_stream *stream, ptrdiff_t n, const double *keys, int32_t first_site)
{
    ptrdiff_t i = 0;
    for (; i < n && stream->size < stream->wanted; i++) {
        struct ranked item = {isnan(keys[i]) ? -INFINITY : keys[i], (int32_t)(first_site + i), 0};
        stream->items[stream->size++] = item;
    }
    for (; i < n; i++) {
        if (!(keys[i] > stream->floor)) continue; /* nor NaN */
        struct ranked item = {keys[i], (int32_t)(first_site + i), 0};
        stream->items[stream->size++] = item;
        if (stream->size == 2 * stream->wanted) cut(stream);
    }
}

void top_stream_finish(struct top_stream *stream)
{
    if (stream->size > stream->wanted) cut(stream);
}

void top_sort_sites(int32_t *sites, ptrdiff_t n, int32_t *room)
{
    int32_t counts[2048];
    if (n <= 32) {
        for (ptrdiff_t i = 1; i < n; i++) {
            int32_t held = sites[i];
            ptrdiff_t j = i;
            for (; j > 0 && sites[j - 1] > held; j--) sites[j] = sites[j - 1];
            sites[j] = held;
        }
        return;
    }
    int32_t *from = sites, *to = room, last = 0;
    for (ptrdiff_t i = 0; i < n; i++) last = sites[i] > last ? sites[i] : last;
    int bits = 32 - __builtin_clz((unsigned)last | 1), passes = (bits + 10) / 11, width = (bits + passes - 1) / passes;
    for (int shift = 0; shift < bits; shift += width) {
        int32_t at = 0, digits = 1 << width;
        memset(counts, 0, (size_t)digits * sizeof *counts);
        for (ptrdiff_t i = 0; i < n; i++) counts[(from[i] >> shift) & (digits - 1)]++;
        for (int digit = 0; digit < digits; digit++) {
            int32_t many = counts[digit];
            counts[digit] = at;
            at += many;
        }
        for (ptrdiff_t i = 0; i < n; i++) to[counts[(from[i] >> shift) & (digits - 1)]++] = from[i];
        int32_t *held = from;
        from = to;
        to = held;
    }
    if (from != sites) memcpy(sites, from, (size_t)n * sizeof *sites);
}
