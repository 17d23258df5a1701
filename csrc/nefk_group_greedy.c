/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "every_width.h"
#include "nefk_math.h"
#include "nefk_tile.h"

enum { STRIP = 16 /* groups of a row side by side */, HALVED = 40 /* pivots, after which bits are halved */ };
static const double SLACK = 5e-13; /* relative difference of sums that counts as none */

/* Items of n groups in rows (size, n), lower bounds, and beyond them room; `left` (n,) is what caps leave beyond lower
 * bounds. */
typedef struct { const double *weight, *lower, *upper, *room, *left; double *x, *own; } served;

/* Serve m groups, from one on, of those in rows: every item against all others of its group, without a branch. */
NEFK_INLINE void serve_strip(size_t size, size_t n, size_t m, size_t first, served to) {
    double whole[STRIP] = {0}, least[STRIP], best[STRIP];
    for (size_t l = 0; l < m; l++) least[l] = INFINITY, best[l] = -1.0;
    for (size_t j = 0; j < size; j++) {
        const double *own = to.weight + j * n + first, *room = to.room + j * n + first;
        const double *lower = to.lower + j * n + first, *upper = to.upper + j * n + first;
        double above[STRIP] = {0}, tied[STRIP] = {0};
        for (size_t k = 0; k < size; k++) {
            const double *other = to.weight + k * n + first, *more = to.room + k * n + first;
            for (size_t l = 0; l < m; l++) {
                double r = more[l];
                above[l] += other[l] > own[l] ? r : 0.0;
                tied[l] += other[l] == own[l] ? r : 0.0;
            }
        }
        for (size_t l = 0; l < m; l++) {
            double w = own[l], r = room[l], rest = to.left[first + l] - above[l];
            int has_room = r > 0.0, is_served = has_room & (rest > 0.0);
            double share = r * (rest / tied[l]), part = is_served ? share : 0.0, x = lower[l] + part;
            x = x < upper[l] ? x : upper[l];
            to.x[j * n + first + l] = tied[l] <= rest ? upper[l] : x;
            whole[l] += r;
            least[l] = is_served & (w < least[l]) ? w : least[l];
            best[l] = has_room & (w > best[l]) ? w : best[l];
        }
    }
    for (size_t l = 0; l < m; l++) {
        double left = to.left[first + l], price = left > 0.0 ? least[l] : best[l];
        to.own[first + l] = whole[l] > left ? price : NAN;
    }
}

NEFK_INLINE void serve_rows(size_t size, size_t n, served to) {
    size_t first = 0;
    for (; first + STRIP <= n; first += STRIP) serve_strip(size, n, STRIP, first, to);
    if (first < n) serve_strip(size, n, n - first, first, to);
}

AT_EVERY_WIDTH(void, nefk_serve_rows, serve_rows, (size_t size, size_t n, served to), (size, n, to))

/* Sums over m items of the room of those that weigh more than a pivot, and as much. */
NEFK_INLINE void sum_above(size_t m, const double *weight, const double *room, double pivot, double *above, double *tied) {
    enum { LANES = 8 };
    double more[LANES] = {0}, same[LANES] = {0};
    size_t i = 0;
    for (; i + LANES <= m; i += LANES)
        for (size_t l = 0; l < LANES; l++) {
            double w = weight[i + l], r = room[i + l];
            more[l] += w > pivot ? r : 0.0;
            same[l] += w == pivot ? r : 0.0;
        }
    for (; i < m; i++) {
        more[0] += weight[i] > pivot ? room[i] : 0.0;
        same[0] += weight[i] == pivot ? room[i] : 0.0;
    }
    *above = ((more[0] + more[4]) + (more[2] + more[6])) + ((more[1] + more[5]) + (more[3] + more[7]));
    *tied = ((same[0] + same[4]) + (same[2] + same[6])) + ((same[1] + same[5]) + (same[3] + same[7]));
}

AT_EVERY_WIDTH(void, nefk_sum_above, sum_above,
               (size_t m, const double *weight, const double *room, double pivot, double *above, double *tied),
               (m, weight, room, pivot, above, tied))

static double middle_of(double a, double b, double c) {
    double low = a < b ? a : b, high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
}

/* The weight of the last item of one group that is served, if all its m items have more room than there is left, which
 * is positive: quickselect by sums of room. Uses up copies of both columns. O(m), or O(m) times 64 at worst. */
static double find_last(size_t m, double *weight, double *room, double left) {
    double low = -1.0, high = INFINITY; /* weights that it lies between */
    for (size_t tries = 0; m > 1; tries++) {
        double pivot = middle_of(weight[0], weight[m / 2], weight[m - 1]), above, tied;
        if (tries >= HALVED) {
            uint64_t least = low > 0.0 ? nefk_to_bits(low) : 0, most = nefk_to_bits(high);
            pivot = nefk_from_bits(least + (most - least) / 2);
        }
        nefk_sum_above(m, weight, room, pivot, &above, &tied);
        int is_above = above >= left;
        if (!is_above && above + tied >= left) return pivot;
        if (!is_above) left -= above + tied;
        *(is_above ? &low : &high) = pivot;
        size_t kept = 0;
        for (size_t i = 0; i < m; i++) { /* no branch */
            double w = weight[i], r = room[i];
            weight[kept] = w;
            room[kept] = r;
            kept += is_above ? w > pivot : w < pivot;
        }
        if (!kept) return pivot; /* by rounding, there is less room than left */
        m = kept;
    }
    return weight[0];
}

/* Serve the m items of one group. */
static void serve_one(size_t m, nefk_tile_space *space, size_t at, double left, double *own) {
    const double *weight = space->all.entries[1] + at, *lower = space->all.entries[2] + at;
    const double *upper = space->all.entries[3] + at, *room = space->d + at;
    const nefk_instructions *use = nefk_instructions_in_use();
    double *x = space->x + at, *some = space->y, *others = space->e, best = -1.0;
    if (sum_of(use, room, m) <= left) {
        memcpy(x, upper, m * sizeof *x);
        *own = NAN;
        return;
    }
    size_t with_room = 0;
    for (size_t i = 0; i < m; i++) { /* no branch */
        some[with_room] = weight[i];
        others[with_room] = room[i];
        with_room += room[i] > 0.0;
        best = (room[i] > 0.0) & (weight[i] > best) ? weight[i] : best;
    }
    *own = left > 0.0 ? find_last(with_room, some, others, left) : best;
    for (size_t i = 0; i < m; i++) {
        some[i] = weight[i] > *own ? room[i] : 0.0;
        others[i] = weight[i] == *own ? room[i] : 0.0;
    }
    double rest = left - sum_of(use, some, m), tied = sum_of(use, others, m);
    rest = rest > 0.0 ? rest : 0.0;
    double share = rest < tied ? rest / tied : 1.0;
    for (size_t i = 0; i < m; i++) {
        double part = lower[i] + share * room[i];
        part = (share < 1.0) & (part < upper[i]) ? part : upper[i];
        x[i] = weight[i] > *own ? upper[i] : (weight[i] == *own ? part : lower[i]);
    }
}

void nefk_tile_serve(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *own, double *doubles,
                     nefk_tile_audit *audit) {
    size_t m = gather(all, tile, NULL, space), groups = tile.last - tile.first;
    double *lower = space->all.entries[2], *upper = space->all.entries[3], *floor = space->slope;
    const nefk_instructions *use = nefk_instructions_in_use();
    for (size_t c = 1; c < NEFK_COLUMNS; c++)
        if (!space->all.step[c]) nefk_fill(NEFK_TILE, space->all.entries[c][0], space->all.entries[c]);
    *audit = (nefk_tile_audit){{{0, 0}, {0, 0}, 0}, 0, 1, 0};
    for (size_t i = 0; i < m; i++) {
        space->d[i] = (upper[i] < all->problem->ceiling ? upper[i] : all->problem->ceiling) - lower[i];
        audit->n_wrong += space->d[i] < 0.0;
    }
    sum_groups(space, lower, floor);
    for (size_t g = 0; g < groups; g++) {
        double left = space->cap[g] - floor[g];
        audit->n_wrong += -left > SLACK * space->cap[g];
        space->at[g] = left > SLACK * floor[g] ? left : 0.0;
    }
    for (size_t r = 0; r < space->n_rows; r++) {
        nefk_rows rows = space->rows[r];
        size_t n = rows.last - rows.first, at = rows.begin, g = rows.first;
        served to = {space->all.entries[1] + at, lower + at, upper + at, space->d + at, space->at + g, space->x + at,
                     space->low + g};
        if (n > 1) nefk_serve_rows(rows.size, n, to);
        else serve_one(rows.size, space, at, space->at[g], space->low + g);
    }
    sum_groups(space, space->x, space->total);
    for (size_t g = 0; g < groups; g++) {
        double cap = space->cap[g], off = fabs(space->total[g] - cap);
        own[tile.first + space->name[g]] = space->low[g];
        off = (space->low[g] == space->low[g]) & (off > 0.0) ? off / cap : 0.0;
        audit->over = audit->over >= off ? audit->over : off;
    }
    for (size_t at = 0; at < m; at += NEFK_BLOCK)
        nefk_add(&audit->audit.amount.high, &audit->audit.amount.low,
                 use->sum(m - at < NEFK_BLOCK ? m - at : NEFK_BLOCK, space->x + at));
    if (all->member) for (size_t i = 0; i < m; i++) doubles[tile.begin + i] = space->x[space->order[i]];
    else nefk_store(m, space->order, 0, space->x, NULL, doubles, NULL, NULL, 0);
}
