#include "tools/bench_loops.h"

#include <immintrin.h>

#include "kernels/inlining.h"

typedef __m512 vector;
#define vector_set(value)   _mm512_set1_ps(value)
#define vector_load(p)      _mm512_loadu_ps(p)
#define vector_store(p, v)  _mm512_storeu_ps(p, v)
#define vector_fma(a, b, c) _mm512_fmadd_ps(a, b, c)
#define vector_xor(a, b)    _mm512_xor_ps(a, b)
#define PIN(v)              __asm__("" : "+v"(v))

/* 24 accumulators, two activations and a weight of 32 registers. */
enum { N_CHAINS = 16, FREED_OUTPUTS = 12, FREED_VECTORS = 2 };

#include "tools/bench_loops_wide.inc"

const struct nj_bench_loops nj_bench_loops_avx512 = {.multiply_adds = multiply_adds,
                                                     .read = read_vectors,
                                                     .freed_tile = freed_tile,
                                                     .freed_outputs = FREED_OUTPUTS,
                                                     .freed_rows = FREED_ROWS};
