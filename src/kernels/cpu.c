#include "kernels/cpu.h"

#include <stdint.h>

#if defined(__x86_64__)

#include <cpuid.h>

struct cpuid_answer {
    uint32_t eax;
    uint32_t ebx;
    uint32_t ecx;
    uint32_t edx;
};

/* All zero for a leaf that this processor lacks. */
static struct cpuid_answer ask(uint32_t leaf)
{
    struct cpuid_answer answer = {0};
    (void)__get_cpuid_count(leaf, 0, &answer.eax, &answer.ebx, &answer.ecx, &answer.edx);
    return answer;
}

/* The register sets that the system saves; only valid where CPUID reports OSXSAVE. */
static uint32_t saved_register_sets(void)
{
    uint32_t low;
    uint32_t high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

static bool has_all(uint32_t word, uint32_t bits)
{
    return (word & bits) == bits;
}

struct nj_cpu_features nj_cpu_features_detect(void)
{
    const uint32_t fma = 1U << 12;
    const uint32_t osxsave = 1U << 27;
    const uint32_t avx = 1U << 28;
    const uint32_t avx2 = 1U << 5;
    const uint32_t avx512_f_dq_bw_vl = 1U << 16 | 1U << 17 | 1U << 30 | 1U << 31;
    const uint32_t xmm_ymm = 0x06;
    const uint32_t xmm_ymm_mask_zmm = 0xe6;

    struct nj_cpu_features features = {false, false};
    if (!has_all(ask(1).ecx, fma | osxsave | avx)) {
        return features;
    }
    uint32_t saved = saved_register_sets();
    uint32_t extended = ask(7).ebx;
    features.has_avx2_fma = has_all(saved, xmm_ymm) && has_all(extended, avx2);
    features.has_avx512 = features.has_avx2_fma && has_all(saved, xmm_ymm_mask_zmm) &&
                          has_all(extended, avx512_f_dq_bw_vl);
    return features;
}

#else

struct nj_cpu_features nj_cpu_features_detect(void)
{
    return (struct nj_cpu_features){false, false};
}

#endif
