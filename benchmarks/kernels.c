/* Driver for benchmarks/callgrind.py: kernels draw|add|queue|tree N COUNT LEVEL.
 *
 * warm_up() brings caches' content and the calendar's width to where they stay; measure() does COUNT calls.
 * Everything is seeded: two runs execute the same instructions.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deadline_queue.h"
#include "deadline_tree.h"
#include "sum_tree.h"

static int64_t n, count;
static uint64_t *bits;   /* (count,) random */
static sum_tree tree;
static deadline_queue queue;
static deadline_clock contest;
static double *period;   /* (n,) */
static int64_t seen;     /* keeps results alive */

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

__attribute__((noinline)) void kernel_draw(void)
{
    uint64_t total = sum_tree_total(&tree);
    for (int64_t k = 0; k < count; k++) seen += sum_tree_draw(&tree, scale_bits(bits[k], total));
}

__attribute__((noinline)) void kernel_add(void)
{
    for (int64_t k = 0; k < count; k++) sum_tree_add(&tree, (int64_t)scale_bits(bits[k], (uint64_t)n), k & 1 ? -1 : 1);
}

__attribute__((noinline)) void kernel_queue(void)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t item;
        while ((item = deadline_queue_pop(&queue)) < 0) deadline_queue_work(&queue);
        deadline_serve(&queue.clock, item);
        deadline_queue_push(&queue, item, period[item]);
        seen += item;
    }
}

__attribute__((noinline)) void kernel_tree(void)
{
    for (int64_t k = 0; k < count; k++) {
        int64_t item = deadline_tree_pop(&contest);
        deadline_serve(&contest, item);
        deadline_tree_push(&contest, item, period[item]);
        seen += item;
    }
}

__attribute__((noinline)) void warm_up(void (*kernel)(void)) { kernel(); }
__attribute__((noinline)) void measure(void (*kernel)(void)) { kernel(); }

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    n = atoll(argv[2]);
    count = atoll(argv[3]);
    uint64_t state = 1;
    uint64_t *weight = malloc(n * sizeof *weight);
    bits = malloc(count * sizeof *bits);
    period = malloc(n * sizeof *period);
    double rate = 0.0;
    for (int64_t k = 0; k < count; k++) bits[k] = splitmix(&state);
    for (int64_t i = 0; i < n; i++) {
        weight[i] = ((uint64_t)1 << 40) / (uint64_t)(i + 1);
        period[i] = (double)(i + 1);
        rate += 1.0 / period[i];
    }
    sum_tree_init(&tree, aligned_alloc(64, (sum_tree_size(n) * 8 + 63) / 64 * 64), n, atoi(argv[4]));
    sum_tree_build(&tree, weight, n);
    int32_t *links = malloc(4 * (deadline_queue_buckets(n) + n));
    deadline_queue_init(&queue, malloc(n * sizeof(deadline_entry)), links, n, rate);
    deadline_init(&contest, malloc((n + 1) * sizeof(deadline_entry)), malloc(8 * n), n, rate);
    for (int64_t i = 0; i < n; i++) {
        double phase = period[i] * 0x1p-64 * (double)splitmix(&state);
        deadline_write(&queue.clock, i, phase);
        deadline_write(&contest, i, phase);
    }
    deadline_queue_build(&queue);
    deadline_tree_build(&contest);
    void (*kernel)(void) = NULL;
    if (!strcmp(argv[1], "draw")) kernel = kernel_draw;
    if (!strcmp(argv[1], "add")) kernel = kernel_add;
    if (!strcmp(argv[1], "queue")) kernel = kernel_queue;
    if (!strcmp(argv[1], "tree")) kernel = kernel_tree;
    if (!kernel) return 2;
    warm_up(kernel); /* whatever callgrind counts up to here is forgotten */
    measure(kernel);
    printf("%lld\n", (long long)seen);
    return 0;
}
