/* With sixteen registers of eight values, a pair's sixteen lanes fill two, and a tile of 4 x 3
 * pairs would need 24. But lanes are independent: this file runs over a panel twice, once for
 * lanes 0 to 7 and once for 8 to 15. Then 4 x 3 pairs take 12 accumulators, 3 activations and 1
 * weight: 16 registers, exactly.
 *
 * Few activation rows: weights are decoded as they are met (stream_tile). Many: a block of
 * weights and one of activations are first laid out as F32 panels with their halves apart
 * (panel_tile), since there are no registers or ports to spare for decoding inside a full tile.
 */
#include "kernels/multiply.h"

#include "kernels/wide_avx2.h"
#include "quant/mxfp4.h"

enum {
    TILE_WEIGHTS = 4,
    TILE_INPUTS = 3,
    HALF = NJ_LANES / 2,
    BLOCK = NJ_AVX2_BLOCK_ROWS,
    PANEL_GROUPS = NJ_AVX2_PANEL_GROUPS,
    PANEL_ROW = NJ_AVX2_PANEL_VALUES, /* low halves of all groups, then high halves */
    PANEL_VALUES = BLOCK * PANEL_ROW,
    LANES_ROW = BLOCK * NJ_LANES /* accumulators of one weight row */
};

/* From how many activation rows on laying out panels pays. A group of BF16 takes two cheap
 * operations to decode, so meeting it again and again is fine for long; MXFP4 takes six. */
static const uint32_t fewest_for_panels[] = {
    [NJ_MATRIX_F32] = 16, [NJ_MATRIX_BF16] = 40, [NJ_MATRIX_MXFP4] = 8};

/* One weight row. */
struct weight_row {
    const uint8_t *values;
    const uint8_t *scales;
};

static struct weight_row weight_row_at(const struct nj_matrix *matrix, uint32_t output)
{
    size_t n = matrix->n_inputs;
    const uint8_t *values = matrix->weights;
    switch (matrix->type) {
    case NJ_MATRIX_BF16:
        return (struct weight_row){values + output * n * 2, NULL};
    case NJ_MATRIX_MXFP4:
        return (struct weight_row){values + output * (n / 2),
                                   matrix->scales + output * (n / NJ_MXFP4_BLOCK_VALUES)};
    case NJ_MATRIX_F32:
        break;
    }
    return (struct weight_row){values + output * n * 4, NULL};
}

/* Eight nibbles: the low three bits look up a magnitude under the block's scale, the fourth is
 * its sign. */
WIDE_INLINE __m256 decode_mxfp4(struct weight_row row, size_t group, size_t half)
{
    const __m256i places = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
    const __m256i sign_bit = _mm256_set1_epi32(INT32_MIN);
    int32_t packed;
    memcpy(&packed, row.values + group * (NJ_LANES / 2) + half * (HALF / 2), sizeof packed);
    __m256 codebook = _mm256_load_ps(nj_mxfp4_codebooks[row.scales[group / 2]]);
    __m256i nibbles = _mm256_srlv_epi32(_mm256_set1_epi32(packed), places);
    __m256 size = _mm256_permutevar8x32_ps(codebook, nibbles);
    __m256i sign = _mm256_and_si256(_mm256_slli_epi32(nibbles, 28), sign_bit);
    return _mm256_xor_ps(size, _mm256_castsi256_ps(sign));
}

/* Eight weights of a group of sixteen, as F32. */
WIDE_INLINE __m256 decode(enum nj_matrix_type type, struct weight_row row, size_t group,
                          size_t half)
{
    size_t first = group * NJ_LANES + half * HALF;
    switch (type) {
    case NJ_MATRIX_BF16:
        return wide_widen_bf16_half(_mm_loadu_si128((const void *)(row.values + first * 2)));
    case NJ_MATRIX_MXFP4:
        return decode_mxfp4(row, group, half);
    case NJ_MATRIX_F32:
        break;
    }
    return _mm256_loadu_ps((const void *)(row.values + first * 4));
}

/* The last n_inputs % 16 weights of a row, padded with -0: against an activation of +0 the
 * product is -0, and adding that leaves every lane as it is, a lane of -0 included. */
static void decode_tail(const struct nj_matrix *matrix, struct weight_row row,
                        float values[NJ_LANES])
{
    size_t n = matrix->n_inputs % NJ_LANES;
    size_t first = matrix->n_inputs - n;
    wide padding = wide_set(-0.0F);
    wide weights = matrix->type == NJ_MATRIX_BF16
                       ? wide_load_bf16_first(row.values + first * 2, n)
                       : wide_load_first((const void *)(row.values + first * 4), n);
    wide_store(values, wide_select(wide_first(n), weights, padding));
}

/* Keeps an activation in its register: the compiler would rather fold the load into each of the
 * multiply-adds that use it, and run out of loads. */
WIDE_INLINE __m256 pin(__m256 v)
{
    __asm__("" : "+x"(v));
    return v;
}

/* --- few rows: decode in the loop ------------------------------------------------------- */

struct tile_lanes {
    float lane[TILE_WEIGHTS][TILE_INPUTS][NJ_LANES];
};

/* Runs all whole groups over half of the lanes, or over both at once where n_halves is 2. */
WIDE_INLINE void stream_halves(enum nj_matrix_type type, const struct weight_row *rows,
                               size_t n_weights, const float *const *x, size_t n_inputs,
                               size_t n_groups, size_t first_half, size_t n_halves,
                               struct tile_lanes *lanes)
{
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
                               size_t n_groups, struct tile_lanes *lanes)
{
    if (n_inputs == 1) {
        stream_halves(type, rows, n_weights, x, n_inputs, n_groups, 0, 2, lanes);
        return;
    }
    stream_halves(type, rows, n_weights, x, n_inputs, n_groups, 0, 1, lanes);
    stream_halves(type, rows, n_weights, x, n_inputs, n_groups, 1, 1, lanes);
}

WIDE_INLINE void stream_inputs(enum nj_matrix_type type, const struct weight_row *rows,
                               size_t n_weights, const float *const *x, uint32_t n_inputs,
                               size_t n_groups, struct tile_lanes *lanes)
{
    switch (n_inputs) {
    case 3:
        stream_groups(type, rows, n_weights, x, 3, n_groups, lanes);
        break;
    case 2:
        stream_groups(type, rows, n_weights, x, 2, n_groups, lanes);
        break;
    default:
        stream_groups(type, rows, n_weights, x, 1, n_groups, lanes);
        break;
    }
}

WIDE_INLINE void stream_weights(enum nj_matrix_type type, const struct weight_row *rows,
                                uint32_t n_weights, const float *const *x, uint32_t n_inputs,
                                size_t n_groups, struct tile_lanes *lanes)
{
    if (n_weights == TILE_WEIGHTS) {
        stream_inputs(type, rows, TILE_WEIGHTS, x, n_inputs, n_groups, lanes);
    } else {
        stream_inputs(type, rows, 1, x, n_inputs, n_groups, lanes);
    }
}

/* n_weights is TILE_WEIGHTS or 1, n_inputs at most TILE_INPUTS. */
static void stream_whole_groups(const struct nj_matrix *matrix, const struct weight_row *rows,
                                uint32_t n_weights, const float *const *x, uint32_t n_inputs,
                                struct tile_lanes *lanes)
{
    size_t n_groups = matrix->n_inputs / NJ_LANES;
    switch (matrix->type) {
    case NJ_MATRIX_F32:
        stream_weights(NJ_MATRIX_F32, rows, n_weights, x, n_inputs, n_groups, lanes);
        break;
    case NJ_MATRIX_BF16:
        stream_weights(NJ_MATRIX_BF16, rows, n_weights, x, n_inputs, n_groups, lanes);
        break;
    case NJ_MATRIX_MXFP4:
        stream_weights(NJ_MATRIX_MXFP4, rows, n_weights, x, n_inputs, n_groups, lanes);
        break;
    }
}

static void stream_tail(const struct nj_matrix *matrix, const struct weight_row *rows,
                        uint32_t n_weights, const float *const *x, uint32_t n_inputs,
                        struct tile_lanes *lanes)
{
    size_t n = matrix->n_inputs % NJ_LANES;
    for (uint32_t w = 0; w < n_weights; w++) {
        float weights[NJ_LANES];
        decode_tail(matrix, rows[w], weights);
        for (uint32_t c = 0; c < n_inputs; c++) {
            wide last = wide_load_first(x[c] + matrix->n_inputs - n, n);
            float *chain = lanes->lane[w][c];
            wide_store(chain, wide_fma(wide_load(weights), last, wide_load(chain)));
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

/* --- many rows: panels ------------------------------------------------------------------- */

/* A block of weight rows against a block of activation rows. */
struct block {
    const struct nj_matrix *matrix;
    uint32_t first_output;
    uint32_t n_weights;
    const float *x;
    size_t x_stride;
    uint32_t n_inputs;
    float *weight_panel; /* (BLOCK, PANEL_ROW) */
    float *input_panel;  /* (BLOCK, PANEL_ROW) */
    float *lanes;        /* (BLOCK, BLOCK, NJ_LANES) */
};

static void store_group(float *panel_row, size_t group, wide v)
{
    _mm256_storeu_ps(panel_row + group * HALF, v.low);
    _mm256_storeu_ps(panel_row + (PANEL_GROUPS + group) * HALF, v.high);
}

WIDE_INLINE void lay_out_groups(enum nj_matrix_type type, struct weight_row row,
                                size_t first_group, size_t n_groups, float *panel_row)
{
    for (size_t g = 0; g < n_groups; g++) {
        wide v = {decode(type, row, first_group + g, 0), decode(type, row, first_group + g, 1)};
        store_group(panel_row, g, v);
    }
}

static void lay_out_weights(const struct nj_matrix *matrix, struct weight_row row,
                            size_t first_group, size_t n_groups, float *panel_row)
{
    size_t n_whole = matrix->n_inputs / NJ_LANES - first_group;
    n_whole = n_whole < n_groups ? n_whole : n_groups;
    switch (matrix->type) {
    case NJ_MATRIX_F32:
        lay_out_groups(NJ_MATRIX_F32, row, first_group, n_whole, panel_row);
        break;
    case NJ_MATRIX_BF16:
        lay_out_groups(NJ_MATRIX_BF16, row, first_group, n_whole, panel_row);
        break;
    case NJ_MATRIX_MXFP4:
        lay_out_groups(NJ_MATRIX_MXFP4, row, first_group, n_whole, panel_row);
        break;
    }
    if (n_whole < n_groups) {
        float tail[NJ_LANES];
        decode_tail(matrix, row, tail);
        store_group(panel_row, n_whole, wide_load(tail));
    }
}

static void lay_out_inputs(const float *x, size_t n_values, size_t first_group, size_t n_groups,
                           float *panel_row)
{
    for (size_t g = 0; g < n_groups; g++) {
        size_t first = (first_group + g) * NJ_LANES;
        size_t left = n_values - first;
        store_group(panel_row, g,
                    left >= NJ_LANES ? wide_load(x + first) : wide_load_first(x + first, left));
    }
}

/* Goes on with the chains of a tile, for the half of the lanes that the pointers are set to. */
WIDE_INLINE void panel_tile(const float *weights, size_t n_weights, const float *x,
                            size_t n_inputs, size_t n_groups, float *lanes)
{
    __m256 chain[TILE_WEIGHTS][TILE_INPUTS];
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = _mm256_loadu_ps(lanes + w * LANES_ROW + c * NJ_LANES);
        }
    }
    for (size_t g = 0; g < n_groups; g++) {
        __m256 inputs[TILE_INPUTS];
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            inputs[c] = pin(_mm256_loadu_ps(x + c * PANEL_ROW + g * HALF));
        }
        WIDE_UNROLL
        for (size_t w = 0; w < n_weights; w++) {
            __m256 weight = _mm256_loadu_ps(weights + w * PANEL_ROW + g * HALF);
            WIDE_UNROLL
            for (size_t c = 0; c < n_inputs; c++) {
                chain[w][c] = _mm256_fmadd_ps(weight, inputs[c], chain[w][c]);
            }
        }
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            _mm256_storeu_ps(lanes + w * LANES_ROW + c * NJ_LANES, chain[w][c]);
        }
    }
}

WIDE_INLINE void panel_tile_inputs(const float *weights, size_t n_weights, const float *x,
                                   size_t n_inputs, size_t n_groups, float *lanes)
{
    switch (n_inputs) {
    case 3:
        panel_tile(weights, n_weights, x, 3, n_groups, lanes);
        break;
    case 2:
        panel_tile(weights, n_weights, x, 2, n_groups, lanes);
        break;
    default:
        panel_tile(weights, n_weights, x, 1, n_groups, lanes);
        break;
    }
}

static void panel_half(const struct block *block, size_t n_groups, size_t half)
{
    size_t half_begin = half * PANEL_GROUPS * HALF;
    size_t n_inputs;
    for (size_t c = 0; c < block->n_inputs; c += n_inputs) {
        n_inputs = block->n_inputs - c < TILE_INPUTS ? block->n_inputs - c : TILE_INPUTS;
        const float *x = block->input_panel + c * PANEL_ROW + half_begin;
        float *lanes = block->lanes + c * NJ_LANES + half * HALF;
        size_t w = 0;
        for (; w + TILE_WEIGHTS <= block->n_weights; w += TILE_WEIGHTS) {
            panel_tile_inputs(block->weight_panel + w * PANEL_ROW + half_begin, TILE_WEIGHTS, x,
                              n_inputs, n_groups, lanes + w * LANES_ROW);
        }
        for (; w < block->n_weights; w++) {
            panel_tile_inputs(block->weight_panel + w * PANEL_ROW + half_begin, 1, x, n_inputs,
                              n_groups, lanes + w * LANES_ROW);
        }
    }
}

static void multiply_block(const struct block *block, float *y, size_t y_stride)
{
    size_t n_groups = (block->matrix->n_inputs + (size_t)NJ_LANES - 1) / NJ_LANES;
    memset(block->lanes, 0, (size_t)block->n_weights * LANES_ROW * sizeof *block->lanes);
    for (size_t first = 0; first < n_groups; first += PANEL_GROUPS) {
        size_t n = n_groups - first < PANEL_GROUPS ? n_groups - first : PANEL_GROUPS;
        for (size_t w = 0; w < block->n_weights; w++) {
            lay_out_weights(block->matrix,
                            weight_row_at(block->matrix, block->first_output + (uint32_t)w),
                            first, n, block->weight_panel + w * PANEL_ROW);
        }
        for (size_t c = 0; c < block->n_inputs; c++) {
            lay_out_inputs(block->x + c * block->x_stride, block->matrix->n_inputs, first, n,
                           block->input_panel + c * PANEL_ROW);
        }
        panel_half(block, n, 0);
        panel_half(block, n, 1);
    }
    for (size_t c = 0; c < block->n_inputs; c++) {
        for (size_t w = 0; w < block->n_weights; w++) {
            y[c * y_stride + block->first_output + w] =
                wide_fold(wide_load(block->lanes + w * LANES_ROW + c * NJ_LANES));
        }
    }
}

static void multiply_many(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                          uint32_t n_rows, float *y, size_t y_stride, float *scratch)
{
    struct block block = {.matrix = matrix, .x_stride = x_stride};
    block.weight_panel = scratch;
    block.input_panel = block.weight_panel + PANEL_VALUES;
    block.lanes = block.input_panel + PANEL_VALUES;
    for (uint32_t o = 0; o < matrix->n_outputs; o += BLOCK) {
        block.first_output = o;
        block.n_weights = matrix->n_outputs - o < BLOCK ? matrix->n_outputs - o : BLOCK;
        for (uint32_t r = 0; r < n_rows; r += BLOCK) {
            block.x = x + r * x_stride;
            block.n_inputs = n_rows - r < BLOCK ? n_rows - r : BLOCK;
            multiply_block(&block, y + r * y_stride, y_stride);
        }
    }
}

void nj_multiply_avx2(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                      uint32_t n_rows, float *y, size_t y_stride, void *scratch)
{
    if (n_rows < fewest_for_panels[matrix->type]) {
        multiply_few(matrix, x, x_stride, n_rows, y, y_stride);
    } else {
        multiply_many(matrix, x, x_stride, n_rows, y, y_stride, scratch);
    }
}
