/* What the passes over tiles share: the working space, of items that nefk_gather.h brings there, and sums by group. */
#ifndef NEFK_TILE_H
#define NEFK_TILE_H

#include <math.h>

#include "nefk_group_checks.h"
#include "nefk_groups.h"
#include "nefk_load.h"
#include "nefk_steer.h"

enum { NEFK_COLUMNS = 4 };

enum { NEFK_SORTED = NEFK_DEPTH + 1 /* items of a group from which on its size is no matter */ };
#define NEFK_OWN_TOLERANCE 2e-14 /* relative gap of a group's total that ends its search */
#define NEFK_NEAR_CUBED 2e-5     /* gap after which Halley's next is none */
#define NEFK_NEAR_SQUARED 2e-9   /* the same of Newton's method */
#define NEFK_NIGH 1e-290         /* prices between are normal */
#define NEFK_FAR 1e300

/* Groups [first, last) of a tile that all have `size` items: item j of group g is at
 * begin + j (last - first) + g - first, so that a sum over each group's items is a sum of rows. Groups of NEFK_SHORT
 * items and more, or less than NEFK_FEWEST of a size, are each by themselves. */
typedef struct { uint32_t first, last, begin, size; } nefk_rows;

enum { NEFK_FEWEST = 8, NEFK_MOST_ROWS = 2 * NEFK_SHORT * NEFK_FEWEST + NEFK_TILE / NEFK_SHORT };

/* With room for functions of rows. No multiple of 4096 bytes, so that a processor does not take what is read from one
 * array for what was just written to another. */
enum { NEFK_ROOM = NEFK_TILE + NEFK_ROW_LANES + 8, NEFK_GROUP_ROOM = NEFK_TILE_GROUPS + NEFK_ROW_LANES + 8 };
_Static_assert((int)NEFK_SORTED >= (int)NEFK_SHORT, "groups of one size are side by side where they lie in rows");
_Static_assert(NEFK_TILE + NEFK_TILE_GROUPS <= UINT16_MAX, "places of items, and beyond the last one, have 16 bits");
_Static_assert((int)NEFK_SORTED > (int)NEFK_DEPTH, "groups in lanes are in order by size, and larger ones last");

/* Columns of items, gathered; a column that is one number for all is a single block of it. */
typedef struct { double entries[NEFK_COLUMNS][NEFK_ROOM]; size_t step[NEFK_COLUMNS]; } gathered;

struct nefk_tile_space {
    gathered all, part; /* items of the tile, and of the groups that are still searched */
    double price[NEFK_ROOM], lower_price[NEFK_ROOM], x[NEFK_ROOM], d[NEFK_ROOM], y[NEFK_ROOM], e[NEFK_ROOM];
    double starts[NEFK_ROOM]; /* of the items of `part`: prices at which they surely take nothing */
    double low[NEFK_GROUP_ROOM], high[NEFK_GROUP_ROOM], mark[NEFK_GROUP_ROOM];
    double total[NEFK_GROUP_ROOM], slope[NEFK_GROUP_ROOM];
    double from[NEFK_GROUP_ROOM], to[NEFK_GROUP_ROOM], at[NEFK_GROUP_ROOM], met[NEFK_GROUP_ROOM];
    double target[NEFK_GROUP_ROOM], top[NEFK_GROUP_ROOM], start[NEFK_GROUP_ROOM];
    double curve[NEFK_GROUP_ROOM];
    double more[NEFK_GROUP_ROOM], less[NEFK_GROUP_ROOM], again[NEFK_GROUP_ROOM];
    double cap[NEFK_GROUP_ROOM];
    nefk_trail trail[NEFK_GROUP_ROOM]; /* of the searches of groups of `part` */
    double reach[NEFK_GROUP_ROOM];     /* how far from their guesses, over these, the starts are that they mean */
    nefk_rows rows[NEFK_MOST_ROWS]; /* of `all`: groups that may need own prices, then others; both by size */
    size_t n_rows, items;           /* of the tile */
    size_t groups;                  /* that have items */
    size_t searched, searched_rows; /* groups that may need own prices, and their rows */
    uint32_t offset[NEFK_TILE_GROUPS], stride[NEFK_TILE_GROUPS]; /* of groups of `all`: first item, and to the next */
    uint32_t part_offset[NEFK_TILE_GROUPS + 1], part_stride[NEFK_TILE_GROUPS], group[NEFK_TILE_GROUPS];
    nefk_rows part_rows[NEFK_MOST_ROWS]; /* of `part`, where that lies in rows too */
    uint32_t name[NEFK_GROUP_ROOM]; /* which the gathered groups are */
    uint32_t begin[NEFK_TILE_GROUPS + 1]; /* where the tile's groups begin in it, and the last one ends */
    nefk_lanes lanes;
    uint32_t order[2 * NEFK_TILE]; /* which the gathered items are; others are listed behind them: nefk_group_expand.c */
};

static inline nefk_block block_of(const gathered *columns, size_t at) {
    nefk_block items;
    items.parameter = columns->entries[0] + (columns->step[0] ? at : 0);
    items.weight = columns->entries[1] + (columns->step[1] ? at : 0);
    items.lower = columns->entries[2] + (columns->step[2] ? at : 0);
    items.upper = columns->entries[3] + (columns->step[3] ? at : 0);
    return items;
}

/* Items of group g of `all`. */
static inline size_t size_of(const nefk_tile_space *space, size_t g) {
    return space->begin[space->name[g] + 1] - space->begin[space->name[g]];
}

static inline void spread(size_t groups, const uint32_t *offset, const double *value, double *to) {
    for (size_t g = 0; g < groups; g++)
        for (size_t i = offset[g]; i < offset[g + 1]; i++) to[i] = value[g];
}

/* The same over all items of some rows. */
static inline void spread_rows(const nefk_rows *rows, size_t n_rows, const double *value, double *to) {
    for (size_t r = 0; r < n_rows; r++) {
        size_t first = rows[r].first, n = rows[r].last - first, size = rows[r].size;
        double *items = to + rows[r].begin;
        if (n == 1) nefk_fill(size, value[first], items);
        else for (size_t j = 0; j < size; j++) memcpy(items + j * n, value + first, n * sizeof *to);
    }
}

static inline void spread_all(const nefk_tile_space *space, const double *value, double *to) {
    spread_rows(space->rows, space->n_rows, value, to);
}

/* Amounts, and unless they are NULL slopes and second derivatives, of gathered items [first, last) at their prices. */
static inline void respond(const nefk_problem *problem, const gathered *columns, size_t first, size_t last,
                           const double *price, double *x, double *d, double *c) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t at = first; at < last; at += NEFK_BLOCK) {
        size_t count = last - at < NEFK_BLOCK ? last - at : NEFK_BLOCK;
        use->respond(problem->shape, count, block_of(columns, at), price + at, problem->ceiling, x + at,
                     d ? d + at : NULL, c ? c + at : NULL);
    }
}

static inline double sum_of(const nefk_instructions *use, const double *x, size_t m) {
    double sum = 0.0;
    if (m >= NEFK_SHORT) return m <= NEFK_BLOCK ? use->sum(m, x) : nefk_sum_all(x, m);
    for (size_t i = 0; i < m; i++) sum += x[i];
    return sum;
}

/* Sums (groups,) over the items of every group of some rows. */
static inline void sum_rows(const nefk_rows *rows, size_t n_rows, const double *x, double *sum) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t r = 0; r < n_rows; r++) {
        size_t first = rows[r].first, n = rows[r].last - first;
        if (n == 1) sum[first] = sum_of(use, x + rows[r].begin, rows[r].size);
        else use->add_rows(rows[r].size, n, x + rows[r].begin, sum + first);
    }
}

/* Sums (groups,) over the items of every group of the tile. */
static inline void sum_groups(const nefk_tile_space *space, const double *x, double *sum) {
    sum_rows(space->rows, space->n_rows, x, sum);
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

static inline void sum_chosen(size_t groups, const nefk_tile_space *space, const double *x, double *sum) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const uint32_t *offset = space->part_offset;
    for (size_t k = 0; k < groups; k++) sum[k] = sum_of(use, x + offset[k], offset[k + 1] - offset[k]);
}

/* Copy the items of chosen groups of the tile to the front of space->part, one group after the other. */
static inline size_t choose(size_t groups, const uint32_t *which, nefk_tile_space *space) {
    size_t m = 0;
    for (size_t k = 0; k < groups; k++) {
        size_t first = space->offset[which[k]], stride = space->stride[which[k]], size = size_of(space, which[k]);
        for (size_t c = 0; c < NEFK_COLUMNS; c++)
            for (size_t i = 0; i < size && space->all.step[c]; i++)
                space->part.entries[c][m + i] = space->all.entries[c][first + i * stride];
        space->part_offset[k] = (uint32_t)m;
        m += size;
    }
    space->part_offset[groups] = (uint32_t)m;
    return m;
}

/* Keep some of the groups in space->part, `left` of them, and their entries of another column. */
static inline void keep_chosen(size_t left, const uint32_t *which, nefk_tile_space *space, double *also) {
    size_t m = 0;
    for (size_t k = 0; k < left; k++) {
        size_t first = space->part_offset[which[k]], size = space->part_offset[which[k] + 1] - first;
        for (size_t c = 0; c < NEFK_COLUMNS; c++)
            for (size_t i = 0; i < size && space->part.step[c]; i++)
                space->part.entries[c][m + i] = space->part.entries[c][first + i];
        for (size_t i = 0; i < size; i++) also[m + i] = also[first + i];
        space->part_offset[k] = (uint32_t)m;
        m += size;
    }
    space->part_offset[left] = (uint32_t)m;
}

static inline void share_scalars(nefk_tile_space *space) {
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        space->part.step[c] = space->all.step[c];
        if (!space->all.step[c]) memcpy(space->part.entries[c], space->all.entries[c], NEFK_BLOCK * sizeof(double));
    }
}

#endif
