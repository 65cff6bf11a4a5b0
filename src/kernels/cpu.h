/* What processor and operating system allow: CPUID says what exists, XGETBV whether the system
 * saves the wide registers on a thread switch. Both are needed.
 *
 * Threads: pure function.
 */
#ifndef NJ_KERNELS_CPU_H
#define NJ_KERNELS_CPU_H

#include <stdbool.h>

struct nj_cpu_features {
    bool has_avx2_fma;
    bool has_avx512; /* F, BW, DQ and VL */
};

struct nj_cpu_features nj_cpu_features_detect(void);

#endif
