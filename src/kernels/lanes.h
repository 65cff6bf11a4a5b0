/* The one order in which anything is summed (docs/decisions/0005-numbers.md).
 *
 * Sixteen lanes fill one AVX-512 register, two AVX2 or four NEON ones, and sixteen independent
 * chains are about what hides the latency of a fused multiply-add. Element i goes to lane i mod
 * 16; a tail touches only its lanes. The fold is a tree of fixed shape:
 *
 *     l += l + 8   for l < 8,   then l += l + 4,   l += l + 2,   l += l + 1
 *
 * Threads: pure functions.
 */
#ifndef NJ_KERNELS_LANES_H
#define NJ_KERNELS_LANES_H

#include <math.h>
#include <stdint.h>

enum { NJ_LANES = 16 };

struct nj_lanes {
    float lane[NJ_LANES];
};

static inline float nj_lanes_fold(const struct nj_lanes *lanes)
{
    struct nj_lanes folded = *lanes;
    for (int width = NJ_LANES / 2; width > 0; width /= 2) {
        for (int l = 0; l < width; l++) {
            folded.lane[l] += folded.lane[l + width];
        }
    }
    return folded.lane[0];
}

static inline float nj_lanes_dot(const float *a, const float *b, uint32_t n)
{
    struct nj_lanes lanes = {{0}};
    for (uint32_t i = 0; i < n; i++) {
        float *lane = &lanes.lane[i % NJ_LANES];
        *lane = fmaf(a[i], b[i], *lane);
    }
    return nj_lanes_fold(&lanes);
}

static inline float nj_lanes_sum(const float *a, uint32_t n)
{
    struct nj_lanes lanes = {{0}};
    for (uint32_t i = 0; i < n; i++) {
        lanes.lane[i % NJ_LANES] += a[i];
    }
    return nj_lanes_fold(&lanes);
}

#endif
