/* Comparisons may become masks: no value changes, only which floating-point exception flags are raised. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math")
#endif

#include "every_width.h"
#include "nefk_math.h"
#include "nefk_ramps.h"
#include "nefk_gather.h"

enum { STRIP = NEFK_ROW_LANES /* groups of a row side by side */ };
static const double SLACK = 5e-13; /* relative difference of sums that counts as none */

/* Items of n groups in rows (size, n), lower bounds, and beyond them room; `left` (n,) is what caps leave beyond lower
 * bounds. */
typedef struct { const double *weight, *lower, *upper, *room, *left; double *x, *own, ceiling; } served;

/* The least room that counts among items of one weight with so much in all. */
NEFK_INLINE double least_of(double tied, double ceiling) { return tied < 0.5 * ceiling ? 0.0 : nefk_endless(ceiling); }

/* Add the room of a row's items that weigh more than those of another, and as much. */
NEFK_INLINE void add_room(const double *other, const double *room, const double *own, double *restrict above,
                          double *restrict tied) {
    for (size_t l = 0; l < STRIP; l++) {
        uint64_t r = nefk_to_bits(room[l]), more = 0 - (uint64_t)(other[l] > own[l]);
        uint64_t same = 0 - (uint64_t)(other[l] == own[l]);
        above[l] += nefk_from_bits(r & more);
        tied[l] += nefk_from_bits(r & same);
    }
}

/* Serve the groups in rows, a strip at a time: every item against all others of its group, without a branch. What
 * follows the last group in a row is no matter, but must be there to be read. */
NEFK_INLINE void serve_rows(size_t size, size_t n, served to) {
    for (size_t first = 0; first < n; first += STRIP) {
        size_t m = n - first < STRIP ? n - first : STRIP;
        double whole[STRIP] = {0}, least[STRIP], best[STRIP], x[STRIP];
        for (size_t l = 0; l < STRIP; l++) least[l] = INFINITY, best[l] = -1.0;
        for (size_t j = 0; j < size; j++) {
            size_t at = j * n + first;
            const double *own = to.weight + at, *room = to.room + at, *lower = to.lower + at, *upper = to.upper + at;
            double above[STRIP] = {0}, tied[STRIP] = {0};
            for (size_t k = 0; k < size; k++)
                add_room(to.weight + k * n + first, to.room + k * n + first, own, above, tied);
            for (size_t l = 0; l < STRIP; l++) {
                double w = own[l], r = room[l], rest = to.left[first + l] - above[l];
                int has_room = r > 0.0, is_served = has_room & (rest > 0.0);
                double share = r < least_of(tied[l], to.ceiling) ? 0.0 : rest * (r / tied[l]);
                double part = is_served ? share : 0.0, some = lower[l] + part;
                some = some < upper[l] ? some : upper[l];
                x[l] = tied[l] <= rest ? upper[l] : some;
                whole[l] += r;
                least[l] = is_served & (w < least[l]) ? w : least[l];
                best[l] = has_room & (w > best[l]) ? w : best[l];
            }
            memcpy(to.x + at, x, m * sizeof *x);
        }
        for (size_t l = 0; l < m; l++) {
            double left = to.left[first + l], price = left > 0.0 ? least[l] : best[l];
            to.own[first + l] = whole[l] > left ? price : NAN;
        }
    }
}

AT_EVERY_WIDTH(void, nefk_serve_rows, serve_rows, (size_t size, size_t n, served to), (size, n, to))

/* Serve the m items of one group. */
static void serve_one(size_t m, nefk_tile_space *space, size_t at, double left, double ceiling, double *own) {
    const double *weight = space->all.entries[1] + at, *lower = space->all.entries[2] + at;
    const double *upper = space->all.entries[3] + at, *room = space->d + at;
    const nefk_instructions *use = nefk_instructions_in_use();
    double *x = space->x + at, *some = space->y, *others = space->e, best = -1.0;
    nefk_ramps ramps = {some, space->price, others};
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
    memcpy(ramps.end, some, with_room * sizeof *some);
    *own = left > 0.0 ? nefk_cross(with_room, ramps, left).high : best;
    for (size_t i = 0; i < m; i++) {
        some[i] = weight[i] > *own ? room[i] : 0.0;
        others[i] = weight[i] == *own ? room[i] : 0.0;
    }
    double rest = left - sum_of(use, some, m), tied = sum_of(use, others, m), least = least_of(tied, ceiling);
    rest = rest > 0.0 ? rest : 0.0;
    for (size_t i = 0; least > 0.0 && i < m; i++) others[i] = others[i] < least ? 0.0 : others[i];
    for (size_t i = 0; i < m; i++) {
        double part = lower[i] + rest * (others[i] / tied); /* rooms may be so large that rest / tied is 0 */
        part = (rest < tied) & (part < upper[i]) ? part : upper[i];
        x[i] = weight[i] > *own ? upper[i] : (weight[i] == *own ? part : lower[i]);
    }
}

void nefk_tile_serve(const nefk_grouped *all, nefk_tile tile, nefk_tile_space *space, double *own, double *doubles,
                     nefk_tile_audit *audit) {
    size_t m = gather(all, tile, NULL, space), groups = space->groups;
    for (size_t g = groups; g < tile.last - tile.first; g++) own[tile.first + space->name[g]] = NAN;
    double *lower = space->all.entries[2], *upper = space->all.entries[3], *floor = space->slope;
    const nefk_instructions *use = nefk_instructions_in_use();
    const double ceiling = all->problem->ceiling;
    for (size_t c = 1; c < NEFK_COLUMNS; c++)
        if (!space->all.step[c]) nefk_fill(NEFK_TILE, space->all.entries[c][0], space->all.entries[c]);
    *audit = (nefk_tile_audit){{{0, 0}, {0, 0}, 0}, 0, 1, 0};
    for (size_t i = 0; i < m; i++) {
        space->d[i] = (upper[i] < ceiling ? upper[i] : ceiling) - lower[i];
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
                     space->low + g, ceiling};
        if (n > 1) nefk_serve_rows(rows.size, n, to);
        else serve_one(rows.size, space, at, space->at[g], ceiling, space->low + g);
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
