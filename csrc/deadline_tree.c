#include "deadline_tree.h"

static inline void keep_sentinel_ahead(deadline_clock *t)
{
    t->entry[t->n_items].tick = t->last.tick + INT64_MAX;
}

void deadline_tree_build(deadline_clock *t)
{
    int32_t *winner = t->link, n = (int32_t)t->n_items;
    keep_sentinel_ahead(t);
    for (int32_t i = 0; i < n; i++) winner[n + i] = deadline_holds(t, i) ? i : n;
    for (int32_t k = n - 1; k > 0; k--) {
        int32_t left = winner[2 * k], right = winner[2 * k + 1];
        winner[k] = deadline_before(t->entry, right, left) ? right : left;
    }
}

/* Play the matches from the leaf of `item` upwards; `best` stands at that leaf. */
static inline void play(deadline_clock *t, int64_t item, int32_t best)
{
    int32_t *winner = t->link;
    const deadline_entry *entry = t->entry;
    keep_sentinel_ahead(t);
    int64_t k = t->n_items + item;
    uint64_t tick = entry[best].tick;
    for (winner[k] = best; k > 1; k >>= 1) {
        int32_t other = winner[k ^ 1];
        uint64_t other_tick = entry[other].tick;
        int64_t apart = (int64_t)(other_tick - tick);
        int first = apart < 0;
        if (__builtin_expect(apart == 0, 0)) first = deadline_before(entry, other, best);
        best = first ? other : best;
        tick = first ? other_tick : tick;
        winner[k >> 1] = best;
    }
}

void deadline_tree_insert(deadline_clock *t, int64_t item, double delay)
{
    deadline_write(t, item, delay);
    play(t, item, (int32_t)item);
}

int64_t deadline_tree_pop(const deadline_clock *t)
{
    if (t->task) return DEADLINE_LATER;
    int32_t item = t->link[1];
    return item == t->n_items ? DEADLINE_NONE : item;
}

void deadline_tree_push(deadline_clock *t, int64_t item, double period)
{
    deadline_put_off(t, item, period);
    play(t, item, (int32_t)item);
}

void deadline_tree_drop(deadline_clock *t, int64_t item)
{
    t->entry[item].next = DEADLINE_ABSENT;
    play(t, item, (int32_t)t->n_items);
}

void deadline_tree_rescale(deadline_clock *t)
{
    deadline_rescale(t, 0, t->n_items);
    deadline_restart(t);
    deadline_tree_build(t);
}
