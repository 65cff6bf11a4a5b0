#include "kernels/kernels.h"

#include <string.h>

#include "base/status.h"
#include "kernels/cpu.h"
#include "kernels/levels.h"
#include "kernels/multiply.h"

static const char *const level_names[NJ_CPU_LEVELS] = {"scalar", "avx2", "avx512"};

/* NULL for a level that this build does not hold. */
static const struct nj_kernels *table_of(enum nj_cpu_level level)
{
    switch (level) {
    case NJ_CPU_SCALAR:
        return &nj_kernels_scalar_table;
#if defined(NJ_KERNELS_X86)
    case NJ_CPU_AVX2:
        return &nj_kernels_avx2_table;
    case NJ_CPU_AVX512:
        return &nj_kernels_avx512_table;
#else
    case NJ_CPU_AVX2:
    case NJ_CPU_AVX512:
#endif
    case NJ_CPU_LEVELS:
        break;
    }
    return NULL;
}

const struct nj_kernels *nj_kernels_scalar(void)
{
    return table_of(NJ_CPU_SCALAR);
}

const char *nj_cpu_level_name(enum nj_cpu_level level)
{
    return level_names[level];
}

bool nj_cpu_level_is_available(enum nj_cpu_level level)
{
    if (table_of(level) == NULL) {
        return false;
    }
    struct nj_cpu_features features = nj_cpu_features_detect();
    return level == NJ_CPU_SCALAR || (level == NJ_CPU_AVX2 && features.has_avx2_fma) ||
           (level == NJ_CPU_AVX512 && features.has_avx512);
}

static const struct nj_kernels *best_available(void)
{
    int level = NJ_CPU_LEVELS - 1;
    while (level > NJ_CPU_SCALAR && !nj_cpu_level_is_available((enum nj_cpu_level)level)) {
        level--;
    }
    return table_of((enum nj_cpu_level)level);
}

enum nj_status nj_kernels_choose(const char *level_name, const struct nj_kernels **kernels,
                                 struct nj_error *err)
{
    if (level_name == NULL || strcmp(level_name, "auto") == 0) {
        *kernels = best_available();
        return NJ_OK;
    }
    int level = 0;
    while (level < NJ_CPU_LEVELS && strcmp(level_name, level_names[level]) != 0) {
        level++;
    }
    if (level == NJ_CPU_LEVELS) {
        return nj_fail(err, NJ_E_USAGE,
                       "cpu level \"%s\" is unknown: use auto, scalar, avx2 or avx512",
                       level_name);
    }
    if (!nj_cpu_level_is_available((enum nj_cpu_level)level)) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "cpu level %s: this processor, its system or this build lacks it "
                       "(auto would take %s)",
                       level_name, nj_cpu_level_name(best_available()->level));
    }
    *kernels = table_of((enum nj_cpu_level)level);
    return NJ_OK;
}

/* One figure for all levels, so that a memory plan does not depend on the processor: a widened
 * row for the scalar one, accumulators for AVX2, packed activations for AVX-512, up to a fixed
 * size. */
size_t nj_kernels_scratch_bytes(uint32_t n_inputs, uint32_t n_rows)
{
    (void)n_rows; /* no level keeps more rows here than fit */
    size_t row_bytes = (n_inputs * sizeof(float) + 63U) & ~(size_t)63U;
    size_t fixed_bytes = NJ_SCRATCH_VALUES * sizeof(float);
    return row_bytes > fixed_bytes ? row_bytes : fixed_bytes;
}
