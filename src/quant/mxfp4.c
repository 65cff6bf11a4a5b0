#include "quant/mxfp4.h"

#include <math.h>
#include <string.h>

static const float magnitudes[16] = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                     -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};

enum { SCALE_BIAS = 127, SCALE_NOT_A_NUMBER = 255, SCALE_LARGEST = 254 };

float nj_mxfp4_scale(uint8_t scale)
{
    uint32_t bits = (uint32_t)scale << 23;
    if (scale == 0) {
        bits =
            0x00400000U; /* 2^-127 lies below the normal numbers: no exponent field to fill */
    } else if (scale == SCALE_NOT_A_NUMBER) {
        bits = 0x7fc00000U;
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

float nj_mxfp4_magnitude(uint8_t nibble)
{
    return magnitudes[nibble & 15U];
}

void nj_mxfp4_expand(const uint8_t *packed, const uint8_t *scales, size_t n_values,
                     float *values)
{
    for (size_t i = 0; i < n_values; i += 2) {
        float scale = nj_mxfp4_scale(scales[i / NJ_MXFP4_BLOCK_VALUES]);
        uint8_t pair = packed[i / 2];
        values[i] = magnitudes[pair & 15U] * scale;
        values[i + 1] = magnitudes[pair >> 4] * scale;
    }
}

/* The scale byte of 2^ceil(log2(largest / 6)): the smallest under which `largest` still fits.
 */
static uint8_t scale_for(float largest)
{
    if (!(largest > 0.0F)) {
        return SCALE_BIAS; /* all zero: any scale says so, one is the plainest */
    }
    int exponent;
    double fraction = frexp((double)largest / 6.0, &exponent);
    int biased = exponent + SCALE_BIAS - (fraction > 0.5 ? 0 : 1);
    if (biased < 0) {
        return 0;
    }
    return biased > SCALE_LARGEST ? SCALE_LARGEST : (uint8_t)biased;
}

/* Nearest magnitude, half to the even code. Each entry is the middle between a code and the
 * next: a tie goes up exactly when the lower code is odd. */
static uint8_t nearest_code(double size)
{
    static const double middles[7] = {0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0};
    uint8_t code = 0;
    while (code < 7 && (size > middles[code] || (size == middles[code] && (code & 1U) != 0))) {
        code++;
    }
    return code;
}

static uint8_t nibble_for(float value, double scale)
{
    uint8_t code = nearest_code(fabs((double)value) / scale);
    return (uint8_t)(value < 0.0F && code != 0 ? code | 8U : code);
}

static void pack_block(const float *values, uint8_t *packed, uint8_t *scale)
{
    float largest = 0.0F;
    for (size_t i = 0; i < NJ_MXFP4_BLOCK_VALUES; i++) {
        float size = fabsf(values[i]);
        largest = size > largest ? size : largest;
    }
    *scale = scale_for(largest);
    double factor = (double)nj_mxfp4_scale(*scale);
    for (size_t i = 0; i < NJ_MXFP4_BLOCK_VALUES; i += 2) {
        uint8_t low = nibble_for(values[i], factor);
        uint8_t high = nibble_for(values[i + 1], factor);
        packed[i / 2] = (uint8_t)(low | high << 4);
    }
}

void nj_mxfp4_pack(const float *values, size_t n_values, uint8_t *packed, uint8_t *scales)
{
    for (size_t block = 0; block < n_values / NJ_MXFP4_BLOCK_VALUES; block++) {
        pack_block(values + block * NJ_MXFP4_BLOCK_VALUES,
                   packed + block * NJ_MXFP4_BLOCK_PACKED_BYTES, scales + block);
    }
}

bool nj_mxfp4_scales_are_numbers(const uint8_t *scales, size_t n_scales, size_t *bad_index)
{
    const uint8_t *bad = memchr(scales, SCALE_NOT_A_NUMBER, n_scales);
    if (bad == NULL) {
        return true;
    }
    *bad_index = (size_t)(bad - scales);
    return false;
}
