/* Sums and products of sizes from outside, without wrapping. True means the result is valid. */
#ifndef NJ_BASE_CHECKED_H
#define NJ_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool nj_add_u64(uint64_t a, uint64_t b, uint64_t *sum)
{
    if (a > UINT64_MAX - b) {
        return false;
    }
    *sum = a + b;
    return true;
}

static inline bool nj_multiply_u64(uint64_t a, uint64_t b, uint64_t *product)
{
    if (a != 0 && b > UINT64_MAX / a) {
        return false;
    }
    *product = a * b;
    return true;
}

/* The smallest multiple of `unit` (a power of two) that is at least `value`. */
static inline bool nj_round_up_u64(uint64_t value, uint64_t unit, uint64_t *rounded)
{
    if (value > UINT64_MAX - (unit - 1)) {
        return false;
    }
    *rounded = (value + unit - 1) & ~(unit - 1);
    return true;
}

#endif
