#include "nefk_groups.h"

#include <math.h>

#include "nefk_load.h"
#include "nefk_search.h"
#include "nefk_shapes.h"

enum { ROUNDS = 12, MOST_STEPS = 400, SHORT = 24, COLUMNS = 4 };
static const double OWN_TOLERANCE = 2e-13, CAPPED_BY_ROUNDING = 3e-13, SLACK = 5e-13, FAR = 1e300;

/* Columns of items, gathered; a column that is one number for all is a single block of it. */
typedef struct { double entries[COLUMNS][NEFK_TILE]; size_t step[COLUMNS]; } gathered;

struct nefk_tile_space {
    gathered all, part; /* items of the tile, and of the groups that are still searched */
    double price[NEFK_TILE], lower_price[NEFK_TILE], x[NEFK_TILE], d[NEFK_TILE], y[NEFK_TILE], e[NEFK_TILE];
    double low[NEFK_TILE_GROUPS], high[NEFK_TILE_GROUPS], share[NEFK_TILE_GROUPS], mark[NEFK_TILE_GROUPS];
    double total[NEFK_TILE_GROUPS], slope[NEFK_TILE_GROUPS];
    double from[NEFK_TILE_GROUPS], to[NEFK_TILE_GROUPS], at[NEFK_TILE_GROUPS], met[NEFK_TILE_GROUPS];
    double target[NEFK_TILE_GROUPS], top[NEFK_TILE_GROUPS], steep[NEFK_TILE_GROUPS];
    double more[NEFK_TILE_GROUPS], less[NEFK_TILE_GROUPS];
    uint32_t offset[NEFK_TILE_GROUPS + 1], part_offset[NEFK_TILE_GROUPS + 1], group[NEFK_TILE_GROUPS];
};

size_t nefk_tile_space_size(void) { return sizeof(nefk_tile_space); }

void nefk_sort_into_groups(const ptrdiff_t *group, size_t start, size_t count, uint32_t *next, uint32_t *order) {
    for (size_t i = 0; i < count; i++) {
        if (i + NEFK_AHEAD < count) __builtin_prefetch(&next[group[i + NEFK_AHEAD] + 1], 1);
        order[next[group[i] + 1]++] = (uint32_t)(start + i);
    }
}

static nefk_block block_of(const gathered *columns, size_t at) {
    nefk_block items;
    items.parameter = columns->entries[0] + (columns->step[0] ? at : 0);
    items.weight = columns->entries[1] + (columns->step[1] ? at : 0);
    items.lower = columns->entries[2] + (columns->step[2] ? at : 0);
    items.upper = columns->entries[3] + (columns->step[3] ? at : 0);
    return items;
}

/* Gather the tile's items; returns how many. */
static size_t gather(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space) {
    const nefk_problem *problem = all->problem;
    const nefk_column *columns[COLUMNS] = {&problem->parameter, &problem->weight, &problem->lower, &problem->upper};
    size_t start = all->offset[tile.first], m = all->offset[tile.last] - start;
    for (size_t k = 0; k < COLUMNS; k++) {
        double *to = space->all.entries[k];
        space->all.step[k] = columns[k]->doubles || columns[k]->singles;
        const double *from = nefk_load(columns[k], problem->order, start, space->all.step[k] ? m : NEFK_BLOCK, to);
        if (from != to) memcpy(to, from, m * sizeof *to);
    }
    for (size_t g = tile.first; g <= tile.last; g++) space->offset[g - tile.first] = all->offset[g] - (uint32_t)start;
    return m;
}

static void spread(size_t groups, const uint32_t *offset, const double *value, double *to) {
    for (size_t g = 0; g < groups; g++)
        for (size_t i = offset[g]; i < offset[g + 1]; i++) to[i] = value[g];
}

static void fill(size_t m, double value, double *to) {
    for (size_t i = 0; i < m; i++) to[i] = value;
}

/* Amounts and slopes of m gathered items at their prices. */
static void respond(const nefk_problem *problem, const gathered *columns, size_t m, const double *price,
                    double *x, double *d) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        use->respond(problem->shape, count, block_of(columns, at), price + at, problem->ceiling, x + at, d + at);
    }
}

static double sum_of(const nefk_instructions *use, const double *x, size_t m) {
    if (m < SHORT) {
        double sum = 0.0;
        for (size_t i = 0; i < m; i++) sum += x[i];
        return sum;
    }
    double high = 0.0, low = 0.0;
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        nefk_add(&high, &low, use->sum(m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, x + at));
    return high + low;
}

static void sum_groups(size_t groups, const uint32_t *offset, const double *x, double *sum) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t g = 0; g < groups; g++) sum[g] = sum_of(use, x + offset[g], offset[g + 1] - offset[g]);
}

/* Totals and slopes at once: the ends of short groups are what a processor guesses wrong. */
static void sum_both(size_t groups, const uint32_t *offset, const double *x, const double *d, double *total,
                     double *slope) {
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t g = 0; g < groups; g++) {
        size_t start = offset[g], m = offset[g + 1] - start;
        double sum = 0.0, fall = 0.0;
        for (size_t i = start; i < start + m && m < SHORT; i++) {
            sum += x[i];
            fall += d[i];
        }
        total[g] = m < SHORT ? sum : sum_of(use, x + start, m);
        slope[g] = m < SHORT ? fall : sum_of(use, d + start, m);
    }
}

void nefk_tile_bounds(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *lower, double *upper) {
    gather(all, tile, space);
    double *sums[2] = {lower + tile.first, upper + tile.first};
    for (size_t k = 0; k < 2; k++) {
        double *column = space->all.entries[2 + k];
        if (!space->all.step[2 + k]) fill(NEFK_TILE, column[0], column);
        sum_groups(tile.last - tile.first, space->offset, column, sums[k]);
    }
}

void nefk_tile_respond(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double price,
                       double *total, double *slope) {
    size_t m = gather(all, tile, space), groups = tile.last - tile.first;
    fill(m, price, space->price);
    respond(all->problem, &space->all, m, space->price, space->x, space->d);
    sum_both(groups, space->offset, space->x, space->d, total + tile.first, slope + tile.first);
}

/* Copy the items of `groups` chosen groups, whose items lie at `offset` in `from`, to the front of space->part. */
static size_t choose(const gathered *from, const uint32_t *offset, size_t groups, const uint32_t *which,
                     nefk_tile_space *space) {
    size_t m = 0;
    gathered *to = &space->part;
    for (size_t k = 0; k < groups; k++) {
        size_t start = offset[which[k]], count = offset[which[k] + 1] - start;
        for (size_t c = 0; c < COLUMNS; c++)
            if (from->step[c])
                for (size_t i = 0; i < count; i++) to->entries[c][m + i] = from->entries[c][start + i];
        space->part_offset[k] = (uint32_t)m;
        m += count;
    }
    space->part_offset[groups] = (uint32_t)m;
    return m;
}

static void share_scalars(nefk_tile_space *space) {
    for (size_t c = 0; c < COLUMNS; c++) {
        space->part.step[c] = space->all.step[c];
        if (!space->all.step[c]) memcpy(space->part.entries[c], space->all.entries[c], NEFK_BLOCK * sizeof(double));
    }
}

/* Chosen groups and their items, by local number in space->group. */
static size_t choose_uncapped(const nefk_grouped *all, nefk_tile tile, const int8_t *capped, nefk_tile_space *space,
                              size_t *items) {
    size_t groups = 0;
    gather(all, tile, space);
    for (size_t g = tile.first; g < tile.last; g++)
        if (capped[g] != 1) space->group[groups++] = (uint32_t)(g - tile.first);
    share_scalars(space);
    *items = choose(&space->all, space->offset, groups, space->group, space);
    return groups;
}

/* Sum the smooth items of one group, list the others. */
static size_t narrow_group(const nefk_tile_space *space, size_t start, size_t stop, double width, double tolerance,
                           uint32_t position, uint32_t *rough, double sums[4]) {
    size_t count = 0;
    for (size_t i = start; i < stop; i++) {
        double more = space->x[i], less = space->y[i], straight = 0.5 * width * (space->d[i] + space->e[i]);
        int smooth = fabs((more - less) - straight) <= tolerance * more;
        rough[count] = position + (uint32_t)(i - start);
        count += !smooth;
        sums[0] += smooth ? more : 0.0;
        sums[1] += smooth ? space->d[i] : 0.0;
        sums[2] += smooth ? less : 0.0;
        sums[3] += smooth ? space->e[i] : 0.0;
    }
    return count;
}

size_t nefk_tile_narrow(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double low, double high,
                        double width, double tolerance, int8_t *capped, uint32_t *rough,
                        nefk_response *at_low, nefk_response *at_high) {
    size_t items, count = 0, groups = choose_uncapped(all, tile, capped, space, &items);
    nefk_response a = {{0, 0}, {0, 0}}, b = {{0, 0}, {0, 0}};
    fill(items, low, space->price);
    respond(all->problem, &space->part, items, space->price, space->x, space->d);
    fill(items, high, space->price);
    respond(all->problem, &space->part, items, space->price, space->y, space->e);
    sum_groups(groups, space->part_offset, space->x, space->low);
    sum_groups(groups, space->part_offset, space->y, space->high);
    for (size_t k = 0; k < groups; k++) {
        size_t g = tile.first + space->group[k];
        double sums[4] = {0, 0, 0, 0}, cap = all->cap[g];
        capped[g] = space->high[k] >= cap ? 1 : (space->low[k] > cap ? 2 : 0);
        if (capped[g]) continue;
        count += narrow_group(space, space->part_offset[k], space->part_offset[k + 1], width, tolerance,
                              all->offset[g], rough + count, sums);
        nefk_add(&a.amount.high, &a.amount.low, sums[0]);
        nefk_add(&a.slope.high, &a.slope.low, sums[1]);
        nefk_add(&b.amount.high, &b.amount.low, sums[2]);
        nefk_add(&b.slope.high, &b.slope.low, sums[3]);
    }
    *at_low = a;
    *at_high = b;
    return count;
}

/* Largest slope (m,) at the lower bounds, of items that can move: by group. */
static void best_slopes(const nefk_problem *problem, const gathered *columns, size_t groups, const uint32_t *offset,
                        int from_zero, nefk_tile_space *space, double *best) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t m = offset[groups];
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        nefk_block items = block_of(columns, at);
        double zero[NEFK_BLOCK] = {0};
        use->worth(problem->shape, count, items, from_zero ? zero : items.lower, space->y + at, space->d + at);
        for (size_t i = 0; i < count; i++)
            if (!from_zero && !(items.lower[i] < items.upper[i])) space->d[at + i] = -INFINITY;
    }
    for (size_t g = 0; g < groups; g++) {
        best[g] = -INFINITY;
        for (size_t i = offset[g]; i < offset[g + 1]; i++) best[g] = space->d[i] > best[g] ? space->d[i] : best[g];
    }
}

/* Total and slope of one group of space->part. */
static double respond_group(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price,
                            double *slope) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t start = space->part_offset[k], m = space->part_offset[k + 1] - start;
    fill(m, price, space->price + start);
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, i = start + at;
        use->respond(problem->shape, count, block_of(&space->part, i), space->price + i, problem->ceiling,
                     space->x + i, space->d + i);
    }
    if (slope) *slope = sum_of(use, space->d + start, m);
    return sum_of(use, space->x + start, m);
}

/* Neighbouring prices of a group, and the share between the totals there that meets the target. */
static void set_prices(nefk_tile_space *space, size_t g, double low, double high, double target, double most,
                       double least) {
    double share = most > least ? (target - least) / (most - least) : 0.0;
    space->low[g] = low;
    space->high[g] = high;
    space->share[g] = share < 0.0 ? 0.0 : (share > 1.0 ? 1.0 : share);
}

/* The search of one group to its very end, wherever the vector rounds left it. Returns totals taken. */
static size_t finish(const nefk_problem *problem, nefk_tile_space *space, size_t k) {
    size_t g = space->group[k], steps = 0;
    nefk_search own = {space->from[k], space->to[k], space->at[k], space->target[k], OWN_TOLERANCE, space->top[k], 0, 0};
    for (; own.state == NEFK_RUNNING && steps < MOST_STEPS; steps++) {
        double slope, total = respond_group(problem, space, k, own.price, &slope);
        nefk_search_update(&own, problem->shape, total, slope);
    }
    space->low[g] = space->high[g] = own.price;
    if (own.state == NEFK_MET) return steps;
    double most = respond_group(problem, space, k, own.low, NULL);
    double least = respond_group(problem, space, k, own.high, NULL);
    set_prices(space, g, own.low, own.high, own.target, most, least);
    return steps + 2;
}

/* Price at which the item activates that has most of its group's slope, by group of space->part; 0 if none has. */
static void find_steep(int shape, size_t groups, nefk_tile_space *space) {
    const gathered *part = &space->part;
    for (size_t k = 0; k < groups; k++) {
        size_t best = space->part_offset[k];
        for (size_t i = best + 1; i < space->part_offset[k + 1]; i++) best = space->d[i] > space->d[best] ? i : best;
        nefk_item item = nefk_item_of(shape, part->entries[0][part->step[0] ? best : 0],
                                      part->entries[1][part->step[1] ? best : 0]);
        space->steep[k] = space->d[best] > 0.5 * space->slope[k] ? item.v / item.p : 0.0;
    }
}

/* Drop the groups whose search has ended; returns how many are left. */
static size_t keep_open(size_t groups, nefk_tile_space *space) {
    uint32_t which[NEFK_TILE_GROUPS];
    size_t left = 0;
    for (size_t k = 0; k < groups; k++) {
        uint32_t g = space->group[k];
        int is_enclosed = space->met[k] == NEFK_ENCLOSED && space->more[k] >= space->less[k]; /* both are known */
        if (is_enclosed) set_prices(space, g, space->from[k], space->to[k], space->target[k], space->more[k], space->less[k]);
        if (space->met[k] == NEFK_MET) space->low[g] = space->high[g] = space->at[k];
        if (is_enclosed || space->met[k] == NEFK_MET) continue;
        space->group[left] = g;
        space->from[left] = space->from[k];
        space->to[left] = space->to[k];
        space->at[left] = space->at[k];
        space->target[left] = space->target[k];
        space->top[left] = space->top[k];
        space->more[left] = space->more[k];
        space->less[left] = space->less[k];
        which[left++] = (uint32_t)k;
    }
    if (left < groups) choose(&space->part, space->part_offset, left, which, space);
    return left;
}

static size_t size_class(const nefk_tile_space *space, size_t k, size_t most) {
    size_t size = space->offset[space->group[k] + 1] - space->offset[space->group[k]];
    return size < most ? size : most;
}

/* Put the groups listed in space->group in order by size, so that the ends of short ones can be guessed. */
static void sort_by_size(size_t groups, nefk_tile_space *space) {
    enum { MOST = 2 * SHORT };
    uint32_t start[MOST + 2] = {0}, sorted[NEFK_TILE_GROUPS];
    double guess[NEFK_TILE_GROUPS];
    for (size_t k = 0; k < groups; k++) start[size_class(space, k, MOST) + 1]++;
    for (size_t c = 0; c <= MOST; c++) start[c + 1] += start[c];
    for (size_t k = 0; k < groups; k++) {
        uint32_t to = start[size_class(space, k, MOST)]++;
        sorted[to] = space->group[k];
        guess[to] = space->at[k];
    }
    memcpy(space->group, sorted, groups * sizeof *sorted);
    memcpy(space->at, guess, groups * sizeof *guess);
}

/* Own prices of the groups listed in space->group, from the guesses in space->at: all at once, the slow ones one by
 * one. Returns items answered. */
static double search_own(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double floor,
                         size_t groups) {
    const nefk_problem *problem = all->problem;
    double answered = 0.0;
    share_scalars(space);
    sort_by_size(groups, space);
    choose(&space->all, space->offset, groups, space->group, space);
    int has_top = problem->shape == NEFK_DETECTION || problem->shape == NEFK_FRESHNESS;
    if (has_top) best_slopes(problem, &space->part, groups, space->part_offset, 1, space, space->top);
    else fill(groups, 1.0, space->top);
    for (size_t k = 0; k < groups; k++) {
        space->from[k] = floor;
        space->more[k] = space->less[k] = NAN;
        space->to[k] = has_top ? nextafter(space->top[k], FAR) : FAR;
        space->target[k] = all->cap[tile.first + space->group[k]];
        if (!(space->at[k] < space->to[k])) space->at[k] = 0.5 * (space->from[k] + space->to[k]);
    }
    for (int round = 0; round < ROUNDS && groups; round++) {
        size_t m = space->part_offset[groups];
        spread(groups, space->part_offset, space->at, space->price);
        respond(problem, &space->part, m, space->price, space->x, space->d);
        sum_both(groups, space->part_offset, space->x, space->d, space->total, space->slope);
        if (has_top) find_steep(problem->shape, groups, space);
        else fill(groups, 0.0, space->steep);
        nefk_rounds at = {space->from, space->to, space->more, space->less, space->at, space->met, space->target,
                          space->top, space->steep, space->total, space->slope};
        nefk_instructions_in_use()->advance(problem->shape, groups, at, OWN_TOLERANCE);
        answered += (double)m;
        groups = keep_open(groups, space);
    }
    for (size_t k = 0; k < groups; k++)
        answered += (double)finish(problem, space, k) * (space->part_offset[k + 1] - space->part_offset[k]);
    return answered;
}

/* Price every group of the tile: the common price, its own, or just beyond its best slope at the lower bounds. */
static double price_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                           double from, double *own) {
    size_t groups = tile.last - tile.first, searched = 0;
    double *floor = space->total, *best = space->slope, *lower = space->all.entries[2];
    fill(groups, 0.0, floor);
    if (space->all.step[2]) sum_groups(groups, space->offset, lower, floor);
    else for (size_t g = 0; g < groups; g++) floor[g] = lower[0] * (space->offset[g + 1] - space->offset[g]);
    int any_tight = 0;
    for (size_t g = 0; g < groups; g++) any_tight |= all->cap[tile.first + g] <= floor[g] * (1.0 + SLACK);
    if (any_tight) best_slopes(all->problem, &space->all, groups, space->offset, 0, space, best);
    for (size_t g = 0; g < groups; g++) {
        double cap = all->cap[tile.first + g], guess = own[tile.first + g];
        space->low[g] = prices.low;
        space->high[g] = prices.high;
        space->share[g] = 0.0;
        if (cap <= floor[g] * (1.0 + SLACK)) {
            own[tile.first + g] = best[g] > prices.high ? best[g] : NAN;
            double beyond = best[g] + 4e-16 * fabs(best[g]);
            if (best[g] > prices.high) space->low[g] = space->high[g] = beyond;
        } else if (!isnan(guess)) {
            space->at[searched] = guess;
            space->group[searched++] = (uint32_t)g;
        }
    }
    if (!searched) return 0.0;
    fill(groups, 0.0, space->mark);
    for (size_t k = 0; k < searched; k++) space->mark[space->group[k]] = 1.0; /* the search shortens the list */
    double answered = search_own(all, tile, space, from, searched);
    for (size_t g = 0; g < groups; g++)
        if (space->mark[g] != 0.0) own[tile.first + g] = space->high[g];
    return answered;
}

/* Where a group's prices differ, blend its amounts at both; where they are the common ones, fill its room alike. */
static void blend_groups(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                         const double *own) {
    size_t groups = 0;
    for (size_t g = 0; g < tile.last - tile.first; g++)
        if (space->low[g] != space->high[g]) space->group[groups++] = (uint32_t)g;
    if (!groups) return;
    share_scalars(space);
    size_t m = choose(&space->all, space->offset, groups, space->group, space);
    for (size_t k = 0; k < groups; k++) space->at[k] = space->low[space->group[k]];
    spread(groups, space->part_offset, space->at, space->lower_price);
    respond(all->problem, &space->part, m, space->lower_price, space->y, space->e);
    sum_groups(groups, space->part_offset, space->y, space->slope);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k], start = space->offset[g], from = space->part_offset[k];
        double more = space->slope[k], less = space->total[g], cap = all->cap[tile.first + g], share = space->share[g];
        if (isnan(own[tile.first + g])) {
            double room = (more < cap ? more : cap) - less;
            share = room > 0.0 ? prices.share * room / (more - less) : 0.0;
        }
        for (size_t i = 0; i < space->part_offset[k + 1] - from; i++) {
            double less_here = space->x[start + i], more_here = space->y[from + i];
            double mixed = less_here + share * (more_here - less_here);
            space->x[start + i] = mixed < more_here ? mixed : more_here;
        }
    }
    sum_groups(tile.last - tile.first, space->offset, space->x, space->total);
}

static void audit_items(const nefk_grouped *all, nefk_tile_space *space, size_t m, nefk_audit *audit) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const nefk_problem *problem = all->problem;
    nefk_audit total = {{0, 0}, {0, 0}, {0, 0}, 0};
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        double bad = use->audit(problem->shape, count, block_of(&space->all, at), space->price + at, space->x + at,
                                space->y + at, space->e + at);
        total.residual = bad <= total.residual ? total.residual : bad; /* a NaN stays */
        nefk_add(&total.amount.high, &total.amount.low, use->sum(count, space->x + at));
        nefk_add(&total.slope.high, &total.slope.low, use->sum(count, space->d + at));
        nefk_add(&total.value.high, &total.value.low, use->sum(count, space->y + at));
    }
    *audit = total;
}

void nefk_tile_settle(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, nefk_prices prices,
                      double floor, double *own, double *doubles, float *singles, int8_t *side, nefk_tile_audit *audit) {
    size_t m = gather(all, tile, space), groups = tile.last - tile.first;
    double answered = price_groups(all, tile, space, prices, floor, own);
    audit->n_passes = m ? answered / (double)m : 0.0;
    audit->over = 0.0;
    audit->n_wrong = 0;
    spread(groups, space->offset, space->high, space->price);
    respond(all->problem, &space->all, m, space->price, space->x, space->d);
    sum_groups(groups, space->offset, space->x, space->total);
    blend_groups(all, tile, space, prices, own);
    for (size_t g = 0; g < groups; g++) {
        double cap = all->cap[tile.first + g], over = space->total[g] - cap, price = own[tile.first + g];
        int capped = !isnan(price);
        if (capped ? price < prices.high : over > CAPPED_BY_ROUNDING * cap) audit->n_wrong++;
        over = (capped ? fabs(over) : over) / cap;
        if (over > audit->over) audit->over = over;
    }
    audit_items(all, space, m, &audit->audit);
    nefk_store(m, all->problem->order, all->offset[tile.first], space->x, space->e, doubles, singles, side);
}
