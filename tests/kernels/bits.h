/* Comparing results as the contract means it: every bit, except which NaN a NaN is. */
#ifndef NJ_TESTS_KERNELS_BITS_H
#define NJ_TESTS_KERNELS_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A hash (FNV-1a over words) that goes on from `hash`; every NaN counts as the same one. */
#define HASH_BEGIN 1469598103934665603ULL
uint64_t hash_values(uint64_t hash, const float *values, size_t n);

/* True when equal; else prints `what` and the first difference, and counts a failure. */
bool check_same_values(const float *actual, const float *wanted, size_t n, const char *what);

/* Compares `hash` with the one recorded for this operation and numerics version in
 * tests/golden/kernel_hashes.txt, or prints the line to record. */
void check_recorded_hash(const char *operation, uint64_t hash);

/* Print instead of compare. */
void record_hashes(void);

#endif
