/* What sweeps and sequences take besides weights, computed before any of it is taken. */
#ifndef NJ_MODEL_SWEEP_MEMORY_H
#define NJ_MODEL_SWEEP_MEMORY_H

#include <stdint.h>

#include "model/dims.h"

struct nj_sweep_memory {
    uint64_t workspace_bytes;  /* buffers of a sweep of max_rows */
    uint64_t kernel_bytes;     /* scratch of one thread: kernels */
    uint64_t block_bytes;      /* scratch of one thread: blocks */
    uint64_t all_thread_bytes; /* both, of all threads */
    uint64_t row_bytes;        /* what is noted of each row */
    uint64_t total_bytes;
};

void nj_sweep_memory_measure(const struct nj_dims *dims, uint32_t max_rows, uint32_t n_threads,
                             struct nj_sweep_memory *memory);

/* A sequence of `n_positions`: recurrent parts and pages, and what its caller holds of it: a
 * row of logits, ids and text. */
uint64_t nj_sequence_memory_bytes(const struct nj_dims *dims, uint32_t n_positions);

/* The caller's part of that: all of it where the state lies elsewhere. */
uint64_t nj_sequence_caller_bytes(const struct nj_dims *dims, uint32_t n_positions);

#endif
