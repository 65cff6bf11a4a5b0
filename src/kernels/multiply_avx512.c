/* One register holds a pair's sixteen lanes, so a tile of 6 weight rows by 4 activation rows
 * takes 24 accumulators, 4 activations and 1 weight of the 32 registers. Weights are widened in
 * the loop, where it hides beside the multiply-adds, and all of n_inputs is done in one go:
 * spilling accumulators between panels costs more than it saves here. MXFP4 and many rows of
 * F32 have files of their own.
 */
#include "kernels/multiply.h"

#include <stdbool.h>

#include "kernels/wide_avx512.h"

enum {
    TILE_WEIGHTS = 6,
    TILE_INPUTS = 4,
    /* From this many rows on (if not packed), all activations are met by a block of weights
     * that stays in L2 before the next block is read. */
    FEWEST_FOR_BLOCKS = 32,
    BLOCK_WEIGHTS = 48,
    FEWEST_FOR_PACKING = 8,
    CACHE_LINE_BYTES = 64,
    BF16_GROUP_BYTES = NJ_LANES * 2,
    F32_GROUP_BYTES = NJ_LANES * 4
};

/* The weight rows of a tile, one after the other in memory. */
struct weight_rows {
    const uint8_t *values;
    size_t row_bytes;
};

static struct weight_rows weight_rows_at(const struct nj_matrix *matrix, uint32_t output)
{
    size_t value_bytes = matrix->type == NJ_MATRIX_BF16 ? 2 : 4;
    size_t row_bytes = matrix->n_inputs * value_bytes;
    const uint8_t *weights = matrix->weights;
    return (struct weight_rows){.values = weights + output * row_bytes, .row_bytes = row_bytes};
}

/* Sixteen weights of row `w`, as F32. */
WIDE_INLINE wide decode(enum nj_matrix_type type, const struct weight_rows *rows, size_t w,
                        size_t group)
{
    const uint8_t *row = rows->values + w * rows->row_bytes;
    if (type == NJ_MATRIX_BF16) {
        return wide_load_bf16(row + group * BF16_GROUP_BYTES);
    }
    return _mm512_loadu_ps(row + group * F32_GROUP_BYTES);
}

/* The last weights of a row, padded with -0: against an activation of +0 the product is -0, and
 * adding that leaves every lane as it is, a lane of -0 included. */
WIDE_INLINE wide decode_tail(enum nj_matrix_type type, const struct weight_rows *rows, size_t w,
                             size_t group, wide_mask mask)
{
    const uint8_t *row = rows->values + w * rows->row_bytes;
    if (type == NJ_MATRIX_BF16) {
        const __m256i padding = _mm256_set1_epi16(INT16_MIN);
        return wide_widen_bf16(
            _mm256_mask_loadu_epi16(padding, mask, row + group * BF16_GROUP_BYTES));
    }
    return _mm512_mask_loadu_ps(wide_set(-0.0F), mask, row + group * F32_GROUP_BYTES);
}

/* Four folds at once, each in the tree of lanes.h. */
WIDE_INLINE __m128 fold_four(wide a, wide b, wide c, wide d)
{
    wide ab = wide_add(_mm512_shuffle_f32x4(a, b, 0x44), _mm512_shuffle_f32x4(a, b, 0xee));
    wide cd = wide_add(_mm512_shuffle_f32x4(c, d, 0x44), _mm512_shuffle_f32x4(c, d, 0xee));
    wide four =
        wide_add(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
    wide two = wide_add(four, _mm512_permute_ps(four, 0x4e));
    wide one = wide_add(two, _mm512_permute_ps(two, 0xb1));
    return _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x1111, one));
}

/* Weights to bring in while a tile is computed: the hardware alone starts over at every page
 * and every row.
 *
 * Where a block of BF16 is a single tile, memory is the limit, and lines are asked for in the
 * order in which the next tile will: one of each row, row after row. The processor then
 * follows these streams by itself as well: 1.1 to 1.4 times what one linear stream gives. With
 * more tiles a block, each brings in only a part of the rows, as one stream. */
struct prefetch {
    const uint8_t *next;
    size_t n_bytes;
    size_t way;         /* of the next line, as bytes from `next` */
    size_t way_bytes;   /* from one row to the next */
    size_t end_of_ways; /* 0 for one stream */
};

/* L2 is near enough where memory is the limit, for L1 has no room to wait in. Several tiles of
 * BF16 wait less for what went through L1 (1.06 to 1.1 times). */
WIDE_INLINE void prefetch_line(enum nj_matrix_type type, struct prefetch *ahead)
{
    if (type != NJ_MATRIX_BF16) {
        _mm_prefetch((const char *)ahead->next, _MM_HINT_T1);
        ahead->next += CACHE_LINE_BYTES;
        return;
    }
    if (ahead->end_of_ways == 0) {
        _mm_prefetch((const char *)ahead->next, _MM_HINT_T0);
        ahead->next += CACHE_LINE_BYTES;
        return;
    }
    _mm_prefetch((const char *)ahead->next + ahead->way, _MM_HINT_T1);
    ahead->way += ahead->way_bytes;
    if (ahead->way == ahead->end_of_ways) {
        ahead->way = 0;
        ahead->next += CACHE_LINE_BYTES;
    }
}

/* How a tile reads. BF16 that is packed has a way of its own, in which distances between
 * activations are constants and addresses need few registers: 1.01 to 1.06 times the speed at
 * 12 to 32 rows with gcc, 1.2 with clang. F32 so read loses 5 to 20 %. */
enum tile_kind { F32_TILE, BF16_TILE, PACKED_BF16_TILE };

/* The activation rows of a tile, where their results go, and what to prefetch meanwhile. */
struct tile_inputs {
    const float *x;
    size_t x_stride;     /* from one activation row to the next */
    size_t group_stride; /* from sixteen activations to the next */
    bool is_packed;      /* as (groups of sixteen, rows, 16) */
    float *y;            /* of the tile's first output */
    size_t y_stride;
    struct prefetch prefetch;
};

WIDE_INLINE enum nj_matrix_type weight_type(enum tile_kind kind)
{
    return kind == F32_TILE ? NJ_MATRIX_F32 : NJ_MATRIX_BF16;
}

WIDE_INLINE const float *input_at(enum tile_kind kind, const struct tile_inputs *tile,
                                  size_t n_inputs, size_t c, size_t group)
{
    if (kind == PACKED_BF16_TILE) {
        return tile->x + (group * n_inputs + c) * NJ_LANES;
    }
    return tile->x + c * tile->x_stride + group * tile->group_stride;
}

WIDE_INLINE void group_step(enum tile_kind kind, const struct weight_rows *rows,
                            size_t n_weights, const struct tile_inputs *tile, size_t n_inputs,
                            size_t group, wide chain[TILE_WEIGHTS][TILE_INPUTS])
{
    wide inputs[TILE_INPUTS];
    WIDE_UNROLL
    for (size_t c = 0; c < n_inputs; c++) {
        inputs[c] = wide_pin(wide_load(input_at(kind, tile, n_inputs, c, group)));
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        wide weights = decode(weight_type(kind), rows, w, group);
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = wide_fma(weights, inputs[c], chain[w][c]);
        }
    }
}

WIDE_INLINE void tail_step(enum tile_kind kind, const struct weight_rows *rows,
                           size_t n_weights, const struct tile_inputs *tile, size_t n_inputs,
                           size_t group, size_t n_values, wide chain[TILE_WEIGHTS][TILE_INPUTS])
{
    wide inputs[TILE_INPUTS];
    WIDE_UNROLL
    for (size_t c = 0; c < n_inputs; c++) {
        const float *from = input_at(kind, tile, n_inputs, c, group);
        inputs[c] = wide_load_first(from, n_values);
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        wide weights = decode_tail(weight_type(kind), rows, w, group, wide_first(n_values));
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = wide_fma(weights, inputs[c], chain[w][c]);
        }
    }
}

/* The accumulator of a pair, counted through the weights of one activation row after another;
 * zeros behind the last. */
WIDE_INLINE wide pair_chain(size_t n_weights, size_t n_inputs,
                            wide chain[TILE_WEIGHTS][TILE_INPUTS], size_t pair)
{
    return pair < n_weights * n_inputs ? chain[pair % n_weights][pair / n_weights]
                                       : wide_set(0.0F);
}

WIDE_INLINE void write_sums(size_t n_weights, size_t n_inputs,
                            wide chain[TILE_WEIGHTS][TILE_INPUTS],
                            const struct tile_inputs *tile)
{
    float sums[TILE_WEIGHTS * TILE_INPUTS];
    WIDE_UNROLL
    for (size_t pair = 0; pair < n_weights * n_inputs; pair += 4) {
        _mm_storeu_ps(sums + pair, fold_four(pair_chain(n_weights, n_inputs, chain, pair),
                                             pair_chain(n_weights, n_inputs, chain, pair + 1),
                                             pair_chain(n_weights, n_inputs, chain, pair + 2),
                                             pair_chain(n_weights, n_inputs, chain, pair + 3)));
    }
    WIDE_UNROLL
    for (size_t c = 0; c < n_inputs; c++) {
        WIDE_UNROLL
        for (size_t w = 0; w < n_weights; w++) {
            tile->y[c * tile->y_stride + w] = sums[c * n_weights + w];
        }
    }
}

WIDE_INLINE void multiply_tile(enum tile_kind kind, uint32_t n_values,
                               const struct weight_rows *rows, size_t n_weights,
                               const struct tile_inputs *tile, size_t n_inputs)
{
    wide chain[TILE_WEIGHTS][TILE_INPUTS];
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = wide_set(0.0F);
        }
    }
    size_t n_groups = n_values / NJ_LANES;
    struct prefetch ahead = tile->prefetch;
    size_t bytes_a_group = ahead.n_bytes / (n_groups + 1);
    size_t due_bytes = 0;
    for (size_t group = 0; group < n_groups; group++) {
        due_bytes += bytes_a_group;
        for (; due_bytes >= CACHE_LINE_BYTES; due_bytes -= CACHE_LINE_BYTES) {
            prefetch_line(weight_type(kind), &ahead);
        }
        group_step(kind, rows, n_weights, tile, n_inputs, group, chain);
    }
    if (n_values % NJ_LANES != 0) {
        tail_step(kind, rows, n_weights, tile, n_inputs, n_groups, n_values % NJ_LANES, chain);
    }
    write_sums(n_weights, n_inputs, chain, tile);
}

/* How many activation rows the next tile takes. */
static uint32_t tile_inputs_of(uint32_t n_left)
{
    return n_left < TILE_INPUTS ? n_left : TILE_INPUTS;
}

/* How many weight rows the next tile takes: only these sizes exist. */
static uint32_t tile_weights_of(uint32_t n_left)
{
    if (n_left >= TILE_WEIGHTS) {
        return TILE_WEIGHTS;
    }
    return n_left >= 2 ? 2 : 1;
}

WIDE_INLINE void multiply_some_weights(enum tile_kind kind, uint32_t n_values,
                                       const struct weight_rows *rows, uint32_t n_weights,
                                       const struct tile_inputs *tile, size_t n_inputs)
{
    if (n_weights == TILE_WEIGHTS) {
        multiply_tile(kind, n_values, rows, TILE_WEIGHTS, tile, n_inputs);
    } else if (n_weights == 2) {
        multiply_tile(kind, n_values, rows, 2, tile, n_inputs);
    } else {
        multiply_tile(kind, n_values, rows, 1, tile, n_inputs);
    }
}

WIDE_INLINE void multiply_some_inputs(enum tile_kind kind, uint32_t n_values,
                                      const struct weight_rows *rows, uint32_t n_weights,
                                      const struct tile_inputs *tile, uint32_t n_inputs)
{
    switch (n_inputs) {
    case 4:
        multiply_some_weights(kind, n_values, rows, n_weights, tile, 4);
        break;
    case 3:
        multiply_some_weights(kind, n_values, rows, n_weights, tile, 3);
        break;
    case 2:
        multiply_some_weights(kind, n_values, rows, n_weights, tile, 2);
        break;
    default:
        multiply_some_weights(kind, n_values, rows, n_weights, tile, 1);
        break;
    }
}

static void multiply_any_tile(const struct nj_matrix *matrix, uint32_t first_output,
                              uint32_t n_weights, const struct tile_inputs *tile,
                              uint32_t n_inputs)
{
    struct weight_rows rows = weight_rows_at(matrix, first_output);
    uint32_t n_values = matrix->n_inputs;
    if (matrix->type == NJ_MATRIX_F32) {
        multiply_some_inputs(F32_TILE, n_values, &rows, n_weights, tile, n_inputs);
    } else if (tile->is_packed) {
        multiply_some_inputs(PACKED_BF16_TILE, n_values, &rows, n_weights, tile, n_inputs);
    } else {
        multiply_some_inputs(BF16_TILE, n_values, &rows, n_weights, tile, n_inputs);
    }
}

static uint32_t quotient_up(uint32_t n, uint32_t divisor)
{
    return n / divisor + (n % divisor != 0 ? 1 : 0);
}

/* Spreads the weights that follow `rows` over all tiles of a block, so that memory is never
 * idle while a tile meets its second and later activations. (Read during the first ones only:
 * 105 instead of 145 GFLOP/s at 8 rows of BF16.) */
static struct prefetch share_of_next_block(struct weight_rows rows, uint32_t n_weights,
                                           uint32_t n_next, enum nj_matrix_type type,
                                           uint32_t n_rows)
{
    uint32_t n_tiles = quotient_up(n_weights, TILE_WEIGHTS) * quotient_up(n_rows, TILE_INPUTS);
    bool has_ways = type == NJ_MATRIX_BF16 && n_tiles == 1 && n_next > 0;
    return (struct prefetch){.next = rows.values + n_weights * rows.row_bytes,
                             .n_bytes = n_next * rows.row_bytes / n_tiles,
                             .way_bytes = rows.row_bytes,
                             .end_of_ways = has_ways ? n_next * rows.row_bytes : 0};
}

/* Whether all activations are first laid out as tiles meet them, one row's sixteen after the
 * other's: a single stream is what the hardware follows best from L2, and 12 to 32 rows of BF16
 * gain 10 to 30 %. More rows than fit scratch gain nothing. */
static bool wants_packing(const struct nj_matrix *matrix, uint32_t n_rows)
{
    size_t n_groups = quotient_up(matrix->n_inputs, NJ_LANES);
    return n_rows >= FEWEST_FOR_PACKING && n_rows * n_groups * NJ_LANES <= NJ_SCRATCH_VALUES;
}

/* `packed` gets the tiles of tile_inputs_of one after the other, each (group, row, 16). The
 * last group is padded with +0. */
static void pack_inputs(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                        uint32_t n_rows, float *packed)
{
    uint32_t n_inputs;
    for (uint32_t r = 0; r < n_rows; r += n_inputs) {
        n_inputs = tile_inputs_of(n_rows - r);
        for (size_t i = 0; i < matrix->n_inputs; i += NJ_LANES) {
            size_t n_left = matrix->n_inputs - i;
            for (size_t c = 0; c < n_inputs; c++, packed += NJ_LANES) {
                const float *from = x + (r + c) * x_stride + i;
                wide_store(packed,
                           n_left < NJ_LANES ? wide_load_first(from, n_left) : wide_load(from));
            }
        }
    }
}

/* `all` holds every activation row and where its first output goes. */
static void multiply_block(const struct nj_matrix *matrix, uint32_t first_output,
                           uint32_t n_weights, const struct tile_inputs *all, uint32_t n_rows)
{
    struct tile_inputs tile = *all;
    uint32_t n_inputs;
    for (uint32_t r = 0; r < n_rows; r += n_inputs) {
        n_inputs = tile_inputs_of(n_rows - r);
        if (tile.is_packed) {
            tile.x = all->x + r * (size_t)quotient_up(matrix->n_inputs, NJ_LANES) * NJ_LANES;
            tile.group_stride = (size_t)n_inputs * NJ_LANES;
        } else {
            tile.x = all->x + r * all->x_stride;
        }
        uint32_t n;
        for (uint32_t w = 0; w < n_weights; w += n) {
            n = tile_weights_of(n_weights - w);
            tile.y = all->y + r * all->y_stride + first_output + w;
            multiply_any_tile(matrix, first_output + w, n, &tile, n_inputs);
            tile.prefetch.next += tile.prefetch.n_bytes;
        }
    }
}

/* How many weight rows meet all activations before the next ones are read. */
static uint32_t block_weights_of(const struct nj_matrix *matrix, uint32_t n_rows)
{
    if (n_rows >= FEWEST_FOR_BLOCKS && !wants_packing(matrix, n_rows)) {
        return BLOCK_WEIGHTS;
    }
    return TILE_WEIGHTS;
}

void nj_multiply_avx512(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                        uint32_t n_rows, float *y, size_t y_stride, void *scratch)
{
    if (n_rows == 0) {
        return;
    }
    if (matrix->type == NJ_MATRIX_F32 && n_rows >= FEWEST_FOR_BLOCKS &&
        !wants_packing(matrix, n_rows)) {
        nj_multiply_avx512_panels(matrix, x, x_stride, n_rows, y, y_stride, scratch);
        return;
    }
    if (matrix->type == NJ_MATRIX_MXFP4) {
        nj_multiply_avx512_mxfp4(matrix, x, x_stride, n_rows, y, y_stride, scratch);
        return;
    }
    struct tile_inputs all = {
        .x = x, .x_stride = x_stride, .group_stride = NJ_LANES, .y_stride = y_stride};
    all.y = y;
    if (wants_packing(matrix, n_rows)) {
        pack_inputs(matrix, x, x_stride, n_rows, scratch);
        all.x = scratch;
        all.x_stride = NJ_LANES;
        all.is_packed = true;
    }
    uint32_t block = block_weights_of(matrix, n_rows);
    uint32_t n_weights;
    for (uint32_t o = 0; o < matrix->n_outputs; o += n_weights) {
        uint32_t n_left = matrix->n_outputs - o;
        n_weights = n_left < block ? n_left : block;
        n_left -= n_weights;
        all.prefetch =
            share_of_next_block(weight_rows_at(matrix, o), n_weights,
                                n_left < block ? n_left : block, matrix->type, n_rows);
        multiply_block(matrix, o, n_weights, &all, n_rows);
    }
}
