#include "lakg_lanes.h"

#include <string.h>

#include "cpu_level.h"
#include "sum_node.h"

#define TARGET
#define NAME(function) function##_portable
#define CHILD sum_node_child_portable
#define ADD sum_node_add_portable
#include "lakg_lanes_step.h"
#undef TARGET
#undef NAME
#undef CHILD
#undef ADD

#if defined(__x86_64__)
#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define NAME(function) function##_avx2
#define CHILD sum_node_child_avx2
#define ADD sum_node_add_avx2
#include "lakg_lanes_step.h"
#undef TARGET
#undef NAME
#undef CHILD
#undef ADD

#define TARGET __attribute__((target("avx512f,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define NAME(function) function##_avx512
#define CHILD sum_node_child_avx512
#define ADD sum_node_add_avx512
#include "lakg_lanes_step.h"
#endif

void lakg_lanes_run(lakg_lanes *game, int64_t steps, int level)
{
#if defined(__x86_64__)
    if (level >= CPU_AVX512) {
        run_avx512(game, steps);
    } else if (level >= CPU_AVX2) {
        run_avx2(game, steps);
    } else
#endif
        run_portable(game, steps);
    (void)level;
    game->polls += steps;
}

void lane_exponentials(const uint64_t *word, double *out, int64_t n)
{
    for (int64_t k = 0; k < n; k += LANES) {
        lane_words bits;
        lane_reals wait;
        memcpy(&bits, word + k, sizeof bits);
        lane_random_exponential(&bits, &wait);
        memcpy(out + k, &wait, sizeof wait);
    }
}
