/* RMS norms and plain sums over the rows of a sweep. */
#ifndef NJ_MODEL_NORM_H
#define NJ_MODEL_NORM_H

#include "model/compute.h"

/* y = RMS(x; weight, eps) for each row of (n_rows, n_values); y is another buffer. */
void nj_norm_rows(const struct nj_compute *compute, const float *x, size_t x_stride,
                  uint32_t n_rows, uint32_t n_values, const float *weight, float eps, float *y,
                  size_t y_stride);

/* y = y + x, row by row. */
void nj_add_rows(const struct nj_compute *compute, const float *x, uint32_t n_rows,
                 uint32_t n_values, float *y);

/* The sublayer gates of the latent attention: y = y * sigmoid(gate), row by row. */
void nj_gate_rows(const struct nj_compute *compute, const float *gate, uint32_t n_rows,
                  uint32_t n_values, float *y);

#endif
