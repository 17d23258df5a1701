/* The steps of lakg_lanes.h for one vector level; included once for each, with that level's NAME(function) and
 * sum_node operations CHILD and ADD and its TARGET attribute: what uses vector instructions can only be inlined into code compiled for them.
 */

enum { NAME(block) = 16 }; /* steps whose random numbers are made together */

TARGET LANE_INLINE void NAME(steps)(lakg_lanes *game, int64_t steps, const int levels)
{
    uint64_t *node[LANES], total[LANES];
    int32_t *state[LANES];
    int64_t found[LANES], offset[SUM_TREE_MAX_LEVELS];
    const uint64_t *units = game->units, full_at = game->full_at;
    const double *rate = game->rate;
    double *last[LANES];
    const int32_t resolution = game->resolution;
    lane_words s[4], more, bits[NAME(block)];
    lane_reals waits[NAME(block)]; /* standard exponential */

    memcpy(s, game->word, sizeof s);
    memcpy(found, game->found, sizeof found);
    for (int d = 0; d < levels; d++) offset[d] = game->tree[0]->offset[d];
    for (int l = 0; l < LANES; l++) {
        node[l] = game->tree[l]->node;
        total[l] = game->tree[l]->total;
        state[l] = game->state[l];
        last[l] = game->last[l];
    }
    for (int64_t step = 0; step < steps; step++) {
        int64_t item[LANES];
        uint64_t change[LANES];
        int at = step % NAME(block);
        double now = (double)(game->polls + step + 1) * game->period;
        if (at == 0) {
            int made = steps - step < NAME(block) ? (int)(steps - step) : NAME(block);
            for (int k = 0; k < made; k++) {
                lane_random_bits(s, &bits[k]);
                lane_random_bits(s, &more);
                lane_random_exponential(&more, &waits[k]);
            }
        }
        for (int l = 0; l < LANES; l++) {
            uint64_t u = scale_bits(bits[at][l], total[l]);
            int64_t i = 0;
#pragma GCC unroll 5
            for (int d = 0; d < levels; d++) {
                const uint64_t *p = node[l] + offset[d] + 8 * i;
                int child = CHILD(p, u);
                u -= p[child];
                i = 8 * i + child;
            }
            item[l] = i;
        }
        for (int l = 0; l < LANES; l++) {
            int64_t i = item[l];
            int32_t before = state[l][i];
            uint64_t weight = units[before];
            double wait = waits[at][l], expected = rate[i];
            if (last[l]) {
                expected *= now - last[l][i];
                last[l][i] = now;
            } else {
                wait *= (double)(int64_t)weight;
            }
            int changed = wait < expected;
            int32_t after = before + changed - (total[l] >= full_at);
            after += (after == 0) - (after > resolution);
            change[l] = units[after] - weight;
            total[l] += change[l];
            state[l][i] = after;
            found[l] += changed;
        }
        for (int l = 0; l < LANES; l++) {
            int64_t i = item[l];
#pragma GCC unroll 5
            for (int d = levels - 1; d >= 0; d--) {
                ADD(node[l] + offset[d] + (i & ~(int64_t)7), i & 7, change[l]);
                i >>= 3;
            }
        }
    }
    for (int l = 0; l < LANES; l++) game->tree[l]->total = total[l];
    memcpy(game->word, s, sizeof s);
    memcpy(game->found, found, sizeof found);
}

TARGET static void NAME(run)(lakg_lanes *game, int64_t steps)
{
    switch (game->tree[0]->levels) { /* unrolled where most games are: 65 to 32,768 materials */
    case 3: NAME(steps)(game, steps, 3); break;
    case 4: NAME(steps)(game, steps, 4); break;
    case 5: NAME(steps)(game, steps, 5); break;
    default: NAME(steps)(game, steps, game->tree[0]->levels);
    }
}
