#include "whittle_index.h"

#include <math.h>

#include "every_width.h"

/* out <- out / cost, where costs are given; 0 if a cost or a result is out of its domain. */
DECAY_INLINE int shared_out(ptrdiff_t n, const double *restrict cost, double *restrict out)
{
    int64_t bad = 0;
    if (cost)
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] = out[i] / cost[i];
            bad |= !((cost[i] > 0.0) & (cost[i] <= 1.7e308) & (out[i] <= 1.7e308));
        }
    return bad == 0;
}

DECAY_INLINE int index_raw(ptrdiff_t n, const double *restrict age, const double *restrict lam,
                           const double *restrict decay, const double *restrict max_age,
                           const double *restrict cost, double *restrict out)
{
    const double shift = 4503599627370496.0; /* 2^52: whole if adding and taking it off changes nothing */
    int64_t bad = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double k = age[i], c = decay[i], rate = lam[i];
        double ceiling = rate / c;
        double curvature = decay_curvature(c);
        double loss = c < DECAY_SERIES ? c - curvature : 1.0 - decay_exp(c);
        double value = whittle_index_value(ceiling, c, loss, curvature, WHITTLE_LARGEST_AGE * 2, 0.0, k);
        double whole = k < shift ? (k + shift) - shift : k;
        bad |= !((k >= 0.0) & (k <= WHITTLE_LARGEST_AGE) & (whole == k) & (c > 0.0) & (c <= 1.7e308) &
                 (rate >= 0.0) & (ceiling <= 1.7e308));
        out[i] = value;
    }
    if (max_age)
        for (ptrdiff_t i = 0; i < n; i++) {
            double m = max_age[i], rounded = m < shift ? (m + shift) - shift : m;
            double cap = lam[i] / decay[i] * decay_loss(decay[i] * m);
            bad |= !((m >= 1.0) & (rounded == m));
            out[i] = age[i] < m ? out[i] : cap;
        }
    return (bad == 0) & shared_out(n, cost, out);
}
AT_EVERY_WIDTH(int, whittle_index_raw, index_raw,
               (ptrdiff_t n, const double *age, const double *lam, const double *decay, const double *max_age,
                const double *cost, double *out),
               (n, age, lam, decay, max_age, cost, out))

/* zeta steps from empty to the content or just above it; with t = c y, x = ceiling (1 - e^-t), d = zeta - y:
 *     g = ceiling e^-t (f(t) + zeta f(-c) - f(-cd)),  f(z) = e^z - 1 - z,
 * and where the content stops growing at age zeta = M, less is gained by the step that crosses it. */
DECAY_INLINE int index_state(ptrdiff_t n, const double *restrict state, const double *restrict lam,
                             const double *restrict decay, const double *restrict max_age,
                             const double *restrict cost, double *restrict out)
{
    const double shift = 4503599627370496.0;
    int64_t bad = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        double x = state[i], c = decay[i], ceiling = lam[i] / c;
        double curvature = decay_curvature(c), loss = c < DECAY_SERIES ? c - curvature : 1.0 - decay_exp(c);
        double gone = x < ceiling ? x / ceiling : 0.0;
        double t = -decay_log1p(-gone, 0), y = t / c;
        double rounded = y < shift ? (y + shift) - shift : y;
        double zeta = rounded < y ? rounded + 1.0 : rounded;
        zeta = zeta > 1.0 ? zeta : 1.0;
        double bonus = 0.0, cap = ceiling;
        if (max_age) {
            double last = max_age[i];
            zeta = zeta < last ? zeta : last;
            double ahead = zeta > y ? c * (zeta - y) : 0.0, behind = y > zeta - 1.0 ? c * (y - (zeta - 1.0)) : 0.0;
            bonus = zeta == last ? zeta * ceiling * (1.0 - gone) * decay_exp(ahead) * decay_loss(behind) : 0.0;
            cap = ceiling * decay_loss(c * last);
        }
        double part = zeta > y ? c * (zeta - y) : 0.0;
        double small = t < DECAY_SERIES ? t : DECAY_SERIES;
        double bent = small * small * decay_series(small) + zeta * curvature - decay_curvature(part);
        double far = decay_loss(c * zeta) - zeta * loss * (1.0 - gone);
        double value = ceiling * (t < DECAY_SERIES ? (1.0 - gone) * bent : far);
        value = (zeta == 1.0 ? loss * x : value) + bonus;
        value = x < cap ? value : x; /* nothing more will come: waiting gains nothing */
        bad |= !(value <= 1.7e308);
        out[i] = value;
    }
    for (ptrdiff_t i = 0; i < n; i++)
        bad |= !((state[i] >= 0.0) & (state[i] <= 1.7e308) & (decay[i] > 0.0) & (decay[i] <= 1.7e308) &
                 (lam[i] >= 0.0) & (lam[i] / decay[i] <= 1.7e308));
    if (max_age)
        for (ptrdiff_t i = 0; i < n; i++) {
            double last = max_age[i], nearest = last < shift ? (last + shift) - shift : last;
            bad |= !((last >= 1.0) & (nearest == last));
        }
    return (bad == 0) & shared_out(n, cost, out);
}
AT_EVERY_WIDTH(int, whittle_index_state, index_state,
               (ptrdiff_t n, const double *state, const double *lam, const double *decay, const double *max_age,
                const double *cost, double *out),
               (n, state, lam, decay, max_age, cost, out))

DECAY_INLINE void index_columns(ptrdiff_t n, const double *restrict age, const double *restrict ceiling,
                                const double *restrict decay, const double *restrict loss,
                                const double *restrict curvature, const double *restrict max_age,
                                const double *restrict cap, double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++)
        out[i] = whittle_index_value(ceiling[i], decay[i], loss[i], curvature[i], max_age[i], cap[i], age[i]);
}
AT_EVERY_WIDTH(void, whittle_index_columns, index_columns,
               (ptrdiff_t n, const double *age, const double *ceiling, const double *decay, const double *loss,
                const double *curvature, const double *max_age, const double *cap, double *out),
               (n, age, ceiling, decay, loss, curvature, max_age, cap, out))

DECAY_INLINE void content_columns(ptrdiff_t n, const double *restrict age, const double *restrict ceiling,
                                  const double *restrict decay, const double *restrict max_age,
                                  double *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) out[i] = whittle_content(ceiling[i], decay[i], max_age[i], age[i]);
}
AT_EVERY_WIDTH(void, whittle_content_columns, content_columns,
               (ptrdiff_t n, const double *age, const double *ceiling, const double *decay, const double *max_age,
                double *out),
               (n, age, ceiling, decay, max_age, out))

DECAY_INLINE double exp_sum(ptrdiff_t n, double scale, const double *restrict draws)
{
    double lanes[8] = {0, 0, 0, 0, 0, 0, 0, 0}; /* fixed lanes, so that no width changes the order */
    ptrdiff_t whole = n - n % 8;
    for (ptrdiff_t j = 0; j < whole; j += 8)
        for (int lane = 0; lane < 8; lane++) lanes[lane] += decay_exp(scale * draws[j + lane]);
    for (ptrdiff_t j = whole; j < n; j++) lanes[j - whole] += decay_exp(scale * draws[j]);
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}
AT_EVERY_WIDTH(double, decay_exp_sum, exp_sum, (ptrdiff_t n, double scale, const double *draws), (n, scale, draws))

/* The columns of up to WHITTLE_BLOCK sites, but for `age`. */
DECAY_INLINE void prepare_block(ptrdiff_t n, const double *restrict lam, const double *restrict decay,
                                const double *restrict max_age, struct site_block *restrict out)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        double c = decay[i], x = lam[i] / c, curvature = decay_curvature(c);
        double loss = c < DECAY_SERIES ? c - curvature : 1.0 - decay_exp(c);
        double d = curvature / loss; /* c/w - 1 */
        double near = d * d * (0.5 - d * (1.0 / 3.0 - d * (0.25 - d * (0.2 - d / 6.0))));
        double far = d - decay_log1p(d, 0);
        out->ceiling[i] = x;
        out->decay[i] = c;
        out->loss[i] = loss;
        out->curvature[i] = curvature;
        out->offset[i] = d < 1e-3 ? near : far;
        out->max_age[i] = max_age[i];
        out->cap[i] = x * decay_loss(c * max_age[i]);
    }
}
AT_EVERY_WIDTH(void, whittle_prepare_block, prepare_block,
               (ptrdiff_t n, const double *lam, const double *decay, const double *max_age, struct site_block *out),
               (n, lam, decay, max_age, out))

void whittle_prepare(ptrdiff_t n, const double *lam, const double *decay, const double *max_age, struct site *out)
{
    struct site_block b;
    for (ptrdiff_t start = 0; start < n; start += WHITTLE_BLOCK) {
        ptrdiff_t m = n - start < WHITTLE_BLOCK ? n - start : WHITTLE_BLOCK;
        whittle_prepare_block(m, lam + start, decay + start, max_age + start, &b);
        for (ptrdiff_t j = 0; j < m; j++)
            out[start + j] = (struct site){b.ceiling[j], b.decay[j], b.loss[j], b.curvature[j],
                                           b.offset[j], b.max_age[j], b.cap[j], -1.0};
    }
}

void whittle_prepare_columns(ptrdiff_t n, const double *lam, const double *decay, const double *max_age,
                             double *columns)
{
    struct site_block b;
    const double *from[7] = {b.ceiling, b.decay, b.loss, b.curvature, b.offset, b.max_age, b.cap};
    for (ptrdiff_t start = 0; start < n; start += WHITTLE_BLOCK) {
        ptrdiff_t m = n - start < WHITTLE_BLOCK ? n - start : WHITTLE_BLOCK;
        whittle_prepare_block(m, lam + start, decay + start, max_age + start, &b);
        for (int f = 0; f < 7; f++) memcpy(columns + f * n + start, from[f], (size_t)m * sizeof *columns);
        for (ptrdiff_t j = 0; j < m; j++) columns[7 * n + start + j] = -1.0;
    }
}

double whittle_index_row(const struct site *s, double age)
{
    return whittle_index_value(s->ceiling, s->decay, s->loss, s->curvature, s->max_age, s->cap, age);
}

DECAY_INLINE void block_index(ptrdiff_t m, const struct site_block *restrict b, double *restrict out)
{
    for (ptrdiff_t j = 0; j < m; j++)
        out[j] = whittle_index_value(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j], b->max_age[j],
                                     b->cap[j], b->age[j]);
}
AT_EVERY_WIDTH(void, whittle_block_index, block_index, (ptrdiff_t m, const struct site_block *b, double *out), (m, b, out))
