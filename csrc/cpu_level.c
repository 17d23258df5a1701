#include "cpu_level.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <stdlib.h>

static unsigned long long enabled_states(void)
{
    unsigned low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}

static int has(unsigned flags, unsigned wanted) { return (flags & wanted) == wanted; }

static int measured(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, bit_OSXSAVE | bit_FMA | bit_POPCNT)) return CPU_PORTABLE;
    unsigned long long states = enabled_states();
    if ((states & 0x6) != 0x6) return CPU_PORTABLE; /* the system does not save ymm */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !has(b, bit_AVX2 | bit_BMI | bit_BMI2)) return CPU_PORTABLE;
    if ((states & 0xe6) == 0xe6 && has(b, bit_AVX512F | bit_AVX512DQ | bit_AVX512VL)) return CPU_AVX512;
    return CPU_AVX2;
}

static int lowered(int level)
{
    const char *most = getenv("KNAPSOLVE_CPU_LEVEL");
    if (most && *most >= '0' && *most - '0' < level) return *most - '0';
    return level;
}

static int level;

/* As a module is loaded: no thread looks while another one changes the environment. */
__attribute__((constructor)) static void look(void) { level = lowered(measured()); }

int cpu_level(void) { return level; }
#else
int cpu_level(void) { return CPU_PORTABLE; }
#endif
