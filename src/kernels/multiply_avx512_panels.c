/* Many activation rows of F32, which are four times what BF16 has to bring from L2 for a weight
 * that is used once: in panels (panels.h) a tile of weights comes from there once for all rows.
 * 1.08 to 1.25 times the speed of whole rows at 64 and 128 rows, where activations are too many
 * to be packed.
 */
#include "kernels/multiply.h"

#include <stdbool.h>

#include "kernels/panels.h"
#include "kernels/weight_row.h"
#include "kernels/wide_avx512.h"

enum {
    TILE_WEIGHTS = 6,
    TILE_INPUTS = 4,
    ROW_LANES = TILE_INPUTS * NJ_LANES,
    PANEL_GROUPS = 28,
    BLOCK_WEIGHTS = 48,
    MOST_ROWS = 132,
    DECODED_VALUES = 0
};

WIDE_INLINE void multiply_tile(const struct piece *piece, size_t n_weights, const float *x,
                               size_t x_stride, size_t n_inputs, float *lanes)
{
    wide chain[TILE_WEIGHTS][TILE_INPUTS];
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = wide_set(0.0F);
            if (piece->first_group > 0) {
                chain[w][c] = wide_load(lanes + w * ROW_LANES + c * NJ_LANES);
            }
        }
    }
    const uint8_t *weights = piece->weights;
    const size_t row_bytes = piece->row_bytes;
    for (size_t left = piece->n_groups; left > 0; left--) {
        wide inputs[TILE_INPUTS];
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            inputs[c] = wide_pin(wide_load(x + c * x_stride));
        }
        WIDE_UNROLL
        for (size_t w = 0; w < n_weights; w++) {
            wide weight = _mm512_loadu_ps(weights + w * row_bytes);
            WIDE_UNROLL
            for (size_t c = 0; c < n_inputs; c++) {
                chain[w][c] = wide_fma(weight, inputs[c], chain[w][c]);
            }
        }
        weights += NJ_LANES * sizeof(float);
        x += NJ_LANES;
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            wide_store(lanes + w * ROW_LANES + c * NJ_LANES, chain[w][c]);
        }
    }
}

/* Against an activation of +0 the product of -0 is -0, and adding that leaves every lane as it
 * is, a lane of -0 included. */
static wide decode_tail(const struct nj_matrix *matrix, struct weight_row row)
{
    size_t n = matrix->n_inputs % NJ_LANES;
    size_t first = matrix->n_inputs - n;
    return _mm512_mask_loadu_ps(wide_set(-0.0F), wide_first(n),
                                row.values + first * sizeof(float));
}

static void fold_row(const float *lanes, uint32_t n_weights, float *y)
{
    for (uint32_t w = 0; w < n_weights; w++, lanes += ROW_LANES) {
        y[w] = wide_fold(wide_load(lanes));
    }
}

/* Weights are used where they are. */
static void place_weights(const struct product *product, struct piece *piece)
{
    struct weight_row row = weight_row_at(product->matrix, piece->first_output);
    piece->weights = row.values + piece->first_group * NJ_LANES * sizeof(float);
    piece->row_bytes = product->matrix->n_inputs * sizeof(float);
}

#include "kernels/panels.inc"

void nj_multiply_avx512_panels(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                               uint32_t n_rows, float *y, size_t y_stride, float *scratch)
{
    multiply_in_panels(matrix, x, x_stride, n_rows, y, y_stride, scratch);
}
