#include "quant/mxfp4.h"

#include <math.h>
#include <string.h>

enum { SCALE_BIAS = 127, SCALE_NOT_A_NUMBER = 255, SCALE_LARGEST = 254 };

/* The magnitudes under one scale. The compiler does the products, each exact or infinite. */
#define CODEBOOK(scale)                                                                        \
    {                                                                                          \
        0.0F * (scale), 0.5F * (scale), 1.0F * (scale), 1.5F * (scale), 2.0F * (scale),        \
            3.0F * (scale), 4.0F * (scale), 6.0F * (scale), -0.0F * (scale), -0.5F * (scale),  \
            -1.0F * (scale), -1.5F * (scale), -2.0F * (scale), -3.0F * (scale),                \
            -4.0F * (scale), -6.0F * (scale)                                                   \
    }

/* clang-format off */
const float nj_mxfp4_codebooks[256][16] = {
    CODEBOOK(0x1p-127F),
    CODEBOOK(0x1p-126F),
    CODEBOOK(0x1p-125F),
    CODEBOOK(0x1p-124F),
    CODEBOOK(0x1p-123F),
    CODEBOOK(0x1p-122F),
    CODEBOOK(0x1p-121F),
    CODEBOOK(0x1p-120F),
    CODEBOOK(0x1p-119F),
    CODEBOOK(0x1p-118F),
    CODEBOOK(0x1p-117F),
    CODEBOOK(0x1p-116F),
    CODEBOOK(0x1p-115F),
    CODEBOOK(0x1p-114F),
    CODEBOOK(0x1p-113F),
    CODEBOOK(0x1p-112F),
    CODEBOOK(0x1p-111F),
    CODEBOOK(0x1p-110F),
    CODEBOOK(0x1p-109F),
    CODEBOOK(0x1p-108F),
    CODEBOOK(0x1p-107F),
    CODEBOOK(0x1p-106F),
    CODEBOOK(0x1p-105F),
    CODEBOOK(0x1p-104F),
    CODEBOOK(0x1p-103F),
    CODEBOOK(0x1p-102F),
    CODEBOOK(0x1p-101F),
    CODEBOOK(0x1p-100F),
    CODEBOOK(0x1p-99F),
    CODEBOOK(0x1p-98F),
    CODEBOOK(0x1p-97F),
    CODEBOOK(0x1p-96F),
    CODEBOOK(0x1p-95F),
    CODEBOOK(0x1p-94F),
    CODEBOOK(0x1p-93F),
    CODEBOOK(0x1p-92F),
    CODEBOOK(0x1p-91F),
    CODEBOOK(0x1p-90F),
    CODEBOOK(0x1p-89F),
    CODEBOOK(0x1p-88F),
    CODEBOOK(0x1p-87F),
    CODEBOOK(0x1p-86F),
    CODEBOOK(0x1p-85F),
    CODEBOOK(0x1p-84F),
    CODEBOOK(0x1p-83F),
    CODEBOOK(0x1p-82F),
    CODEBOOK(0x1p-81F),
    CODEBOOK(0x1p-80F),
    CODEBOOK(0x1p-79F),
    CODEBOOK(0x1p-78F),
    CODEBOOK(0x1p-77F),
    CODEBOOK(0x1p-76F),
    CODEBOOK(0x1p-75F),
    CODEBOOK(0x1p-74F),
    CODEBOOK(0x1p-73F),
    CODEBOOK(0x1p-72F),
    CODEBOOK(0x1p-71F),
    CODEBOOK(0x1p-70F),
    CODEBOOK(0x1p-69F),
    CODEBOOK(0x1p-68F),
    CODEBOOK(0x1p-67F),
    CODEBOOK(0x1p-66F),
    CODEBOOK(0x1p-65F),
    CODEBOOK(0x1p-64F),
    CODEBOOK(0x1p-63F),
    CODEBOOK(0x1p-62F),
    CODEBOOK(0x1p-61F),
    CODEBOOK(0x1p-60F),
    CODEBOOK(0x1p-59F),
    CODEBOOK(0x1p-58F),
    CODEBOOK(0x1p-57F),
    CODEBOOK(0x1p-56F),
    CODEBOOK(0x1p-55F),
    CODEBOOK(0x1p-54F),
    CODEBOOK(0x1p-53F),
    CODEBOOK(0x1p-52F),
    CODEBOOK(0x1p-51F),
    CODEBOOK(0x1p-50F),
    CODEBOOK(0x1p-49F),
    CODEBOOK(0x1p-48F),
    CODEBOOK(0x1p-47F),
    CODEBOOK(0x1p-46F),
    CODEBOOK(0x1p-45F),
    CODEBOOK(0x1p-44F),
    CODEBOOK(0x1p-43F),
    CODEBOOK(0x1p-42F),
    CODEBOOK(0x1p-41F),
    CODEBOOK(0x1p-40F),
    CODEBOOK(0x1p-39F),
    CODEBOOK(0x1p-38F),
    CODEBOOK(0x1p-37F),
    CODEBOOK(0x1p-36F),
    CODEBOOK(0x1p-35F),
    CODEBOOK(0x1p-34F),
    CODEBOOK(0x1p-33F),
    CODEBOOK(0x1p-32F),
    CODEBOOK(0x1p-31F),
    CODEBOOK(0x1p-30F),
    CODEBOOK(0x1p-29F),
    CODEBOOK(0x1p-28F),
    CODEBOOK(0x1p-27F),
    CODEBOOK(0x1p-26F),
    CODEBOOK(0x1p-25F),
    CODEBOOK(0x1p-24F),
    CODEBOOK(0x1p-23F),
    CODEBOOK(0x1p-22F),
    CODEBOOK(0x1p-21F),
    CODEBOOK(0x1p-20F),
    CODEBOOK(0x1p-19F),
    CODEBOOK(0x1p-18F),
    CODEBOOK(0x1p-17F),
    CODEBOOK(0x1p-16F),
    CODEBOOK(0x1p-15F),
    CODEBOOK(0x1p-14F),
    CODEBOOK(0x1p-13F),
    CODEBOOK(0x1p-12F),
    CODEBOOK(0x1p-11F),
    CODEBOOK(0x1p-10F),
    CODEBOOK(0x1p-9F),
    CODEBOOK(0x1p-8F),
    CODEBOOK(0x1p-7F),
    CODEBOOK(0x1p-6F),
    CODEBOOK(0x1p-5F),
    CODEBOOK(0x1p-4F),
    CODEBOOK(0x1p-3F),
    CODEBOOK(0x1p-2F),
    CODEBOOK(0x1p-1F),
    CODEBOOK(0x1p0F),
    CODEBOOK(0x1p1F),
    CODEBOOK(0x1p2F),
    CODEBOOK(0x1p3F),
    CODEBOOK(0x1p4F),
    CODEBOOK(0x1p5F),
    CODEBOOK(0x1p6F),
    CODEBOOK(0x1p7F),
    CODEBOOK(0x1p8F),
    CODEBOOK(0x1p9F),
    CODEBOOK(0x1p10F),
    CODEBOOK(0x1p11F),
    CODEBOOK(0x1p12F),
    CODEBOOK(0x1p13F),
    CODEBOOK(0x1p14F),
    CODEBOOK(0x1p15F),
    CODEBOOK(0x1p16F),
    CODEBOOK(0x1p17F),
    CODEBOOK(0x1p18F),
    CODEBOOK(0x1p19F),
    CODEBOOK(0x1p20F),
    CODEBOOK(0x1p21F),
    CODEBOOK(0x1p22F),
    CODEBOOK(0x1p23F),
    CODEBOOK(0x1p24F),
    CODEBOOK(0x1p25F),
    CODEBOOK(0x1p26F),
    CODEBOOK(0x1p27F),
    CODEBOOK(0x1p28F),
    CODEBOOK(0x1p29F),
    CODEBOOK(0x1p30F),
    CODEBOOK(0x1p31F),
    CODEBOOK(0x1p32F),
    CODEBOOK(0x1p33F),
    CODEBOOK(0x1p34F),
    CODEBOOK(0x1p35F),
    CODEBOOK(0x1p36F),
    CODEBOOK(0x1p37F),
    CODEBOOK(0x1p38F),
    CODEBOOK(0x1p39F),
    CODEBOOK(0x1p40F),
    CODEBOOK(0x1p41F),
    CODEBOOK(0x1p42F),
    CODEBOOK(0x1p43F),
    CODEBOOK(0x1p44F),
    CODEBOOK(0x1p45F),
    CODEBOOK(0x1p46F),
    CODEBOOK(0x1p47F),
    CODEBOOK(0x1p48F),
    CODEBOOK(0x1p49F),
    CODEBOOK(0x1p50F),
    CODEBOOK(0x1p51F),
    CODEBOOK(0x1p52F),
    CODEBOOK(0x1p53F),
    CODEBOOK(0x1p54F),
    CODEBOOK(0x1p55F),
    CODEBOOK(0x1p56F),
    CODEBOOK(0x1p57F),
    CODEBOOK(0x1p58F),
    CODEBOOK(0x1p59F),
    CODEBOOK(0x1p60F),
    CODEBOOK(0x1p61F),
    CODEBOOK(0x1p62F),
    CODEBOOK(0x1p63F),
    CODEBOOK(0x1p64F),
    CODEBOOK(0x1p65F),
    CODEBOOK(0x1p66F),
    CODEBOOK(0x1p67F),
    CODEBOOK(0x1p68F),
    CODEBOOK(0x1p69F),
    CODEBOOK(0x1p70F),
    CODEBOOK(0x1p71F),
    CODEBOOK(0x1p72F),
    CODEBOOK(0x1p73F),
    CODEBOOK(0x1p74F),
    CODEBOOK(0x1p75F),
    CODEBOOK(0x1p76F),
    CODEBOOK(0x1p77F),
    CODEBOOK(0x1p78F),
    CODEBOOK(0x1p79F),
    CODEBOOK(0x1p80F),
    CODEBOOK(0x1p81F),
    CODEBOOK(0x1p82F),
    CODEBOOK(0x1p83F),
    CODEBOOK(0x1p84F),
    CODEBOOK(0x1p85F),
    CODEBOOK(0x1p86F),
    CODEBOOK(0x1p87F),
    CODEBOOK(0x1p88F),
    CODEBOOK(0x1p89F),
    CODEBOOK(0x1p90F),
    CODEBOOK(0x1p91F),
    CODEBOOK(0x1p92F),
    CODEBOOK(0x1p93F),
    CODEBOOK(0x1p94F),
    CODEBOOK(0x1p95F),
    CODEBOOK(0x1p96F),
    CODEBOOK(0x1p97F),
    CODEBOOK(0x1p98F),
    CODEBOOK(0x1p99F),
    CODEBOOK(0x1p100F),
    CODEBOOK(0x1p101F),
    CODEBOOK(0x1p102F),
    CODEBOOK(0x1p103F),
    CODEBOOK(0x1p104F),
    CODEBOOK(0x1p105F),
    CODEBOOK(0x1p106F),
    CODEBOOK(0x1p107F),
    CODEBOOK(0x1p108F),
    CODEBOOK(0x1p109F),
    CODEBOOK(0x1p110F),
    CODEBOOK(0x1p111F),
    CODEBOOK(0x1p112F),
    CODEBOOK(0x1p113F),
    CODEBOOK(0x1p114F),
    CODEBOOK(0x1p115F),
    CODEBOOK(0x1p116F),
    CODEBOOK(0x1p117F),
    CODEBOOK(0x1p118F),
    CODEBOOK(0x1p119F),
    CODEBOOK(0x1p120F),
    CODEBOOK(0x1p121F),
    CODEBOOK(0x1p122F),
    CODEBOOK(0x1p123F),
    CODEBOOK(0x1p124F),
    CODEBOOK(0x1p125F),
    CODEBOOK(0x1p126F),
    CODEBOOK(0x1p127F),
    CODEBOOK(NAN)
};
/* clang-format on */

float nj_mxfp4_scale(uint8_t scale)
{
    return nj_mxfp4_codebooks[scale][2]; /* the code of 1 */
}

float nj_mxfp4_magnitude(uint8_t nibble)
{
    return nj_mxfp4_codebooks[SCALE_BIAS][nibble & 15U];
}

void nj_mxfp4_expand(const uint8_t *packed, const uint8_t *scales, size_t n_values,
                     float *values)
{
    for (size_t i = 0; i < n_values; i += 2) {
        const float *codebook = nj_mxfp4_codebooks[scales[i / NJ_MXFP4_BLOCK_VALUES]];
        uint8_t pair = packed[i / 2];
        values[i] = codebook[pair & 15U];
        values[i + 1] = codebook[pair >> 4];
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
