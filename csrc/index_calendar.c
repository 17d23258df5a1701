#include "index_calendar.h"

#include <math.h>
#include <string.h>

#include "calendar_path.h"

static void push(struct calendar *c, ptrdiff_t m, int32_t *sites)
{
    struct site_block b;
    calendar_gather(c, &b, m, sites);
    calendar_file(c, m, sites, &b);
}

static void take_due(struct calendar *c)
{
    int32_t sites[CHUNK_SITES];
    for (int32_t n; (n = site_buckets_take(&c->due, (ptrdiff_t)c->now, sites)) > 0;)
        for (int32_t j = 0; j < n; j++) {
            __builtin_prefetch(&c->sites[sites[j]], 0, 2);
            c->hot[c->n_hot++].site = sites[j];
        }
}

/* Bring the n_crawls largest of the hot sites to the front, and note the cutoff. */
static void select_hot(struct calendar *c)
{
    double guess = c->cutoff;
    struct ranked *spare = 2 * c->n_hot <= c->n_sites ? c->hot + c->n_hot : NULL;
    c->cutoff = top_select_near(c->hot, c->n_hot, c->n_crawls, guess - c->swing, guess + c->swing, spare);
    c->swing = 0.75 * c->swing + 0.6 * fabs(c->cutoff - guess);
}

/* Crawl the first n_crawls hot sites: they leave for the calendar (or stay, where everything is hot). */
static void crawl(struct calendar *c, int32_t *sites, double *contents)
{
    struct site_block b;
    double content[WHITTLE_BLOCK], waited[WHITTLE_BLOCK];
    int32_t crawled[WHITTLE_BLOCK];
    for (ptrdiff_t j = 0; j < c->n_crawls; j++) sites[j] = c->hot[j].site;
    top_sort_sites(sites, c->n_crawls, c->room);
    for (ptrdiff_t start = 0; start < c->n_crawls; start += WHITTLE_BLOCK) {
        ptrdiff_t m = c->n_crawls - start < WHITTLE_BLOCK ? c->n_crawls - start : WHITTLE_BLOCK;
        calendar_gather(c, &b, m, sites + start);
        whittle_content_columns(m, b.age, b.ceiling, b.decay, b.max_age, content);
        for (ptrdiff_t j = 0; j < m; j++) {
            if (contents) contents[start + j] = content[j];
            c->sites[sites[start + j]].last = c->now;
            waited[j] = b.age[j];
            b.age[j] = 0.0;
        }
        memcpy(crawled, sites + start, (size_t)m * sizeof *sites);
        if (c->level > -INFINITY) calendar_return(c, m, crawled, &b, waited, content);
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
    calendar_rank(c, c->n_hot, c->hot);
    if (c->n_hot < c->n_crawls) return CALENDAR_LOWER;
    select_hot(c);
    if (c->cutoff < c->level) return CALENDAR_LOWER;
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
        calendar_rank(c, m, items);
        for (ptrdiff_t j = 0; j < m; j++) keys[j] = items[j].key;
        top_stream_feed(stream, m, keys, (int32_t)i);
    }
}

void calendar_clear(struct calendar *c)
{
    c->n_hot = 0;
    calendar_new_window(c);
    site_buckets_clear(&c->due);
}

void calendar_set_level(struct calendar *c, struct top_stream *stream)
{
    top_stream_finish(stream);
    double least = top_least(stream->items, stream->wanted);
    c->level = stream->wanted < c->n_sites && least > 0.0 ? least : -INFINITY;
    c->n_path = 0;
}

void calendar_place(struct calendar *c, ptrdiff_t start, ptrdiff_t stop)
{
    struct site_block b;
    double key[WHITTLE_BLOCK];
    int32_t sites[WHITTLE_BLOCK];
    for (ptrdiff_t i = start; i < stop; i += WHITTLE_BLOCK) {
        ptrdiff_t m = stop - i < WHITTLE_BLOCK ? stop - i : WHITTLE_BLOCK, n_low = 0;
        for (ptrdiff_t j = 0; j < m; j++) sites[j] = (int32_t)(i + j);
        calendar_gather(c, &b, m, sites);
        whittle_block_index(m, &b, key);
        for (ptrdiff_t j = 0; j < m; j++) {
            if (key[j] < c->level) {
                sites[n_low] = sites[j];
                calendar_copy(&b, n_low++, &b, j);
            } else {
                c->hot[c->n_hot++] = (struct ranked){key[j], sites[j], 0};
            }
        }
        if (n_low > 0) calendar_file(c, n_low, sites, &b);
    }
}
