/* How fast the matrix product is on this machine, as shares of what the machine can do.
 *
 * Everything is measured in one process on one thread, interleaved, in several rounds: a share
 * compares two short samples that follow each other, so that a busy or throttled machine
 * spoils rates but hardly shares. Time is that of the thread, not of the wall. Matrices are
 * distinct and far larger than the caches together, as in a sweep over a model.
 *
 * Threads: one call at a time per report; allocates about 300 MB for its duration.
 */
#ifndef NJ_TOOLS_BENCH_KERNELS_H
#define NJ_TOOLS_BENCH_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "kernels/kernels.h"
#include "tools/bench_figure.h"

enum { NJ_BENCH_TYPES = 3, NJ_BENCH_WIDTHS = 7 };

/* The row counts that are measured, rising; contract prices are those of the last. */
extern const uint32_t nj_bench_widths[NJ_BENCH_WIDTHS];

struct nj_bench_plan {
    uint32_t n_rounds; /* 1 .. NJ_BENCH_MOST_ROUNDS */
    uint64_t sample_ns;
    uint64_t pool_bytes; /* of weights; holds at least one F32 matrix */
    uint32_t n_outputs;  /* of each matrix, a multiple of 12 */
    uint32_t n_inputs;   /* a multiple of 32 */
};

/* A product, at one width. */
struct nj_bench_rate {
    struct nj_bench_figure gflops;
    struct nj_bench_figure peak_share; /* of the peak sampled right before and after */
    /* Of what peak and read stream together allow: with few rows memory is the limit, since
     * each weight must be read for them. */
    double roof_share;
};

struct nj_bench_report {
    enum nj_cpu_level level;
    struct nj_bench_plan plan;
    struct nj_bench_figure peak_gflops;
    struct nj_bench_figure stream_gb_s;
    struct nj_bench_rate products[NJ_BENCH_TYPES][NJ_BENCH_WIDTHS]; /* by enum nj_matrix_type */
    struct nj_bench_figure one_row_gb_s[NJ_BENCH_TYPES];
    struct nj_bench_figure one_row_stream_share[NJ_BENCH_TYPES];

    /* The freed product (bench_loops.h) at the last width, on weights and activations that were
     * put in its order beforehand; zeros for the scalar level. */
    struct nj_bench_rate freed;
    /* 1 - product / freed: of the median shares of peak, and of the best rates. */
    struct {
        double median;
        double of_best;
    } contract_price[NJ_BENCH_TYPES];
};

/* What `nightjar bench kernels` measures: 3072 x 3584, the size of a K3 expert's matrix. */
struct nj_bench_plan nj_bench_plan_for(enum nj_cpu_level level, bool is_quick);

/* Bytes of weights and scales of a matrix. */
uint64_t nj_bench_matrix_bytes(enum nj_matrix_type type, uint32_t n_outputs, uint32_t n_inputs);

/* NJ_E_MEMORY. */
enum nj_status nj_bench_measure(const struct nj_kernels *kernels,
                                const struct nj_bench_plan *plan,
                                struct nj_bench_report *report, struct nj_error *err);

#endif
