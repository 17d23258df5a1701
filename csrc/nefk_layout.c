#include "nefk_layout.h"

#include <string.h>

#include "nefk_groups.h"
#include "nefk_load.h"

enum { LINE = 64 /* bytes */ };

static inline size_t place_of(const ptrdiff_t *group, const int32_t *names, size_t i) {
    return (size_t)((names ? names[group[i] + 1] : group[i]) + 1);
}

void nefk_sort_into_groups(const ptrdiff_t *group, const int32_t *names, size_t start, size_t count, uint32_t *next,
                           uint32_t *order) {
    for (size_t i = 0; i < count; i++) {
        if (i + NEFK_AHEAD < count) {
            ptrdiff_t ahead = group[i + NEFK_AHEAD] + 1;
            __builtin_prefetch(names ? (const void *)&names[ahead] : &next[ahead], 1);
        }
        if (i + NEFK_AHEAD * 2 / 3 < count)
            __builtin_prefetch(&next[place_of(group, names, i + NEFK_AHEAD * 2 / 3)], 1);
        if (i + NEFK_AHEAD / 3 < count)
            __builtin_prefetch(&order[next[place_of(group, names, i + NEFK_AHEAD / 3)]], 1);
        order[next[place_of(group, names, i)]++] = (uint32_t)(start + i);
    }
}

/* Inlined with constant widths, which leave one instruction of each copy. */
NEFK_INLINE void move(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b, size_t width_a,
                      size_t width_b, int back, uint16_t *member) {
    for (size_t i = 0; i < count; i++) {
        uint32_t entry = runs.runs[group[i] + 1], place = runs.next[entry >> NEFK_TILE_BITS]++;
        size_t from = back ? place : i, to = back ? i : place;
        if (back) {
            __builtin_prefetch(a.from + place * width_a + 2 * LINE, 0);
            if (width_b) __builtin_prefetch(b.from + place * width_b + LINE, 0);
        } else {
            __builtin_prefetch(a.to + place * width_a + 2 * LINE, 1);
            if (width_b) __builtin_prefetch(b.to + place * width_b + 2 * LINE, 1);
            if (member) __builtin_prefetch(member + place + LINE, 1);
        }
        memcpy(a.to + to * width_a, a.from + from * width_a, width_a);
        memcpy(b.to + to * width_b, b.from + from * width_b, width_b);
        if (member) member[to] = (uint16_t)(entry & (NEFK_TILE_GROUPS - 1));
    }
}

void nefk_move_to_runs(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b,
                       uint16_t *member) {
    if (a.width == 8 && b.width == 8 && member) move(group, count, runs, a, b, 8, 8, 0, member);
    else if (a.width == 8 && b.width == 0 && member) move(group, count, runs, a, b, 8, 0, 0, member);
    else if (a.width == 8 && b.width == 0) move(group, count, runs, a, b, 8, 0, 0, NULL);
    else move(group, count, runs, a, b, a.width, b.width, 0, member);
}

void nefk_move_back(const ptrdiff_t *group, size_t count, nefk_runs runs, nefk_move a, nefk_move b) {
    if (a.width == 8 && b.width == 1) move(group, count, runs, a, b, 8, 1, 1, NULL);
    else move(group, count, runs, a, b, a.width, b.width, 1, NULL);
}
