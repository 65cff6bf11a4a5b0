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

/* The part of nj_multiply_avx512 for many rows of F32. */
void nj_multiply_avx512_panels(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                               uint32_t n_rows, float *y, size_t y_stride, float *scratch);

/* The part of nj_multiply_avx2 for more than a few rows. */
void nj_multiply_avx2_panels(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                             uint32_t n_rows, float *y, size_t y_stride, float *scratch);

/* What a product has in scratch, at most: accumulators in panels, or activations in the order
 * in which tiles meet them. 480 KiB: 34 rows at the width of K3's experts, half of L2. */
enum { NJ_SCRATCH_VALUES = 122880 };

#endif
