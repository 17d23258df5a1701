#include "nefk_run.h"

#include "nefk_load.h"
#include "nefk_model.h"
#include "nefk_shapes.h"
#include "nefk_steer.h"

enum { FEWEST = 2048 /* items of which a model costs less than the passes it saves */, FIRST = 3 /* passes before one */ };
enum { MOST_ROUGH = 1024, MOST_MODELS = 3 };
static const double LEAST_HALF = 1e-7, MOST_HALF = 1.2e-2; /* of a model's bracket, in log price */
static const double LEAST_STEP = 1e-10; /* that asks for one: others end a search, or try a start from both sides */
static const double LOOSE = 1e-9; /* tolerance that is met without */

/* Room for a model, how many there were, and the price that the last one left to be tried next, if not NAN. */
typedef struct {
    nefk_model model;
    double items[4 * MOST_ROUGH], answers[4 * MOST_ROUGH], next;
    size_t count;
} modelled;

/* Model n items within `half` of a price; 0 if too many are rough. */
static int model_items(const nefk_problem *problem, size_t n, double price, double half, modelled *now) {
    nefk_buffers space = {.is_filled = 0};
    now->model = nefk_new_model(price, half, now->items, now->answers, MOST_ROUGH);
    for (size_t at = 0; at < n; at += NEFK_BLOCK) {
        size_t m = n - at < NEFK_BLOCK ? n - at : NEFK_BLOCK;
        if (!nefk_add_to_model(problem, m, nefk_load_block(problem, at, m, &space), &now->model)) return 0;
    }
    return 1;
}

static int is_inside(const nefk_search *search, double price) { return price > search->low && price < search->high; }

/* After a total at `tried`, which left the search running with a next price: that, or what a model about it tells. */
static double step_by_model(const nefk_problem *problem, size_t n, double tried, const nefk_search *search, modelled *now) {
    double half = fabs(log(search->price / tried));
    nefk_search found = *search;
    if (is_inside(search, now->next)) return now->next;
    if (now->count == MOST_MODELS || !(half >= LEAST_STEP && half <= MOST_HALF)) return search->price;
    now->count++;
    if (!model_items(problem, n, search->price, half < LEAST_HALF ? LEAST_HALF : half, now)) return search->price;
    nefk_search_model(problem, &now->model, &found);
    if (found.state != NEFK_ENCLOSED) return found.price;
    now->next = found.low;
    return is_inside(search, found.high) ? found.high : found.low;
}

size_t nefk_run_search(const nefk_problem *problem, size_t n, nefk_search *search, size_t most) {
    nefk_trail trail = nefk_new_trail();
    modelled now; /* large: not cleared */
    size_t step = 0;
    now.count = 0, now.next = NAN;
    for (; search->state == NEFK_RUNNING && step + now.count < most; step++) {
        nefk_column price = {0};
        nefk_response out;
        double tried = search->price, total, slope;
        price.scalar = tried;
        nefk_respond_range(problem, &price, 0, n, NULL, &out);
        total = out.amount.high + out.amount.low;
        slope = out.slope.high + out.slope.low;
        nefk_search_update(search, problem->shape, total, slope);
        if (!has_jumps(problem->shape) || search->state != NEFK_RUNNING) continue;
        search->price = nefk_steer(problem, n, &trail, step, tried, total, slope, search);
        if (step >= FIRST && n >= FEWEST && search->tolerance < LOOSE && step + now.count + 2 < most)
            search->price = step_by_model(problem, n, tried, search, &now);
    }
    return step + now.count;
}
