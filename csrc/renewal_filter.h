/* A cascade of forgetting Gamma filters: the rate at which an item changes now, from whether polls found a change.
 *
 * Times are counted in polls of the whole budget; `share` = B is an item's share of it, in polls per such unit. A poll
 * after a gap tau adds to each of three pairs (count, exposure) the outcome y, and the time tau if y = 0, else the
 * expected time to the gap's first change at the rate held so far. The pairs forget by exp(-B tau / 64),
 * exp(-B tau / 8) and exp(-1/3) a poll. Each pair's rate is shrunk to that of the slower one before it, the slowest to
 * the pooled rate P of all items times 4: optimism, because a sharp low estimate would abandon an item. The weights of
 * the priors, 1.5, 2 and 2 changes, are 1 + min(P / B, 1) times as large: they must hold longer where polls are few.
 *
 * Invariant   counts and exposures are non-negative and finite; rates lie within SLOWEST and FASTEST times B.
 * Complexity  O(1): two exponentials for a poll without a change, six with one.
 */
#ifndef KNAPSOLVE_RENEWAL_FILTER_H
#define KNAPSOLVE_RENEWAL_FILTER_H

#include "renewal_gain.h"

#define RENEWAL_MEMORY 64.0 /* of the slowest pair, in mean gaps 1/B; of the middle one an eighth */
#define RENEWAL_FORGET 0.7165313105737893 /* e^-1/3 */
#define RENEWAL_OPTIMISM 4.0
#define RENEWAL_SLOWEST 0x1p-24
#define RENEWAL_FASTEST 0x1p40
#define RENEWAL_LONGEST 1e30 /* gaps beyond that count as that */
#define RENEWAL_RECENT 0.875 /* of what the activity goes by, kept at each poll */
#define RENEWAL_DOUBT 0.5    /* changes found as expected before any poll */

typedef struct {
    double count[3];
    double exposure[3];
    double last; /* when it was polled, by the clock of the pool */
    double rate; /* changes per unit of time; 0 before the first poll */
    double slot; /* when it was polled, in polls of the whole budget */
} renewal_item;

/* What all items have in common: their pooled rate, and how much is going on now. The clock runs by that: a poll
 * moves it by the changes found lately over those that were expected. Changes come together, in bursts that run through
 * many items; who was polled before one has more to show than who was polled since, and so has the larger index. */
typedef struct {
    double now; /* the clock: polls, each times the activity then */
    double count;
    double exposure;
    double found;    /* changes, over the last polls */
    double expected; /* at the items' rates and by the clock */
    double slot;     /* polls so far */
} renewal_pool;

/* How fast the clock runs: 1 if as much is found as expected; between 1/17 and 17. */
static inline double renewal_activity(const renewal_pool *pool)
{
    return (pool->found + RENEWAL_DOUBT) / (pool->expected + RENEWAL_DOUBT);
}

/* To begin with, half a change in 1/B for one item and every 32nd more: a quiet start must not make all of them wait. */
static inline double renewal_pooled(const renewal_pool *pool, double share)
{
    double weight = 1.0 + 1.0 / (32.0 * share);
    return (pool->count + 0.5 * weight) / (pool->exposure + weight / share);
}

static inline double renewal_bounded(double rate, double share)
{
    double low = RENEWAL_SLOWEST * share, high = RENEWAL_FASTEST * share;
    return rate > low ? (rate < high ? rate : high) : low;
}

/* The rate that scheduling goes by. */
static inline double renewal_rate(const renewal_item *item, double pooled, double share)
{
    return item->rate > 0.0 ? item->rate : renewal_bounded(RENEWAL_OPTIMISM * pooled, share);
}

/* What a unit of time that a copy is current is worth: P, so that with the mean rate it is worth what a change found is,
 * but no more than a change in four mean gaps 1/B: with few polls for each change it is changes that count. */
DECAY_INLINE double renewal_worth(double balance, double share, double pooled)
{
    double most = 0.25 * share;
    return balance * (pooled < most ? pooled : most);
}

/* What a unit of gain is worth, c(L): 1 for a change found, and 1/L of time that a copy is current. */
DECAY_INLINE double renewal_weight(double balance, double worth, double rate) { return 1.0 - balance + worth / rate; }

/* Learn from a poll of `item` at the time pool->now, a gap tau after the one before. It counts as much longer as the
 * clock ran faster meanwhile. */
static inline void renewal_learn(renewal_item *item, renewal_pool *pool, double share, double tau, int changed)
{
    static const double weight[3] = {1.5, 2.0, 2.0};
    double passed = pool->now - item->last, slots = pool->slot - item->slot;
    tau = slots > 0.0 ? tau * (passed / slots) : tau;
    tau = tau < RENEWAL_LONGEST ? tau : RENEWAL_LONGEST;
    double pooled = renewal_pooled(pool, share), rate = renewal_rate(item, pooled, share);
    pool->found = RENEWAL_RECENT * pool->found + changed;
    pool->expected = RENEWAL_RECENT * pool->expected + decay_loss(rate * passed);
    double slow = decay_exp(share * tau / RENEWAL_MEMORY), fast = slow * slow;
    fast = fast * fast;
    double exposure = changed ? tau * renewal_first(rate * tau) : tau;
    double keep[3] = {slow, fast * fast, RENEWAL_FORGET};
    pool->count += changed;
    pool->exposure += changed ? tau * renewal_first(pooled * tau) : tau;
    rate = RENEWAL_OPTIMISM * renewal_pooled(pool, share);
    double stiff = 1.0 + (pooled < share ? pooled / share : 1.0);
    for (int k = 0; k < 3; k++) {
        item->count[k] = keep[k] * item->count[k] + changed;
        item->exposure[k] = keep[k] * item->exposure[k] + exposure;
        rate = (item->count[k] + stiff * weight[k]) / (item->exposure[k] + stiff * weight[k] / rate);
        rate = renewal_bounded(rate, share);
    }
    item->rate = rate;
    item->last = pool->now;
    item->slot = pool->slot;
}

#endif
