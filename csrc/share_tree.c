#include "share_tree.h"

static inline int depth_of(int32_t leaf) { return 31 - __builtin_clz((unsigned)leaf); }

/* `yes` if right is 1, `no` if it is 0: in arithmetic, since a branch would be mispredicted half of the time. */
static inline int32_t choose(int64_t right, int32_t yes, int32_t no)
{
    return no ^ ((no ^ yes) & -(int32_t)right);
}

static inline void split_digits(uint32_t word, uint32_t base, int32_t *side, int32_t *gate)
{
    uint64_t product = (uint64_t)word * base;
    *side = (int32_t)(product >> 32);
    *gate = (int32_t)((uint64_t)(uint32_t)product * base >> 32);
}

/* Sides and gates of `depth` levels of a linear tree whose bases are small, from 32 random bits a level; both arrays
 * have room for one level more. */
static inline void draw_short_digits(const share_tree *t, bitgen_t *bits, int depth, int32_t *side, int32_t *gate)
{
    for (int d = 0; d < depth; d += 2) {
        uint64_t two = bits->next_uint64(bits->state);
        split_digits((uint32_t)two, (uint32_t)t->base[d], side + d, gate + d);
        split_digits((uint32_t)(two >> 32), (uint32_t)t->base[d + 1 < depth ? d + 1 : d], side + d + 1, gate + d + 1);
    }
}

/* The same from 64 random bits a level, for any base. */
static inline void draw_long_digits(const share_tree *t, bitgen_t *bits, int depth, int32_t *side, int32_t *gate)
{
    for (int d = 0; d < depth; d++) {
        unsigned __int128 product = (unsigned __int128)bits->next_uint64(bits->state) * (uint32_t)t->base[d];
        side[d] = (int32_t)(product >> 64);
        gate[d] = (int32_t)((unsigned __int128)(uint64_t)product * (uint32_t)t->base[d] >> 64);
    }
}

static inline void draw_digits(const share_tree *t, bitgen_t *bits, int depth, int32_t *side, int32_t *gate)
{
    if (t->paired) draw_short_digits(t, bits, depth, side, gate);
    else draw_long_digits(t, bits, depth, side, gate);
}

static inline int64_t walk_linear(const share_tree *t, bitgen_t *bits, share_tree_gates *gates, double *amount)
{
    int32_t side[SHARE_TREE_MAX_DEPTH];
    draw_digits(t, bits, t->depth, side, gates->digit);
    const int32_t *state = t->state;
    int64_t node = 1;
    double x = t->capacity;
    int d = 0, sure = t->depth - 2;
    /* Leaves lie at the last two depths. Above, both children are read before the side is known, which halves the
     * time from one level to the next. */
    for (int32_t s = state[1]; d < sure; d++) {
        int32_t of_left = state[2 * node], of_right = state[2 * node + 1];
        int64_t right = side[d] >= s;
        if (amount) x *= t->share[(2 * d + right) * t->width + s];
        s = choose(right, of_right, of_left);
        node = 2 * node + right;
    }
    for (; d < t->depth && t->material_at[node] < 0; d++) {
        int64_t right = side[d] >= state[node];
        if (amount) x *= t->share[(2 * d + right) * t->width + state[node]];
        node = 2 * node + right;
    }
    if (amount) *amount = x;
    return node;
}

static int64_t walk_general(const share_tree *t, bitgen_t *bits, share_tree_gates *gates)
{
    int64_t node = 1;
    for (int d = 0; d < t->depth && t->material_at[node] < 0; d++) {
        int64_t right = bits->next_double(bits->state) >= t->share[2 * d * t->width + t->state[node]];
        gates->uniform[d] = bits->next_double(bits->state);
        node = 2 * node + right;
    }
    return node;
}

int32_t share_tree_draw(const share_tree *t, bitgen_t *bits, share_tree_gates *gates, double *amount)
{
    int64_t node;
    if (!t->linear) {
        node = walk_general(t, bits, gates);
        if (amount) *amount = share_tree_amount(t, (int32_t)node);
    } else if (amount) {
        node = walk_linear(t, bits, gates, amount);
    } else {
        node = walk_linear(t, bits, gates, 0);
    }
    return (int32_t)node;
}

void share_tree_throw(const share_tree *t, int32_t leaf, bitgen_t *bits, share_tree_gates *gates)
{
    int depth = depth_of(leaf);
    int32_t unused[SHARE_TREE_MAX_DEPTH];
    if (t->linear) draw_digits(t, bits, depth, unused, gates->digit);
    else
        for (int d = 0; d < depth; d++) gates->uniform[d] = bits->next_double(bits->state);
}

double share_tree_amount(const share_tree *t, int32_t leaf)
{
    double x = t->capacity;
    int64_t node = leaf;
    for (int d = depth_of(leaf) - 1; d >= 0; d--) {
        int64_t right = node & 1;
        node >>= 1;
        x *= t->share[(2 * d + right) * t->width + t->state[node]];
    }
    return x;
}

/* A gate opens with the other side's share: to the left of the automaton where s <= digit, to the right where
 * s > digit, so that the move is 1 - right - (s > digit) in units of `direction`. */
static inline double move(share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction, int linear,
                          int with_amount)
{
    double x = t->capacity;
    int64_t node = leaf;
    for (int d = depth_of(leaf) - 1; d >= 0; d--) {
        int64_t right = node & 1;
        node >>= 1;
        int32_t s = t->state[node], beyond;
        if (linear) beyond = s > gates->digit[d];
        else beyond = t->share[2 * d * t->width + s] > gates->uniform[d];
        int32_t step = direction * (1 - (int32_t)right - beyond);
        s += step & -(int32_t)((uint32_t)(s + step - 1) < (uint32_t)(t->base[d] - 1)); /* stays in 1..N */
        t->state[node] = s;
        if (with_amount) x *= t->share[(2 * d + right) * t->width + s];
    }
    return x;
}

void share_tree_move(share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction)
{
    if (t->linear) move(t, leaf, gates, direction, 1, 0);
    else move(t, leaf, gates, direction, 0, 0);
}

double share_tree_move_to(share_tree *t, int32_t leaf, const share_tree_gates *gates, int32_t direction)
{
    return t->linear ? move(t, leaf, gates, direction, 1, 1) : move(t, leaf, gates, direction, 0, 1);
}
