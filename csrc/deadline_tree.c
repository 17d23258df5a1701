#include "deadline_tree.h"

int64_t deadline_tree_leaves(int64_t n)
{
    int64_t leaves = 1;
    while (leaves < n) leaves *= 2;
    return leaves;
}

static void move_sentinel(deadline_tree *t) { t->entry[t->n_leaves].tick = t->now + INT64_MAX; }

void deadline_tree_init(deadline_tree *t, deadline_entry *entry, int32_t *winner, int64_t n, double rate)
{
    *t = (deadline_tree){.entry = entry, .winner = winner, .n_leaves = deadline_tree_leaves(n),
                         .ticks_per_unit = deadline_scale(rate)};
    for (int64_t i = 0; i <= t->n_leaves; i++) entry[i] = (deadline_entry){0};
    for (int64_t k = 0; k < 2 * t->n_leaves; k++) winner[k] = (int32_t)t->n_leaves;
    move_sentinel(t);
}

/* Play the matches from the leaf of `item` upwards; `best` stands at that leaf. */
static inline void play(deadline_tree *t, int64_t item, int32_t best)
{
    int32_t *winner = t->winner;
    const deadline_entry *entry = t->entry;
    int64_t k = t->n_leaves + item;
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

void deadline_tree_insert(deadline_tree *t, int64_t item, double delay)
{
    t->entry[item] = (deadline_entry){.tick = t->now};
    deadline_advance(&t->entry[item], delay * t->ticks_per_unit);
    play(t, item, (int32_t)item);
}

int64_t deadline_tree_pop(deadline_tree *t)
{
    int32_t item = t->winner[1];
    if (item == t->n_leaves) return -1;
    uint64_t tick = t->entry[item].tick;
    t->turns += tick < t->now;
    t->now = tick;
    move_sentinel(t);
    return item;
}

void deadline_tree_push(deadline_tree *t, int64_t item, double period)
{
    deadline_advance(&t->entry[item], period * t->ticks_per_unit);
    play(t, item, (int32_t)item);
}

void deadline_tree_drop(deadline_tree *t, int64_t item) { play(t, item, (int32_t)t->n_leaves); }

int deadline_tree_holds(const deadline_tree *t, int64_t item) { return t->winner[t->n_leaves + item] == item; }

double deadline_tree_time(const deadline_tree *t, int64_t item)
{
    const deadline_entry *e = t->entry + item;
    return (ldexp((double)t->turns, 64) + (double)e->tick + e->fraction * 0x1p-32) / t->ticks_per_unit;
}
