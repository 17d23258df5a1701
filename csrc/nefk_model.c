#include "nefk_model.h"

#include "nefk_load.h"

enum { MOST_STEPS = 80 };
enum { PARAMETER, WEIGHT, LOWER, UPPER };
static const double BENT = 1e-9;

nefk_model nefk_new_model(double price, double half, double *items, double *answers, size_t room) {
    return (nefk_model){price, half, price * exp(-half), price * exp(half), {0},
                        {items, items + room, items + 2 * room, items + 3 * room},
                        answers, answers + room, answers + 2 * room, answers + 3 * room, 0, room};
}

int nefk_add_to_model(const nefk_problem *problem, size_t m, nefk_block items, nefk_model *model) {
    const nefk_instructions *use = nefk_instructions_in_use();
    const double *from[] = {items.parameter, items.weight, items.lower, items.upper};
    double c[NEFK_TERMS][NEFK_BLOCK], is_rough[NEFK_BLOCK];
    uint32_t which[NEFK_BLOCK + 1];
    size_t found = 0;
    use->expand(problem->shape, nefk_has_bounds(problem), m, items, model->middle, model->half, BENT,
                problem->ceiling, c, is_rough);
    for (size_t k = 0; k < NEFK_TERMS; k++) model->term[k] += use->sum(m, c[k]);
    for (size_t i = 0; i < m; i++) { /* no branch */
        which[found] = (uint32_t)i;
        found += is_rough[i] != 0.0;
    }
    if (model->count + found > model->room) return 0;
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < found; i++) model->columns[k][model->count + i] = from[k][which[i]];
    model->count += found;
    return 1;
}

/* Price at which the rough item activates that has the largest slope; `top` if none has any. */
static double start_of(int shape, const nefk_model *model, double top) {
    size_t best = 0;
    for (size_t i = 1; i < model->count; i++) best = model->d[i] > model->d[best] ? i : best;
    if (!model->count || !(model->d[best] > 0.0)) return top;
    nefk_item item = nefk_item_of(shape, model->columns[PARAMETER][best], model->columns[WEIGHT][best]);
    return item.v / item.p;
}

static void respond_rough(const nefk_problem *problem, const nefk_model *model, double price) {
    double *const *columns = model->columns;
    nefk_fill(model->count, price, model->price);
    for (size_t at = 0; at < model->count; at += NEFK_BLOCK) {
        size_t m = model->count - at < NEFK_BLOCK ? model->count - at : NEFK_BLOCK;
        nefk_block items = {columns[PARAMETER] + at, columns[WEIGHT] + at, columns[LOWER] + at, columns[UPPER] + at};
        nefk_instructions_in_use()->respond(problem->shape, m, items, model->price + at, problem->ceiling, model->x + at,
                                            model->d + at, model->c + at);
    }
}

void nefk_search_model(const nefk_problem *problem, const nefk_model *model, nefk_search *search) {
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
        total = c[0] + t * (c[1] + t * (c[2] + t * (c[3] + t * c[4]))) + nefk_sum_all(model->x, model->count);
        slope = -(c[1] + t * (2.0 * c[2] + t * (3.0 * c[3] + t * 4.0 * c[4]))) + nefk_sum_all(model->d, model->count);
        curve = 2.0 * c[2] + t * (6.0 * c[3] + t * 12.0 * c[4]) + (has_top ? nefk_sum_all(model->c, model->count) : 0.0);
        start = has_top ? start_of(problem->shape, model, search->top) : 0.0;
        use->advance(problem->shape, 1, at, 0.5 * search->tolerance, 0.0);
        if (met == NEFK_RUNNING && !(price > low && price < high)) price = nefk_middle(low, high);
    }
    if (met == NEFK_RUNNING || low > model->high * (1.0 - nearly) || high < model->low * (1.0 + nearly)) return;
    if (!(price > search->low && price < search->high)) return;
    search->price = price;
    if (met == NEFK_ENCLOSED && !(low >= search->low && high <= search->high)) return;
    search->state = met;
    if (met == NEFK_ENCLOSED) search->low = low, search->high = high;
}
