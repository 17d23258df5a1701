/* The items of a tile brought into the working space, its groups in rows by their sizes. */
#ifndef NEFK_GATHER_H
#define NEFK_GATHER_H

#include "nefk_tile.h"

/* Into space->begin. */
static inline void find_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space) {
    for (size_t g = 0; g < tile.last - tile.first; g++) space->begin[g] = all->start[tile.first + g];
    space->begin[tile.last - tile.first] = (uint32_t)(tile.end - tile.begin);
}

/* List the tile's groups in order by size, so that the ends of short ones can be guessed: first those that may need
 * own prices, of which `own` (last - first,), unless that is NULL, has guesses; behind space->groups, those without
 * items. */
static inline void order_groups(const nefk_grouped *all, nefk_tile tile, const double *own, nefk_tile_space *space) {
    enum { CLASSES = NEFK_SORTED + 1, NONE = 2 * CLASSES, PARTS = 4 /* side by side: counters are waited for */ };
    uint32_t next[NONE + 1][PARTS] = {{0}}, at = 0;
    uint16_t class[NEFK_TILE_GROUPS + PARTS];
    size_t groups = tile.last - tile.first, part = (groups + PARTS - 1) / PARTS;
    size_t none = tile.first ? 0 : 1; /* has no cap */
    nefk_classify(none, space->begin, own, NULL, NEFK_SORTED, CLASSES, class);
    nefk_classify(groups - none, space->begin + none, own ? own + none : NULL, all->cap + (tile.first + none - 1),
                  NEFK_SORTED, CLASSES, class + none);
    for (size_t g = groups; g < PARTS * part; g++) class[g] = NONE;
    for (size_t g = 0; g < part; g++)
        for (size_t p = 0; p < PARTS; p++) next[class[p * part + g]][p]++;
    for (size_t k = 0; k <= NONE; k++) {
        size_t c = k < CLASSES ? k : (k + 1 < NONE ? k + 1 : (k < NONE ? CLASSES : NONE)); /* empty ones late */
        if (k == CLASSES) space->searched = at;
        if (k + 1 == NONE) space->groups = at;
        for (size_t p = 0; p < PARTS; p++) {
            uint32_t count = next[c][p];
            next[c][p] = at;
            at += count;
        }
    }
    for (size_t g = 0; g < part; g++)
        for (size_t p = 0; p < PARTS; p++) space->name[next[class[p * part + g]][p]++] = (uint32_t)(p * part + g);
}

/* Cut the groups in space->name that have items into rows, and find their items' places. */
static inline void find_rows(nefk_tile_space *space) {
    uint32_t at = 0;
    size_t groups = space->groups;
    space->n_rows = space->searched_rows = 0;
    for (size_t g = 0, last; g < groups; g = last) {
        size_t size = size_of(space, g), stop = g < space->searched ? space->searched : groups;
        for (last = g + 1; last < stop && size < NEFK_SHORT && size_of(space, last) == size;) last++;
        if (last - g < NEFK_FEWEST) last = g + 1;
        space->rows[space->n_rows++] = (nefk_rows){(uint32_t)g, (uint32_t)last, at, (uint32_t)size};
        if (g < space->searched) space->searched_rows = space->n_rows;
        for (size_t i = g; i < last; i++) {
            space->offset[i] = (uint32_t)(at + (i - g));
            space->stride[i] = (uint32_t)(last - g);
        }
        at += (uint32_t)(size * (last - g));
    }
    space->items = at;
}

/* Entries of the problem's columns that space->order lists. */
static inline void gather_listed(const nefk_problem *problem, size_t m, const nefk_tile_space *space, gathered *to) {
    const nefk_column *columns[] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        to->step[c] = columns[c]->doubles || columns[c]->singles;
        nefk_load(columns[c], space->order, 0, to->step[c] ? m : NEFK_BLOCK, to->entries[c]);
    }
}

/* Entries [first, first + m) of a column that lie elsewhere, to places of their own. */
static inline void scatter_listed(const nefk_column *column, size_t first, size_t m, const uint32_t *places,
                                  double *to) {
    double entries[NEFK_BLOCK];
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        nefk_load(column, NULL, first + at, count, entries);
        for (size_t i = 0; i < count; i++) to[places[at + i]] = entries[i];
    }
}

/* Where the next item of a group goes, and how far from there the one after it. */
typedef struct { uint16_t next, stride; } nefk_next;

/* Where m items go, into `to`, and their entries of two columns to there. */
static inline void scatter_two(size_t m, const uint16_t *restrict member, const double *restrict a,
                               const double *restrict b, nefk_next *restrict next, uint32_t *restrict to,
                               double *restrict to_a, double *restrict to_b) {
    const nefk_entries from_a = {(uintptr_t)a, sizeof *a}, from_b = {(uintptr_t)b, sizeof *b};
    for (size_t i = 0; i < m; i++) {
        nefk_ask(from_a, i + NEFK_IN_ORDER);
        nefk_ask(from_b, i + NEFK_IN_ORDER);
        nefk_next *own = &next[member[i]];
        uint32_t place = own->next;
        own->next = (uint16_t)(place + own->stride);
        to[i] = place;
        to_a[place] = a[i];
        to_b[place] = b[i];
    }
}

/* Bring the tile's items, which lie side by side in no order by group, into that of the rows; where they go is left
 * in space->order. Read in sequence, as they come from afar. Returns how many. */
static inline size_t scatter(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space) {
    const nefk_problem *problem = all->problem;
    const nefk_column *columns[] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    const double *a = problem->parameter.place ? NULL : problem->parameter.doubles;
    const double *b = problem->weight.place ? NULL : problem->weight.doubles;
    const uint16_t *member = all->member + tile.begin;
    size_t first = tile.begin, m = tile.end - first;
    int both = a && b;
    nefk_next next[NEFK_TILE_GROUPS]; /* in the first cache */
    for (size_t g = 0; g < space->groups; g++)
        next[space->name[g]] = (nefk_next){(uint16_t)space->offset[g], (uint16_t)space->stride[g]};
    if (both)
        scatter_two(m, member, a + first, b + first, next, space->order, space->all.entries[0], space->all.entries[1]);
    else for (size_t i = 0; i < m; i++) {
        nefk_next *own = &next[member[i]];
        space->order[i] = own->next;
        own->next = (uint16_t)(own->next + own->stride);
    }
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        double *to = space->all.entries[c];
        const double *doubles = columns[c]->doubles ? columns[c]->doubles + first : NULL;
        const float *singles = columns[c]->singles ? columns[c]->singles + first : NULL;
        space->all.step[c] = doubles || singles;
        if (both && c < 2) continue;
        if (space->all.step[c] && columns[c]->place) scatter_listed(columns[c], first, m, space->order, to);
        else if (doubles) for (size_t i = 0; i < m; i++) to[space->order[i]] = doubles[i];
        else if (singles) for (size_t i = 0; i < m; i++) to[space->order[i]] = singles[i];
        else nefk_load(columns[c], NULL, 0, NEFK_BLOCK, to);
    }
    return m;
}

/* Gather the tile's items and caps, of groups that have items as `order_groups` has them; returns how many items. */
static inline size_t gather(const nefk_grouped *all, nefk_tile tile, const double *own, nefk_tile_space *space) {
    const uint32_t *order = all->problem->order;
    find_groups(all, tile, space);
    order_groups(all, tile, own, space);
    find_rows(space);
    for (size_t k = 0; k < space->groups; k++) space->cap[k] = nefk_cap_of(all, tile.first + space->name[k]);
    if (all->member) return scatter(all, tile, space);
    for (size_t g = 0; g < space->groups; g++) {
        uint32_t i = (uint32_t)tile.begin + space->begin[space->name[g]];
        for (size_t at = space->offset[g], j = 0, size = size_of(space, g); j < size; j++, at += space->stride[g], i++)
            space->order[at] = order ? order[i] : i;
    }
    gather_listed(all->problem, space->items, space, &space->all);
    return space->items;
}

#endif
