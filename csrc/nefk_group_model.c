#include "nefk_group_model.h"

enum { MOST_ROUGH = 2048, FEW_ROUGH = 4 /* one in so many items may be rough */, MOST_STEPS = 80 };
static const double BENT = 1e-9, TOLERANCE = 1e-14;

int nefk_model_group(const nefk_problem *problem, nefk_tile_space *space, size_t k, double price, double half,
                       nefk_group_model *model) {
    const nefk_instructions *use = nefk_instructions_in_use();
    size_t start = space->part_offset[k], m = space->part_offset[k + 1] - start;
    double c[NEFK_TERMS][NEFK_BLOCK], is_rough[NEFK_BLOCK], *rough[NEFK_COLUMNS];
    uint32_t which[NEFK_BLOCK + 1];
    for (size_t j = 0; j < NEFK_COLUMNS; j++) rough[j] = space->y + j * MOST_ROUGH;
    *model = (nefk_group_model){price, price * exp(-half), price * exp(half), {0}, {rough[0], rough[1], rough[2], rough[3]},
                           space->e, space->e + MOST_ROUGH, space->e + 2 * MOST_ROUGH,
                           space->e + 3 * MOST_ROUGH, 0};
    for (size_t at = 0; at < m; at += NEFK_BLOCK) {
        size_t count = m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK;
        use->expand(problem->shape, nefk_has_bounds(problem), count, block_of(&space->part, start + at), price, half,
                    BENT, problem->ceiling, c, is_rough);
        for (size_t t = 0; t < NEFK_TERMS; t++) model->term[t] += use->sum(count, c[t]);
        size_t found = 0;
        for (size_t i = 0; i < count; i++) {
            which[found] = (uint32_t)(start + at + i);
            found += is_rough[i] != 0.0;
        }
        if (model->count + found > MOST_ROUGH) return 0;
        for (size_t j = 0; j < NEFK_COLUMNS; j++)
            for (size_t i = 0; i < found; i++)
                rough[j][model->count + i] = space->part.entries[j][space->part.step[j] ? which[i] : 0];
        model->count += found;
    }
    return model->count * FEW_ROUGH <= m;
}

/* Price at which the rough item activates that has the largest slope; `top` if none has any. */
static double start_of(int shape, const nefk_group_model *model, double top) {
    size_t best = 0;
    for (size_t i = 1; i < model->count; i++) best = model->d[i] > model->d[best] ? i : best;
    if (!model->count || !(model->d[best] > 0.0)) return top;
    nefk_item item = nefk_item_of(shape, model->rough.parameter[best], model->rough.weight[best]);
    return item.v / item.p;
}

static void respond_rough(const nefk_problem *problem, const nefk_group_model *model, double price) {
    nefk_fill(model->count, price, model->price);
    for (size_t at = 0; at < model->count; at += NEFK_BLOCK) {
        size_t count = model->count - at < NEFK_BLOCK ? model->count - at : NEFK_BLOCK;
        nefk_block items = {model->rough.parameter + at, model->rough.weight + at, model->rough.lower + at,
                            model->rough.upper + at};
        nefk_instructions_in_use()->respond(problem->shape, count, items, model->price + at, problem->ceiling,
                                            model->x + at, model->d + at, model->c + at);
    }
}

void nefk_search_model(const nefk_problem *problem, const nefk_group_model *model, nefk_search *search) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const double *c = model->term, nearly = 1e-9;
    int has_top = problem->shape == NEFK_DETECTION || problem->shape == NEFK_FRESHNESS;
    double low = model->low, high = model->high, more = NAN, less = NAN, price = search->price, met = NEFK_RUNNING;
    double total, slope, curve, start = 0.0;
    nefk_rounds at = {&low, &high, &more, &less, &price, &met, &search->target, &search->top,
                      &start, &total, &slope, &curve};
    for (int step = 0; met == NEFK_RUNNING && step < MOST_STEPS; step++) {
        double t = log1p((price - model->middle) / model->middle);
        respond_rough(problem, model, price);
        total = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * c[4]))) + sum_of(use, model->x, model->count);
        slope = -(c[1] + t * (2.0 * c[2] + t * (3.0 * c[3] + t * 4.0 * c[4]))) + sum_of(use, model->d, model->count);
        curve = 2.0 * c[2] + t * (6.0 * c[3] + t * 12.0 * c[4]) + (has_top ? sum_of(use, model->c, model->count) : 0.0);
        start = has_top ? start_of(problem->shape, model, search->top) : 0.0;
        use->advance(problem->shape, 1, at, TOLERANCE, 0.0);
        if (met == NEFK_RUNNING && !(price > low && price < high)) price = nefk_middle(low, high);
    }
    if (met == NEFK_RUNNING || low > model->high * (1.0 - nearly) || high < model->low * (1.0 + nearly)) return;
    if (!(price > search->low && price < search->high)) return;
    search->price = price;
    if (met == NEFK_ENCLOSED && !(low >= search->low && high <= search->high)) return;
    search->state = met;
    if (met == NEFK_ENCLOSED) search->low = low, search->high = high;
}
