/* What the passes over tiles share: the working space, items gathered into it, and sums by group. */
#ifndef NEFK_TILE_H
#define NEFK_TILE_H

#include <math.h>

#include "nefk_groups.h"
#include "nefk_load.h"

enum { NEFK_COLUMNS = 4, NEFK_SHORT = 24 /* items that are summed one by one */ };

enum { NEFK_SORTED = 128 /* items of a group from which on its size is no matter */ };
#define NEFK_OWN_TOLERANCE 2e-13 /* relative gap of a group's total that ends its search */
#define NEFK_NEAR_CUBED 1e-5     /* gap after which Halley's next is none */
#define NEFK_NIGH 1e-290         /* prices between are normal */
#define NEFK_FAR 1e300

/* Columns of items, gathered; a column that is one number for all is a single block of it. */
typedef struct { double entries[NEFK_COLUMNS][NEFK_TILE]; size_t step[NEFK_COLUMNS]; } gathered;

struct nefk_tile_space {
    gathered all, part; /* items of the tile, and of the groups that are still searched */
    double price[NEFK_TILE], lower_price[NEFK_TILE], x[NEFK_TILE], d[NEFK_TILE], y[NEFK_TILE], e[NEFK_TILE];
    double starts[NEFK_TILE]; /* of the items of `part`: prices at which they surely take nothing */
    double low[NEFK_TILE_GROUPS], high[NEFK_TILE_GROUPS], share[NEFK_TILE_GROUPS], mark[NEFK_TILE_GROUPS];
    double total[NEFK_TILE_GROUPS], slope[NEFK_TILE_GROUPS];
    double from[NEFK_TILE_GROUPS], to[NEFK_TILE_GROUPS], at[NEFK_TILE_GROUPS], met[NEFK_TILE_GROUPS];
    double target[NEFK_TILE_GROUPS], top[NEFK_TILE_GROUPS], start[NEFK_TILE_GROUPS];
    double curve[NEFK_TILE_GROUPS];
    double more[NEFK_TILE_GROUPS], less[NEFK_TILE_GROUPS], again[NEFK_TILE_GROUPS];
    double cap[NEFK_TILE_GROUPS];
    uint32_t offset[NEFK_TILE_GROUPS + 1], part_offset[NEFK_TILE_GROUPS + 1], group[NEFK_TILE_GROUPS];
    uint32_t name[NEFK_TILE_GROUPS]; /* which the gathered groups are */
    uint32_t begin[NEFK_TILE_GROUPS + 1]; /* where the tile's groups begin in it, and the last one ends */
    uint32_t order[2 * NEFK_TILE];   /* which the gathered items are; any group that is not listed has room behind them */
};

static inline nefk_block block_of(const gathered *columns, size_t at) {
    nefk_block items;
    items.parameter = columns->entries[0] + (columns->step[0] ? at : 0);
    items.weight = columns->entries[1] + (columns->step[1] ? at : 0);
    items.lower = columns->entries[2] + (columns->step[2] ? at : 0);
    items.upper = columns->entries[3] + (columns->step[3] ? at : 0);
    return items;
}

/* Into space->begin. */
static inline void find_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space) {
    for (size_t g = 0; g < tile.last - tile.first; g++) space->begin[g] = all->start[tile.first + g];
    space->begin[tile.last - tile.first] = (uint32_t)(tile.end - tile.begin);
}

static inline size_t size_class(const nefk_tile_space *space, size_t g) {
    size_t size = space->begin[g + 1] - space->begin[g];
    return size < NEFK_SORTED ? size : NEFK_SORTED;
}

/* Where the items of listed groups of a tile are, one group after the other: into space->order, with offset
 * (groups + 1,). Returns how many. */
static inline size_t list_items(const nefk_grouped *all, nefk_tile tile, size_t groups, const uint32_t *which,
                                uint32_t *offset, nefk_tile_space *space) {
    const uint32_t *order = all->problem->order, *start = space->begin;
    uint32_t m = 0, first = (uint32_t)tile.begin, stop = (uint32_t)tile.end;
    for (size_t k = 0; k < groups; k++) {
        offset[k] = m;
        m += start[which[k] + 1] - start[which[k]];
    }
    offset[groups] = m;
    if (!all->member) {
        for (size_t k = 0, at = 0; k < groups; k++)
            for (uint32_t i = first + start[which[k]]; i < first + start[which[k] + 1]; i++)
                space->order[at++] = order ? order[i] : i;
        return m;
    }
    uint32_t next[NEFK_TILE_GROUPS];
    for (size_t g = 0; g < tile.last - tile.first; g++) next[g] = NEFK_TILE; /* if it is not listed */
    for (size_t k = 0; k < groups; k++) next[which[k]] = offset[k];
    for (uint32_t i = first; i < stop; i++) space->order[next[all->member[i]]++] = i;
    return m;
}

/* List the tile's groups in order by size, so that the ends of short ones can be guessed. */
static inline void order_by_size(size_t groups, nefk_tile_space *space) {
    uint32_t next[NEFK_SORTED + 2] = {0};
    for (size_t g = 0; g < groups; g++) next[size_class(space, g) + 1]++;
    for (size_t c = 0; c <= NEFK_SORTED; c++) next[c + 1] += next[c];
    for (size_t g = 0; g < groups; g++) space->name[next[size_class(space, g)]++] = (uint32_t)g;
}

/* Entries of the problem's columns that space->order lists. */
static inline void gather_listed(const nefk_problem *problem, size_t m, const nefk_tile_space *space, gathered *to) {
    const nefk_column *columns[] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        to->step[c] = columns[c]->doubles || columns[c]->singles;
        nefk_load(columns[c], space->order, 0, to->step[c] ? m : NEFK_BLOCK, to->entries[c]);
    }
}

/* Bring the tile's items, which lie side by side in no order by group, into that of space->name; where they go is left
 * in space->order. Read in sequence, as they come from afar. Returns how many. */
static inline size_t scatter(const nefk_grouped *all, nefk_tile tile, size_t groups, nefk_tile_space *space) {
    const uint32_t *start = space->begin;
    const nefk_problem *problem = all->problem;
    const nefk_column *columns[] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    size_t first = tile.begin, m = tile.end - first;
    uint32_t next[NEFK_TILE_GROUPS], at = 0;
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->name[k];
        space->offset[k] = next[g] = at;
        at += start[g + 1] - start[g];
    }
    space->offset[groups] = at;
    for (size_t i = 0; i < m; i++) space->order[i] = next[all->member[first + i]]++;
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        double *to = space->all.entries[c];
        const double *doubles = columns[c]->doubles ? columns[c]->doubles + first : NULL;
        const float *singles = columns[c]->singles ? columns[c]->singles + first : NULL;
        space->all.step[c] = doubles || singles;
        if (doubles) for (size_t i = 0; i < m; i++) to[space->order[i]] = doubles[i];
        else if (singles) for (size_t i = 0; i < m; i++) to[space->order[i]] = singles[i];
        else nefk_load(columns[c], NULL, 0, NEFK_BLOCK, to);
    }
    return m;
}

/* Gather the tile's items and caps, groups in order by size; returns how many items. */
static inline size_t gather(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space) {
    size_t groups = tile.last - tile.first, m;
    find_groups(all, tile, space);
    order_by_size(groups, space);
    for (size_t k = 0; k < groups; k++) space->cap[k] = nefk_cap_of(all, tile.first + space->name[k]);
    if (all->member) return scatter(all, tile, groups, space);
    m = list_items(all, tile, groups, space->name, space->offset, space);
    gather_listed(all->problem, m, space, &space->all);
    return m;
}

static inline void spread(size_t groups, const uint32_t *offset, const double *value, double *to) {
    for (size_t g = 0; g < groups; g++)
        for (size_t i = offset[g]; i < offset[g + 1]; i++) to[i] = value[g];
}

static inline void fill(size_t m, double value, double *to) {
    for (size_t i = 0; i < m; i++) to[i] = value;
}

/* Amounts, slopes and (unless NULL) second derivatives of m gathered items at their prices. */
static inline void respond(const nefk_problem *problem, const gathered *columns, size_t m, const double *price,
                    double *x, double *d, double *c) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        use->respond(problem->shape, count, block_of(columns, at), price + at, problem->ceiling, x + at, d + at,
                     c ? c + at : NULL);
    }
}

static inline double sum_of(const nefk_instructions *use, const double *x, size_t m) {
    if (m < NEFK_SHORT) {
        double sum = 0.0;
        for (size_t i = 0; i < m; i++) sum += x[i];
        return sum;
    }
    double high = 0.0, low = 0.0;
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        nefk_add(&high, &low, use->sum(m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, x + at));
    return high + low;
}

static inline void sum_groups(size_t groups, const uint32_t *offset, const double *x, double *sum) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t g = 0; g < groups; g++) sum[g] = sum_of(use, x + offset[g], offset[g + 1] - offset[g]);
}

/* Totals and slopes at once: the ends of short groups are what a processor guesses wrong. */
static inline void sum_both(size_t groups, const uint32_t *offset, const double *x, const double *d, double *total,
                     double *slope) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t g = 0; g < groups; g++) {
        size_t start = offset[g], m = offset[g + 1] - start;
        double sum = 0.0, fall = 0.0;
        for (size_t i = start; i < start + m && m < NEFK_SHORT; i++) {
            sum += x[i];
            fall += d[i];
        }
        total[g] = m < NEFK_SHORT ? sum : sum_of(use, x + start, m);
        slope[g] = m < NEFK_SHORT ? fall : sum_of(use, d + start, m);
    }
}

/* Copy the items of `groups` chosen groups, whose items lie at `offset` in `from`, to the front of space->part. */
static inline size_t choose(const gathered *from, const uint32_t *offset, size_t groups, const uint32_t *which,
                     nefk_tile_space *space) {
    size_t m = 0;
    gathered *to = &space->part;
    for (size_t k = 0; k < groups; k++) {
        size_t start = offset[which[k]], count = offset[which[k] + 1] - start;
        for (size_t c = 0; c < NEFK_COLUMNS; c++)
            if (from->step[c])
                for (size_t i = 0; i < count; i++) to->entries[c][m + i] = from->entries[c][start + i];
        space->part_offset[k] = (uint32_t)m;
        m += count;
    }
    space->part_offset[groups] = (uint32_t)m;
    return m;
}

static inline void share_scalars(nefk_tile_space *space) {
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        space->part.step[c] = space->all.step[c];
        if (!space->all.step[c]) memcpy(space->part.entries[c], space->all.entries[c], NEFK_BLOCK * sizeof(double));
    }
}

#endif
