#include "rate_ladder.h"

#include <math.h>

#include "every_width.h"

/* The rung of a rate: the exponent and the first RUNG_BITS bits of rate / share. */
static int64_t rung_of(const rate_ladder *ladder, double rate)
{
    double relative = rate / ladder->share;
    uint64_t bits;
    memcpy(&bits, &relative, sizeof bits);
    int64_t rung = (int64_t)(bits >> (52 - RUNG_BITS)) - ((int64_t)(1023 + RUNG_LOWEST) << RUNG_BITS);
    return rung < 0 ? 0 : rung < RUNGS ? rung : RUNGS - 1;
}

void ladder_init(rate_ladder *ladder, renewal_item *item, int32_t *next, int64_t n, double balance, double share,
                 double pooled)
{
    *ladder = (rate_ladder){.item = item, .next = next, .n = n, .balance = balance, .share = share,
                            .worth = renewal_worth(balance, share, pooled),
                            .drawn = -INFINITY, .redrawn_after = (double)(n / RUNG_LIVES), .low = RUNGS};
    for (int64_t j = 0; j < RUNGS; j++) {
        double part = ((double)(j & ((1 << RUNG_BITS) - 1)) + 0.5) / (1 << RUNG_BITS);
        ladder->rate[j] = share * ldexp(1.0 + part, (int)(j >> RUNG_BITS) + RUNG_LOWEST);
        ladder->slowness[j] = 1.0 / ladder->rate[j];
        ladder->since[j] = INFINITY;
        ladder->value[j] = -1.0;
    }
    for (int64_t j = 0; j <= RUNGS; j++) ladder->head[j] = ladder->tail[j] = RUNG_END;
}

/* Tangents of the rungs [low, high) at `now`, so that value + slope * (now - drawn) is the index. */
DECAY_INLINE int draw_tangents(rate_ladder *restrict l, int64_t low, int64_t high, double now)
{
    double since_drawn = now - l->drawn;
    for (int64_t j = low; j < high; j++) {
        double age = now - l->since[j];
        double u = l->rate[j] * (age > 0.0 ? age : 0.0), e = decay_exp(u);
        double weight = 1.0 - l->balance + l->worth * l->slowness[j], slope = weight * l->rate[j] * u * e;
        slope = age >= 0.0 ? slope : 0.0;
        l->slope[j] = slope;
        l->value[j] = age >= 0.0 ? weight * renewal_gain(u, e) - slope * since_drawn : -1.0;
    }
    return 0;
}
AT_EVERY_WIDTH(int, ladder_tangents, draw_tangents,
               (rate_ladder * l, int64_t low, int64_t high, double now), (l, low, high, now))

/* The rung of the largest index, in the low bits of the largest key: non-negative numbers compare as their bits do. */
DECAY_INLINE int64_t largest_key(const rate_ladder *l, int64_t low, int64_t high, double since_drawn)
{
    int64_t best = INT64_MIN;
    for (int64_t j = low; j < high; j++) {
        double value = l->value[j] + l->slope[j] * since_drawn;
        int64_t key;
        memcpy(&key, &value, sizeof key);
        key = (key & ~(int64_t)1023) | (1023 - j);
        best = key > best ? key : best;
    }
    return best;
}
AT_EVERY_WIDTH(int64_t, ladder_largest, largest_key,
               (const rate_ladder *l, int64_t low, int64_t high, double since_drawn), (l, low, high, since_drawn))

/* The index of the head of rung j, as the tangents have it. */
static void place_head(rate_ladder *l, int64_t j, double now)
{
    int32_t head = l->head[j];
    l->since[j] = head == RUNG_END ? INFINITY : l->item[head].last;
    draw_tangents(l, j, j + 1, now);
    if (head == RUNG_END || l->next[head] == RUNG_END) return;
    __builtin_prefetch(&l->item[l->next[head]]); /* by the time it is at the head, these have come */
    __builtin_prefetch(&l->next[l->next[head]]);
}

void ladder_put(rate_ladder *l, int32_t item, double now)
{
    double rate = l->item[item].rate;
    int64_t j = rate > 0.0 ? rung_of(l, rate) : RUNGS;
    l->next[item] = RUNG_END;
    if (l->head[j] != RUNG_END) {
        l->next[l->tail[j]] = item;
        l->tail[j] = item;
        return;
    }
    l->head[j] = l->tail[j] = item;
    if (j == RUNGS) return;
    place_head(l, j, now);
    int64_t low = j & ~(int64_t)7;
    if (low < l->low) l->low = low;
    if (low + 8 > l->high) l->high = low + 8;
}

/* Draw all tangents, between the lowest and the highest rung that hold anything. */
static void redraw(rate_ladder *l, double now, double pooled)
{
    l->worth = renewal_worth(l->balance, l->share, pooled);
    while (l->low < l->high && l->head[l->low] == RUNG_END) l->low++;
    while (l->high > l->low && l->head[l->high - 1] == RUNG_END) l->high--;
    l->low &= ~(int64_t)7;
    l->high = (l->high + 7) & ~(int64_t)7;
    l->drawn = now;
    ladder_tangents(l, l->low, l->high, now);
}

/* Whether the longest waiting of the never polled comes before the index `other`. */
static int newcomer_first(const rate_ladder *l, double other, double now, double pooled)
{
    int32_t head = l->head[RUNGS];
    if (head == RUNG_END) return 0;
    double rate = renewal_rate(&l->item[head], pooled, l->share), u = rate * (now - l->item[head].last);
    return renewal_weight(l->balance, l->worth, rate) * renewal_gain(u, decay_exp(u)) > other;
}

int32_t ladder_take(rate_ladder *l, double now, double pooled)
{
    if (now - l->drawn >= l->redrawn_after)
        redraw(l, now, pooled);
    else if (l->high > RUNG_FAST)
        ladder_tangents(l, l->low > RUNG_FAST ? l->low : RUNG_FAST, l->high, now);
    double since_drawn = now - l->drawn, other = -1.0;
    int64_t j = RUNGS;
    if (l->low < l->high) {
        int64_t best = 1023 - (ladder_largest(l, l->low, l->high, since_drawn) & 1023);
        if (l->head[best] != RUNG_END) {
            j = best;
            other = l->value[j] + l->slope[j] * since_drawn;
        }
    }
    if (newcomer_first(l, other, now, pooled)) j = RUNGS;
    int32_t item = l->head[j];
    if (item == RUNG_END) return RUNG_END;
    l->head[j] = l->next[item];
    if (j < RUNGS) place_head(l, j, now);
    return item;
}
