#include "tools/bench_loops.h"

#include <immintrin.h>

#include "kernels/inlining.h"

typedef __m256 vector;
#define vector_set(value)   _mm256_set1_ps(value)
#define vector_load(p)      _mm256_loadu_ps(p)
#define vector_store(p, v)  _mm256_storeu_ps(p, v)
#define vector_fma(a, b, c) _mm256_fmadd_ps(a, b, c)
#define vector_xor(a, b)    _mm256_xor_ps(a, b)
#define PIN(v)              __asm__("" : "+x"(v))

/* Twelve accumulators, two activations and a weight of 16 registers. */
enum { N_CHAINS = 12, FREED_OUTPUTS = 6, FREED_VECTORS = 2 };

#include "tools/bench_loops_wide.inc"

const struct nj_bench_loops nj_bench_loops_avx2 = {.multiply_adds = multiply_adds,
                                                   .read = read_vectors,
                                                   .freed_tile = freed_tile,
                                                   .freed_outputs = FREED_OUTPUTS,
                                                   .freed_rows = FREED_ROWS};
