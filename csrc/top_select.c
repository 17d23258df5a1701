#include "top_select.h"

#include <math.h>
#include <string.h>

static inline int before(const struct ranked *a, const struct ranked *b)
{
    return a->key > b->key || (a->key == b->key && a->site < b->site);
}

/* Invariant: items[0, low) come before all of items[low, high], those before all of items(high, n);
 * the k-th boundary lies in [low, high + 1]. */
void top_select(struct ranked *items, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t low = 0, high = n - 1;
    uint64_t random = 0x9E3779B97F4A7C15u;
    if (k <= 0 || k >= n) return;
    while (low < high) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        struct ranked pivot = items[low + (ptrdiff_t)(random % (uint64_t)(high - low + 1))];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (before(&items[i], &pivot)) i++;
            while (before(&pivot, &items[j])) j--;
            if (i <= j) {
                struct ranked held = items[i];
                items[i++] = items[j];
                items[j--] = held;
            }
        }
        if (k <= j)
            high = j;
        else if (k > i)
            low = i;
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
    for (ptrdiff_t i = 0; i < n; i++) {
        if (!(keys[i] > stream->floor)) continue;
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
    ptrdiff_t counts[2048];
    if (n <= 32) {
        for (ptrdiff_t i = 1; i < n; i++) {
            int32_t held = sites[i];
            ptrdiff_t j = i;
            for (; j > 0 && sites[j - 1] > held; j--) sites[j] = sites[j - 1];
            sites[j] = held;
        }
        return;
    }
    int32_t *from = sites, *to = room;
    for (int shift = 0; shift < 33; shift += 11) {
        memset(counts, 0, sizeof counts);
        for (ptrdiff_t i = 0; i < n; i++) counts[((uint32_t)from[i] >> shift) & 2047]++;
        ptrdiff_t at = 0;
        for (int digit = 0; digit < 2048; digit++) {
            ptrdiff_t many = counts[digit];
            counts[digit] = at;
            at += many;
        }
        for (ptrdiff_t i = 0; i < n; i++) to[counts[((uint32_t)from[i] >> shift) & 2047]++] = from[i];
        int32_t *held = from;
        from = to;
        to = held;
    }
    memcpy(sites, room, (size_t)n * sizeof *sites); /* after three passes the order is in room */
}
