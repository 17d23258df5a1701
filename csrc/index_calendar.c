#include "index_calendar.h"

#include <math.h>
#include <string.h>

enum { AHEAD = 8, ROUNDS = 64 };
#define RISE 1.05 /* of the level at least between two steps of the path */

static void gather(const struct calendar *c, struct site_block *b, ptrdiff_t j, int32_t i)
{
    const struct site *s = &c->sites[i];
    b->ceiling[j] = s->ceiling;
    b->decay[j] = s->decay;
    b->loss[j] = s->loss;
    b->curvature[j] = s->curvature;
    b->offset[j] = s->offset;
    b->max_age[j] = s->max_age;
    b->cap[j] = s->cap;
    b->age[j] = c->now - s->last;
}

static void copy_site(struct site_block *to, ptrdiff_t i, const struct site_block *from, ptrdiff_t j)
{
    to->ceiling[i] = from->ceiling[j];
    to->decay[i] = from->decay[j];
    to->loss[i] = from->loss[j];
    to->curvature[i] = from->curvature[j];
    to->offset[i] = from->offset[j];
    to->max_age[i] = from->max_age[j];
    to->cap[i] = from->cap[j];
    to->age[i] = from->age[j];
}

/* Put a block of m sites, of these ages at step `from` and below the level until then, into the buckets of the
 * steps at which they may come to `level`. */
static void file(struct calendar *c, ptrdiff_t m, const int32_t *sites, const struct site_block *b, double from, double level)
{
    double due[WHITTLE_BLOCK], furthest = c->now + (double)(c->n_buckets - 1);
    whittle_block_safe_age(m, b, level, due);
    for (ptrdiff_t j = 0; j < m; j++) {
        if (due[j] == INFINITY) continue; /* not before the level is lowered, which places all anew */
        double step = from + (due[j] - b->age[j]);
        ptrdiff_t bucket = (ptrdiff_t)(step < furthest ? step : furthest) & (c->n_buckets - 1);
        int32_t *head = &c->heads[CALENDAR_CHAINS * bucket + sites[j] % CALENDAR_CHAINS];
        c->next[sites[j]] = *head;
        *head = sites[j];
    }
}

/* Take the sites out of the block that come to `level` in `stretch` steps from now on, of which m are left,
 * older by as much; those that do come to it are filed, and those that never can are forgotten. */
static ptrdiff_t file_those_due(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b, double from, double stretch, double level)
{
    struct site_block due;
    int32_t due_sites[WHITTLE_BLOCK];
    double key[WHITTLE_BLOCK], safe = level * (1.0 - WHITTLE_MARGIN);
    ptrdiff_t left = 0, n_due = 0;
    for (ptrdiff_t j = 0; j < m; j++) b->age[j] += stretch;
    whittle_block_index(m, b, key);
    for (ptrdiff_t j = 0; j < m; j++) {
        if (b->cap[j] < safe) continue;
        if (key[j] < safe) {
            sites[left] = sites[j];
            copy_site(b, left++, b, j);
        } else {
            due_sites[n_due] = sites[j];
            copy_site(&due, n_due, b, j);
            due.age[n_due++] -= stretch;
        }
    }
    if (n_due > 0) file(c, n_due, due_sites, &due, from, level);
    return left;
}

/* Which of m sites cannot come to the level before the last rise of the path, by a bound of the index that
 * takes no exponential: g(k) <= min(cap, x w^2 k (k + 1) / 2) for k < M. With the largest age for all, a site
 * needs a slope x w^2 / 2 below the least that comes to a level, among the levels that its cap does not rule out. */
static void find_far(const struct calendar *c, ptrdiff_t m, const struct site_block *b, uint8_t *far)
{
    double safe[CALENDAR_PATH], slope[CALENDAR_PATH], level = c->level, least = INFINITY, oldest = 0.0;
    ptrdiff_t n = 0;
    for (ptrdiff_t j = 0; j < m; j++) oldest = b->age[j] > oldest ? b->age[j] : oldest;
    for (ptrdiff_t k = 0; k < c->n_path; k++) {
        if (c->path_step[k] <= c->now || c->path_level[k] <= level) continue;
        double age = oldest + (c->path_step[k] - 1.0 - c->now), here = level * (1.0 - WHITTLE_MARGIN);
        double steepest = here / (age * (age + 1.0));
        safe[n] = here;
        slope[n++] = least = steepest < least ? steepest : least;
        level = c->path_level[k];
    }
    oldest += c->path_step[c->n_path - 1] - 1.0 - c->now;
    for (ptrdiff_t j = 0; j < m; j++) {
        ptrdiff_t low = 0, high = n; /* safe[0, low) <= cap < safe[high, n) */
        while (low < high) {
            ptrdiff_t middle = (low + high) / 2;
            int reaches = safe[middle] <= b->cap[j];
            low = reaches ? middle + 1 : low;
            high = reaches ? high : middle;
        }
        double steep = 0.5 * b->ceiling[j] * b->loss[j] * b->loss[j];
        far[j] = low == 0 || (oldest < b->max_age[j] && steep < slope[low - 1]);
    }
}

/* File a block of m sites, of these ages now, for the level and the path ahead of it; spoils both arrays. */
static void push_block(struct calendar *c, ptrdiff_t m, int32_t *sites, struct site_block *b)
{
    double from = c->now, level = c->level, end = c->now;
    ptrdiff_t last = c->n_path - 1, n_far = 0, n_near = 0;
    if (last < 0 || c->path_step[last] <= c->now || c->path_level[last] <= level) {
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
            copy_site(&ahead, n_far, b, j);
            ahead.age[n_far++] += end - from;
        } else {
            sites[n_near] = sites[j];
            copy_site(b, n_near++, b, j);
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

static void push(struct calendar *c, ptrdiff_t m, int32_t *sites)
{
    struct site_block b;
    for (ptrdiff_t j = 0; j < m; j++) gather(c, &b, j, sites[j]);
    push_block(c, m, sites, &b);
}

/* The keys of n sites, by gathers into columns. */
static void rank(const struct calendar *c, ptrdiff_t n, struct ranked *items)
{
    struct site_block b;
    double key[WHITTLE_BLOCK];
    for (ptrdiff_t start = 0; start < n; start += WHITTLE_BLOCK) {
        ptrdiff_t m = n - start < WHITTLE_BLOCK ? n - start : WHITTLE_BLOCK;
        for (ptrdiff_t j = 0; j < m; j++) {
            if (start + j + AHEAD < n) __builtin_prefetch(&c->sites[items[start + j + AHEAD].site]);
            gather(c, &b, j, items[start + j].site);
        }
        whittle_block_index(m, &b, key);
        for (ptrdiff_t j = 0; j < m; j++) items[start + j].key = key[j];
    }
}

/* Empty the bucket of this step: several chains side by side, to wait for several links at once. */
static void take_due(struct calendar *c)
{
    int32_t *heads = &c->heads[CALENDAR_CHAINS * ((ptrdiff_t)c->now & (c->n_buckets - 1))];
    for (int more = 1; more;) {
        more = 0;
        for (int chain = 0; chain < CALENDAR_CHAINS; chain++) {
            int32_t i = heads[chain];
            if (i < 0) continue;
            __builtin_prefetch(&c->sites[i]);
            c->hot[c->n_hot++].site = i;
            heads[chain] = c->next[i];
            more = 1;
        }
    }
}

/* Crawl the first n_crawls hot sites: they leave for the calendar (or stay, where everything is hot). */
static void crawl(struct calendar *c, int32_t *sites, double *contents)
{
    struct site_block b;
    double content[WHITTLE_BLOCK];
    int32_t crawled[WHITTLE_BLOCK];
    for (ptrdiff_t j = 0; j < c->n_crawls; j++) sites[j] = c->hot[j].site;
    top_sort_sites(sites, c->n_crawls, c->room);
    for (ptrdiff_t start = 0; start < c->n_crawls; start += WHITTLE_BLOCK) {
        ptrdiff_t m = c->n_crawls - start < WHITTLE_BLOCK ? c->n_crawls - start : WHITTLE_BLOCK;
        for (ptrdiff_t j = 0; j < m; j++) gather(c, &b, j, sites[start + j]);
        whittle_content_columns(m, b.age, b.ceiling, b.decay, b.max_age, content);
        for (ptrdiff_t j = 0; j < m; j++) {
            if (contents) contents[start + j] = content[j];
            c->sites[sites[start + j]].last = c->now;
            b.age[j] = 0.0;
        }
        memcpy(crawled, sites + start, (size_t)m * sizeof *sites);
        if (c->level > -INFINITY) push_block(c, m, crawled, &b);
    }
}

/* Let the level rise to what the rest of the hot sites, `rest` beside the crawled, show to be safe: at once
 * where they are many, else once a window by what was never needed in it. */
static void raise_level(struct calendar *c, ptrdiff_t rest)
{
    ptrdiff_t keep = rest, round = c->n_sites / c->n_crawls;
    double margin = 0.5 * (double)c->slack;
    if (c->window < round) margin *= sqrt((double)round / (double)c->window); /* a short watch proves little */
    if (rest < c->least_rest) c->least_rest = rest;
    if (rest > 4 * c->slack)
        keep = 2 * c->slack;
    else if (++c->waited >= c->window && (double)c->least_rest > margin)
        keep = rest - (c->least_rest - (ptrdiff_t)margin);
    if (keep < rest) {
        top_select(c->hot + c->n_crawls, rest, keep);
        double least = top_least(c->hot + c->n_crawls, keep);
        if (least > c->level) c->level = least;
    }
    if (c->waited >= c->window && c->window < round) c->window *= 2;
    if (keep < rest || c->waited >= c->window) calendar_new_window(c);
}

/* Send the hot sites from `first` on that are below the level back to the calendar. */
static void cool(struct calendar *c, ptrdiff_t first)
{
    int32_t low[WHITTLE_BLOCK];
    ptrdiff_t kept = 0, n_low = 0;
    for (ptrdiff_t j = first; j < c->n_hot; j++) {
        if (c->hot[j].key < c->level)
            low[n_low++] = c->hot[j].site;
        else
            c->hot[kept++] = c->hot[j];
        if (n_low == WHITTLE_BLOCK || j + 1 == c->n_hot) {
            push(c, n_low, low);
            n_low = 0;
        }
    }
    c->n_hot = kept;
}

void calendar_new_window(struct calendar *c)
{
    c->waited = 0;
    c->least_rest = c->n_sites;
}

int calendar_step(struct calendar *c, int32_t *sites, double *contents)
{
    int some = c->level > -INFINITY; /* else all sites are hot, and stay so */
    for (ptrdiff_t k = 0; k < c->n_path; k++)
        if (c->path_step[k] <= c->now && c->path_level[k] > c->level) c->level = c->path_level[k];
    take_due(c);
    rank(c, c->n_hot, c->hot);
    if (c->n_hot < c->n_crawls) return CALENDAR_LOWER;
    top_select(c->hot, c->n_hot, c->n_crawls);
    if (top_least(c->hot, c->n_crawls) < c->level) return CALENDAR_LOWER;
    if (some) raise_level(c, c->n_hot - c->n_crawls);
    crawl(c, sites, contents);
    if (some) cool(c, c->n_crawls);
    c->now += 1.0;
    return CALENDAR_DONE;
}

ptrdiff_t calendar_wanted(const struct calendar *c)
{
    ptrdiff_t wanted = c->n_crawls + 3 * c->slack;
    return wanted < c->n_sites ? wanted : c->n_sites;
}

void calendar_scan(const struct calendar *c, struct top_stream *stream, ptrdiff_t start, ptrdiff_t stop)
{
    struct ranked items[WHITTLE_BLOCK];
    double keys[WHITTLE_BLOCK];
    for (ptrdiff_t i = start; i < stop; i += WHITTLE_BLOCK) {
        ptrdiff_t m = stop - i < WHITTLE_BLOCK ? stop - i : WHITTLE_BLOCK;
        for (ptrdiff_t j = 0; j < m; j++) items[j].site = (int32_t)(i + j);
        rank(c, m, items);
        for (ptrdiff_t j = 0; j < m; j++) keys[j] = items[j].key;
        top_stream_feed(stream, m, keys, (int32_t)i);
    }
}

void calendar_clear(struct calendar *c)
{
    c->n_hot = 0;
    calendar_new_window(c);
    for (ptrdiff_t b = 0; b < CALENDAR_CHAINS * c->n_buckets; b++) c->heads[b] = -1;
}

void calendar_set_level(struct calendar *c, struct top_stream *stream)
{
    top_stream_finish(stream);
    double least = top_least(stream->items, stream->wanted);
    c->level = stream->wanted < c->n_sites && least > 0.0 ? least : -INFINITY;
    c->n_path = 0;
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
        rank(&small, size, items);
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

void calendar_place(struct calendar *c, ptrdiff_t start, ptrdiff_t stop)
{
    int32_t low[WHITTLE_BLOCK];
    for (ptrdiff_t i = start; i < stop; i += WHITTLE_BLOCK) {
        ptrdiff_t m = stop - i < WHITTLE_BLOCK ? stop - i : WHITTLE_BLOCK, n_low = 0;
        struct ranked *items = c->hot + c->n_hot; /* n_hot <= i, so there is room for m more */
        for (ptrdiff_t j = 0; j < m; j++) items[j].site = (int32_t)(i + j);
        rank(c, m, items);
        for (ptrdiff_t j = 0; j < m; j++) {
            if (items[j].key < c->level)
                low[n_low++] = items[j].site;
            else
                c->hot[c->n_hot++] = items[j];
        }
        push(c, n_low, low);
    }
}
