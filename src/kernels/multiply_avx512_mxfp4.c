/* MXFP4 weights are decoded in the loop, at three instructions for sixteen: a load that repeats
 * eight bytes, a shift, a lookup. None of the first two competes with a multiply-add, and few
 * registers are needed, so that tiles reach nine tenths of what the processor can multiply.
 *
 * For that, lanes are in another order inside a register (nibble_order), and so are the
 * activations, which are packed beforehand. Which lane an element belongs to, and the tree in
 * which lanes are folded, are those of lanes.h.
 */
#include "kernels/multiply.h"

#include <string.h>

#include "kernels/wide_avx512.h"
#include "quant/mxfp4.h"

enum {
    /* The sides of a tile: long by short, or short by long. Either has 24 accumulators. */
    LONG_SIDE = 6,
    SHORT_SIDE = 4,
    BOTH_TILES_WEIGHTS = 12, /* divides into tiles of either kind */
    /* Rows that are packed at once: half of L2 at the widths of K3's experts. */
    MOST_PACKED_ROWS = 32,
    GROUP_BYTES = NJ_LANES / 2
};

/* A tile: weight rows, one after the other in memory, against activation rows, packed as
 * (n_inputs / 16, rows, 16) in nibble order. */
struct tile {
    const uint8_t *values;
    const uint8_t *scales;
    uint32_t n_blocks;        /* of 32 inputs, which have a scale each */
    const float *x;           /* aligned to 64 bytes */
    float *y;                 /* of the first weight row and the first activation row */
    size_t y_stride;          /* from one activation row to the next */
    const uint8_t *ahead;     /* what to bring into L2 meanwhile ... */
    size_t ahead_block_bytes; /* ... during each block of inputs */
};

/* --- decoding ---------------------------------------------------------------------------- */

/* Where the block at hand is, in row 0 and in row 3: an address can be a pointer plus a stride
 * once or twice, but not three times. A copy of its own for the loop, so that compilers see
 * that nothing else changes it. */
struct place {
    const uint8_t *values[2];
    const uint8_t *scales[2];
    size_t row_bytes;
    size_t row_scales;
};

WIDE_INLINE const uint8_t *of_row(const uint8_t *const rows[2], size_t stride, size_t w)
{
    return rows[w / 3] + w % 3 * stride;
}

/* Sixteen nibbles are eight bytes. All eight go to every pair of lanes, and are shifted so that
 * place 2k has nibble k at the bottom and place 2k + 1 nibble k + 8; the lookup reads only the
 * low four bits of an index. Nothing moves between lanes: moves take the unit of every other
 * multiply-add. */
WIDE_INLINE wide decode(const uint8_t *packed, uint8_t scale)
{
    const __m512i places =
        _mm512_setr_epi32(0, 0, 4, 4, 8, 8, 12, 12, 16, 16, 20, 20, 24, 24, 28, 28);
    int64_t sixteen;
    memcpy(&sixteen, packed, sizeof sixteen);
    __m512i nibbles = _mm512_srlv_epi32(_mm512_set1_epi64(sixteen), places);
    return _mm512_permutexvar_ps(nibbles, _mm512_load_ps(nj_mxfp4_codebooks[scale]));
}

/* Lanes 0 to 15 in the order of decode. */
static wide nibble_order(wide lanes)
{
    const __m512i order =
        _mm512_setr_epi32(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    return _mm512_permutexvar_ps(order, lanes);
}

/* Four folds at once, each in the tree of lanes.h: lane l + 8 is the neighbour of lane l. */
WIDE_INLINE __m128 fold_four(wide a, wide b, wide c, wide d)
{
    wide ab = wide_add(_mm512_shuffle_ps(a, b, 0x88), _mm512_shuffle_ps(a, b, 0xdd));
    wide cd = wide_add(_mm512_shuffle_ps(c, d, 0x88), _mm512_shuffle_ps(c, d, 0xdd));
    wide four =
        wide_add(_mm512_shuffle_f32x4(ab, cd, 0x44), _mm512_shuffle_f32x4(ab, cd, 0xee));
    wide two = wide_add(four, _mm512_shuffle_f32x4(four, four, 0xb1));
    wide one = wide_add(two, _mm512_permute_ps(two, 0xb1));
    return _mm512_castps512_ps128(_mm512_maskz_compress_ps(0x0505, one));
}

/* --- a tile ------------------------------------------------------------------------------ */

/* The accumulators, by weight row and activation row. */
typedef wide chains[LONG_SIDE][LONG_SIDE];

/* Stops compilers from decoding ahead, for which they spill accumulators. */
WIDE_INLINE void keep_loads_below(void)
{
    __asm__ volatile("" ::: "memory");
}

/* wide_fma into its addend. Spelt out, since compilers now and then put the sum into the
 * register of a factor, and run out of registers in moving it back. */
WIDE_INLINE void multiply_add(wide *sum, wide a, wide b)
{
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(*sum) : "v"(a), "v"(b));
}

WIDE_INLINE wide decode_row(const struct place *place, size_t w, size_t group)
{
    const uint8_t *values = of_row(place->values, place->row_bytes, w);
    return decode(values + group * GROUP_BYTES, *of_row(place->scales, place->row_scales, w));
}

/* One of the two groups of a block: the activations stay in registers and meet one weight row
 * after the other. */
WIDE_INLINE void group_by_weights(const struct place *place, size_t n_weights, const float *x,
                                  size_t n_inputs, size_t group, chains chain)
{
    wide inputs[LONG_SIDE];
    WIDE_UNROLL
    for (size_t c = 0; c < n_inputs; c++) {
        inputs[c] = wide_pin(wide_load(x + (group * n_inputs + c) * NJ_LANES));
    }
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        wide weights = decode_row(place, w, group);
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            multiply_add(&chain[w][c], weights, inputs[c]);
        }
        keep_loads_below();
    }
}

/* The same with the weights in registers, for tiles that have more activation rows. */
WIDE_INLINE void group_by_inputs(const struct place *place, size_t n_weights, const float *x,
                                 size_t n_inputs, size_t group, chains chain)
{
    wide weights[LONG_SIDE];
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        weights[w] = wide_pin(decode_row(place, w, group));
    }
    WIDE_UNROLL
    for (size_t c = 0; c < n_inputs; c++) {
        wide input = wide_pin(wide_load(x + (group * n_inputs + c) * NJ_LANES));
        WIDE_UNROLL
        for (size_t w = 0; w < n_weights; w++) {
            multiply_add(&chain[w][c], weights[w], input);
        }
        keep_loads_below();
    }
}

/* The accumulator of a pair, counted through the weights of one activation row after another;
 * zeros behind the last. */
WIDE_INLINE wide pair_chain(size_t n_weights, size_t n_inputs, chains chain, size_t pair)
{
    return pair < n_weights * n_inputs ? chain[pair % n_weights][pair / n_weights]
                                       : wide_set(0.0F);
}

WIDE_INLINE void write_sums(const struct tile *tile, size_t n_weights, size_t n_inputs,
                            chains chain)
{
    float sums[LONG_SIDE * SHORT_SIDE];
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

WIDE_INLINE void multiply_tile(const struct tile *tile, size_t n_weights, size_t n_inputs)
{
    const size_t row_bytes = (size_t)tile->n_blocks * NJ_MXFP4_BLOCK_PACKED_BYTES;
    struct place place = {.values = {tile->values, tile->values + 3 * row_bytes},
                          .scales = {tile->scales, tile->scales + (size_t)3 * tile->n_blocks},
                          .row_bytes = row_bytes,
                          .row_scales = tile->n_blocks};
    const float *x = tile->x;
    const char *ahead = (const char *)tile->ahead;
    const size_t ahead_bytes = tile->ahead_block_bytes;
    chains chain;
    WIDE_UNROLL
    for (size_t w = 0; w < n_weights; w++) {
        WIDE_UNROLL
        for (size_t c = 0; c < n_inputs; c++) {
            chain[w][c] = wide_set(0.0F);
        }
    }
    for (uint32_t n_left = tile->n_blocks; n_left > 0; n_left--) {
        /* 96 bytes at most and mostly a third of a line: to ask for it again costs less than to
         * find out whether a line is due. */
        _mm_prefetch(ahead, _MM_HINT_T1);
        _mm_prefetch(ahead + ahead_bytes / 2, _MM_HINT_T1);
        ahead += ahead_bytes;
        WIDE_UNROLL
        for (size_t group = 0; group < 2; group++) {
            if (n_inputs > SHORT_SIDE) {
                group_by_inputs(&place, n_weights, x, n_inputs, group, chain);
            } else {
                group_by_weights(&place, n_weights, x, n_inputs, group, chain);
            }
        }
        for (int i = 0; i < 2; i++) {
            place.values[i] += NJ_MXFP4_BLOCK_PACKED_BYTES;
            place.scales[i]++;
        }
        x += 2 * n_inputs * NJ_LANES;
    }
    write_sums(tile, n_weights, n_inputs, chain);
}

/* How many activation rows the next tile takes: what is left is decoded once for 5 or 6 rather
 * than again for 1 or 2. */
static uint32_t tile_inputs_of(uint32_t n_left)
{
    return n_left <= LONG_SIDE ? n_left : SHORT_SIDE;
}

/* How many tiles that makes. */
static uint32_t count_input_tiles(uint32_t n_rows)
{
    return n_rows <= LONG_SIDE ? 1 : (n_rows + 1) / SHORT_SIDE;
}

static uint32_t most_weights_of(uint32_t n_inputs)
{
    return n_inputs > SHORT_SIDE ? SHORT_SIDE : LONG_SIDE;
}

/* How many weight rows the next tile takes: only these sizes exist. */
static uint32_t tile_weights_of(uint32_t n_inputs, uint32_t n_left)
{
    uint32_t most = most_weights_of(n_inputs);
    if (n_left >= most) {
        return most;
    }
    return n_left >= 2 ? 2 : 1;
}

WIDE_INLINE void multiply_some_weights(const struct tile *tile, uint32_t n_weights,
                                       size_t n_inputs)
{
    const uint32_t most = n_inputs > SHORT_SIDE ? SHORT_SIDE : LONG_SIDE;
    if (n_weights == most) {
        multiply_tile(tile, most, n_inputs);
    } else if (n_weights == 2) {
        multiply_tile(tile, 2, n_inputs);
    } else {
        multiply_tile(tile, 1, n_inputs);
    }
}

static void multiply_any_tile(const struct tile *tile, uint32_t n_weights, uint32_t n_inputs)
{
    switch (n_inputs) {
    case 6:
        multiply_some_weights(tile, n_weights, 6);
        break;
    case 5:
        multiply_some_weights(tile, n_weights, 5);
        break;
    case 4:
        multiply_some_weights(tile, n_weights, 4);
        break;
    case 3:
        multiply_some_weights(tile, n_weights, 3);
        break;
    case 2:
        multiply_some_weights(tile, n_weights, 2);
        break;
    default:
        multiply_some_weights(tile, n_weights, 1);
        break;
    }
}

/* --- blocks of weights, parts of rows ----------------------------------------------------- */

/* Activation rows that are packed, and where their results go. */
struct part {
    const float *packed;
    uint32_t n_rows;
    float *y;
    size_t y_stride;
};

/* `packed` gets the tiles of tile_inputs_of one after the other. */
static void pack_rows(const float *x, size_t x_stride, uint32_t n_values, uint32_t n_rows,
                      float *packed)
{
    uint32_t n_inputs;
    for (uint32_t r = 0; r < n_rows; r += n_inputs) {
        n_inputs = tile_inputs_of(n_rows - r);
        for (size_t i = 0; i < n_values; i += NJ_LANES) {
            for (size_t c = 0; c < n_inputs; c++, packed += NJ_LANES) {
                wide_store(packed, nibble_order(wide_load(x + (r + c) * x_stride + i)));
            }
        }
    }
}

/* A block of weights meets all rows, one tile after the other, while the weights of the next
 * block come in: a share with each tile, so that memory is never idle. */
static void multiply_block(const struct nj_matrix *matrix, uint32_t first_output,
                           uint32_t n_weights, uint32_t n_next, const struct part *part)
{
    const uint32_t n_blocks = matrix->n_inputs / NJ_MXFP4_BLOCK_VALUES;
    const size_t row_bytes = (size_t)n_blocks * NJ_MXFP4_BLOCK_PACKED_BYTES;
    const uint8_t *values = (const uint8_t *)matrix->weights + first_output * row_bytes;
    const uint8_t *scales = matrix->scales + (size_t)first_output * n_blocks;
    uint32_t n_inputs = tile_inputs_of(part->n_rows);
    uint32_t most = most_weights_of(n_inputs);
    uint32_t n_tiles = (n_weights + most - 1) / most * count_input_tiles(part->n_rows);
    struct tile tile = {.n_blocks = n_blocks,
                        .y_stride = part->y_stride,
                        .ahead = values + n_weights * row_bytes};
    tile.ahead_block_bytes =
        n_blocks > 0 ? n_next * row_bytes / ((size_t)n_tiles * n_blocks) : 0;
    for (uint32_t r = 0; r < part->n_rows; r += n_inputs) {
        n_inputs = tile_inputs_of(part->n_rows - r);
        tile.x = part->packed + (size_t)r * matrix->n_inputs;
        uint32_t n;
        for (uint32_t w = 0; w < n_weights; w += n) {
            n = tile_weights_of(n_inputs, n_weights - w);
            tile.values = values + w * row_bytes;
            tile.scales = scales + (size_t)w * n_blocks;
            tile.y = part->y + r * part->y_stride + first_output + w;
            multiply_any_tile(&tile, n, n_inputs);
            tile.ahead += n_blocks * tile.ahead_block_bytes;
        }
    }
}

static void multiply_part(const struct nj_matrix *matrix, const struct part *part)
{
    const uint32_t block = part->n_rows > LONG_SIDE
                               ? BOTH_TILES_WEIGHTS
                               : most_weights_of(tile_inputs_of(part->n_rows));
    uint32_t n_weights;
    for (uint32_t o = 0; o < matrix->n_outputs; o += n_weights) {
        uint32_t n_left = matrix->n_outputs - o;
        n_weights = n_left < block ? n_left : block;
        n_left -= n_weights;
        multiply_block(matrix, o, n_weights, n_left < block ? n_left : block, part);
    }
}

/* How many of the rows that are left are packed at once. The last two parts share what there
 * is, for a part of few rows is slow. */
static uint32_t part_rows_of(uint32_t n_values, uint32_t n_left)
{
    uint32_t most = n_values > 0 ? NJ_SCRATCH_VALUES / n_values : MOST_PACKED_ROWS;
    most = most < 1 ? 1 : most; /* scratch holds a row, however long */
    most = most < MOST_PACKED_ROWS ? most : MOST_PACKED_ROWS;
    if (n_left <= most) {
        return n_left;
    }
    return n_left < 2 * most ? n_left - n_left / 2 : most;
}

void nj_multiply_avx512_mxfp4(const struct nj_matrix *matrix, const float *x, size_t x_stride,
                              uint32_t n_rows, float *y, size_t y_stride, float *scratch)
{
    struct part part = {.packed = scratch, .y_stride = y_stride};
    for (uint32_t r = 0; r < n_rows; r += part.n_rows) {
        part.n_rows = part_rows_of(matrix->n_inputs, n_rows - r);
        part.y = y + r * y_stride;
        pack_rows(x + r * x_stride, x_stride, matrix->n_inputs, part.n_rows, scratch);
        multiply_part(matrix, &part);
    }
}
