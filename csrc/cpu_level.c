#include "cpu_level.h"

#if defined(__x86_64__)
#include <cpuid.h>

static unsigned long long enabled_states(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}

int cpu_level(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE) || !(c & bit_FMA)) return CPU_PORTABLE;
    unsigned long long states = enabled_states();
    if ((states & 0x6) != 0x6) return CPU_PORTABLE; /* the system does not save ymm */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return CPU_PORTABLE;
    unsigned wanted = bit_AVX512F | bit_AVX512DQ | bit_AVX512VL;
    if ((states & 0xe6) == 0xe6 && (b & wanted) == wanted) return CPU_AVX512;
    return CPU_AVX2;
}
#else
int cpu_level(void) { return CPU_PORTABLE; }
#endif
