#include "base/random.h"

/* Multipliers and Weyl increments from the paper, table 2 and section 4.3. */
static const uint32_t multiplier_0 = 0xD2511F53u;
static const uint32_t multiplier_1 = 0xCD9E8D57u;
static const uint32_t weyl_0 = 0x9E3779B9u;
static const uint32_t weyl_1 = 0xBB67AE85u;

void nj_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0];
    uint32_t c1 = counter[1];
    uint32_t c2 = counter[2];
    uint32_t c3 = counter[3];
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t product_0 = (uint64_t)multiplier_0 * c0;
        uint64_t product_1 = (uint64_t)multiplier_1 * c2;
        c0 = (uint32_t)(product_1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)product_1;
        c2 = (uint32_t)(product_0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)product_0;
        k0 += weyl_0;
        k1 += weyl_1;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

double nj_draw_uniform(uint64_t seed, uint32_t sample, uint64_t position, uint32_t purpose)
{
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)position, (uint32_t)(position >> 32), sample,
                                 purpose};
    uint32_t out[4];
    nj_philox4x32_10(counter, key, out);
    uint64_t bits = ((uint64_t)out[0] | (uint64_t)out[1] << 32) >> 11;
    return (double)bits * 0x1p-53;
}
