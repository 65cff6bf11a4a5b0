/* What every block of the model computes with: kernels, threads, weights' stream, and memory of
 * each thread.
 *
 * Work is spread over items that do not share a sum (rows, heads, output rows of a matrix), in
 * contiguous ranges. How many ranges there are depends on the work and the threads and changes
 * no bit. All arithmetic of the engine runs inside nj_compute_spread, whose threads have their
 * rounding mode fixed.
 *
 * Threads: the engine thread calls; functions handed in run on any thread of the pool.
 */
#ifndef NJ_MODEL_COMPUTE_H
#define NJ_MODEL_COMPUTE_H

#include <stdint.h>

#include "base/pool.h"
#include "kernels/kernels.h"
#include "model/bound_matrix.h"
#include "stream/stream.h"

struct nj_profile; /* model/profile.h */

/* All borrowed from the model. */
struct nj_compute {
    const struct nj_kernels *kernels;
    struct nj_pool *pool;
    struct nj_stream *stream;
    uint8_t *thread_memory;     /* per thread: kernel scratch, then block scratch */
    uint64_t kernel_bytes;      /* scratch of nj_kernels.multiply, a multiple of 64 */
    uint64_t block_bytes;       /* scratch of the model's blocks, a multiple of 64 */
    uint64_t least_range_work;  /* a range with less work than this is not worth a thread */
    struct nj_profile *profile; /* NULL: time is not measured */
};

typedef void nj_range_function(void *context, uint32_t begin, uint32_t end,
                               uint32_t thread_index);

/* Calls `function` on ranges that cover [0, n_items) once. `work_per_item` is a rough count of
 * multiply-adds. */
void nj_compute_spread(const struct nj_compute *compute, uint32_t n_items,
                       uint64_t work_per_item, nj_range_function *function, void *context);

void *nj_compute_kernel_scratch(const struct nj_compute *compute, uint32_t thread_index);
float *nj_compute_block_scratch(const struct nj_compute *compute, uint32_t thread_index);

/* y (n_rows, matrix.n_outputs) = x (n_rows, matrix.n_inputs) times the matrix, dot form. */
struct nj_product {
    struct nj_matrix matrix;
    const float *x;
    size_t x_stride; /* in values */
    float *y;
    size_t y_stride;
    uint32_t n_rows;
};

/* Several products at once, their output rows spread over the threads. */
void nj_compute_products(const struct nj_compute *compute, const struct nj_product *products,
                         uint32_t n_products);

/* A whole matrix, tile by tile: at most one tile of it is pinned at a time. */
enum nj_status nj_compute_linear(const struct nj_compute *compute,
                                 const struct nj_bound_matrix *matrix, const float *x,
                                 size_t x_stride, uint32_t n_rows, float *y, size_t y_stride,
                                 struct nj_error *err);

#endif
