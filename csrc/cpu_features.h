/* Which vector instructions may run here: 0 portable, 1 AVX2 with FMA, 2 AVX-512 (F and DQ).
 * Asks the processor and the operating system (cpuid, xgetbv) directly: works with every toolchain. O(1). */
#ifndef CPU_FEATURES_H
#define CPU_FEATURES_H

enum cpu_level { CPU_PORTABLE = 0, CPU_AVX2 = 1, CPU_AVX512 = 2 };

int cpu_best_level(void);

#endif
