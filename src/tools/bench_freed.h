/* A matrix product whose sums run in whatever order is fastest: what the numbers contract costs
 * is measured against it. Used by nothing else.
 *
 * It may also choose how its operands lie in memory: weights are F32 in panels of inputs,
 * within a panel in tiles of outputs; activations likewise. Both are expected in that order.
 *
 * Threads: pure function.
 */
#ifndef NJ_TOOLS_BENCH_FREED_H
#define NJ_TOOLS_BENCH_FREED_H

#include <stdint.h>

#include "tools/bench_loops.h"

enum { NJ_BENCH_PANEL_INPUTS = 512 };

/* Adds to `sums`, tiles of (freed_outputs, freed_rows), all tiles of rows for the first tile of
 * outputs first. n_outputs and n_rows are multiples of the tile's. */
void nj_bench_multiply_freed(const struct nj_bench_loops *loops, const float *weights,
                             uint32_t n_outputs, uint32_t n_inputs, const float *x,
                             uint32_t n_rows, float *sums);

#endif
