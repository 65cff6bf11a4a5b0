#include "tools/bench_loops.h"

#include <math.h>
#include <string.h>

static uint64_t multiply_adds(uint64_t n_rounds, float *sink)
{
    enum { N_CHAINS = 8 };
    float chain[N_CHAINS];
    for (int i = 0; i < N_CHAINS; i++) {
        chain[i] = (float)(i + 1);
    }
    for (uint64_t round = 0; round < n_rounds; round++) {
        for (int i = 0; i < N_CHAINS; i++) {
            chain[i] = fmaf(chain[i], 0.999F, 0.5F);
        }
    }
    for (int i = 0; i < N_CHAINS; i++) {
        *sink += chain[i];
    }
    return n_rounds * N_CHAINS * 2;
}

static void read_words(const void *bytes, size_t n_bytes, float *sink)
{
    const uint8_t *at = bytes;
    uint64_t mix[4] = {0};
    for (size_t i = 0; i < n_bytes; i += sizeof mix) {
        uint64_t words[4];
        memcpy(words, at + i, sizeof words);
        for (int w = 0; w < 4; w++) {
            mix[w] ^= words[w];
        }
    }
    *sink += (float)((mix[0] ^ mix[1] ^ mix[2] ^ mix[3]) & 1U);
}

const struct nj_bench_loops nj_bench_loops_scalar = {.multiply_adds = multiply_adds,
                                                     .read = read_words};

const struct nj_bench_loops *nj_bench_loops_of(enum nj_cpu_level level)
{
#if defined(NJ_TOOLS_X86)
    if (level == NJ_CPU_AVX512) {
        return &nj_bench_loops_avx512;
    }
    if (level == NJ_CPU_AVX2) {
        return &nj_bench_loops_avx2;
    }
#else
    (void)level;
#endif
    return &nj_bench_loops_scalar;
}
