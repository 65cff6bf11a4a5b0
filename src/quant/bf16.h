/* bfloat16: the upper half of an F32. Widening is exact; narrowing rounds to nearest, ties to
 * even. */
#ifndef NJ_QUANT_BF16_H
#define NJ_QUANT_BF16_H

#include <stdint.h>
#include <string.h>

static inline float nj_bf16_widen(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static inline uint16_t nj_bf16_round(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x7fffffffU) > 0x7f800000U) {
        return (uint16_t)((bits >> 16) | 0x40U); /* stay a (quiet) NaN */
    }
    return (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

#endif
