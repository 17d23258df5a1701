#include "robot_plan.h"

#include <string.h>

enum { WANTED = 1, NO_CURVE = -1 };

/* How many states of a line are up, if they are the leftmost ones; else NO_CURVE. */
static ptrdiff_t curve_height(const uint8_t *action, ptrdiff_t W)
{
    const uint8_t *end = memchr(action, 0, (size_t)W);
    if (!end) return W;
    return memchr(end, 1, (size_t)(W - (end - action))) ? NO_CURVE : end - action;
}

/* Mark the down states that up states enter, and the up states that down states enter, from states [x, stop). */
static void mark_states(ptrdiff_t K, const uint8_t *here, int32_t *mark, ptrdiff_t b, ptrdiff_t x, ptrdiff_t stop)
{
    ptrdiff_t W = K + 1;
    const uint8_t *above = here + W, *below = b > 0 ? here - W : here;
    for (; x < stop; x++) {
        if (here[x]) {
            if (x < K && !here[x + 1]) mark[x + 1] = WANTED;
            if (x > 0 && !above[x - 1] && !here[x - 1]) mark[W + x - 1] = WANTED;
        } else {
            ptrdiff_t right = x < K ? x + 1 : K;
            if (x > 0 && here[x - 1]) mark[x - 1] = WANTED;
            if (b > 0 && below[right]) mark[right - W] = WANTED;
        }
    }
}

/* Number the marks of a line, all in [first, stop): down states among the unknowns, up states among the stored. */
static void number_line(PolicyPlan *plan, ptrdiff_t b, ptrdiff_t K, ptrdiff_t first, ptrdiff_t stop)
{
    const uint8_t *here = plan->action + b * (K + 1);
    int32_t *slot = plan->slot + b * (K + 1);
    PolicyLine *line = plan->lines + b;
    ptrdiff_t up = 0, down = K;
    for (ptrdiff_t x = first; x < stop; x++) {
        if (slot[x] != WANTED) slot[x] = -1;
        else if (here[x]) slot[x] = (int32_t)plan->stores++;
        else slot[x] = (int32_t)plan->unknowns++;
        if (!here[x] && slot[x] >= 0 && b > plan->high) plan->high = b;
    }
    while (up + 1 < K && here[up + 1] && slot[up + 1] < 0) up++;
    while (down > 1 && !here[down - 1] && slot[down - 1] < 0) down--;
    line->up_plain = (int32_t)up;
    line->down_plain = (int32_t)down;
    line->unknowns = (int32_t)plan->unknowns;
}

/* Does the departure from the up state (x, b) lead where its left neighbour is? */
static int in_shared_run(const PolicyPlan *plan, ptrdiff_t x, ptrdiff_t b, ptrdiff_t W)
{
    ptrdiff_t target = (b + 1) * W + x - 1;
    return plan->action[b * W + x] && !plan->action[target] && plan->slot[target] < 0;
}

/* Eliminate the shared runs of a line from left to right: stay = 1 - climb is carried, never subtracted. */
static int factor_line(const RobotModel *model, PolicyPlan *plan, ptrdiff_t b)
{
    ptrdiff_t K = model->buffer, W = K + 1, x = 1;
    const uint8_t *here = plan->action + b * W;
    double *climb = plan->climb + b * W, *inverse = plan->inverse + b * W;
    double a = model->arrive * (double)(b + 1), d = model->depart, stay = 0.0;
    PolicyLine *line = plan->lines + b;
    if (line[1].height != NO_CURVE) x = line[1].height + 1; /* above[x - 1] is up before that */
    if (line->height != NO_CURVE && x >= line->height) x = W;
    while (x <= K && !in_shared_run(plan, x, b, W)) x++;
    line->shared_from = (int32_t)(x > K ? x : x - 1);
    if (x > K) return POLICY_OK;
    if (line->up_plain > x - 2) line->up_plain = (int32_t)(x - 2);
    for (x = x - 1; x <= K; x++) {
        double last = x < K ? a : 0.0;
        inverse[x] = 0.0;
        if (!here[x]) continue;
        if (x == 0) {
            stay = b == plan->top ? 1.0 : 0.0;
            climb[x] = 1.0;
        } else if (in_shared_run(plan, x, b, W)) {
            double pivot = d * stay + last;
            if (!(pivot > 0.0)) return POLICY_SINGULAR;
            inverse[x] = 1.0 / pivot;
            stay = d * stay * inverse[x];
            climb[x] = last * inverse[x];
        } else {
            stay = d / (d + last);
            climb[x] = last / (d + last);
        }
    }
    return POLICY_OK;
}

/* Mark and number all lines. Where neighbouring lines are curves, only the states about the curve matter. */
static int number_states(const RobotModel *model, PolicyPlan *plan, ptrdiff_t limit)
{
    ptrdiff_t N = model->robots, K = model->buffer, W = K + 1, b;
    PolicyLine *lines = plan->lines;
    for (b = 0; b <= N; b++) {
        const uint8_t *here = plan->action + b * W;
        ptrdiff_t height = lines[b].height = (int32_t)curve_height(here, W);
        ptrdiff_t below = b > 0 ? lines[b - 1].height : 0;
        int whole = height == NO_CURVE || below == NO_CURVE;
        ptrdiff_t stop = below + 1 > height + 1 ? below + 1 : height + 1;
        mark_states(K, here, plan->slot + b * W, b, whole || height == 0 ? 0 : height - 1, whole || stop > W ? W : stop);
    }
    for (b = 0; b <= N; b++) {
        ptrdiff_t height = lines[b].height, above = b < N ? lines[b + 1].height : W;
        int whole = height == NO_CURVE || above == NO_CURVE || (b > 0 && lines[b - 1].height == NO_CURVE);
        ptrdiff_t first = above + 1 < height - 1 ? above + 1 : height - 1;
        if (plan->low < 0 && height != W) plan->low = b > 0 ? b - 1 : 0;
        number_line(plan, b, K, whole || first < 0 ? 0 : first, whole || height > K ? W : height + 1);
        if (plan->unknowns > limit) return POLICY_TOO_LARGE;
    }
    return POLICY_OK;
}

int policy_plan(const RobotModel *model, PolicyPlan *plan, ptrdiff_t limit)
{
    ptrdiff_t N = model->robots, W = model->buffer + 1, b;
    memset(plan->slot, 0xff, sizeof(int32_t) * (size_t)((N + 1) * W)); /* -1 everywhere */
    for (b = 0; b < N; b++)
        if (plan->action[b * W]) plan->top = b;
    plan->unknowns = 1;
    plan->stores = 0;
    plan->high = plan->top;
    plan->low = -1;
    if (number_states(model, plan, limit)) return POLICY_TOO_LARGE;
    for (b = N - 1; b >= 0; b--)
        if (factor_line(model, plan, b)) return POLICY_SINGULAR;
    plan->lines[N].shared_from = (int32_t)W;
    return POLICY_OK;
}
