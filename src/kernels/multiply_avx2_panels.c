/* From a few activation rows on: a tile of weight rows is decoded to F32 once, a panel of
 * inputs at a time, and meets all of them while it stays in L1. Accumulators wait in scratch
 * between panels. A block of such tiles goes by before the next panel, so that a panel of
 * activations stays in L2.
 *
 * Panels are short: what a tile touches must leave room in L1 for the activations that stream
 * past it. (28 groups of inputs reach 91 to 95 % of the processor's peak at 128 rows; 75 lose a
 * fifth of that, 14 a twentieth.) Both halves of the lanes are done one after the other: what
 * the first brings into L1, the second finds there.
 */
#include "kernels/multiply.h"

#include <stdbool.h>

#include "kernels/weight_row_avx2.h"

enum {
    TILE_WEIGHTS = 4,
    TILE_INPUTS = 3,
    ROW_LANES = TILE_INPUTS * NJ_LANES, /* accumulators of a weight row in a tile */
    HALF = NJ_HALF_LANES,
    BLOCK_WEIGHTS = NJ_AVX2_BLOCK_WEIGHTS,
    PANEL_GROUPS = NJ_AVX2_PANEL_GROUPS,
    MOST_ROWS = NJ_AVX2_MOST_ROWS,
    CACHE_LINE_BYTES = 64
};

/* The product at hand, of at most MOST_ROWS activation rows. */
struct product {
    const struct nj_matrix *matrix;
    const float *x;
    size_t x_stride;
    uint32_t n_rows;
    uint32_t n_row_tiles;
    float *y;
    size_t y_stride;
    size_t n_groups;     /* whole ones of sixteen inputs */
    size_t panel_groups; /* at most PANEL_GROUPS */
    float *decoded;      /* (TILE_WEIGHTS, PANEL_GROUPS, 16) */
    float *lanes;        /* of each piece of a block: (row tiles, weights, TILE_INPUTS, 16) */
};

/* Weight rows in one panel: a tile, or a row that is left over. */
struct piece {
    uint32_t first_output;
    uint32_t n_weights; /* TILE_WEIGHTS or 1 */
    size_t first_group;
    size_t n_groups;
    const uint8_t *weights; /* of the first row, as F32 at any alignment */
    size_t row_bytes;       /* from one row to the next */
};

/* Weights to bring into L2 meanwhile: n_bytes of each of TILE_WEIGHTS rows. */
struct ahead {
    const uint8_t *values;
    size_t row_bytes;
    size_t n_bytes;
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

WIDE_INLINE void both_halves(const struct piece *piece, size_t n_weights, const float *x,
                             size_t x_stride, size_t n_inputs, float *lanes)
{
    half_tile(piece, n_weights, piece->weights, x, x_stride, n_inputs, lanes);
    half_tile(piece, n_weights, piece->weights + HALF * sizeof(float), x + HALF, x_stride,
              n_inputs, lanes + HALF);
}

WIDE_INLINE void tile_of_inputs(const struct piece *piece, size_t n_weights, const float *x,
                                size_t x_stride, size_t n_inputs, float *lanes)
{
    switch (n_inputs) {
    case 3:
        both_halves(piece, n_weights, x, x_stride, 3, lanes);
        break;
    case 2:
        both_halves(piece, n_weights, x, x_stride, 2, lanes);
        break;
    default:
        both_halves(piece, n_weights, x, x_stride, 1, lanes);
        break;
    }
}

/* The last n_inputs % 16 elements, for one row tile. */
static void add_tail(const struct product *product, const struct piece *piece, uint32_t row,
                     uint32_t n_inputs, float *lanes)
{
    const struct nj_matrix *matrix = product->matrix;
    size_t n = matrix->n_inputs % NJ_LANES;
    const float *x = product->x + row * product->x_stride + matrix->n_inputs - n;
    for (uint32_t w = 0; w < piece->n_weights; w++, lanes += ROW_LANES) {
        wide weights = decode_tail(matrix, weight_row_at(matrix, piece->first_output + w));
        for (size_t c = 0; c < n_inputs; c++) {
            float *chain = lanes + c * NJ_LANES;
            wide last = wide_load_first(x + c * product->x_stride, n);
            wide_store(chain, wide_fma(weights, last, wide_load(chain)));
        }
    }
}

/* The pair's lanes l + (l + 8). */
static __m256 fold_once(const float *lanes)
{
    return _mm256_add_ps(_mm256_loadu_ps(lanes), _mm256_loadu_ps(lanes + HALF));
}

/* Folds the four pairs of one activation row at once, each in the tree of lanes.h. */
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

static void write_sums(const struct product *product, const struct piece *piece, uint32_t row,
                       uint32_t n_inputs, const float *lanes)
{
    for (uint32_t c = 0; c < n_inputs; c++, lanes += NJ_LANES) {
        float *y = product->y + (row + c) * product->y_stride + piece->first_output;
        if (piece->n_weights == TILE_WEIGHTS) {
            _mm_storeu_ps(y, fold_four(lanes));
        } else {
            *y = wide_fold(wide_load(lanes));
        }
    }
}

static void prefetch_share(const struct ahead *ahead, size_t begin, size_t end)
{
    const char *row = (const char *)ahead->values;
    for (size_t w = 0; w < TILE_WEIGHTS; w++, row += ahead->row_bytes) {
        for (size_t at = begin; at < end; at += CACHE_LINE_BYTES) {
            _mm_prefetch(row + at, _MM_HINT_T1);
        }
    }
}

/* A piece meets all activation rows. `lanes` has its accumulators. */
static void multiply_piece(const struct product *product, const struct piece *piece,
                           const struct ahead *ahead, float *lanes)
{
    const size_t n_values = product->matrix->n_inputs;
    const bool is_last = piece->first_group + piece->n_groups == product->n_groups;
    const size_t tile_lanes = (size_t)piece->n_weights * ROW_LANES;
    const size_t share = ahead->n_bytes / product->n_row_tiles + 1;
    size_t at = 0;
    uint32_t n_inputs;
    for (uint32_t r = 0; r < product->n_rows; r += n_inputs, lanes += tile_lanes, at += share) {
        const float *x = product->x + r * product->x_stride + piece->first_group * NJ_LANES;
        n_inputs = product->n_rows - r < TILE_INPUTS ? product->n_rows - r : TILE_INPUTS;
        prefetch_share(ahead, at, at + share);
        if (piece->n_weights == TILE_WEIGHTS) {
            tile_of_inputs(piece, TILE_WEIGHTS, x, product->x_stride, n_inputs, lanes);
        } else {
            tile_of_inputs(piece, 1, x, product->x_stride, n_inputs, lanes);
        }
        if (is_last && n_values % NJ_LANES != 0) {
            add_tail(product, piece, r, n_inputs, lanes);
        }
        if (is_last) {
            write_sums(product, piece, r, n_inputs, lanes);
        }
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
static void decode_piece(const struct product *product, struct piece *piece)
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

/* What comes after a piece in a block of weights that ends before `end_output`: the next tile,
 * or the first one in the next panel, or the first one of the next block. */
static struct ahead after_piece(const struct product *product, const struct piece *piece,
                                uint32_t first_output, uint32_t end_output)
{
    const struct nj_matrix *matrix = product->matrix;
    uint32_t output = piece->first_output + piece->n_weights;
    size_t group = piece->first_group;
    if (output == end_output) {
        group += piece->n_groups;
        output = first_output;
    }
    if (group == product->n_groups) {
        group = 0;
        output = end_output;
    }
    return (struct ahead){.values = weight_row_at(matrix, output).values +
                                    weight_bytes(matrix->type, group * NJ_LANES),
                          .row_bytes = weight_bytes(matrix->type, matrix->n_inputs),
                          .n_bytes =
                              weight_bytes(matrix->type, product->panel_groups * NJ_LANES)};
}

/* One panel of a block of weights. */
static void multiply_panel(const struct product *product, uint32_t first_output,
                           uint32_t end_output, size_t first_group, size_t n_groups)
{
    float *lanes = product->lanes;
    struct piece piece = {.first_group = first_group, .n_groups = n_groups};
    for (uint32_t o = first_output; o < end_output; o += piece.n_weights) {
        piece.first_output = o;
        piece.n_weights = end_output - o >= TILE_WEIGHTS ? TILE_WEIGHTS : 1;
        decode_piece(product, &piece);
        struct ahead ahead = after_piece(product, &piece, first_output, end_output);
        multiply_piece(product, &piece, &ahead, lanes);
        lanes += (size_t)product->n_row_tiles * piece.n_weights * ROW_LANES;
    }
}

/* Rows shorter than a group still have one panel, of none, and their tail. */
static void multiply_block(const struct product *product, uint32_t first_output,
                           uint32_t end_output)
{
    size_t group = 0;
    do {
        size_t left = product->n_groups - group;
        size_t n = left < product->panel_groups ? left : product->panel_groups;
        multiply_panel(product, first_output, end_output, group, n);
        group += n;
    } while (group < product->n_groups);
}

static void multiply_some_rows(struct product *product, uint32_t n_rows)
{
    const uint32_t n_outputs = product->matrix->n_outputs;
    product->n_rows = n_rows;
    product->n_row_tiles = (n_rows + TILE_INPUTS - 1) / TILE_INPUTS;
    uint32_t end;
    for (uint32_t o = 0; o < n_outputs; o = end) {
        end = n_outputs - o < BLOCK_WEIGHTS ? n_outputs : o + BLOCK_WEIGHTS;
        multiply_block(product, o, end);
    }
}

void nj_multiply_avx2_panels(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                             uint32_t n_rows, float *y, size_t y_stride, float *scratch)
{
    struct product product = {.matrix = matrix, .x_stride = x_stride, .y_stride = y_stride};
    product.n_groups = matrix->n_inputs / NJ_LANES;
    size_t n_panels = (product.n_groups + PANEL_GROUPS - 1) / PANEL_GROUPS;
    if (n_panels > 0) {
        product.panel_groups = (product.n_groups + n_panels - 1) / n_panels;
    }
    product.decoded = scratch;
    product.lanes = scratch + (size_t)TILE_WEIGHTS * PANEL_GROUPS * NJ_LANES;
    uint32_t n;
    for (uint32_t r = 0; r < n_rows; r += n) {
        n = n_rows - r < MOST_ROWS ? n_rows - r : MOST_ROWS;
        product.x = x + r * x_stride;
        product.y = y + r * y_stride;
        multiply_some_rows(&product, n);
    }
}
