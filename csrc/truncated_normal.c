/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "truncated_normal.h"

#include <math.h>
#include <string.h>

#include "every_width.h"

#define WALL_INLINE static inline __attribute__((always_inline))

typedef double wall_reals __attribute__((vector_size(8 * WALL_BLOCK), aligned(8)));

/* Rows of a block of walls times w, (r,). */
WALL_INLINE void block_rows(const struct truncated_normal *t, ptrdiff_t block, const double *w, wall_reals *out)
{
    wall_reals sum = {0.0};
    const double *row = t->rows + block;
    for (ptrdiff_t j = 0; j < t->r; j++, row += t->stride) sum += w[j] * *(const wall_reals *)row;
    *out = sum;
}

/* Reciprocal tan(t / 2) of the first time at which a cos t + b sin t + h falls to zero; -1 if it never does. */
WALL_INLINE double hit(double a, double b, double h)
{
    double d = b * b - (h - a) * (h + a);
    if (!(d >= 0.0)) return -1.0;
    double root = sqrt(d), room = a + h > 0.0 ? a + h : 0.0;
    return b > 0.0 ? (a - h) / (b + root) : (root - b) / room;
}

/* Positive if a cos t + b sin t + h falls to zero before 1 / tan(t / 2) comes down to most = 1 / least; no root and no
 * division: b > 0 asks whether root < (a - h) least - b, else whether root > (a + h) most + b. */
WALL_INLINE double nearness(double a, double b, double h, double most, double least)
{
    double d = b * b - (h - a) * (h + a), room = a + h > 0.0 ? a + h : 0.0;
    double under = (a - h) * least - b, over = room * most + b;
    double rising = under * under - d, falling = d - over * over;
    rising = rising < under ? rising : under;
    falling = falling > -over ? falling : -over;
    double near = b > 0.0 ? rising : falling;
    return d >= 0.0 ? near : -1.0;
}

/* The wall hit first, or -1 if none is hit before *sooner = 1 / tan(t / 2), which is raised to the hit's. */
WALL_INLINE ptrdiff_t first_wall(const struct truncated_normal *t, double *sooner)
{
    const double *value = t->value, *speed = t->speed, *slack = t->slack;
    double *restrict near = t->near;
    double most = *sooner, least = 1.0 / most;
    ptrdiff_t wall = -1;
    for (ptrdiff_t i = 0; i < t->n; i++) near[i] = nearness(value[i], speed[i], slack[i], most, least);
    for (ptrdiff_t i = 0; i < t->n; i++) {
        if (near[i] <= 0.0 || nearness(value[i], speed[i], slack[i], most, least) <= 0.0) continue;
        double reciprocal = hit(value[i], speed[i], slack[i]);
        if (reciprocal > most) {
            most = reciprocal;
            least = 1.0 / most;
            wall = i;
        }
    }
    *sooner = most;
    return wall;
}

WALL_INLINE double least_at(const struct truncated_normal *t, const double *z)
{
    double least = INFINITY;
    for (ptrdiff_t block = 0; block < t->n; block += WALL_BLOCK)
        block_rows(t, block, z, (wall_reals *)(t->value + block));
    for (ptrdiff_t i = 0; i < t->n; i++) {
        double value = t->value[i] + t->slack[i];
        least = value < least ? value : least;
    }
    return least;
}

AT_EVERY_WIDTH(double, truncated_normal_least, least_at, (const struct truncated_normal *t, const double *z), (t, z))

/* Most points fail at one of the first walls. */
WALL_INLINE int is_inside(const struct truncated_normal *t, const double *z)
{
    for (ptrdiff_t block = 0; block < t->n; block += WALL_BLOCK) {
        double value[WALL_BLOCK], least = INFINITY;
        block_rows(t, block, z, (wall_reals *)value);
        for (ptrdiff_t i = 0; i < WALL_BLOCK; i++) {
            double room = value[i] + t->slack[block + i];
            least = room < least ? room : least;
        }
        if (least < 0.0) return 0;
    }
    return 1;
}

AT_EVERY_WIDTH(int, truncated_normal_inside, is_inside, (const struct truncated_normal *t, const double *z), (t, z))

WALL_INLINE void launch(const struct truncated_normal *t, const double *z, const double *v, double *y)
{
    memcpy(y, z, sizeof(double) * (size_t)t->r);
    for (ptrdiff_t block = 0; block < t->n; block += WALL_BLOCK) {
        block_rows(t, block, y, (wall_reals *)(t->value + block));
        block_rows(t, block, v, (wall_reals *)(t->speed + block));
    }
}

AT_EVERY_WIDTH(void, truncated_normal_launch, launch,
               (const struct truncated_normal *t, const double *z, const double *v, double *y), (t, z, v, y))

WALL_INLINE ptrdiff_t fly(const struct truncated_normal *t, double *y, double *v, double *side, double *left,
                          ptrdiff_t most)
{
    for (ptrdiff_t looks = 0; looks < most; looks++) {
        double sooner = 1.0 / *left;
        ptrdiff_t wall = first_wall(t, &sooner);
        double half = 1.0 / sooner, scale = 1.0 / (1.0 + half * half);
        double cosine = (1.0 - half * half) * scale, sine = 2.0 * half * scale;
        double into = 0.0, length = 0.0;
        for (ptrdiff_t j = 0; j < t->r; j++) {
            double from = y[j];
            y[j] = from * cosine + v[j] * sine;
            v[j] = v[j] * cosine - from * sine;
        }
        *left = wall < 0 ? 0.0 : (*left - half) / (1.0 + *left * half);
        if (!(*left > 0.0)) {
            *left = 0.0;
            return looks + 1;
        }
        for (ptrdiff_t j = 0; j < t->r; j++) {
            side[j] = t->rows[j * t->stride + wall];
            into += side[j] * v[j];
            length += side[j] * side[j];
        }
        double back = 2.0 * into / length;
        for (ptrdiff_t j = 0; j < t->r; j++) v[j] -= back * side[j];
        for (ptrdiff_t block = 0; block < t->n; block += WALL_BLOCK) {
            wall_reals *value = (wall_reals *)(t->value + block), *speed = (wall_reals *)(t->speed + block);
            wall_reals from = *value, turn;
            block_rows(t, block, side, &turn);
            *value = from * cosine + *speed * sine;
            *speed = *speed * cosine - from * sine - back * turn;
        }
    }
    return most;
}

AT_EVERY_WIDTH(ptrdiff_t, truncated_normal_fly, fly,
               (const struct truncated_normal *t, double *y, double *v, double *side, double *left, ptrdiff_t most),
               (t, y, v, side, left, most))

int truncated_normal_land(const struct truncated_normal *t, double *z, const double *y)
{
    if (!(truncated_normal_least(t, y) >= -t->breach)) return 0;
    memcpy(z, y, sizeof(double) * (size_t)t->r);
    return 1;
}

WALL_INLINE void slide(const struct truncated_normal *t, double *z, const double *v, double exponential, double uniform,
                       int again)
{
    double square = 0.0, along = 0.0, low = -INFINITY, high = INFINITY;
    for (ptrdiff_t block = 0; block < t->n; block += WALL_BLOCK) {
        if (!again) block_rows(t, block, z, (wall_reals *)(t->value + block));
        block_rows(t, block, v, (wall_reals *)(t->speed + block));
    }
    for (ptrdiff_t i = 0; i < t->n; i++) {
        double room = t->value[i] + t->slack[i], speed = t->speed[i];
        double stop = (room > 0.0 ? -room : 0.0) / speed;
        if (speed > 0.0 && stop > low) low = stop;
        if (speed < 0.0 && stop < high) high = stop;
    }
    for (ptrdiff_t j = 0; j < t->r; j++) {
        square += v[j] * v[j];
        along += z[j] * v[j];
    }
    double middle = -along / square, reach = sqrt(middle * middle + 2.0 * exponential / square);
    low = low > middle - reach ? low : middle - reach;
    high = high < middle + reach ? high : middle + reach;
    double step = low <= 0.0 && high >= 0.0 ? low + uniform * (high - low) : 0.0;
    for (ptrdiff_t j = 0; j < t->r; j++) z[j] += step * v[j];
    for (ptrdiff_t i = 0; i < t->n; i++) t->value[i] += step * t->speed[i];
}

AT_EVERY_WIDTH(void, truncated_normal_slide, slide,
               (const struct truncated_normal *t, double *z, const double *v, double exponential, double uniform,
                int again),
               (t, z, v, exponential, uniform, again))
