/* Input values for kernel tests: pure functions of (pattern, seed, index), made from integers
 * only, so that every machine and compiler tests the same bits.
 */
#ifndef NJ_TESTS_KERNELS_PATTERNS_H
#define NJ_TESTS_KERNELS_PATTERNS_H

#include <stddef.h>
#include <stdint.h>

enum pattern {
    PATTERN_PLAIN,      /* uniform in [-1, 1) */
    PATTERN_TINY,       /* about 2^-70: products are denormal */
    PATTERN_DENORMAL,   /* all denormal */
    PATTERN_ZEROS,      /* both zeros, and here and there a one */
    PATTERN_CANCEL,     /* huge, the sign turning from group to group: lanes cancel */
    PATTERN_SATURATING, /* near the largest F32: sums overflow, then become NaN */
    PATTERN_WIDE,       /* exponents over 160 binades */
    PATTERN_UNDERFLOW,  /* 2^-100 of one sign a seed: products round to zero, often to -0 */
    PATTERN_ANY_BITS,   /* any bit pattern: infinities and NaN as well */
    N_PATTERNS
};

/* A well mixed number for each (seed, index). */
uint64_t mixed(uint64_t seed, uint64_t index);

float pattern_value(enum pattern pattern, uint64_t seed, size_t index);
void pattern_fill(enum pattern pattern, uint64_t seed, float *values, size_t n);

/* The same values narrowed to BF16, written at any alignment. */
void pattern_fill_bf16(enum pattern pattern, uint64_t seed, void *values, size_t n);

/* MXFP4: any nibbles; scales that suit the pattern: all 0 for the patterns that underflow, 253
 * and 254 for PATTERN_SATURATING, near 127 for most. */
void pattern_fill_nibbles(uint64_t seed, uint8_t *packed, size_t n_bytes);
void pattern_fill_scales(enum pattern pattern, uint64_t seed, uint8_t *scales, size_t n);

#endif
