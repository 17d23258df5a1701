#include "whittle_index.h"

#include <math.h>

#include "cpu_level.h"

#if defined(__x86_64__)
#define FOR_AVX2 __attribute__((target("avx2")))
#define FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#else
#define FOR_AVX2
#define FOR_AVX512
#endif

/* The level, asked for once: the question leaves a virtual machine and takes microseconds.
 * Threads that race here write the same value. */
static int level_once(void)
{
    static volatile int level = -1;
    if (level < 0) level = cpu_level();
    return level;
}

/* One body, three vector widths, the same bits: declares NAME to run BODY at the best width. */
#define AT_EVERY_WIDTH(type, NAME, BODY, PARAMETERS, ARGUMENTS)            \
    static type NAME##_portable PARAMETERS { return BODY ARGUMENTS; }      \
    FOR_AVX2 static type NAME##_avx2 PARAMETERS { return BODY ARGUMENTS; } \
    FOR_AVX512 static type NAME##_avx512 PARAMETERS { return BODY ARGUMENTS; } \
    type NAME PARAMETERS                                                   \
    {                                                                      \
        switch (level_once()) {                                            \
        case CPU_AVX512: return NAME##_avx512 ARGUMENTS;                   \
        case CPU_AVX2: return NAME##_avx2 ARGUMENTS;                       \
        default: return NAME##_portable ARGUMENTS;                         \
        }                                                                  \
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
    if (cost)
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] = out[i] / cost[i];
            bad |= !((cost[i] > 0.0) & (cost[i] <= 1.7e308) & (out[i] <= 1.7e308));
        }
    return bad == 0;
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
        value = cost ? value / cost[i] : value;
        bad |= !(value <= 1.7e308);
        out[i] = value;
    }
    return bad == 0;
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

static struct site prepared(double lam, double decay, double max_age)
{
    struct site s;
    s.ceiling = lam / decay;
    s.decay = decay;
    s.curvature = decay_curvature(decay);
    s.loss = decay < DECAY_SERIES ? decay - s.curvature : 1.0 - decay_exp(decay);
    double d = s.curvature / s.loss; /* c/w - 1 */
    s.offset = d < 1e-3 ? d * d * (0.5 - d * (1.0 / 3.0 - d * (0.25 - d * (0.2 - d / 6.0)))) : d - log1p(d);
    s.max_age = max_age;
    s.cap = s.ceiling * decay_loss(decay * max_age);
    s.last = -1.0;
    return s;
}

void whittle_prepare(ptrdiff_t n, const double *lam, const double *decay, const double *max_age, struct site *out)
{
    for (ptrdiff_t i = 0; i < n; i++) out[i] = prepared(lam[i], decay[i], max_age[i]);
}

void whittle_prepare_columns(ptrdiff_t n, const double *lam, const double *decay, const double *max_age,
                             double *columns)
{
    for (ptrdiff_t i = 0; i < n; i++) {
        struct site s = prepared(lam[i], decay[i], max_age[i]);
        const double *fields = (const double *)&s;
        for (int f = 0; f < 8; f++) columns[f * n + i] = fields[f];
    }
}

double whittle_index_row(const struct site *s, double age)
{
    return whittle_index_value(s->ceiling, s->decay, s->loss, s->curvature, s->max_age, s->cap, age);
}

double whittle_state_at(const struct site *s, double price)
{
    double age = whittle_first_age(s, price);
    if (price <= 0.0) return 0.0;
    if (price >= s->cap || age > WHITTLE_LARGEST_AGE) return price;
    double slope = age < s->max_age ? age * s->loss : age;
    double below = whittle_content(s->ceiling, s->decay, s->max_age, age - 1.0);
    return below + (price - whittle_index_row(s, age - 1.0)) / slope;
}

/* The unknown of the inverse, at first guess and after two Newton steps. */
DECAY_INLINE double crossing(double ceiling, double decay, double loss, double curvature, double offset, double price)
{
    double sigma = offset - decay_log1p(-price / ceiling, 1);
    double bounded = sigma < 90.0 ? sigma : 90.0;
    double root = sqrt(sigma);
    double D = sigma + 5.950609937518596 * (1.0 - 1.0 / (1.0 + 0.2376585909951352 * root / (1.0 - 0.0042 * bounded)));
    D -= (D - decay_log1p(D, 1) - sigma) * (1.0 + D) / D;
    D -= (D - decay_log1p(D, 1) - sigma) * (1.0 + D) / D;
    double age = (D - curvature / loss) / decay;
    return age > 0.0 ? age : 0.0;
}

double whittle_crossing(const struct site *s, double price)
{
    return crossing(s->ceiling, s->decay, s->loss, s->curvature, s->offset, price);
}

/* The least whole age in (low, high] whose index is at least price, given that it holds at high and
 * not at low (low = -1: before age 0). */
static double bisect_age(const struct site *s, double price, double low, double high)
{
    while (high - low > 1.0) {
        double middle = floor(low + (high - low) / 2.0);
        if (whittle_index_row(s, middle) >= price)
            high = middle;
        else
            low = middle;
    }
    return high;
}

double whittle_first_age(const struct site *s, double price)
{
    double last = s->max_age < WHITTLE_LARGEST_AGE ? s->max_age : WHITTLE_LARGEST_AGE;
    if (price <= 0.0) return 0.0;
    if (price > s->cap || price >= s->ceiling || !(whittle_index_row(s, last) >= price)) return INFINITY;
    double guess = ceil(whittle_crossing(s, price));
    if (!(guess <= last)) guess = last;
    double low = guess, high = guess, stride = 1.0;
    if (whittle_index_row(s, guess) >= price) {
        do {
            high = low;
            low = low - stride > -1.0 ? low - stride : -1.0;
            stride *= 2.0;
        } while (low >= 0.0 && whittle_index_row(s, low) >= price);
    } else {
        do {
            low = high;
            high = high + stride < last ? high + stride : last;
            stride *= 2.0;
        } while (high < last && whittle_index_row(s, high) < price);
    }
    return bisect_age(s, price, low, high);
}

DECAY_INLINE void block_index(ptrdiff_t m, const struct site_block *restrict b, double *restrict out)
{
    for (ptrdiff_t j = 0; j < m; j++)
        out[j] = whittle_index_value(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j], b->max_age[j],
                                     b->cap[j], b->age[j]);
}
AT_EVERY_WIDTH(void, whittle_block_index, block_index, (ptrdiff_t m, const struct site_block *b, double *out), (m, b, out))

/* The inverse of the level rounded up, where the age before it vouches for all earlier ones: the index
 * rises, so one age that is a margin below the level will do. -1 where it does not. */
DECAY_INLINE void block_guess(ptrdiff_t m, const struct site_block *restrict b, double level, double *restrict out)
{
    const double shift = 4503599627370496.0;
    double safe = level * (1.0 - WHITTLE_MARGIN);
    for (ptrdiff_t j = 0; j < m; j++) {
        double last = b->max_age[j] < WHITTLE_LARGEST_AGE ? b->max_age[j] : WHITTLE_LARGEST_AGE;
        double age = crossing(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j], b->offset[j], level);
        double up = (age + 0.5 + shift) - shift; /* at or one above age rounded up */
        double guess = (level < b->ceiling[j]) & (up <= last) ? up : last;
        double before = whittle_index_value(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j], b->max_age[j],
                                            b->cap[j], guess - 1.0);
        double checked = before < safe ? guess : -1.0;
        checked = guess <= b->age[j] + 1.0 ? b->age[j] + 1.0 : checked;
        out[j] = b->cap[j] < safe ? INFINITY : checked;
    }
}
AT_EVERY_WIDTH(void, whittle_block_guess, block_guess,
               (ptrdiff_t m, const struct site_block *b, double level, double *out), (m, b, level, out))

void whittle_block_safe_age(ptrdiff_t m, const struct site_block *b, double level, double *out)
{
    whittle_block_guess(m, b, level, out);
    for (ptrdiff_t j = 0; j < m; j++) {
        if (out[j] >= 0.0) continue;
        double low = b->age[j] + 1.0; /* bisect: low is safe, high may not be */
        double high = b->max_age[j] < WHITTLE_LARGEST_AGE ? b->max_age[j] + 1.0 : WHITTLE_LARGEST_AGE;
        while (high - low > 1.0) {
            double middle = floor(low + (high - low) / 2.0);
            double before = whittle_index_value(b->ceiling[j], b->decay[j], b->loss[j], b->curvature[j],
                                                b->max_age[j], b->cap[j], middle - 1.0);
            if (before < level * (1.0 - WHITTLE_MARGIN))
                low = middle;
            else
                high = middle;
        }
        out[j] = low;
    }
}
