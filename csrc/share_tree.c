#include "share_tree.h"

#include <string.h>

#include "share_tree_vectors.h"

static inline int depth_of(int32_t node) { return 31 - __builtin_clz((unsigned)node); }

/* A leaf's place at the deepest depth. */
static inline int64_t bottom_of(const share_tree *t, int32_t leaf)
{
    int depth = depth_of(leaf);
    return ((int64_t)leaf - ((int64_t)1 << depth)) << (t->depth - depth);
}

void share_tree_init(share_tree *t, int depth, int32_t *state, const int32_t *base)
{
    uint64_t walk = 1, visit = 1;
    double product = 1.0;
    t->depth = depth;
    t->blocks = share_tree_blocks(depth);
    t->above = 3 * t->blocks - depth;
    for (int g = 0; g < t->blocks; g++) {
        share_level *level = t->level + g;
        memset(level, 0, sizeof *level);
        level->state = state;
        state += g ? (int64_t)8 << (3 * g - t->above) : 8;
        for (int j = 0; j < 8; j++) {
            level->base[j] = base[8 * g + j];
            level->top[j] = level->base[j] - 1;
        }
        walk = 1;
        for (int r = 0; r < 3; r++) {
            int d = 3 * g + r - t->above;
            uint64_t b = (uint64_t)level->base[1 << r];
            if (d % SHARE_TREE_VISIT == 0) visit = 1;
            level->digit[r] = b;
            level->walk[r] = (uint32_t)walk;
            level->walk[4 + r] = walk >> 32;
            level->visit[r] = (uint32_t)visit;
            level->visit[4 + r] = visit >> 32;
            level->word[2 * r] = d < 0 ? 0 : d / SHARE_TREE_VISIT * 2;
            level->word[2 * r + 1] = level->word[2 * r] + 1;
            walk *= b * b;
            visit *= b;
            product *= (double)b;
        }
    }
    t->part = 1.0 / product;
}

/* What decides at one depth of a linear tree. */
typedef struct {
    int32_t side, gate;
} dice;

/* The digits of depth d on a path; a visit (`leaf`) takes no sides. */
static inline dice throw_digits(const share_tree *t, bitgen_t *bits, uint64_t *word, int d, uint32_t base, int leaf)
{
    dice thrown = {0, 0};
    if (!t->paired) {
        unsigned __int128 product = (unsigned __int128)bits->next_uint64(bits->state) * base;
        thrown.side = (int32_t)(product >> 64);
        if (!leaf) product = (unsigned __int128)(uint64_t)product * base;
        thrown.gate = (int32_t)(product >> 64);
    } else if (leaf) {
        if (d % SHARE_TREE_VISIT == 0) *word = bits->next_uint64(bits->state);
        thrown.gate = (int32_t)((*word >> 32) * base >> 32);
        *word *= base;
    } else {
        uint64_t product = (*word >> 32) * base;
        thrown.side = (int32_t)(product >> 32);
        thrown.gate = (int32_t)((uint64_t)(uint32_t)product * base >> 32);
        *word *= (uint64_t)base * base;
    }
    return thrown;
}

/* Go down from the root and set the path: by a walk (`leaf` 0) to where the shares lead, else to `leaf`. Returns the
 * place at the deepest depth. */
static int64_t descend(const share_tree *t, int32_t leaf, bitgen_t *bits, share_path *path)
{
    int depth = leaf ? depth_of(leaf) : t->depth;
    int64_t bottom = leaf ? bottom_of(t, leaf) : 0, place = 0;
    uint64_t word = 0;
    memset(path->step, 0, sizeof path->step[0] * (size_t)t->blocks);
    for (int g = 0; g < t->blocks; g++) {
        const share_level *level = t->level + g;
        int32_t *state = path->at[g] = level->state + 8 * place;
        int lane = 1;
        if (t->linear && t->paired && !leaf) word = bits->next_uint64(bits->state);
        for (int r = 0; r < 3; r++) {
            int d = 3 * g + r - t->above, right, beyond;
            int32_t s = state[lane], base = level->base[lane];
            int absent = s >= base;
            if (d < 0 || d >= depth || (absent && !t->linear)) { /* to the left, and no random number */
                lane *= 2;
                continue;
            }
            if (t->linear) {
                dice digits = throw_digits(t, bits, &word, d, (uint32_t)base, leaf);
                right = digits.side >= s;
                beyond = s > digits.gate;
            } else {
                double left = t->share[2 * d * t->width + s];
                right = leaf ? 0 : bits->next_double(bits->state) >= left;
                beyond = left > bits->next_double(bits->state);
            }
            if (leaf) right = (int)(bottom >> (t->depth - 1 - d)) & 1;
            if (!absent) path->step[g][lane] = 1 - right - beyond;
            lane = 2 * lane + right;
        }
        place = 8 * place + (lane - 8);
    }
    return place;
}

/* Amount at a place at the deepest depth. A linear share's numerator is the state to the left, what is left of the base
 * to the right; those of each depth of the blocks are multiplied first, exactly while their product is below 2^53. */
static double amount_at(const share_tree *t, int64_t bottom)
{
    double product[3] = {1.0, 1.0, 1.0}, x = t->capacity;
    for (int d = 0; d < t->depth; d++) {
        int g = (d + t->above) / 3, r = (d + t->above) % 3, right = (int)(bottom >> (t->depth - 1 - d)) & 1;
        int64_t prefix = bottom >> (t->depth - d);
        int lane = (1 << r) + (int)(prefix & ((1 << r) - 1));
        int32_t s = t->level[g].state[8 * (prefix >> r) + lane];
        if (t->linear) product[r] *= right ? t->level[g].base[lane] - s : s;
        else x *= t->share[(2 * d + right) * t->width + s];
    }
    return t->linear ? x * (t->part * (product[0] * product[1] * product[2])) : x;
}

int32_t share_tree_draw(const share_tree *t, bitgen_t *bits, share_path *path, double *amount)
{
    int64_t bottom;
    if (t->vectors) {
        bottom = walk_vectors(t, bits, path, amount);
    } else {
        bottom = descend(t, 0, bits, path);
        if (amount) *amount = amount_at(t, bottom);
    }
    return t->material_at[bottom];
}

double share_tree_amount(const share_tree *t, int32_t leaf)
{
    int64_t bottom = bottom_of(t, leaf);
    return t->vectors ? amount_vectors(t, bottom) : amount_at(t, bottom);
}

void share_tree_move(share_tree *t, const share_path *path, int v)
{
    if (t->vectors) {
        move_vectors(t, path, v);
        return;
    }
    int towards = v ? t->on_reward : -t->on_penalty;
    for (int g = 0; g < t->blocks; g++) {
        int32_t *state = path->at[g];
        for (int j = 1; j < 8; j++) {
            int32_t step = towards * path->step[g][j], moved = state[j] + step;
            if (step && 1 <= moved && moved < t->level[g].base[j]) state[j] = moved;
        }
    }
}

static __attribute__((noinline)) double visit(share_tree *t, int32_t leaf, bitgen_t *bits, int v)
{
    share_path path;
    int64_t bottom = descend(t, leaf, bits, &path);
    share_tree_move(t, &path, v);
    return amount_at(t, bottom);
}

double share_tree_visit(share_tree *t, int32_t leaf, bitgen_t *bits, int v)
{
    return t->vectors ? visit_vectors(t, bottom_of(t, leaf), depth_of(leaf), bits, v) : visit(t, leaf, bits, v);
}

void share_tree_plant(share_tree *t, int32_t node)
{
    int depth = depth_of(node), r = (depth + t->above) % 3;
    const share_level *level = t->level + (depth + t->above) / 3;
    int64_t place = (int64_t)node - ((int64_t)1 << depth);
    int lane = (1 << r) + (int)(place & ((1 << r) - 1));
    level->state[8 * (place >> r) + lane] = level->base[lane] / 2;
}

int share_tree_vectors(const share_tree *t)
{
    return t->linear && t->paired && t->depth <= MOST_DEPTHS && vectors_serve();
}
