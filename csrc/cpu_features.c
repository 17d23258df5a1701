#include "cpu_features.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

static unsigned long long saved_state(void) {
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}

int cpu_best_level(void) {
    unsigned a, b, c, d, features;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return CPU_PORTABLE;
    int fma = (c >> 12) & 1, saves = (c >> 27) & 1, avx = (c >> 28) & 1;
    if (!fma || !saves || !avx || !__get_cpuid_count(7, 0, &a, &features, &c, &d)) return CPU_PORTABLE;
    unsigned long long state = saved_state();
    int avx2 = ((features >> 5) & 1) && (state & 0x06) == 0x06;
    int avx512 = ((features >> 16) & 1) && ((features >> 17) & 1) && (state & 0xe6) == 0xe6;
    return avx2 ? (avx512 ? CPU_AVX512 : CPU_AVX2) : CPU_PORTABLE;
}
#else
int cpu_best_level(void) { return CPU_PORTABLE; }
#endif
