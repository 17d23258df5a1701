#include "curve_market.h"

#include <math.h>

/* Of the largest value: far above rounding, far below what data can tell. */
#define TILT 1e-8
enum { NEWTON_STEPS = 8, STEPS = 200 };

void curve_project(ptrdiff_t m, double *f, int32_t *start, double *pooled)
{
    ptrdiff_t blocks = 0;
    for (ptrdiff_t k = 0; k < m; k++) {
        double sum = f[k];
        int32_t from = (int32_t)k;
        while (blocks && pooled[blocks - 1] * (double)(k + 1 - from) < sum * (double)(from - start[blocks - 1])) {
            sum += pooled[--blocks];
            from = start[blocks];
        }
        start[blocks] = from;
        pooled[blocks++] = sum;
    }
    for (ptrdiff_t k = m; blocks--;) {
        double level = pooled[blocks] / (double)(k - start[blocks]);
        while (k > start[blocks]) f[--k] = level;
    }
}

void curve_tilt(ptrdiff_t m, double *f)
{
    double largest = fabs(f[0]) > fabs(f[m - 1]) ? fabs(f[0]) : fabs(f[m - 1]);
    double step = TILT * (1.0 + largest);
    for (ptrdiff_t k = 1; k < m; k++)
        if (!(f[k] <= f[k - 1])) f[k] = f[k - 1]; /* rounding */
    for (ptrdiff_t k = 1; k < m; k++) f[k] -= step * (double)k;
}

static void enter(struct curve_market *t, ptrdiff_t i, int32_t k)
{
    const double *f = t->curves + i * t->m;
    t->segment[i] = k;
    t->high[i] = k < 0 ? INFINITY : f[k];
    t->low[i] = k < t->m - 1 ? f[k + 1] : -INFINITY;
    if (k >= 0 && k < t->m - 1) {
        t->slope[i] = (t->grid[k + 1] - t->grid[k]) / (f[k + 1] - f[k]);
        t->base[i] = t->grid[k] - t->slope[i] * f[k];
    } else {
        t->slope[i] = 0.0;
        t->base[i] = t->grid[k < 0 ? 0 : k];
    }
}

void curve_market_place(struct curve_market *t, ptrdiff_t i)
{
    const double *f = t->curves + i * t->m;
    ptrdiff_t low = -1, high = t->m - 1; /* f[low] > price >= f[high + 1], f[-1] = inf, f[m] = -inf */
    while (low < high) {
        ptrdiff_t middle = low + (high - low + 1) / 2;
        if (f[middle] > t->price)
            low = middle;
        else
            high = middle - 1;
    }
    enter(t, i, (int32_t)low);
}

/* Bring every segment to the price; whether any moved. */
static int follow(struct curve_market *t)
{
    int moved = 0;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        if (t->price <= t->high[i] && t->price >= t->low[i]) continue;
        const double *f = t->curves + i * t->m;
        int32_t k = t->segment[i], last = (int32_t)t->m - 1;
        while (k >= 0 && t->price > f[k]) k--;
        while (k < last && t->price < f[k + 1]) k++;
        enter(t, i, k);
        moved = 1;
    }
    return moved;
}

/* Prices beyond which no amount changes. */
static void ends(const struct curve_market *t, double *low, double *high)
{
    double least = INFINITY, most = -INFINITY;
    for (ptrdiff_t i = 0; i < t->n; i++) {
        const double *f = t->curves + i * t->m;
        least = f[t->m - 1] < least ? f[t->m - 1] : least;
        most = f[0] > most ? f[0] : most;
    }
    if (*low == -INFINITY) *low = least;
    if (*high == INFINITY) *high = most;
}

void curve_market_clear(struct curve_market *t)
{
    double low = -INFINITY, high = INFINITY;
    for (int step = 0, solved = 0; step < STEPS; step++) {
        double total = 0.0, slope = 0.0;
        if (!follow(t) && solved) return;
        for (ptrdiff_t i = 0; i < t->n; i++) {
            total += t->base[i] + t->slope[i] * t->price;
            slope += t->slope[i];
        }
        if (total > t->capacity)
            low = t->price;
        else
            high = t->price;
        double next = t->price + (t->capacity - total) / slope;
        solved = slope < 0.0 && next > low && next < high && (step < NEWTON_STEPS || step % 2);
        if (next == t->price) return;
        if (!solved) {
            ends(t, &low, &high);
            next = low + 0.5 * (high - low);
        }
        t->price = next;
    }
}
