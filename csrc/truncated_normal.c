/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "truncated_normal.h"

#include <math.h>
#include <string.h>

#include "every_width.h"

#define WALL_INLINE static inline __attribute__((always_inline))

/* How far rounding may carry a point beyond a wall, in units of the wall's value. */
#define BREACH 1e-9

WALL_INLINE void add_rows(const struct truncated_normal *t, const double *z, ptrdiff_t at, double *restrict sum)
{
    memset(sum, 0, sizeof(double) * (size_t)t->n);
    for (ptrdiff_t j = 0; j < t->r; j++) {
        const double *row = t->rows + j * t->stride;
        double weight = z ? z[j] : row[at]; /* no z: the wall `at` itself */
        for (ptrdiff_t i = 0; i < t->n; i++) sum[i] += weight * row[i];
    }
}

/* Reciprocal tan(t / 2) of the first time at which a cos t + b sin t + h falls to zero; -1 if it never does. */
WALL_INLINE double hit(double a, double b, double h)
{
    double d = b * b - (h - a) * (h + a);
    if (!(d >= 0.0)) return -1.0;
    double root = sqrt(d), room = a + h > 0.0 ? a + h : 0.0;
    return b > 0.0 ? (a - h) / (b + root) : (root - b) / room;
}

/* The wall hit first, or -1 if none is hit before *sooner = 1 / tan(t / 2), which is raised to the hit's.
 * Blocks are screened without a root or a division: b > 0 asks whether root < (a - h) / sooner - b, else
 * whether root > (a + h) sooner + b. */
WALL_INLINE ptrdiff_t first_wall(const struct truncated_normal *t, double *sooner)
{
    double most = *sooner, least = 1.0 / most;
    ptrdiff_t wall = -1;
    for (ptrdiff_t block = 0; block < t->n; block += WALL_BLOCK) {
        const double *value = t->value + block, *speed = t->speed + block, *slack = t->slack + block;
        long near = 0;
        for (int i = 0; i < WALL_BLOCK; i++) {
            double a = value[i], b = speed[i], h = slack[i];
            double d = b * b - (h - a) * (h + a), room = a + h > 0.0 ? a + h : 0.0;
            double under = (a - h) * least - b, over = room * most + b;
            long rising = (under > 0.0) & (d < under * under), falling = (over < 0.0) | (d > over * over);
            near |= (d >= 0.0) & (b > 0.0 ? rising : falling);
        }
        if (!near) continue;
        for (int i = 0; i < WALL_BLOCK; i++) {
            double reciprocal = hit(value[i], speed[i], slack[i]);
            if (reciprocal > most) {
                most = reciprocal;
                wall = block + i;
            }
        }
        least = 1.0 / most;
    }
    *sooner = most;
    return wall;
}

WALL_INLINE double least_value(const struct truncated_normal *t)
{
    double lane[WALL_BLOCK], least;
    for (int i = 0; i < WALL_BLOCK; i++) lane[i] = t->value[i] + t->slack[i];
    for (ptrdiff_t block = WALL_BLOCK; block < t->n; block += WALL_BLOCK)
        for (int i = 0; i < WALL_BLOCK; i++) {
            double value = t->value[block + i] + t->slack[block + i];
            lane[i] = value < lane[i] ? value : lane[i];
        }
    least = lane[0];
    for (int i = 1; i < WALL_BLOCK; i++) least = lane[i] < least ? lane[i] : least;
    return least;
}

WALL_INLINE double least_at(const struct truncated_normal *t, const double *z)
{
    add_rows(t, z, 0, t->value);
    return least_value(t);
}

AT_EVERY_WIDTH(double, truncated_normal_least, least_at, (const struct truncated_normal *t, const double *z), (t, z))

WALL_INLINE int move(const struct truncated_normal *t, double *z, double *v, double *y, int most)
{
    double *restrict value = t->value, *restrict speed = t->speed, *restrict turn = t->turn;
    double left = 1.0; /* tan of half the time left: a quarter circle */
    memcpy(y, z, sizeof(double) * (size_t)t->r);
    add_rows(t, y, 0, value);
    add_rows(t, v, 0, speed);
    for (int bounces = 0;; bounces++) {
        double sooner = 1.0 / left;
        ptrdiff_t wall = first_wall(t, &sooner);
        double half = 1.0 / sooner, scale = 1.0 / (1.0 + half * half);
        double cosine = (1.0 - half * half) * scale, sine = 2.0 * half * scale;
        double into = 0.0, length = 0.0;
        for (ptrdiff_t j = 0; j < t->r; j++) {
            double from = y[j];
            y[j] = from * cosine + v[j] * sine;
            v[j] = v[j] * cosine - from * sine;
        }
        if (wall < 0) break;
        if (bounces == most) return 0;
        for (ptrdiff_t j = 0; j < t->r; j++) {
            double side = t->rows[j * t->stride + wall];
            into += side * v[j];
            length += side * side;
        }
        double back = 2.0 * into / length;
        for (ptrdiff_t j = 0; j < t->r; j++) v[j] -= back * t->rows[j * t->stride + wall];
        add_rows(t, NULL, wall, turn);
        for (ptrdiff_t i = 0; i < t->n; i++) {
            double from = value[i];
            value[i] = from * cosine + speed[i] * sine;
            speed[i] = speed[i] * cosine - from * sine - back * turn[i];
        }
        left = (left - half) / (1.0 + left * half);
        if (!(left > 0.0)) break;
    }
    if (!(least_at(t, y) >= -BREACH)) return 0;
    memcpy(z, y, sizeof(double) * (size_t)t->r);
    return 1;
}

AT_EVERY_WIDTH(int, truncated_normal_move, move,
               (const struct truncated_normal *t, double *z, double *v, double *scratch, int most),
               (t, z, v, scratch, most))
