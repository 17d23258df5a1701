/* A ring of buckets of site numbers, held in chunks of one cache line that the buckets share.
 *
 * A bucket is a list of chunks, of which only the first has room; emptying it reads whole lines, 15 sites at a
 * time, and putting a site in touches the bucket's first chunk alone. Invariant: a site lies in one bucket at
 * most, so that n sites take at most n / 15 full chunks and one more for every bucket in use. O(1) a site.
 */
#ifndef KNAPSOLVE_SITE_BUCKETS_H
#define KNAPSOLVE_SITE_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

enum { CHUNK_SITES = 15 };

struct site_chunk {
    int32_t next; /* of the same bucket, or of the chunks set free; -1 ends */
    int32_t sites[CHUNK_SITES];
};

struct bucket_head {
    int32_t chunk; /* the first, or -1 */
    int32_t size;  /* sites in it; CHUNK_SITES if there is none */
};

struct site_buckets {
    struct bucket_head *heads; /* (n_buckets,) */
    struct site_chunk *chunks; /* (site_buckets_wanted(n_sites, n_buckets),) */
    ptrdiff_t n_buckets;       /* a power of two */
    int32_t n_used;            /* chunks taken into use since the buckets were cleared */
    int32_t free;              /* the first of those set free since, or -1 */
};

static inline ptrdiff_t site_buckets_wanted(ptrdiff_t n_sites, ptrdiff_t n_buckets)
{
    return n_sites / CHUNK_SITES + (n_buckets < n_sites ? n_buckets : n_sites);
}

static inline void site_buckets_clear(struct site_buckets *b)
{
    for (ptrdiff_t i = 0; i < b->n_buckets; i++) b->heads[i] = (struct bucket_head){-1, CHUNK_SITES};
    b->n_used = 0;
    b->free = -1;
}

static inline void site_buckets_put(struct site_buckets *b, ptrdiff_t step, int32_t site)
{
    struct bucket_head *head = &b->heads[step & (b->n_buckets - 1)];
    if (head->size == CHUNK_SITES) {
        int32_t fresh = b->free;
        if (fresh < 0)
            fresh = b->n_used++;
        else
            b->free = b->chunks[fresh].next;
        b->chunks[fresh].next = head->chunk;
        *head = (struct bucket_head){fresh, 0};
    }
    b->chunks[head->chunk].sites[head->size++] = site;
}

/* Move up to CHUNK_SITES sites of the bucket of `step` out, and return how many: 0 once it is empty. */
static inline int32_t site_buckets_take(struct site_buckets *b, ptrdiff_t step, int32_t sites[CHUNK_SITES])
{
    struct bucket_head *head = &b->heads[step & (b->n_buckets - 1)];
    int32_t at = head->chunk, n = head->size;
    if (at < 0) return 0;
    struct site_chunk *chunk = &b->chunks[at];
    if (chunk->next >= 0) __builtin_prefetch(&b->chunks[chunk->next]);
    for (int32_t j = 0; j < n; j++) sites[j] = chunk->sites[j];
    *head = (struct bucket_head){chunk->next, CHUNK_SITES};
    chunk->next = b->free;
    b->free = at;
    return n;
}

#endif
