#include "nefk_group_search.h"

#include "nefk_group_begin.h"
#include "nefk_group_breaks.h"
#include "nefk_group_corner.h"
#include "nefk_group_starts.h"
#include "nefk_model.h"

enum { ROUNDS = 24, LATE = 3 };
enum { TRUSTED = 5 /* rounds of Halley's method before it is looked at whether it creeps */, MOST_STEPS = 1000 };
enum { MANY = 128 /* items of a group for which a model pays */ };
enum { MOST_ROUGH = 2048, FEW_ROUGH = 4 /* one in so many of its items may be rough */ };
static const double SURELY = 4.0 * NEFK_ROUGH; /* relative gap of a rough total that is surely one */
static const double NEARBY = 0.12; /* log price of a step that ends near the answer */
static const double MUCH_NEARER = 0.2; /* of a bracket: the next model that is tried, after one of too many items */
static const double LEAST_HALF = 1e-6, MOST_HALF = 1e-2; /* of a model's bracket, in log price */

void nefk_best_slopes(const nefk_problem *problem, size_t groups, const uint32_t *which, nefk_tile_space *space,
                      double *best) {
    const nefk_instructions *use = nefk_instructions_in_use();
    share_scalars(space);
    size_t m = choose(groups, which, space);
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        nefk_block items = block_of(&space->part, at);
        use->worth(problem->shape, count, items, items.lower, space->y + at, space->d + at);
        for (size_t i = 0; i < count; i++)
            if (!(items.lower[i] < items.upper[i])) space->d[at + i] = -INFINITY;
    }
    for (size_t k = 0; k < groups; k++) {
        best[k] = -INFINITY;
        for (size_t i = space->part_offset[k]; i < space->part_offset[k + 1]; i++)
            best[k] = space->d[i] > best[k] ? space->d[i] : best[k];
    }
}

/* Total and slope of one group of space->part. */
static double respond_group(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price,
                            double *slope) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t start = space->part_offset[k], m = space->part_offset[k + 1] - start;
    nefk_fill(m, price, space->price + start);
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, i = start + at;
        use->respond(problem->shape, count, block_of(&space->part, i), space->price + i, problem->ceiling,
                     space->x + i, space->d + i, NULL);
    }
    if (slope) *slope = sum_of(use, space->d + start, m);
    return sum_of(use, space->x + start, m);
}

/* The same in single precision, as far as that can do it and tells on which side of the target the total is: else 0. */
static int respond_group_roughly(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price,
                                 double *total, double *slope) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t start = space->part_offset[k], m = space->part_offset[k + 1] - start;
    if (!has_jumps(problem->shape) || !(price > 0.0)) return 0;
    for (size_t at = start; at < start + m; at += NEFK_BLOCK) {
        size_t count = start + m - at < NEFK_BLOCK ? start + m - at : NEFK_BLOCK;
        if (!use->respond_roughly(problem->shape, nefk_has_bounds(problem), count, block_of(&space->part, at), price,
                                  space->x + at, space->d + at)) return 0;
    }
    *total = sum_of(use, space->x + start, m);
    *slope = sum_of(use, space->d + start, m);
    return fabs(*total - space->target[k]) > SURELY * *total;
}

/* Model group k of space->part within `half` of a price, in log price; 0 if too many items are rough. Uses space->y and
 * space->e up. O(items). */
static int model_group(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price, double half,
                       nefk_model *model) {
    size_t start = space->part_offset[k], end = space->part_offset[k + 1];
    *model = nefk_new_model(price, half, space->y, space->e, MOST_ROUGH);
    for (size_t at = start; at < end; at += NEFK_BLOCK)
        if (!nefk_add_to_model(problem, end - at < NEFK_BLOCK ? end - at : NEFK_BLOCK, block_of(&space->part, at), model))
            return 0;
    return model->count * FEW_ROUGH <= end - start;
}

/* After a step from `before`: end the search of group k by a model about the next price, if that is no further than
 * `widest`, in log price, which becomes less where too many items bend for one. Returns totals taken. */
static double narrow(const nefk_problem *problem, nefk_tile_space *space, size_t k, double before, double *widest,
                     nefk_search *search) {
    nefk_model model;
    nefk_search found = *search;
    double half = fabs(log(search->price / before));
    if (!(half <= *widest)) return 0.0;
    half = half < LEAST_HALF ? LEAST_HALF : (half > MOST_HALF ? MOST_HALF : half);
    if (!model_group(problem, space, k, search->price, half, &model)) {
        *widest = MUCH_NEARER * half;
        return 1.0;
    }
    nefk_search_model(problem, &model, &found);
    if (found.state == NEFK_ENCLOSED) { /* by a model, which a jump of a total is larger than, perhaps */
        if (respond_group(problem, space, k, found.low, NULL) < found.target
            || respond_group(problem, space, k, found.high, NULL) > found.target) return 3.0;
    }
    *search = found;
    return 1.0;
}

/* After a total and its slope at `tried`, which left the search of group k between low and high with a next price: that,
 * or another one where Newton's creeps. Halley's, which goes by the next start, does not once no start is left. */
static double steer(const nefk_problem *problem, nefk_tile_space *space, size_t k, size_t step, int is_halley,
                    double tried, double total, double slope, double low, double high, double next) {
    nefk_trail *trail = &space->trail[k];
    double target = space->target[k], other = nefk_follow_trail(trail, tried, total, target, low, high);
    size_t first = space->part_offset[k];
    int is_held = total > target && !(slope > 0.0); /* by bounds: nothing moves up to where an item leaves its */
    if (is_halley && step < TRUSTED && !is_held) return next;
    if (nefk_is_stuck(trail, step)) return low > 0.0 ? nefk_middle(low, high) : next;
    if ((step < NEFK_TO_STARTS || !nefk_is_between(trail)) && !is_held) return other > low ? other : next;
    nefk_starts look = nefk_look_at_starts(low, high, other > low ? other : next);
    nefk_take_starts(&look, first, space->part_offset[k + 1] - first, space->starts + first);
    if (is_halley && !look.count && look.next != tried && !is_held) return next;
    if (look.above == NEFK_NO_ITEM) return look.nearest;
    return nefk_step_to_start(problem, &look, block_of(&space->part, look.above), tried, total, slope, target);
}

/* Whether items that start below a price take nothing there, and are not looked at. */
static int may_drop(const nefk_tile_space *space, double price) {
    return !space->part.step[2] && !(space->part.entries[2][0] > 0.0) && price > 0.0;
}

/* Move those of items [first, end) of space->part that start above a price to `at`, and on; returns where they end. */
static size_t keep_above(nefk_tile_space *space, size_t first, size_t end, double price, size_t at) {
    for (size_t i = first; i < end; i++) { /* no branch */
        for (size_t c = 0; c < NEFK_COLUMNS; c++)
            if (space->part.step[c]) space->part.entries[c][at] = space->part.entries[c][i];
        space->starts[at] = space->starts[i];
        at += space->starts[at] > price;
    }
    return at;
}

/* Drop items of the groups in space->part that take nothing above the floor, as they have no lower bounds and start
 * below. */
static void drop_idle(nefk_tile_space *space, size_t groups, double floor) {
    if (!may_drop(space, floor)) return;
    size_t m = 0;
    for (size_t k = 0, i = 0; k < groups; k++) {
        size_t end = space->part_offset[k + 1];
        space->part_offset[k] = (uint32_t)m;
        m = keep_above(space, i, end, floor, m);
        i = end;
    }
    space->part_offset[groups] = (uint32_t)m;
}

/* The search of one group to its very end, wherever the vector rounds left it; with `near` a large group's by a
 * model, which is not tried. Returns items answered. */
static double finish(const nefk_problem *problem, nefk_tile_space *space, size_t k, double near) {
    int linear = problem->shape == NEFK_QUADRATIC || problem->shape == NEFK_LOG_EXPONENTIAL;
    uint32_t first = space->part_offset[k], end = space->part_offset[k + 1]; /* less, while some are dropped */
    int is_many = near > 0.0 && !linear && end - first >= MANY, drops = is_many && has_starts(problem->shape);
    double answered = 0.0, widest = NEARBY;
    nefk_search own = {space->from[k],  space->to[k],  space->at[k], space->target[k],
                       NEFK_OWN_TOLERANCE, space->top[k], 0,            0};
    for (int step = 0; own.state == NEFK_RUNNING && step < MOST_STEPS; step++) {
        double slope, total, before = own.price;
        if (!is_many || !respond_group_roughly(problem, space, k, before, &total, &slope))
            total = respond_group(problem, space, k, before, &slope);
        nefk_search_update(&own, problem->shape, total, slope);
        answered += space->part_offset[k + 1] - first;
        if (own.state == NEFK_RUNNING && has_jumps(problem->shape))
            own.price = steer(problem, space, k, (size_t)step, 0, before, total, slope, own.low, own.high, own.price);
        if (drops && own.low >= before && may_drop(space, before))
            space->part_offset[k + 1] = (uint32_t)keep_above(space, first, space->part_offset[k + 1], before, first);
        if (is_many && own.state == NEFK_RUNNING)
            answered += narrow(problem, space, k, before, &widest, &own) * (space->part_offset[k + 1] - first);
    }
    space->at[k] = own.price;
    space->from[k] = own.low, space->to[k] = own.high;
    space->more[k] = space->less[k] = own.target; /* at any rate, between */
    space->met[k] = own.state == NEFK_MET ? NEFK_MET : NEFK_ENCLOSED;
    space->part_offset[k + 1] = end;
    return answered;
}

/* Drop the groups whose search has ended; returns how many are left. */
static size_t keep_open(size_t groups, nefk_tile_space *space) {
    uint32_t which[NEFK_TILE_GROUPS];
    size_t left = 0;
    for (size_t k = 0; k < groups; k++) {
        uint32_t g = space->group[k];
        int is_enclosed = space->met[k] == NEFK_ENCLOSED && space->more[k] >= space->less[k]; /* both are known */
        if (is_enclosed) space->low[g] = space->from[k], space->high[g] = space->to[k];
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
        space->trail[left] = space->trail[k];
        space->reach[left] = space->reach[k];
        space->met[left] = NEFK_RUNNING;
        which[left++] = (uint32_t)k;
    }
    if (left < groups) keep_chosen(left, which, space, space->starts);
    return left;
}

static double sum_lower(const nefk_tile_space *space, size_t k) {
    size_t start = space->part_offset[k], m = space->part_offset[k + 1] - start;
    const double *lower = space->part.entries[2];
    return space->part.step[2] ? sum_of(nefk_instructions_in_use(), lower + start, m) : (double)m * lower[0];
}

/* Brackets of the groups of space->part about the guesses in space->at, to which small groups may have been led. */
static void start_searches(const nefk_grouped *all, nefk_tile_space *space, double floor, int are_led, size_t groups) {
    int shape = all->problem->shape, has_top = has_starts(shape);
    uint32_t as_one[NEFK_TILE_GROUPS];
    size_t n = 0;
    nefk_fill(groups, 0.0, space->start);
    for (size_t k = 0; k < groups; k++) {
        int is_known = has_top && space->top[k] > NEFK_NIGH && space->top[k] < NEFK_FAR; /* above nothing is taken */
        space->from[k] = floor;
        space->more[k] = NAN;
        space->less[k] = is_known ? sum_lower(space, k) : NAN;
        space->to[k] = is_known ? space->top[k] : (has_top ? nextafter(space->top[k], NEFK_FAR) : NEFK_FAR);
        space->target[k] = space->cap[space->group[k]];
        space->met[k] = NEFK_RUNNING;
        space->trail[k] = nefk_new_trail();
        int is_led = are_led && size_of(space, space->group[k]) <= MANY, is_idle = space->top[k] <= floor;
        if (has_jumps(shape) && is_idle) { /* takes nothing above the floor */
            space->at[k] = floor;
            space->met[k] = NEFK_MET;
        }
        as_one[n] = (uint32_t)k;
        n += has_jumps(shape) && is_known && !is_led && !is_idle;
    }
    nefk_begin_as_one(all->problem, space, n, as_one, floor);
    for (size_t k = 0; k < groups; k++)
        if (!(space->at[k] < space->to[k])) space->at[k] = 0.5 * (space->from[k] + space->to[k]);
}

double nefk_search_own(const nefk_grouped *all, nefk_tile_space *space, double floor, size_t groups, int tries_all,
                       const double *reach) {
    const nefk_problem *problem = all->problem;
    int has_top = has_starts(problem->shape), halley = has_jumps(problem->shape);
    int is_quadratic = problem->shape == NEFK_QUADRATIC;
    double answered = 0.0, near = tries_all ? 0.0 : (halley ? NEFK_NEAR_CUBED : NEFK_NEAR_SQUARED);
    uint32_t aim[NEFK_TILE_GROUPS];
    double tried[NEFK_TILE_GROUPS];
    share_scalars(space);
    choose(groups, space->group, space);
    nefk_fill(groups, 1.0, space->top);
    if (has_top) find_starts(problem->shape, space->part_offset[groups], &space->part, space->starts);
    for (size_t k = 0; k < groups && has_top; k++) {
        size_t first = space->part_offset[k];
        space->top[k] = largest(space->starts + first, space->part_offset[k + 1] - first);
    }
    for (size_t k = 0; k < groups; k++) space->reach[k] = reach ? reach[k] : NEFK_AIM;
    if (has_top) drop_idle(space, groups, floor);
    start_searches(all, space, floor, tries_all || reach, groups);
    groups = keep_open(groups, space);
    for (size_t k = 0; k < groups && near > 0.0 && !is_quadratic; k++)
        if (space->part_offset[k + 1] - space->part_offset[k] >= MANY) answered += finish(problem, space, k, near);
    groups = keep_open(groups, space);
    if (halley) nefk_aim_at_starts(space, groups, reach != NULL, aim);
    for (int round = 0; round < ROUNDS && groups; round++) {
        if (is_quadratic && round == 0) { /* those that are small were searched before: see nefk_group_rows.h */
            answered += nefk_cross_groups(problem, space, groups);
            groups = keep_open(groups, space);
            if (!groups) break;
        }
        size_t m = space->part_offset[groups];
        spread(groups, space->part_offset, space->at, space->price);
        respond(problem, &space->part, 0, m, space->price, space->x, space->d, space->y);
        if (halley) sum_chosen_and_find_start(groups, round >= LATE, space);
        else sum_both(groups, space->part_offset, space->x, space->d, space->total, space->slope);
        nefk_rounds at = {space->from, space->to, space->more, space->less, space->at, space->met, space->target,
                          space->top, space->start, space->total, space->slope, space->curve};
        if (halley) memcpy(tried, space->at, groups * sizeof *tried);
        nefk_instructions_in_use()->advance(problem->shape, groups, at, NEFK_OWN_TOLERANCE, near);
        for (size_t k = 0; k < groups && halley; k++)
            if (space->met[k] == NEFK_RUNNING)
                space->at[k] = steer(problem, space, k, (size_t)round, 1, tried[k], space->total[k], space->slope[k],
                                     space->from[k], space->to[k], space->at[k]);
        if (halley && round == 0) nefk_enclose_corners(problem, space, groups, aim);
        answered += (double)m;
        groups = keep_open(groups, space);
    }
    for (size_t k = 0; k < groups; k++) answered += finish(problem, space, k, near);
    keep_open(groups, space);
    return answered;
}
