#include "sum_tree.h"

#include <assert.h>
#include <string.h>

#include "cpu_level.h"
#include "sum_node.h"

static int64_t nodes_above(int64_t n) { return (n + 7) / 8; }

static int count_levels(int64_t n)
{
    int levels = 1;
    while ((n = nodes_above(n)) > 1) levels++;
    return levels;
}

int64_t sum_tree_size(int64_t n)
{
    int64_t nodes = 0;
    do {
        n = nodes_above(n);
        nodes += n;
    } while (n > 1);
    return 8 * nodes;
}

/* Draw and add for one vector level: walk the nodes from the root to the item, or back. */
#define SUM_TREE_WALKS(NAME, TARGET)                                                               \
    TARGET static int64_t draw_##NAME(const sum_tree *tree, uint64_t u)                            \
    {                                                                                              \
        int64_t at = 0;                                                                            \
        for (int l = 0; l < tree->levels; l++) {                                                   \
            const uint64_t *p = tree->node + tree->offset[l] + 8 * at;                             \
            int child = sum_node_child_##NAME(p, u);                                               \
            u -= p[child];                                                                         \
            at = 8 * at + child;                                                                   \
        }                                                                                          \
        return at;                                                                                 \
    }                                                                                              \
    TARGET static void add_##NAME(sum_tree *tree, int64_t item, uint64_t change)                   \
    {                                                                                              \
        tree->total += change;                                                                     \
        assert(tree->total >> 63 == 0);                                                            \
        for (int l = tree->levels - 1; l >= 0; l--) {                                              \
            sum_node_add_##NAME(tree->node + tree->offset[l] + (item & ~(int64_t)7), item & 7, change); \
            item >>= 3;                                                                            \
        }                                                                                          \
    }

SUM_TREE_WALKS(portable, )
#if defined(__x86_64__)
SUM_TREE_WALKS(avx2, __attribute__((target("avx2,popcnt"))))
SUM_TREE_WALKS(avx512, __attribute__((target("avx512f,popcnt"))))
#endif

void sum_tree_init(sum_tree *tree, uint64_t *node, int64_t n, int level)
{
    tree->node = node;
    tree->levels = count_levels(n);
    int64_t counts[SUM_TREE_MAX_LEVELS], start = 0;
    for (int l = tree->levels - 1; l >= 0; l--) counts[l] = n = nodes_above(n);
    for (int l = 0; l < tree->levels; l++) {
        tree->offset[l] = start;
        start += 8 * counts[l];
    }
    tree->draw = draw_portable;
    tree->add = add_portable;
#if defined(__x86_64__)
    if (level >= CPU_AVX2) {
        tree->draw = level >= CPU_AVX512 ? draw_avx512 : draw_avx2;
        tree->add = level >= CPU_AVX512 ? add_avx512 : add_avx2;
    }
#else
    (void)level;
#endif
}

void sum_tree_build(sum_tree *tree, const uint64_t *weight, int64_t n)
{
    memset(tree->node, 0, 8 * sum_tree_size(n));
    memcpy(tree->node + tree->offset[tree->levels - 1], weight, 8 * n);
    for (int l = tree->levels - 1; l >= 0; l--) {
        int64_t nodes = l + 1 < tree->levels ? (tree->offset[l + 1] - tree->offset[l]) / 8 : nodes_above(n);
        for (int64_t k = 0; k < nodes; k++) {
            uint64_t *p = tree->node + tree->offset[l] + 8 * k, sum = 0;
            for (int j = 0; j < 8; j++) {
                uint64_t weight_of_child = p[j];
                p[j] = sum;
                sum += weight_of_child;
            }
            *(l ? tree->node + tree->offset[l - 1] + k : &tree->total) = sum;
        }
    }
    assert(tree->total >> 63 == 0);
}
