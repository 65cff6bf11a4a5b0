#include "kernels/patterns.h"

#include <string.h>

#include "quant/bf16.h"

enum { VALUES_A_GROUP = 16 };

/* The finaliser of SplitMix64. */
uint64_t mixed(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0x9e3779b97f4a7c15ULL + index + 1;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    z = (z ^ (z >> 31)) * 0xbf58476d1ce4e5b9ULL;
    return z ^ (z >> 29);
}

static float from_parts(uint64_t sign, uint64_t biased_exponent, uint64_t mantissa)
{
    uint32_t bits =
        (uint32_t)((sign & 1U) << 31 | (biased_exponent & 255U) << 23 | (mantissa & 0x7fffffU));
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float zero_or_one(uint64_t random)
{
    return from_parts(random, random % 5 == 0 ? 127 : 0, 0);
}

float pattern_value(enum pattern pattern, uint64_t seed, size_t index)
{
    uint64_t random = mixed(seed, index);
    uint64_t mantissa = random >> 8;
    uint64_t odd_group = (index / VALUES_A_GROUP) & 1U;
    switch (pattern) {
    case PATTERN_PLAIN:
        return (float)((int64_t)(random >> 40) - (1 << 23)) * 0x1p-23F;
    case PATTERN_TINY:
        return from_parts(random, 57 + (random >> 60), mantissa);
    case PATTERN_DENORMAL:
        return from_parts(random, 0, mantissa);
    case PATTERN_ZEROS:
        return zero_or_one(random);
    case PATTERN_CANCEL:
        return from_parts(odd_group, 150 - (random >> 63), mantissa & 3U);
    case PATTERN_SATURATING:
        return from_parts(random, 254 - (random >> 62), mantissa);
    case PATTERN_WIDE:
        return from_parts(random, 47 + (random >> 32) % 161, mantissa);
    case PATTERN_UNDERFLOW:
        return from_parts(seed, 27, 0);
    case PATTERN_ANY_BITS:
    case N_PATTERNS:
        break;
    }
    return from_parts(random, random >> 1, mantissa >> 1);
}

void pattern_fill(enum pattern pattern, uint64_t seed, float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        values[i] = pattern_value(pattern, seed, i);
    }
}

void pattern_fill_bf16(enum pattern pattern, uint64_t seed, void *values, size_t n)
{
    unsigned char *bytes = values;
    for (size_t i = 0; i < n; i++) {
        uint16_t bits = nj_bf16_round(pattern_value(pattern, seed, i));
        memcpy(bytes + i * sizeof bits, &bits, sizeof bits);
    }
}

void pattern_fill_nibbles(uint64_t seed, uint8_t *packed, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++) {
        packed[i] = (uint8_t)(mixed(seed, i) >> 32);
    }
}

void pattern_fill_scales(enum pattern pattern, uint64_t seed, uint8_t *scales, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t random = mixed(seed, i) >> 32;
        switch (pattern) {
        case PATTERN_DENORMAL:
        case PATTERN_UNDERFLOW:
            scales[i] = 0;
            break;
        case PATTERN_TINY:
            scales[i] = (uint8_t)(random % 4);
            break;
        case PATTERN_SATURATING:
            scales[i] = (uint8_t)(253 + random % 2);
            break;
        case PATTERN_WIDE:
        case PATTERN_ANY_BITS:
            scales[i] = (uint8_t)(random % 255);
            break;
        default:
            scales[i] = (uint8_t)(120 + random % 12);
            break;
        }
    }
}
