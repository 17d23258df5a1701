#include "robot_policy.h"

#include <string.h>

#include "cpu_level.h"

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

enum { UNITS, SOURCES, VALUES };

/* What a pass carries: L lanes for each state of a line, and where the rows at the unknowns go. */
typedef struct {
    int kind, lanes;
    ptrdiff_t first;       /* UNITS: the unknown of lane 0 */
    ptrdiff_t width;       /* UNITS: columns of `rows` */
    double *store, *rows;
    const double *unknown; /* VALUES: (M) */
    double gain;
} Pass;

/* Lanes of an unknown where it is met: a unit vector, nothing, or its value. */
INLINE void meet(const Pass *pass, double *v, ptrdiff_t i)
{
    for (int l = 0; l < pass->lanes; l++) v[l] = 0.0;
    if (pass->kind == VALUES) v[0] = pass->unknown[i];
    if (pass->kind == UNITS && i >= pass->first && i < pass->first + pass->lanes) v[i - pass->first] = 1.0;
}

/* Add what one step costs, times `steps`: lanes cost and time, or the cost less the gain. */
INLINE void add_source(const RobotModel *model, const Pass *pass, double *v, ptrdiff_t q, ptrdiff_t r, double steps)
{
    if (pass->kind == UNITS) return;
    double cost = model->active_cost * (double)r;
    if (q == 0) cost += model->empty_cost;
    if (q == model->buffer) cost += model->full_cost * (double)r;
    if (pass->kind == SOURCES) {
        v[0] += cost * steps;
        v[1] += steps;
    } else {
        v[0] += (cost - pass->gain) * steps;
    }
}

/* Keep the row of unknown i: the lanes that are columns of it. */
INLINE void keep_row(const Pass *pass, const double *v, ptrdiff_t i)
{
    if (pass->kind == SOURCES) {
        pass->rows[2 * i] = v[0];
        pass->rows[2 * i + 1] = v[1];
    } else if (pass->kind == UNITS) {
        ptrdiff_t left = pass->width - pass->first;
        memcpy(pass->rows + i * pass->width + pass->first, v, sizeof(double) * (size_t)(left < pass->lanes ? left : pass->lanes));
    }
}

INLINE void copy_lanes(const Pass *pass, double *to, const double *from)
{
    for (int l = 0; l < pass->lanes; l++) to[l] = from[l];
}

INLINE void mix(const Pass *pass, double *v, double p, const double *a, double s, const double *c)
{
    for (int l = 0; l < pass->lanes; l++) v[l] = p * a[l] + s * c[l];
}

typedef double Lane8 __attribute__((vector_size(64), aligned(8), may_alias));

/* n states of a plain run: v <- p v + s source + constant, kept in each cell. `jump` is +1 or -1 states.
 * Unit lanes take two states at a time by p^2, which halves the chain of dependent operations. */
INLINE void run(const Pass *pass, ptrdiff_t n, ptrdiff_t jump, double p, double s, double constant, const double *source, double *cell, double *v)
{
    if (pass->kind != UNITS) {
        double value = v[0];
        for (; n > 0; n--, source += jump, cell += jump) *cell = value = p * value + (s * *source + constant);
        v[0] = value;
        return;
    }
    double twice = p * p;
    Lane8 v0 = *(Lane8 *)v, v1 = *(Lane8 *)(v + 8);
    for (jump *= POLICY_LANES; n > 1; n -= 2) {
        Lane8 a0 = s * *(const Lane8 *)source, a1 = s * *(const Lane8 *)(source + 8);
        Lane8 b0 = s * *(const Lane8 *)(source + jump), b1 = s * *(const Lane8 *)(source + jump + 8);
        *(Lane8 *)cell = p * v0 + a0;
        *(Lane8 *)(cell + 8) = p * v1 + a1;
        v0 = twice * v0 + (p * a0 + b0);
        v1 = twice * v1 + (p * a1 + b1);
        *(Lane8 *)(cell + jump) = v0;
        *(Lane8 *)(cell + jump + 8) = v1;
        source += 2 * jump;
        cell += 2 * jump;
    }
    if (n > 0) {
        *(Lane8 *)cell = v0 = p * v0 + s * *(const Lane8 *)source;
        *(Lane8 *)(cell + 8) = v1 = p * v1 + s * *(const Lane8 *)(source + 8);
    }
    *(Lane8 *)v = v0;
    *(Lane8 *)(v + 8) = v1;
}

/* What a step costs in (q, r), 0 < q < K, in the VALUES pass. */
INLINE double middle_cost(const RobotModel *model, const Pass *pass, ptrdiff_t r)
{
    return pass->kind == VALUES ? model->active_cost * (double)r - pass->gain : 0.0;
}

/* Shared runs of a line: line[x] becomes the part of state x that its right neighbour does not give.
 * `above` may be `line` itself, so the lanes above are kept one state longer. */
INLINE void sweep_right(const RobotModel *model, const PolicyPlan *plan, const Pass *pass, ptrdiff_t b, const double *above, double *line)
{
    ptrdiff_t K = model->buffer, W = K + 1, L = pass->lanes, x = plan->lines[b].shared_from;
    const uint8_t *here = plan->action + b * W;
    const double *inverse = plan->inverse + b * W;
    double a = model->arrive * (double)(b + 1), d = model->depart, share = 1.0 / (d + a);
    double before[POLICY_LANES] = {0}, next[POLICY_LANES] = {0}, part[POLICY_LANES] = {0};
    if (x > 0) copy_lanes(pass, before, above + (x - 1) * L);
    for (; x <= K; x++) {
        if (x == plan->lines[b].down_plain && x < K) { /* no up states before the last one */
            x = K;
            copy_lanes(pass, before, above + (x - 1) * L);
        }
        copy_lanes(pass, next, above + x * L);
        if (here[x]) {
            if (x == 0) {
                if (b == plan->top) meet(pass, part, 0);
                else add_source(model, pass, part, 0, b + 1, 1.0 / a);
            } else {
                double weight = inverse[x] > 0.0 ? inverse[x] : x < K ? share : 1.0 / d;
                mix(pass, part, 0.0, part, d * weight, inverse[x] > 0.0 ? part : before);
                add_source(model, pass, part, x, b + 1, weight);
            }
            copy_lanes(pass, line + x * L, part);
        }
        copy_lanes(pass, before, next);
    }
}

/* The up states of level b, right to left. `above` (level b + 1) may be `line` itself. */
INLINE void up_line(const RobotModel *model, const PolicyPlan *plan, const Pass *pass, ptrdiff_t b, const double *above, double *line)
{
    ptrdiff_t K = model->buffer, W = K + 1, L = pass->lanes;
    const uint8_t *here = plan->action + b * W;
    const int32_t *slot = plan->slot + b * W;
    const double *climb = plan->climb + b * W;
    ptrdiff_t shared = plan->lines[b].shared_from, plain = plan->lines[b].up_plain;
    double a = model->arrive * (double)(b + 1), d = model->depart, share = 1.0 / (d + a);
    double up = a * share, down = d * share;
    double v[POLICY_LANES] = {0};
    if (shared <= K) sweep_right(model, plan, pass, b, above, line);
    for (ptrdiff_t x = K; x >= 0; x--) {
        if (x == K - 1 && plan->lines[b].down_plain < K) x = plan->lines[b].down_plain - 1; /* nothing to do there */
        double *cell = line + x * L;
        if (x == plain && pass->kind != SOURCES && x > 0) {
            run(pass, x, -1, up, down, middle_cost(model, pass, b + 1) * share, above + (x - 1) * L, cell, v);
            x = 0;
            cell = line;
        }
        if (!here[x]) {
            if (slot[x] < 0) continue;
            meet(pass, v, slot[x]);
        } else if (x == 0) {
            add_source(model, pass, v, 0, b + 1, 1.0 / a); /* its value is its right neighbour's and this */
            if (b == plan->top) {
                keep_row(pass, v, 0);
                meet(pass, v, 0);
            }
        } else if (x >= shared) {
            mix(pass, v, climb[x], v, 1.0, cell);
        } else if (x == K) {
            copy_lanes(pass, v, above + (x - 1) * L);
            add_source(model, pass, v, K, b + 1, 1.0 / d);
        } else {
            mix(pass, v, up, v, down, above + (x - 1) * L);
            add_source(model, pass, v, x, b + 1, share);
        }
        copy_lanes(pass, cell, v);
        if (pass->kind != VALUES && here[x] && slot[x] >= 0) copy_lanes(pass, pass->store + slot[x] * L, v);
    }
}

/* The down states of level b, left to right. `below` (level b - 1) may be `line` itself. */
INLINE void down_line(const RobotModel *model, const PolicyPlan *plan, const Pass *pass, ptrdiff_t b, const double *below, double *line)
{
    ptrdiff_t K = model->buffer, W = K + 1, L = pass->lanes;
    const uint8_t *here = plan->action + b * W;
    const int32_t *slot = plan->slot + b * W;
    ptrdiff_t plain = plan->lines[b].down_plain;
    double l = model->arrive * (double)b, d = model->depart, share = 1.0 / (d + l);
    double left = d * share, right = l * share;
    double v[POLICY_LANES] = {0};
    for (ptrdiff_t x = 0; x <= K; x++) {
        if (x == 1 && plan->lines[b].up_plain > 0) x = plan->lines[b].up_plain + 1; /* nothing to do there */
        double *cell = line + x * L;
        if (x == plain && pass->kind != SOURCES && x < K) {
            run(pass, K - x, 1, left, right, middle_cost(model, pass, b) * share, below + (x + 1) * L, cell, v);
            x = K;
            cell = line + K * L;
        }
        if (here[x]) {
            if (pass->kind == VALUES) {
                copy_lanes(pass, v, cell);
            } else if (slot[x] >= 0) {
                copy_lanes(pass, v, pass->store + slot[x] * L);
                copy_lanes(pass, cell, v);
            }
            continue;
        }
        if (x == 0) {
            copy_lanes(pass, v, below + L);
            add_source(model, pass, v, 0, b, 1.0 / l);
        } else {
            mix(pass, v, left, v, right, below + (x < K ? x + 1 : K) * L);
            add_source(model, pass, v, x, b, share);
        }
        if (slot[x] >= 0) {
            keep_row(pass, v, slot[x]);
            meet(pass, v, slot[x]);
        }
        copy_lanes(pass, cell, v);
    }
}

/* Both passes over levels [low, high]; `stride` is 0 where one line serves all levels. */
INLINE void both_passes(const RobotModel *model, const PolicyPlan *plan, const Pass *pass, ptrdiff_t low, ptrdiff_t start, ptrdiff_t high, ptrdiff_t stride, double *lines)
{
    ptrdiff_t b, size = (model->buffer + 1) * pass->lanes;
    memset(lines, 0, sizeof(double) * (size_t)size); /* level 0 reads the line below it times zero */
    for (b = start; b >= low; b--) up_line(model, plan, pass, b, lines + (b < model->robots ? b + 1 : b) * stride, lines + b * stride);
    if (stride == 0) memset(lines, 0, sizeof(double) * (size_t)size);
    for (b = low; b <= high; b++) down_line(model, plan, pass, b, lines + (b > 0 ? b - 1 : 0) * stride, lines + b * stride);
}

INLINE void hits_body(const RobotModel *model, const PolicyPlan *plan, ptrdiff_t first, double *line, double *store, double *hits)
{
    Pass pass = {UNITS, POLICY_LANES, first, plan->unknowns, store, hits, NULL, 0.0};
    ptrdiff_t start = plan->high;
    if (first > 0) /* above the level of the last lane there is nothing to carry; lane 0 of all belongs to Z */
        while (start > plan->low && plan->lines[start - 1].unknowns >= first + POLICY_LANES) start--;
    memset(store, 0, sizeof(double) * (size_t)(plan->stores * POLICY_LANES));
    memset(line, 0, sizeof(double) * POLICY_LANES);
    keep_row(&pass, line, 0); /* Z is above the start where it meets none of these unknowns */
    both_passes(model, plan, &pass, plan->low, start, plan->high, 0, line);
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
static void hits_avx512(const RobotModel *model, const PolicyPlan *plan, ptrdiff_t first, double *line, double *store, double *hits)
{
    hits_body(model, plan, first, line, store, hits);
}

__attribute__((target("avx2")))
static void hits_avx2(const RobotModel *model, const PolicyPlan *plan, ptrdiff_t first, double *line, double *store, double *hits)
{
    hits_body(model, plan, first, line, store, hits);
}
#endif

void policy_hits(const RobotModel *model, const PolicyPlan *plan, ptrdiff_t first, double *line, double *store, double *hits)
{
#if defined(__x86_64__)
    int level = model->cpu;
    if (level == CPU_AVX512) { hits_avx512(model, plan, first, line, store, hits); return; }
    if (level == CPU_AVX2) { hits_avx2(model, plan, first, line, store, hits); return; }
#endif
    hits_body(model, plan, first, line, store, hits);
}

void policy_sources(const RobotModel *model, const PolicyPlan *plan, double *line, double *store, double *sources)
{
    Pass pass = {SOURCES, 2, 0, 0, store, sources, NULL, 0.0};
    both_passes(model, plan, &pass, plan->low, plan->high, plan->high, 0, line);
}

void policy_values(const RobotModel *model, const PolicyPlan *plan, const double *unknown, double gain, double *values)
{
    Pass pass = {VALUES, 1, 0, 0, NULL, NULL, unknown, gain};
    both_passes(model, plan, &pass, 0, model->robots, model->robots, model->buffer + 1, values);
}
