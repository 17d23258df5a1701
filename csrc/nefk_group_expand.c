/* The pass that expands what items take about a price: see nefk_tile_expand in nefk_groups.h. */
#include "nefk_by_group.h"
#include "nefk_series.h"
#include "nefk_gather.h"

/* Items of group g of a tile start there, from its first one on; those of the last end where it does. */
static inline uint32_t start_of(const nefk_grouped *all, nefk_tile tile, size_t g) {
    return tile.first + g < tile.last ? all->start[tile.first + g] : (uint32_t)(tile.end - tile.begin);
}

enum { WRITTEN = 4 /* entries, whatever the size of a group */ };
_Static_assert((int)WRITTEN <= (int)NEFK_TILE, "space->order has room for more than the items of a tile");

/* List the items of a group that lie side by side, `at` from the tile's begin on. Where short groups end is what a
 * processor guesses wrong: so many entries are always written, of which others may be written over. */
static inline void list_group(const nefk_grouped *all, nefk_tile tile, uint32_t at, uint32_t size, uint32_t *to) {
    const uint32_t *order = all->problem->order;
    size_t first = tile.begin + at, last = tile.end - 1;
    if (tile.end == tile.begin) return;
    for (size_t j = 0; j < WRITTEN; j++) {
        size_t i = first + j < last ? first + j : last;
        to[j] = order ? order[i] : (uint32_t)i;
    }
    for (size_t j = WRITTEN; j < size; j++) to[j] = order ? order[first + j] : (uint32_t)(first + j);
}

/* Where the items of listed groups of a tile are, one group after the other: into space->order, with offset
 * (groups + 1,), of `others` listed behind NEFK_TILE entries if items lie by member.
 * Returns how many. */
static size_t list_items(const nefk_grouped *all, nefk_tile tile, size_t groups, const uint32_t *which, size_t others,
                         uint32_t *offset, nefk_tile_space *space) {
    const uint32_t *other = space->order + NEFK_TILE;
    uint32_t m = 0, next[NEFK_TILE_GROUPS];
    for (size_t k = 0; k < groups; k++) {
        offset[k] = next[which[k]] = m;
        m += start_of(all, tile, which[k] + 1) - start_of(all, tile, which[k]);
    }
    offset[groups] = m;
    if (all->member) {
        for (size_t k = 0; k < others; k++) space->order[next[all->member[other[k]]]++] = other[k];
        return m;
    }
    for (size_t k = 0; k < groups; k++)
        list_group(all, tile, start_of(all, tile, which[k]), offset[k + 1] - offset[k], &space->order[offset[k]]);
    return m;
}

/* Whether so many of a tile's groups are loose that it pays to list their items. */
static int has_many_loose(nefk_tile tile, const int8_t *marks) {
    enum { FEW = 8 };
    size_t loose = 0;
    for (size_t g = tile.first; g < tile.last; g++) loose += marks[g] == NEFK_LOOSE;
    return FEW * loose > tile.last - tile.first;
}

/* What is listed of a tile's items: those of loose groups in space->order, in the order of the columns, and if items lie
 * by member those of groups that are neither loose nor capped, behind NEFK_TILE entries. */
typedef struct { size_t loose, others; } listed;

/* List those among the items [from, to) of a tile that lie by member. */
static inline listed list_by_mark(const nefk_grouped *all, nefk_tile tile, size_t from, size_t to, const int8_t *marks,
                                  nefk_tile_space *space, listed so_far) {
    const int8_t *of_group = marks + tile.first;
    uint32_t *loose = space->order, *other = space->order + NEFK_TILE;
    enum { LINE = 8, AHEAD = NEFK_BLOCK };
    for (size_t at = from; at < to; at += LINE) {
        size_t stop = to - at < LINE ? to : at + LINE;
        nefk_ask_column(&all->problem->parameter, at + AHEAD, LINE);
        nefk_ask_column(&all->problem->weight, at + AHEAD, LINE);
        for (size_t i = at; i < stop; i++) {
            int8_t mark = of_group[all->member[i]];
            loose[so_far.loose] = other[so_far.others] = (uint32_t)i;
            so_far.loose += mark == NEFK_LOOSE;
            so_far.others += (mark != NEFK_LOOSE) & (mark != NEFK_CAPPED);
        }
    }
    return so_far;
}

/* The series of the loose items [from, to) that are listed, and the entries of those that are rough, of which there are
 * `count` before. Returns how many there are. */
static size_t expand_listed(const nefk_grouped *all, const nefk_tile_space *space, size_t from, size_t to, double price,
                            double half, double tolerance, uint32_t *rough, size_t count, nefk_series_sum *sums) {
    nefk_problem loose = *all->problem;
    nefk_series_sum part;
    ptrdiff_t found[NEFK_BLOCK + 1];
    loose.order = space->order;
    size_t n = nefk_expand_range(&loose, price, half, tolerance, from, to, found, NEFK_BLOCK, &part);
    for (size_t k = 0; k < n; k++) rough[count++] = space->order[found[k]];
    for (size_t t = 0; t < NEFK_TERMS; t++) {
        nefk_add(&sums->term[t].high, &sums->term[t].low, part.term[t].high);
        sums->term[t].low += part.term[t].low;
    }
    return count;
}

/* List the items of a tile's loose groups, which lie side by side. Returns how many. */
static size_t list_loose(const nefk_grouped *all, nefk_tile tile, const int8_t *marks, nefk_tile_space *space) {
    size_t m = 0;
    for (size_t g = tile.first; g < tile.last; g++) {
        uint32_t at = all->start[g], size = start_of(all, tile, g - tile.first + 1) - at;
        list_group(all, tile, at, size, &space->order[m]);
        m += marks[g] == NEFK_LOOSE ? size : 0;
    }
    return m;
}

/* Sum the series of the items of a tile's loose groups, which need no totals of their own; lists the entries of those
 * that are rough, and returns how many. Where items lie by member, block by block as they are listed, while they are in
 * the cache. */
static size_t expand_loose(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price, double half,
                           double tolerance, const int8_t *marks, uint32_t *rough, size_t *others,
                           nefk_series_sum *sums) {
    size_t count = 0, done = 0;
    listed now = {0, 0};
    if (!all->member) now.loose = list_loose(all, tile, marks, space);
    else for (size_t at = tile.begin; at < tile.end; at += NEFK_BLOCK) {
        size_t stop = tile.end - at < NEFK_BLOCK ? tile.end : at + NEFK_BLOCK;
        now = list_by_mark(all, tile, at, stop, marks, space, now);
        for (; now.loose - done >= NEFK_BLOCK; done += NEFK_BLOCK)
            count = expand_listed(all, space, done, done + NEFK_BLOCK, price, half, tolerance, rough, count, sums);
    }
    for (size_t stop; done < now.loose; done = stop) {
        stop = now.loose - done < NEFK_BLOCK ? now.loose : done + NEFK_BLOCK;
        count = expand_listed(all, space, done, stop, price, half, tolerance, rough, count, sums);
    }
    *others = now.others;
    return count;
}

/* List the items of a tile's groups that are not capped, behind NEFK_TILE entries, if they lie by member; columns are not
 * asked for, as few are read. Returns how many. */
static size_t list_not_capped(const nefk_grouped *all, nefk_tile tile, const int8_t *marks, nefk_tile_space *space) {
    uint32_t *other = space->order + NEFK_TILE;
    size_t n = 0;
    if (!all->member) return 0;
    for (size_t i = tile.begin; i < tile.end; i++) {
        other[n] = (uint32_t)i;
        n += marks[tile.first + all->member[i]] != NEFK_CAPPED;
    }
    return n;
}

/* Groups that are not capped, nor `without`, by local number in space->group, and their items in space->part; `others`
 * as `list_items` has them. */
static size_t choose_others(const nefk_grouped *all, nefk_tile tile, const int8_t *marks, int8_t without,
                            size_t others, nefk_tile_space *space) {
    size_t groups = 0;
    for (size_t g = tile.first; g < tile.last; g++) {
        space->group[groups] = (uint32_t)(g - tile.first);
        groups += (marks[g] != NEFK_CAPPED) & (marks[g] != without);
    }
    size_t m = list_items(all, tile, groups, space->group, others, space->part_offset, space);
    gather_listed(all->problem, m, space, &space->part);
    for (size_t c = 0; c < NEFK_COLUMNS; c++) {
        space->all.step[c] = space->part.step[c];
        if (!space->part.step[c]) memcpy(space->all.entries[c], space->part.entries[c], NEFK_BLOCK * sizeof(double));
    }
    return groups;
}

/* Sums of all terms by group at once: the ends of short groups are what a processor guesses wrong. */
static void sum_terms(size_t groups, const uint32_t *offset, double *const *terms, double *const *sums) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t g = 0; g < groups; g++) {
        size_t start = offset[g], m = offset[g + 1] - start;
        double sum[NEFK_TERMS] = {0};
        for (size_t i = start; i < start + m && m < NEFK_SHORT; i++)
            for (size_t t = 0; t < NEFK_TERMS; t++) sum[t] += terms[t][i];
        for (size_t t = 0; t < NEFK_TERMS; t++) sums[t][g] = m < NEFK_SHORT ? sum[t] : sum_of(use, terms[t] + start, m);
    }
}

/* Series of the chosen items: terms into five arrays of the space, summed by group into five others. The part indices
 * of rough items go into `rough`; returns how many. */
static size_t expand_part(const nefk_problem *problem, nefk_tile_space *space, size_t groups, double price,
                          double half, double tolerance, uint32_t *rough) {
    const nefk_instructions *use = nefk_instructions_in_use();
    double *terms[NEFK_TERMS] = {space->x, space->d, space->y, space->e, space->price};
    double *sums[NEFK_TERMS] = {space->from, space->to, space->at, space->met, space->target};
    double c[NEFK_TERMS][NEFK_BLOCK], is_rough[NEFK_BLOCK];
    size_t count = 0, items = space->part_offset[groups];
    for (size_t at = 0; at < items; at += NEFK_BLOCK) {
        size_t m = items - at < NEFK_BLOCK ? items - at : NEFK_BLOCK;
        use->expand(problem->shape, nefk_has_bounds(problem), m, block_of(&space->part, at), price, half, tolerance,
                    problem->ceiling, c, is_rough);
        for (size_t k = 0; k < NEFK_TERMS; k++) memcpy(terms[k] + at, c[k], m * sizeof **c);
        for (size_t i = 0; i < m; i++) {
            rough[count] = (uint32_t)(at + i);
            count += is_rough[i] != 0.0;
        }
    }
    sum_terms(groups, space->part_offset, terms, sums);
    return count;
}

/* Totals (groups,) of the chosen groups at both ends of the bracket; rough items are answered there. */
static void total_at_ends(const nefk_problem *problem, nefk_tile_space *space, size_t groups, double price,
                          double half, const uint32_t *rough, size_t count) {
    int linear = problem->shape == NEFK_QUADRATIC || problem->shape == NEFK_LOG_EXPONENTIAL;
    double low = linear ? price - half : price * exp(-half), high = linear ? price + half : price * exp(half);
    for (size_t c = 0; c < NEFK_COLUMNS; c++)
        for (size_t i = 0; i < count && space->all.step[c]; i++)
            space->all.entries[c][i] = space->part.entries[c][rough[i]];
    nefk_fill(count, low, space->price);
    respond(problem, &space->all, 0, count, space->price, space->x, space->d, NULL);
    nefk_fill(count, high, space->price);
    respond(problem, &space->all, 0, count, space->price, space->y, space->e, NULL);
    for (size_t k = 0, at = 0; k < groups; k++) {
        double even = space->from[k] + half * half * (space->at[k] + half * half * space->target[k]);
        double odd = half * (space->to[k] + half * half * space->met[k]);
        space->low[k] = even - odd;
        space->high[k] = even + odd;
        for (; at < count && rough[at] < space->part_offset[k + 1]; at++) {
            space->low[k] += space->x[at];
            space->high[k] += space->y[at];
        }
    }
}

size_t nefk_tile_expand(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price, double half,
                        double tolerance, int8_t *marks, uint32_t *rough, uint32_t *passing, size_t *opened,
                        nefk_series_sum *sums) {
    const double near = 1e-6; /* the totals at the ends are as good as the series */
    const double *terms[NEFK_TERMS] = {space->from, space->to, space->at, space->met, space->target};
    nefk_series_sum total = {{{0, 0}}};
    int many = has_many_loose(tile, marks);
    size_t loose = 0, others = many ? 0 : list_not_capped(all, tile, marks, space);
    if (many) loose = expand_loose(all, tile, space, price, half, tolerance, marks, rough, &others, &total);
    size_t kept = 0, at = 0, groups = choose_others(all, tile, marks, many ? NEFK_LOOSE : NEFK_CAPPED, others, space);
    rough += loose;
    size_t count = expand_part(all->problem, space, groups, price, half, tolerance, rough);
    total_at_ends(all->problem, space, groups, price, half, rough, count);
    for (size_t k = 0; k < groups; k++) {
        size_t g = tile.first + space->group[k];
        double cap = nefk_cap_of(all, g);
        int8_t below = space->low[k] > cap * (1.0 - near) ? NEFK_PASSING : 0;
        marks[g] = space->high[k] >= cap * (1.0 + near) ? NEFK_CAPPED : below;
        for (; at < count && rough[at] < space->part_offset[k + 1]; at++)
            if (!marks[g]) rough[kept++] = space->order[rough[at]];
        for (size_t t = 0; t < NEFK_TERMS && !marks[g]; t++)
            nefk_add(&total.term[t].high, &total.term[t].low, terms[t][k]);
    }
    *opened = 0;
    for (size_t k = 0; k < groups; k++) {
        if (marks[tile.first + space->group[k]] != NEFK_PASSING) continue;
        for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++)
            passing[(*opened)++] = space->order[i];
    }
    *sums = total;
    return loose + kept;
}
