#include "nefk_run.h"

#include "nefk_load.h"
#include "nefk_model.h"
#include "nefk_shapes.h"
#include "nefk_steer.h"

enum { FEWEST = 2048 /* items of which a model costs less than the passes it saves */, FIRST = 3 /* passes before one */ };
enum { MOST_ROUGH = 1024, MOST_MODELS = 3, SETTLING = 4 /* passes after one that Newton's steps lead, if these are short */ };
static const double LEAST_HALF = 1e-7, MOST_HALF = 1.2e-2; /* of a model's bracket, in log price */
static const double SHORT = 1e-10; /* a step that asks for no model: it ends a search, or tries a start from both sides */
static const double LOOSE = 1e-9;  /* tolerance that is met without */

/* How many models there were, passes until Newton's steps lead no more, and a price to be tried next, if not NAN. */
typedef struct {
    size_t count, settling;
    double next;
} progress;

static int is_inside(const nefk_search *search, double price) { return price > search->low && price < search->high; }

/* What a model within `half` of a search's next price tells, in log price; the search stays running where it tells nothing.
 * Not inline: its arrays are large, and few searches come here. */
__attribute__((noinline)) static nefk_search model_items(const nefk_problem *problem, size_t n, double half,
                                                         const nefk_search *search) {
    double items[4 * MOST_ROUGH], answers[4 * MOST_ROUGH];
    nefk_model model = nefk_new_model(search->price, half, items, answers, MOST_ROUGH);
    nefk_buffers space = {.is_filled = 0};
    nefk_search found = *search;
    for (size_t at = 0; at < n; at += NEFK_BLOCK) {
        size_t m = n - at < NEFK_BLOCK ? n - at : NEFK_BLOCK;
        if (!nefk_add_to_model(problem, m, nefk_load_block(problem, at, m, &space), &model)) return found;
    }
    nefk_search_model(problem, &model, &found);
    return found;
}

/* After a total at `tried`, which left the search running with a next price: that, or what a model about it tells. */
static double step_by_model(const nefk_problem *problem, size_t n, double tried, const nefk_search *search, progress *now) {
    double half = fabs(log(search->price / tried));
    if (is_inside(search, now->next)) return now->next;
    if (now->count == MOST_MODELS || !(half >= SHORT && half <= MOST_HALF)) return search->price;
    now->count++;
    nefk_search found = model_items(problem, n, half < LEAST_HALF ? LEAST_HALF : half, search);
    if (found.state == NEFK_RUNNING) return search->price;
    now->settling = SETTLING;
    if (found.state == NEFK_MET) return found.price;
    now->next = found.low;
    return is_inside(search, found.high) ? found.high : found.price; /* which is inside */
}

size_t nefk_run_search(const nefk_problem *problem, size_t n, nefk_search *search, size_t most) {
    nefk_trail trail = nefk_new_trail();
    progress now = {0, 0, NAN};
    size_t step = 0;
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
        if (now.settling && now.settling-- && fabs(search->price - tried) <= SHORT * tried && !is_inside(search, now.next))
            continue; /* that was the answer, but for rounding: lines would lead on to starts */
        search->price = nefk_steer(problem, n, &trail, step, tried, total, slope, search);
        if (step >= FIRST && n >= FEWEST && search->tolerance < LOOSE && step + now.count + 2 < most)
            search->price = step_by_model(problem, n, tried, search, &now);
    }
    return step + now.count;
}
