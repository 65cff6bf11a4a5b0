/* Where the weights of a row are.
 *
 * Threads: pure functions.
 */
#ifndef NJ_KERNELS_WEIGHT_ROW_H
#define NJ_KERNELS_WEIGHT_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/kernels.h"
#include "quant/mxfp4.h"

struct weight_row {
    const uint8_t *values;
    const uint8_t *scales;
};

/* Bytes of `n_values` of a row, without scales. */
static inline size_t weight_bytes(enum nj_matrix_type type, size_t n_values)
{
    switch (type) {
    case NJ_MATRIX_BF16:
        return n_values * 2;
    case NJ_MATRIX_MXFP4:
        return n_values / 2;
    case NJ_MATRIX_F32:
        break;
    }
    return n_values * 4;
}

static inline struct weight_row weight_row_at(const struct nj_matrix *matrix, uint32_t output)
{
    size_t n = matrix->n_inputs;
    const uint8_t *values = matrix->weights;
    struct weight_row row = {.values = values + output * weight_bytes(matrix->type, n)};
    if (matrix->type == NJ_MATRIX_MXFP4) {
        row.scales = matrix->scales + output * (n / NJ_MXFP4_BLOCK_VALUES);
    }
    return row;
}

#endif
