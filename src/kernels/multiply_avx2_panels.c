/* From a few activation rows on, weights are decoded to F32 once and used in panels (panels.h).
 *
 * Panels are short: what a tile touches must leave room in L1 for the activations that stream
 * past it. (28 groups of inputs reach 91 to 95 % of the processor's peak at 128 rows; 75 lose a
 * fifth of that, 14 a twentieth.) Both halves of the lanes are done one after the other: what
 * the first brings into L1, the second finds there.
 */
#include "kernels/multiply.h"

#include <stdbool.h>

#include "kernels/panels.h"
#include "kernels/weight_row_avx2.h"

enum {
    TILE_WEIGHTS = 4,
    TILE_INPUTS = 3,
    ROW_LANES = TILE_INPUTS * NJ_LANES,
    HALF = NJ_HALF_LANES,
    PANEL_GROUPS = 28,
    BLOCK_WEIGHTS = 48,
    MOST_ROWS = 129,
    DECODED_VALUES = TILE_WEIGHTS * PANEL_GROUPS * NJ_LANES
};

/* Goes on with the chains of a tile in one half of the lanes, to which the pointers are set. */
WIDE_INLINE void half_tile(const struct piece *piece, size_t n_weights, const uint8_t *weights,
                           const float *x, size_t x_stride, size_t n_inputs, float *lanes)
{
    __m256 chain[TILE_WEIGHTS][TILE_INPUTS];
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = _mm256_setzero_ps();
            if (piece->first_group > 0) {
                chain[w][c] = _mm256_loadu_ps(lanes + w * ROW_LANES + c * NJ_LANES);
            }
        }
    }
    const size_t row_bytes = piece->row_bytes;
    for (size_t left = piece->n_groups; left > 0; left--) {
        __m256 inputs[TILE_INPUTS];
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            inputs[c] = pin(_mm256_loadu_ps(x + c * x_stride));
        }
        WIDE_UNROLL
        for (size_t w = 0; w < n_weights; w++) {
            __m256 weight = _mm256_loadu_ps((const void *)(weights + w * row_bytes));
            WIDE_UNROLL
            for (size_t c = 0; c < n_inputs; c++) {
                chain[w][c] = _mm256_fmadd_ps(weight, inputs[c], chain[w][c]);
            }
        }
        weights += NJ_LANES * sizeof(float);
        x += NJ_LANES;
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            _mm256_storeu_ps(lanes + w * ROW_LANES + c * NJ_LANES, chain[w][c]);
        }
    }
}

WIDE_INLINE void multiply_tile(const struct piece *piece, size_t n_weights, const float *x,
                               size_t x_stride, size_t n_inputs, float *lanes)
{
    half_tile(piece, n_weights, piece->weights, x, x_stride, n_inputs, lanes);
    half_tile(piece, n_weights, piece->weights + HALF * sizeof(float), x + HALF, x_stride,
              n_inputs, lanes + HALF);
}

/* The pair's lanes l + (l + 8). */
static __m256 fold_once(const float *lanes)
{
    return _mm256_add_ps(_mm256_loadu_ps(lanes), _mm256_loadu_ps(lanes + HALF));
}

/* Four folds at once, each in the tree of lanes.h. */
static __m128 fold_four(const float *lanes)
{
    __m256 a = fold_once(lanes);
    __m256 b = fold_once(lanes + ROW_LANES);
    __m256 c = fold_once(lanes + (size_t)2 * ROW_LANES);
    __m256 d = fold_once(lanes + (size_t)3 * ROW_LANES);
    __m256 ab =
        _mm256_add_ps(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31));
    __m256 cd =
        _mm256_add_ps(_mm256_permute2f128_ps(c, d, 0x20), _mm256_permute2f128_ps(c, d, 0x31));
    __m256 two =
        _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
    __m256 one = _mm256_add_ps(two, _mm256_permute_ps(two, 0xb1));
    /* a at 0, c at 2, b at 4, d at 6 */
    __m128 ac = _mm256_castps256_ps128(one);
    __m128 bd = _mm256_extractf128_ps(one, 1);
    return _mm_unpacklo_ps(_mm_shuffle_ps(ac, ac, 0x08), _mm_shuffle_ps(bd, bd, 0x08));
}

static void fold_row(const float *lanes, uint32_t n_weights, float *y)
{
    if (n_weights == TILE_WEIGHTS) {
        _mm_storeu_ps(y, fold_four(lanes));
        return;
    }
    for (uint32_t w = 0; w < n_weights; w++, lanes += ROW_LANES) {
        y[w] = wide_fold(wide_load(lanes));
    }
}

WIDE_INLINE void decode_groups(enum nj_matrix_type type, struct weight_row row,
                               size_t first_group, size_t n_groups, float *values)
{
    for (size_t g = 0; g < n_groups; g++, values += NJ_LANES) {
        wide v = {decode(type, row, first_group + g, 0), decode(type, row, first_group + g, 1)};
        wide_store(values, v);
    }
}

/* F32 weights are used where they are. */
static void place_weights(const struct product *product, struct piece *piece)
{
    const struct nj_matrix *matrix = product->matrix;
    struct weight_row row = weight_row_at(matrix, piece->first_output);
    if (matrix->type == NJ_MATRIX_F32) {
        piece->weights = row.values + piece->first_group * NJ_LANES * sizeof(float);
        piece->row_bytes = matrix->n_inputs * sizeof(float);
        return;
    }
    piece->weights = (const uint8_t *)product->decoded;
    piece->row_bytes = sizeof(float) * PANEL_GROUPS * NJ_LANES;
    for (uint32_t w = 0; w < piece->n_weights; w++) {
        float *values = product->decoded + (size_t)w * PANEL_GROUPS * NJ_LANES;
        row = weight_row_at(matrix, piece->first_output + w);
        if (matrix->type == NJ_MATRIX_BF16) {
            decode_groups(NJ_MATRIX_BF16, row, piece->first_group, piece->n_groups, values);
        } else {
            decode_groups(NJ_MATRIX_MXFP4, row, piece->first_group, piece->n_groups, values);
        }
    }
}

#include "kernels/panels.inc"

void nj_multiply_avx2_panels(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                             uint32_t n_rows, float *y, size_t y_stride, float *scratch)
{
    multiply_in_panels(matrix, x, x_stride, n_rows, y, y_stride, scratch);
}
