#include "calendar_path.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 64, QUARTERS = 256 };
#define RISE 1.05 /* of the level at least between two steps of the path */

void calendar_rank(const struct calendar *c, ptrdiff_t n, struct ranked *items)
{
    struct site_block b;
    double key[WHITTLE_BLOCK];
    int32_t sites[WHITTLE_BLOCK];
    for (ptrdiff_t start = 0; start < n; start += WHITTLE_BLOCK) {
        ptrdiff_t m = n - start < WHITTLE_BLOCK ? n - start : WHITTLE_BLOCK;
        for (ptrdiff_t j = 0; j < m; j++) {
            sites[j] = items[start + j].site;
        }
        calendar_gather(c, &b, m, sites);
        whittle_block_index(m, &b, key);
        for (ptrdiff_t j = 0; j < m; j++) items[start + j].key = key[j];
    }
}

static inline void put(struct calendar *c, int32_t site, double step)
{
    double furthest = c->now + (double)(c->due.n_buckets - 1);
    site_buckets_put(&c->due, (ptrdiff_t)(step < furthest ? step : furthest), site);
}

/* Put a block of m sites, of these ages at step `from` and below the level until then, into the buckets of the
 * steps at which they may come to `level`. */
static void file(struct calendar *c, ptrdiff_t m, const int32_t *sites, const struct site_block *b,
                 double from, double level)
{
    double due[WHITTLE_BLOCK];
    whittle_block_safe_age(m, b, level, due);
    for (ptrdiff_t j = 0; j < m; j++) /* infinity: not before the level is lowered, which places all anew */
        if (due[j] < INFINITY) put(c, sites[j], from + (due[j] - b->age[j]));
}

/* Take the sites out of the block that come to `level` in `stretch` steps from now on, of which m are left,
 * older by as much; those that do come to it are filed, and those that never can are forgotten. */
static ptrdiff_t file_those_due(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b,
                                double from, double stretch, double level)
{
    struct site_block due;
    int32_t due_sites[WHITTLE_BLOCK];
    double key[WHITTLE_BLOCK], safe = level * (1.0 - WHITTLE_MARGIN);
    ptrdiff_t able = 0, left = 0, n_due = 0;
    for (ptrdiff_t j = 0; j < m; j++) {
        if (b->cap[j] < safe) continue;
        sites[able] = sites[j];
        calendar_copy(b, able, b, j);
        b->age[able++] += stretch;
    }
    whittle_block_index(able, b, key);
    for (ptrdiff_t j = 0; j < able; j++) {
        if (key[j] < safe) {
            sites[left] = sites[j];
            calendar_copy(b, left++, b, j);
        } else {
            due_sites[n_due] = sites[j];
            calendar_copy(&due, n_due, b, j);
            due.age[n_due++] -= stretch;
        }
    }
    if (n_due > 0) file(c, n_due, due_sites, &due, from, level);
    return left;
}

/* Which quarter of an octave x > 0 lies in, the least being 0 and the greatest QUARTERS - 1. */
static ptrdiff_t quarter(double x)
{
    int64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 50) - ((int64_t)1023 - QUARTERS / 8) * 4;
    return (ptrdiff_t)(bits < 0 ? 0 : bits < QUARTERS ? bits : QUARTERS - 1);
}

/* Which of m sites cannot come to the level before the last rise of the path, by a bound of the index that
 * takes no exponential: g(k) <= min(cap, x w^2 k (k + 1) / 2) for k < M. With the largest age for all, a site
 * needs a slope x w^2 / 2 below the least that comes to a level, among the levels that its cap, rounded up to a
 * quarter of an octave, does not rule out. */
static void find_far(const struct calendar *c, ptrdiff_t m, const struct site_block *b, uint8_t *far)
{
    double slope[QUARTERS], level = c->level, oldest = 0.0;
    for (ptrdiff_t j = 0; j < m; j++) oldest = b->age[j] > oldest ? b->age[j] : oldest;
    for (int q = 0; q < QUARTERS; q++) slope[q] = INFINITY;
    for (ptrdiff_t k = 0; k < c->n_path; k++) {
        if (c->path_step[k] <= c->now || c->path_level[k] <= level) continue;
        double age = oldest + (c->path_step[k] - 1.0 - c->now), safe = level * (1.0 - WHITTLE_MARGIN);
        double steep = safe / (age * (age + 1.0)), *least = &slope[quarter(safe)];
        *least = steep < *least ? steep : *least;
        level = c->path_level[k];
    }
    for (int q = 1; q < QUARTERS; q++) slope[q] = slope[q - 1] < slope[q] ? slope[q - 1] : slope[q];
    oldest += c->path_step[c->n_path - 1] - 1.0 - c->now;
    for (ptrdiff_t j = 0; j < m; j++) {
        double steep = 0.5 * b->ceiling[j] * b->loss[j] * b->loss[j];
        far[j] = (oldest < b->max_age[j]) & (steep < slope[quarter(b->cap[j])]);
    }
}

/* Whether the level is not foreseen to rise any more. */
static int path_is_over(const struct calendar *c)
{
    ptrdiff_t last = c->n_path - 1;
    return last < 0 || c->path_step[last] <= c->now || c->path_level[last] <= c->level;
}

void calendar_return(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b, const double *waited,
                     const double *content)
{
    if (path_is_over(c)) {
        double due[WHITTLE_BLOCK];
        ptrdiff_t rest = 0;
        whittle_block_return_age(m, b, waited, content, c->level, due);
        for (ptrdiff_t j = 0; j < m; j++) {
            if (due[j] > 0.0) {
                put(c, sites[j], c->now + due[j]);
            } else {
                sites[rest] = sites[j];
                calendar_copy(b, rest++, b, j);
            }
        }
        m = rest;
    }
    if (m > 0) calendar_file(c, m, sites, b);
}

void calendar_file(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b)
{
    double from = c->now, level = c->level, end = c->now;
    ptrdiff_t last = c->n_path - 1, n_far = 0, n_near = 0;
    if (path_is_over(c)) {
        file(c, m, sites, b, from, level);
        return;
    }
    struct site_block ahead;
    int32_t far_sites[WHITTLE_BLOCK];
    uint8_t far[WHITTLE_BLOCK];
    find_far(c, m, b, far);
    end = c->path_step[last] - 1.0;
    for (ptrdiff_t j = 0; j < m; j++) {
        if (far[j]) {
            if (b->cap[j] < c->path_level[last] * (1.0 - WHITTLE_MARGIN)) continue;
            far_sites[n_far] = sites[j];
            calendar_copy(&ahead, n_far, b, j);
            ahead.age[n_far++] += end - from;
        } else {
            sites[n_near] = sites[j];
            calendar_copy(b, n_near++, b, j);
        }
    }
    if (n_far > 0) file(c, n_far, far_sites, &ahead, end, c->path_level[last]);
    for (ptrdiff_t k = 0; k <= last && n_near > 0; k++) {
        if (c->path_step[k] <= c->now || c->path_level[k] <= level) continue;
        double stretch = c->path_step[k] - 1.0 - from;
        if (stretch > 0.0) n_near = file_those_due(c, n_near, sites, b, from, stretch, level);
        from += stretch;
        level = c->path_level[k];
    }
    file(c, n_near, sites, b, from, level);
}

ptrdiff_t calendar_foresee(struct calendar *c, struct site *sample, double *steps, double *levels)
{
    ptrdiff_t size = c->n_sites < CALENDAR_SAMPLE ? c->n_sites : CALENDAR_SAMPLE, n = 0, stretch = 1;
    ptrdiff_t longest = c->n_sites / c->n_crawls / 128 > 8 ? c->n_sites / c->n_crawls / 128 : 8;
    double share = (double)size / (double)c->n_sites, due = 0.0, highest = 0.0;
    struct calendar small = {.n_sites = size, .sites = sample, .now = c->now};
    struct ranked *items = c->hot;
    c->level = -INFINITY;
    for (ptrdiff_t j = 0; j < size; j++) sample[j] = c->sites[(ptrdiff_t)((double)j / share)];
    for (int round = 0; round < ROUNDS && n < CALENDAR_PATH; round++) {
        due += share * (double)(c->n_crawls * stretch);
        double wanted = due + share * (double)c->slack;
        ptrdiff_t crawled = (ptrdiff_t)due, among = (ptrdiff_t)(wanted + 2.0 * sqrt(wanted)) + 1;
        if (among >= size) break;
        for (ptrdiff_t j = 0; j < size; j++) items[j].site = (int32_t)j;
        calendar_rank(&small, size, items);
        top_select(items, size, among);
        double least = top_least(items, among);
        if (!(least > 0.0)) break;
        if (round == 0) c->level = highest = least;
        if (least > RISE * highest) {
            steps[n] = small.now;
            levels[n++] = highest = least;
        }
        top_select(items, among, crawled);
        for (ptrdiff_t j = 0; j < crawled; j++) sample[items[j].site].last = small.now;
        due -= (double)crawled;
        small.now += (double)stretch;
        stretch = 1 + (ptrdiff_t)(small.now - c->now) / 4;
        if (stretch > longest) stretch = longest;
    }
    return n;
}
