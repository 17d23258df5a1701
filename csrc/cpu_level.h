/* Which vector instructions this processor and its operating system offer.
 *
 * Read by <cpuid.h> and xgetbv, which link everywhere (target_clones and __builtin_cpu_supports do not link in a
 * manylinux2014 build); once, since cpuid takes microseconds in a virtual machine.
 */
#ifndef KNAPSOLVE_CPU_LEVEL_H
#define KNAPSOLVE_CPU_LEVEL_H

enum { CPU_PORTABLE = 0, CPU_AVX2 = 1, CPU_AVX512 = 2 };

/* The best of the three levels that may be used here; KNAPSOLVE_CPU_LEVEL lowers it if that is in the
 * environment as the module is loaded. */
int cpu_level(void);

#endif
