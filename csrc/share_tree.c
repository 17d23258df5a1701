#include "share_tree.h"

#include <string.h>

#include "share_tree_vectors.h"

static inline int depth_of(int32_t leaf) { return 31 - __builtin_clz((unsigned)leaf); }

/* A leaf's place in the last depth of the last block on its path. */
static inline int64_t bottom_of(int32_t leaf, int depth)
{
    int levels = 3 * share_tree_blocks(depth);
    return ((int64_t)leaf << (levels - depth)) - ((int64_t)1 << levels);
}

/* What decides at one depth of a linear tree. */
typedef struct {
    int32_t side, gate;
} dice;

/* Random bits of one path, split depth by depth. */
typedef struct {
    bitgen_t *bits;
    uint64_t word;
    int half;
} dice_cup;

static inline dice throw_digits(const share_tree *t, dice_cup *cup, uint32_t base)
{
    dice d;
    if (t->paired) {
        if (!cup->half) cup->word = cup->bits->next_uint64(cup->bits->state);
        uint64_t product = (uint64_t)(uint32_t)(cup->half ? cup->word >> 32 : cup->word) * base;
        cup->half ^= 1;
        d.side = (int32_t)(product >> 32);
        d.gate = (int32_t)((uint64_t)(uint32_t)product * base >> 32);
    } else {
        unsigned __int128 product = (unsigned __int128)cup->bits->next_uint64(cup->bits->state) * base;
        d.side = (int32_t)(product >> 64);
        d.gate = (int32_t)((unsigned __int128)(uint64_t)product * base >> 64);
    }
    return d;
}

/* Go down from the root and set the path. By a walk (`leaf` 0) to where the shares lead, else to `leaf`. Returns the
 * place in the last depth of the last block. */
static int64_t descend(const share_tree *t, int32_t leaf, bitgen_t *bits, share_path *path)
{
    int depth = leaf ? depth_of(leaf) : t->depth, blocks = share_tree_blocks(depth);
    int64_t bottom = leaf ? bottom_of(leaf, depth) : 0, at = 0, place = 1;
    dice_cup cup = {bits, 0, 0};
    path->blocks = blocks;
    memset(path->step, 0, sizeof path->step[0] * (size_t)blocks);
    for (int g = 0; g < blocks; g++) {
        const int32_t *state = t->state + at, *base = t->base + 8 * g;
        int lane = 1;
        path->at[g] = at;
        for (int r = 0; r < 3; r++) {
            int d = 3 * g + r, right, beyond;
            int32_t s = state[lane];
            int absent = s >= base[lane];
            if (d >= depth || (absent && !t->linear)) { /* below the leaf: to the left, and no random number */
                lane *= 2;
                continue;
            }
            if (t->linear) {
                dice digits = throw_digits(t, &cup, (uint32_t)base[lane]);
                right = digits.side >= s;
                beyond = s > digits.gate;
            } else {
                double left = t->share[2 * d * t->width + s];
                right = leaf ? 0 : bits->next_double(bits->state) >= left;
                beyond = left > bits->next_double(bits->state);
            }
            if (leaf) right = (int)(bottom >> (3 * blocks - 1 - d)) & 1;
            if (!absent) path->step[g][lane] = 1 - right - beyond;
            lane = 2 * lane + right;
        }
        at = 8 * (at + lane - 7);
        place = 8 * place + (lane - 8);
    }
    return place ^ ((int64_t)1 << (3 * blocks));
}

/* Product of the three numerators on the way to a child: the state to the left, what is left of the base to the right.
 * Exact while bases are below 2^17. */
static double block_share(const int32_t *state, const int32_t *base, int child)
{
    double product = 1.0;
    for (int lane = 1, r = 2; r >= 0; r--) {
        int right = (child >> r) & 1;
        product *= right ? base[lane] - state[lane] : state[lane];
        lane = 2 * lane + right;
    }
    return product;
}

/* Amount at a place in the last depth of a path of `blocks` blocks. */
static double amount_at(const share_tree *t, int64_t bottom, int blocks)
{
    double x = t->capacity;
    for (int d = 0; d < 3 * blocks; d++) {
        int g = d / 3, r = d % 3;
        int64_t prefix = bottom >> (3 * (blocks - 1 - g)), at = block_at(prefix, g);
        int child = (int)prefix & 7, lane = (8 + child) >> (3 - r), right = (child >> (2 - r)) & 1;
        if (t->linear && r == 0) x *= t->part[g] * block_share(t->state + at, t->base + 8 * g, child);
        if (!t->linear && d < t->depth) x *= t->share[(2 * d + right) * t->width + t->state[at + lane]];
    }
    return x;
}

int32_t share_tree_draw(const share_tree *t, bitgen_t *bits, share_path *path, double *amount)
{
    int blocks = share_tree_blocks(t->depth);
    int64_t bottom;
    if (t->vectors) {
        bottom = walk_vectors(t, bits, path, amount);
    } else {
        bottom = descend(t, 0, bits, path);
        if (amount) *amount = amount_at(t, bottom, blocks);
    }
    return t->material_at[bottom >> (3 * blocks - t->depth)];
}

double share_tree_amount(const share_tree *t, int32_t leaf)
{
    int depth = depth_of(leaf), blocks = share_tree_blocks(depth);
    int64_t bottom = bottom_of(leaf, depth);
    return t->vectors ? amount_vectors(t, bottom, blocks) : amount_at(t, bottom, blocks);
}

void share_tree_move(share_tree *t, const share_path *path, int v)
{
    if (t->vectors) {
        move_vectors(t, path, v);
        return;
    }
    for (int g = 0; g < path->blocks; g++) {
        int32_t *state = t->state + path->at[g];
        for (int j = 1; j < 8; j++) {
            int32_t step = t->direction[v][j] * path->step[g][j], moved = state[j] + step;
            if (step && 1 <= moved && moved < t->base[8 * g + j]) state[j] = moved;
        }
    }
}

double share_tree_visit(share_tree *t, int32_t leaf, bitgen_t *bits, int v)
{
    int depth = depth_of(leaf);
    int64_t bottom = bottom_of(leaf, depth);
    if (t->vectors) return visit_vectors(t, bottom, depth, bits, v);
    share_path path;
    descend(t, leaf, bits, &path);
    share_tree_move(t, &path, v);
    return amount_at(t, bottom, share_tree_blocks(depth));
}

int share_tree_vectors(const share_tree *t) { return t->linear && t->paired && vectors_serve(); }
