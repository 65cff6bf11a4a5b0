/* The matrix product of each vector level (nj_kernels.multiply says what it does).
 *
 * Weight-stationary: a tile of weight rows is decoded and stays in registers or cache while it
 * meets every activation row. Each pair of a weight row and an activation row owns its sixteen
 * accumulators over the whole of n_inputs, so how pairs are grouped into tiles is free, and so
 * is keeping accumulators in memory between panels: neither touches the order in a chain.
 *
 * Threads: pure functions.
 */
#ifndef NJ_KERNELS_MULTIPLY_H
#define NJ_KERNELS_MULTIPLY_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"

void nj_multiply_avx2(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                      uint32_t n_rows, float *y, size_t y_stride, void *scratch);
void nj_multiply_avx512(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                        uint32_t n_rows, float *y, size_t y_stride, void *scratch);

/* The part of nj_multiply_avx512 for MXFP4 and at least one row. */
void nj_multiply_avx512_mxfp4(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                              uint32_t n_rows, float *y, size_t y_stride, float *scratch);

/* What nj_multiply_avx2 keeps in scratch: a block of weights and one of activations, both as
 * panels of F32, and the accumulators of their pairs. */
enum {
    NJ_AVX2_BLOCK_ROWS = 48, /* of weights and of activations */
    NJ_AVX2_PANEL_GROUPS = 56,
    NJ_AVX2_PANEL_VALUES = NJ_AVX2_PANEL_GROUPS * 16,
    NJ_AVX2_SCRATCH_VALUES = 2 * NJ_AVX2_BLOCK_ROWS * NJ_AVX2_PANEL_VALUES +
                             NJ_AVX2_BLOCK_ROWS * NJ_AVX2_BLOCK_ROWS * 16
};

/* What nj_multiply_avx512 keeps in scratch: activations in the order in which tiles meet them,
 * for F32 and BF16 only if all fit. */
enum { NJ_AVX512_SCRATCH_VALUES = NJ_AVX2_SCRATCH_VALUES };

#endif
