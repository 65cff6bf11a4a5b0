/* MXFP4: 32 four-bit floats (E2M1) that share one E8M0 scale. Plain C, the definition of its
 * values.
 *
 * Layout as released (compressed-tensors "mxfp4-pack-quantized"; OCP Microscaling Formats
 * v1.0): a matrix [out][in] is packed [out][in / 2], low nibble = even column, and scales
 * [out][in / 32]. value = (-1)^sign * {0, 0.5, 1, 1.5, 2, 3, 4, 6} * 2^(scale - 127), exact in
 * F32 except where it exceeds that type: 4 and 6 from scale 253, 2 and 3 from 254 are infinite.
 * Scale 0 is 2^-127 (a denormal); 255 is not a number and refused at load.
 */
#ifndef NJ_QUANT_MXFP4_H
#define NJ_QUANT_MXFP4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NJ_MXFP4_BLOCK_VALUES = 32, NJ_MXFP4_BLOCK_PACKED_BYTES = 16 };

/* The value of every nibble under every scale byte, ready-made so that kernels need no
 * arithmetic (16 KiB, of which a matrix touches few lines). */
extern const float nj_mxfp4_codebooks[256][16] __attribute__((aligned(64)));

/* 2^(scale - 127), exact for 0..254; 255 gives NaN. */
float nj_mxfp4_scale(uint8_t scale);

/* The value of one nibble (0..15) before scaling. */
float nj_mxfp4_magnitude(uint8_t nibble);

/* Expands `n_values` (a multiple of 32) of one row. */
void nj_mxfp4_expand(const uint8_t *packed, const uint8_t *scales, size_t n_values,
                     float *values);

/* Packs one row (a multiple of 32 finite values): scale 2^ceil(log2(largest / 6)), nearest,
 * half to the even code; what rounds to zero loses its sign, and a block of zeros gets scale
 * 127. Used to make test models. */
void nj_mxfp4_pack(const float *values, size_t n_values, uint8_t *packed, uint8_t *scales);

/* True when no scale byte is 255; otherwise `*bad_index` is the first that is. */
bool nj_mxfp4_scales_are_numbers(const uint8_t *scales, size_t n_scales, size_t *bad_index);

#endif
