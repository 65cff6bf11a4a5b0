/* With sixteen registers of eight values, a pair's sixteen lanes fill two, and a tile of 4 x 3
 * pairs would need 24. But lanes are independent: tiles run over their inputs twice, once for
 * lanes 0 to 7 and once for 8 to 15. Then 4 x 3 pairs take 12 accumulators, 3 activations and 1
 * weight: 16 registers, exactly.
 *
 * Very few activation rows: weights are decoded as they are met. More: multiply_avx2_panels.c.
 */
#include "kernels/multiply.h"

#include "kernels/weight_row_avx2.h"

enum { TILE_WEIGHTS = 4, TILE_INPUTS = 3, HALF = NJ_HALF_LANES };

/* From how many activation rows on it pays to decode a weight once for all of them. A group of
 * BF16 takes two cheap operations to decode, MXFP4 six; F32 gains from panels. */
static const uint32_t fewest_for_panels[] = {
    [NJ_MATRIX_F32] = 4, [NJ_MATRIX_BF16] = 6, [NJ_MATRIX_MXFP4] = 5};

struct tile_lanes {
    float lane[TILE_WEIGHTS][TILE_INPUTS][NJ_LANES];
};

/* Runs all whole groups over half of the lanes, or over both at once where n_halves is 2. The
 * rows of the next tile, `tile_bytes` further, are brought into L2 meanwhile, a line of each in
 * turn: the hardware alone starts over at every row. */
WIDE_INLINE void stream_halves(enum nj_matrix_type type, const struct weight_row *rows,
                               size_t n_weights, const float *const *x, size_t n_inputs,
                               size_t n_groups, size_t tile_bytes, size_t first_half,
                               size_t n_halves, struct tile_lanes *lanes)
{
    const size_t group_bytes = weight_bytes(type, NJ_LANES);
    __m256 chain[TILE_WEIGHTS][TILE_INPUTS][2];
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            WIDE_UNROLL
            for (size_t h = 0; h < n_halves; h++) {
                chain[w][c][h] = _mm256_setzero_ps();
            }
        }
    }
    for (size_t group = 0; group < n_groups; group++) {
        if (first_half == 0) {
            WIDE_UNROLL
            for (size_t w = 0; w < n_weights; w++) {
                _mm_prefetch((const char *)rows[w].values + tile_bytes + group * group_bytes,
                             _MM_HINT_T1);
            }
        }
        WIDE_UNROLL
        for (size_t h = 0; h < n_halves; h++) {
            size_t half = first_half + h;
            __m256 inputs[TILE_INPUTS];
            WIDE_UNROLL
            for (size_t c = 0; c < n_inputs; c++) {
                inputs[c] = pin(_mm256_loadu_ps(x[c] + group * NJ_LANES + half * HALF));
            }
            WIDE_UNROLL
            for (size_t w = 0; w < n_weights; w++) {
                __m256 weights = decode(type, rows[w], group, half);
                WIDE_UNROLL
                for (size_t c = 0; c < n_inputs; c++) {
                    chain[w][c][h] = _mm256_fmadd_ps(weights, inputs[c], chain[w][c][h]);
                }
            }
        }
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            WIDE_UNROLL
            for (size_t h = 0; h < n_halves; h++) {
                _mm256_storeu_ps(lanes->lane[w][c] + (first_half + h) * HALF, chain[w][c][h]);
            }
        }
    }
}

WIDE_INLINE void stream_groups(enum nj_matrix_type type, const struct weight_row *rows,
                               size_t n_weights, const float *const *x, size_t n_inputs,
                               size_t n_groups, size_t tile_bytes, struct tile_lanes *lanes)
{
    if (n_inputs == 1) {
        stream_halves(type, rows, n_weights, x, n_inputs, n_groups, tile_bytes, 0, 2, lanes);
        return;
    }
    stream_halves(type, rows, n_weights, x, n_inputs, n_groups, tile_bytes, 0, 1, lanes);
    stream_halves(type, rows, n_weights, x, n_inputs, n_groups, tile_bytes, 1, 1, lanes);
}

WIDE_INLINE void stream_inputs(enum nj_matrix_type type, const struct weight_row *rows,
                               size_t n_weights, const float *const *x, uint32_t n_inputs,
                               size_t n_groups, size_t tile_bytes, struct tile_lanes *lanes)
{
    switch (n_inputs) {
    case 3:
        stream_groups(type, rows, n_weights, x, 3, n_groups, tile_bytes, lanes);
        break;
    case 2:
        stream_groups(type, rows, n_weights, x, 2, n_groups, tile_bytes, lanes);
        break;
    default:
        stream_groups(type, rows, n_weights, x, 1, n_groups, tile_bytes, lanes);
        break;
    }
}

WIDE_INLINE void stream_weights(enum nj_matrix_type type, const struct weight_row *rows,
                                uint32_t n_weights, const float *const *x, uint32_t n_inputs,
                                size_t n_groups, size_t tile_bytes, struct tile_lanes *lanes)
{
    if (n_weights == TILE_WEIGHTS) {
        stream_inputs(type, rows, TILE_WEIGHTS, x, n_inputs, n_groups, tile_bytes, lanes);
    } else {
        stream_inputs(type, rows, 1, x, n_inputs, n_groups, tile_bytes, lanes);
    }
}

/* n_weights is TILE_WEIGHTS or 1, n_inputs at most TILE_INPUTS. */
static void stream_whole_groups(const struct nj_matrix *matrix, const struct weight_row *rows,
                                uint32_t n_weights, const float *const *x, uint32_t n_inputs,
                                struct tile_lanes *lanes)
{
    size_t n_groups = matrix->n_inputs / NJ_LANES;
    size_t tile_bytes = n_weights * weight_bytes(matrix->type, matrix->n_inputs);
    switch (matrix->type) {
    case NJ_MATRIX_F32:
        stream_weights(NJ_MATRIX_F32, rows, n_weights, x, n_inputs, n_groups, tile_bytes,
                       lanes);
        break;
    case NJ_MATRIX_BF16:
        stream_weights(NJ_MATRIX_BF16, rows, n_weights, x, n_inputs, n_groups, tile_bytes,
                       lanes);
        break;
    case NJ_MATRIX_MXFP4:
        stream_weights(NJ_MATRIX_MXFP4, rows, n_weights, x, n_inputs, n_groups, tile_bytes,
                       lanes);
        break;
    }
}

static void stream_tail(const struct nj_matrix *matrix, const struct weight_row *rows,
                        uint32_t n_weights, const float *const *x, uint32_t n_inputs,
                        struct tile_lanes *lanes)
{
    size_t n = matrix->n_inputs % NJ_LANES;
    for (uint32_t w = 0; w < n_weights; w++) {
        wide weights = decode_tail(matrix, rows[w]);
        for (uint32_t c = 0; c < n_inputs; c++) {
            wide last = wide_load_first(x[c] + matrix->n_inputs - n, n);
            float *chain = lanes->lane[w][c];
            wide_store(chain, wide_fma(weights, last, wide_load(chain)));
        }
    }
}

static void stream_tile(const struct nj_matrix *matrix, uint32_t first_output,
                        uint32_t n_weights, const float *x, size_t x_stride, uint32_t n_inputs,
                        float *y, size_t y_stride)
{
    struct weight_row rows[TILE_WEIGHTS];
    const float *inputs[TILE_INPUTS];
    struct tile_lanes lanes;
    for (uint32_t w = 0; w < n_weights; w++) {
        rows[w] = weight_row_at(matrix, first_output + w);
    }
    for (uint32_t c = 0; c < n_inputs; c++) {
        inputs[c] = x + c * x_stride;
    }
    stream_whole_groups(matrix, rows, n_weights, inputs, n_inputs, &lanes);
    if (matrix->n_inputs % NJ_LANES != 0) {
        stream_tail(matrix, rows, n_weights, inputs, n_inputs, &lanes);
    }
    for (uint32_t w = 0; w < n_weights; w++) {
        for (uint32_t c = 0; c < n_inputs; c++) {
            y[c * y_stride + first_output + w] = wide_fold(wide_load(lanes.lane[w][c]));
        }
    }
}

static void multiply_few(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                         uint32_t n_rows, float *y, size_t y_stride)
{
    uint32_t n_weights;
    for (uint32_t o = 0; o < matrix->n_outputs; o += n_weights) {
        n_weights = matrix->n_outputs - o >= TILE_WEIGHTS ? TILE_WEIGHTS : 1;
        uint32_t n_inputs;
        for (uint32_t r = 0; r < n_rows; r += n_inputs) {
            n_inputs = n_rows - r < TILE_INPUTS ? n_rows - r : TILE_INPUTS;
            stream_tile(matrix, o, n_weights, x + r * x_stride, x_stride, n_inputs,
                        y + r * y_stride, y_stride);
        }
    }
}

void nj_multiply_avx2(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                      uint32_t n_rows, float *y, size_t y_stride, void *scratch)
{
    if (n_rows < fewest_for_panels[matrix->type]) {
        multiply_few(matrix, x, x_stride, n_rows, y, y_stride);
    } else {
        nj_multiply_avx2_panels(matrix, x, x_stride, n_rows, y, y_stride, scratch);
    }
}
