/* One loop body compiled for three vector widths, chosen at run time; the same bits from each.
 *
 * Bodies are always_inline functions of plain arithmetic (decay_math.h), without fma and with fixed order.
 */
#ifndef KNAPSOLVE_EVERY_WIDTH_H
#define KNAPSOLVE_EVERY_WIDTH_H

#include "cpu_level.h"

#if defined(__x86_64__)
#define FOR_AVX2 __attribute__((target("avx2")))
#define FOR_AVX512 __attribute__((target("avx512f,avx512dq,avx512vl,prefer-vector-width=512")))
#else
#define FOR_AVX2
#define FOR_AVX512
#endif

/* One body, three vector widths, the same bits: declares NAME to run BODY at the best width. */
#define AT_EVERY_WIDTH(type, NAME, BODY, PARAMETERS, ARGUMENTS)            \
    static type NAME##_portable PARAMETERS { return BODY ARGUMENTS; }      \
    FOR_AVX2 static type NAME##_avx2 PARAMETERS { return BODY ARGUMENTS; } \
    FOR_AVX512 static type NAME##_avx512 PARAMETERS { return BODY ARGUMENTS; } \
    type NAME PARAMETERS                                                   \
    {                                                                      \
        switch (cpu_level()) {                                             \
        case CPU_AVX512: return NAME##_avx512 ARGUMENTS;                   \
        case CPU_AVX2: return NAME##_avx2 ARGUMENTS;                       \
        default: return NAME##_portable ARGUMENTS;                         \
        }                                                                  \
    }

#endif
