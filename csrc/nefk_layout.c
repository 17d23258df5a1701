#include "nefk_layout.h"

#include <string.h>

#include "every_width.h"

#include "nefk_groups.h"
#include "nefk_load.h"

enum { LINE = 64 /* bytes */ };

static inline size_t place_of(const ptrdiff_t *group, const int32_t *names) {
    return (size_t)((names ? names[*group + 1] : *group) + 1);
}

NEFK_INLINE void extent(const ptrdiff_t *group, size_t count, ptrdiff_t *ends) {
    ptrdiff_t low = -1, high = -1;
    for (size_t i = 0; i < count; i++) {
        low = group[i] < low ? group[i] : low;
        high = group[i] > high ? group[i] : high;
    }
    ends[0] = low;
    ends[1] = high;
}

AT_EVERY_WIDTH(void, nefk_extent, extent, (const ptrdiff_t *group, size_t count, ptrdiff_t *ends), (group, count, ends))

/* Item i. */
NEFK_INLINE void sort_item(size_t i, const ptrdiff_t *group, const int32_t *names, size_t start, size_t count, int down,
                           uint32_t *next, uint32_t *order) {
    const ptrdiff_t step = down ? -1 : 1;
    const ptrdiff_t *at = group + i;
    size_t far = i + (size_t)(step * NEFK_AHEAD), middle = i + (size_t)(step * (NEFK_AHEAD * 2 / 3));
    size_t near = i + (size_t)(step * (NEFK_AHEAD / 3)); /* below 0 they are large */
    if (far < count) __builtin_prefetch(names ? (const void *)&names[group[far] + 1] : &next[group[far] + 1], 1);
    if (middle < count) __builtin_prefetch(&next[place_of(group + middle, names)], 1);
    if (near < count) __builtin_prefetch(&order[next[place_of(group + near, names)]], 1);
    uint32_t *own = &next[place_of(at, names)];
    order[*own - (uint32_t)down] = (uint32_t)(start + i);
    *own += (uint32_t)step;
}

/* The first bit that is set, or the last one if items are taken from there on (`down`). */
NEFK_INLINE unsigned next_of(uint64_t bits, int down) {
    return (unsigned)(down ? 63 - __builtin_clzll(bits) : __builtin_ctzll(bits));
}

/* Items are taken in loops of their own, in functions of their own: in one that may do either, they take up to a fifth
 * longer. Where only some are active, the next one is looked for in words of bits, so no branch is decided by chance. */
static __attribute__((noinline)) void sort_all(const ptrdiff_t *group, const int32_t *names, size_t start, size_t count,
                                               int down, uint32_t *next, uint32_t *order) {
    size_t i = down ? count - 1 : 0, step = down ? (size_t)-1 : 1;
    for (size_t left = count; left > 0; left--, i += step) sort_item(i, group, names, start, count, down, next, order);
}

static __attribute__((noinline)) void sort_active(const ptrdiff_t *group, const int32_t *names, const uint64_t *active,
                                                  size_t start, size_t count, int down, uint32_t *next,
                                                  uint32_t *order) {
    size_t words = (count + 63) / 64;
    for (size_t left = words; left > 0; left--) {
        size_t word = down ? left - 1 : words - left;
        for (uint64_t bits = active[word], k; bits; bits ^= (uint64_t)1 << k) {
            k = next_of(bits, down);
            sort_item(word * 64 + k, group, names, start, count, down, next, order);
        }
    }
}

void nefk_sort_into_groups(const ptrdiff_t *group, const int32_t *names, const uint64_t *active, size_t start,
                           size_t count, int down, uint32_t *next, uint32_t *order) {
    if (active) sort_active(group, names, active, start, count, down, next, order);
    else sort_all(group, names, start, count, down, next, order);
}

/* Ask memory for what lies `ahead` bytes on, perhaps beyond the end, which is no matter. Where items are moved to
 * hundreds of runs, the next lines of all have no room in the first cache, but in the second. */
NEFK_INLINE void ask_run(const void *at, ptrdiff_t ahead, int second) {
    const void *later = (const void *)((uintptr_t)at + (uintptr_t)ahead);
    if (second) __builtin_prefetch(later, 0, 2);
    else __builtin_prefetch(later, 0, 3);
}

/* Run and own number of a group, from 0 on. */
NEFK_INLINE uint32_t entry_of(nefk_runs runs, size_t group) {
    if (runs.entries) return runs.entries[group];
    if (runs.width) {
        size_t at = group + runs.lead, run = (at * runs.multiplier) >> runs.shift;
        return (uint32_t)(run << NEFK_TILE_BITS | (at - (run ? run * runs.width : runs.lead)));
    }
    uint32_t run = runs.guess[group >> runs.bits];
    while (group >= runs.first[run + 1]) run++;
    return run << NEFK_TILE_BITS | (uint32_t)(group - runs.first[run]);
}

/* The columns of a part of the items, in their order, of which memory is asked for what comes later. */
typedef struct { nefk_entries groups, a, b; } in_order;

/* Item i. Inlined with constant widths, which leave one instruction of each copy, and with what does not change in a
 * loop. */
NEFK_INLINE void move_item(size_t i, const ptrdiff_t *group, const nefk_runs *runs, const nefk_move *a,
                           const nefk_move *b, size_t width_a, size_t width_b, int back, uint16_t *member,
                           const in_order *columns) {
    ptrdiff_t step = runs->down ? -1 : 1, ahead = step * LINE;
    uint32_t entry = entry_of(*runs, (size_t)(group[i] + 1)), *next = &runs->next[entry >> NEFK_TILE_BITS];
    uint32_t place = *next - (uint32_t)runs->down;
    *next += (uint32_t)step;
    size_t from = back ? place : i, to = back ? i : place;
    if (runs->asks) {
        ask_run((back ? a->from : a->to) + place * width_a, ahead, !back);
        if (width_b) ask_run((back ? b->from : b->to) + place * width_b, ahead, !back);
        if (member) ask_run(member + place, ahead, 1);
        size_t later = i + (size_t)(step * NEFK_IN_ORDER);
        nefk_ask(columns->groups, later);
        nefk_ask(columns->a, later);
        nefk_ask(columns->b, later);
    }
    memcpy(a->to + to * width_a, a->from + from * width_a, width_a);
    if (width_b) memcpy(b->to + to * width_b, b->from + from * width_b, width_b);
    if (member) member[to] = (uint16_t)(entry & (NEFK_TILE_GROUPS - 1));
}

NEFK_INLINE void move(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b, size_t width_a,
                      size_t width_b, int back, uint16_t *member) {
    const in_order columns = {{(uintptr_t)group, sizeof *group},
                              {(uintptr_t)(back ? a.to : a.from), width_a},
                              {(uintptr_t)(back ? b.to : b.from), width_b}};
    size_t i = runs.down ? count - 1 : 0, step = runs.down ? (size_t)-1 : 1;
    for (size_t left = count; left > 0; left--, i += step) {
        size_t soon = i + step * NEFK_AHEAD; /* below 0 it is large */
        if (runs.entries && soon < count) __builtin_prefetch(&runs.entries[group[soon] + 1], 0);
        move_item(i, group, &runs, &a, &b, width_a, width_b, back, member, &columns);
    }
}

/* The same of active items. */
NEFK_INLINE void move_active(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b,
                             size_t width_a, size_t width_b, int back, uint16_t *member) {
    const in_order columns = {{(uintptr_t)group, sizeof *group},
                              {(uintptr_t)(back ? a.to : a.from), width_a},
                              {(uintptr_t)(back ? b.to : b.from), width_b}};
    size_t words = (count + 63) / 64;
    for (size_t left = words; left > 0; left--) {
        size_t word = runs.down ? left - 1 : words - left, soon = word + (runs.down ? (size_t)-1 : 1);
        for (size_t k = soon * 64; runs.entries && soon < words && k < soon * 64 + 64 && k < count; k++)
            __builtin_prefetch(&runs.entries[group[k] + 1], 0); /* of some that are not active, too */
        for (uint64_t bits = runs.active[word], k; bits; bits ^= (uint64_t)1 << k) {
            k = next_of(bits, runs.down);
            move_item(word * 64 + k, group, &runs, &a, &b, width_a, width_b, back, member, &columns);
        }
    }
}

/* Either with runs of a kind, a direction and whether it asks that are constants. */
#define MOVE_EACH(move, width_a, width_b, back, member)                                       \
    do {                                                                                      \
        if (runs.width) runs.entries = NULL;                                                  \
        if (runs.width && runs.down) { /* a constant below */                                 \
            runs.down = 1;                                                                    \
            move(group, count, runs, a, b, width_a, width_b, back, member);                   \
        } else if (runs.width && !runs.asks) {                                                \
            runs.asks = 0;                                                                    \
            move(group, count, runs, a, b, width_a, width_b, back, member);                   \
        } else if (runs.width) {                                                              \
            runs.asks = 1;                                                                    \
            move(group, count, runs, a, b, width_a, width_b, back, member);                   \
        } else if (runs.entries && !runs.down) {                                              \
            runs.down = 0;                                                                    \
            runs.asks = 1;                                                                    \
            move(group, count, runs, a, b, width_a, width_b, back, member);                   \
        } else {                                                                              \
            move(group, count, runs, a, b, width_a, width_b, back, member);                   \
        }                                                                                     \
    } while (0)

#define MOVE_TO_RUNS(move)                                                                    \
    do {                                                                                      \
        if (a.width == 8 && b.width == 8 && member) MOVE_EACH(move, 8, 8, 0, member);         \
        else if (a.width == 8 && b.width == 0 && member) MOVE_EACH(move, 8, 0, 0, member);    \
        else if (a.width == 8 && b.width == 0) MOVE_EACH(move, 8, 0, 0, NULL);                \
        else if (a.width == 4 && b.width == 4 && member) MOVE_EACH(move, 4, 4, 0, member);    \
        else MOVE_EACH(move, a.width, b.width, 0, member);                                    \
    } while (0)

static __attribute__((noinline)) void active_to_runs(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a,
                                                     nefk_move b, uint16_t *member) {
    MOVE_TO_RUNS(move_active);
}

static __attribute__((noinline)) void all_to_runs(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a,
                                                  nefk_move b, uint16_t *member) {
    MOVE_TO_RUNS(move);
}

static __attribute__((noinline)) void active_back(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a) {
    const nefk_move b = a;
    if (a.width == 8) MOVE_EACH(move_active, 8, 0, 1, NULL);
    else MOVE_EACH(move_active, 4, 0, 1, NULL);
}

static __attribute__((noinline)) void all_back(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a) {
    const nefk_move b = a;
    if (a.width == 8) MOVE_EACH(move, 8, 0, 1, NULL);
    else MOVE_EACH(move, 4, 0, 1, NULL);
}

void nefk_move_to_runs(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b,
                       uint16_t *member) {
    if (runs.active) active_to_runs(group, count, runs, a, b, member);
    else all_to_runs(group, count, runs, a, b, member);
}

void nefk_move_back(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a) {
    if (runs.active) active_back(group, count, runs, a);
    else all_back(group, count, runs, a);
}
