/* The counter-based draw: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
 * as easy as 1, 2, 3", 2011).
 *
 * A draw is a pure function of (seed, sample, position), so there is no generator state to
 * save, lose or share: neighbours in a batch cannot advance it and a resumed job draws what it
 * would have drawn.
 */
#ifndef NJ_BASE_RANDOM_H
#define NJ_BASE_RANDOM_H

#include <stdint.h>

void nj_philox4x32_10(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Uniform in [0, 1) with 53 bits: key = seed (low word first), counter = (position low,
 * position high, sample, purpose); value = (out[0] | out[1] << 32) >> 11, times 2^-53.
 * `purpose` separates independent uses at one position; sampling uses 0. */
double nj_draw_uniform(uint64_t seed, uint32_t sample, uint64_t position, uint32_t purpose);

#endif
