/* What kernels are measured against, per instruction-set level: how fast the processor can
 * multiply and add at all, how fast memory can be read, and a matrix tile that is free of the
 * numbers contract.
 *
 * Threads: pure functions, the tables are constant.
 */
#ifndef NJ_TOOLS_BENCH_LOOPS_H
#define NJ_TOOLS_BENCH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

struct nj_bench_loops {
    /* `n_rounds` of independent fused multiply-adds in registers; returns the operations done
     * (two each). What goes to `sink` depends on all of them, so that none can be left out. */
    uint64_t (*multiply_adds)(uint64_t n_rounds, float *sink);

    /* Reads `n_bytes` (a multiple of 1024) once, in order. */
    void (*read)(const void *bytes, size_t n_bytes, float *sink);

    /* Adds to `sums` (freed_outputs, freed_rows) the products of n_inputs weights and
     * activations: an outer product a step, one accumulator a pair and no lanes. Weights are
     * (n_inputs, freed_outputs), x is (n_inputs, freed_rows). NULL for the scalar level. */
    void (*freed_tile)(const float *weights, const float *x, uint32_t n_inputs, float *sums);
    uint32_t freed_outputs;
    uint32_t freed_rows;
};

/* The machine must have the level. */
const struct nj_bench_loops *nj_bench_loops_of(enum nj_cpu_level level);

extern const struct nj_bench_loops nj_bench_loops_scalar;
#if defined(NJ_TOOLS_X86)
extern const struct nj_bench_loops nj_bench_loops_avx2;
extern const struct nj_bench_loops nj_bench_loops_avx512;
#endif

#endif
