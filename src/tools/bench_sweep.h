/* How well sweeps use the drive that a model is read from.
 *
 * A sweep and a bare reader take turns over the same extents: the reader's best of several
 * depths is what the drive can give. What is compared are medians over pairs, because a drive's
 * rate wanders. Every figure stands beside its cost: bytes read, processor time, memory.
 *
 * Rows are random tokens, one for each sequence; sequences grow by one position a sweep.
 */
#ifndef NJ_TOOLS_BENCH_SWEEP_H
#define NJ_TOOLS_BENCH_SWEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"

enum { NJ_SWEEP_BENCH_WIDTHS = 5, NJ_SWEEP_BENCH_PREFILL = 512 };

extern const uint32_t nj_sweep_bench_widths[NJ_SWEEP_BENCH_WIDTHS]; /* 1, 8, 32, 64, 128 */

struct nj_sweep_bench_options {
    const char *path;
    const char *reader; /* NULL: ring, or threads where it is refused; "ring", "threads" */
    const char *cpu_level;
    uint64_t memory_bytes; /* 0: the least for the widest batch, and a few frames more */
    uint32_t n_threads;    /* 0: one per CPU */
    uint32_t n_pairs;      /* 0: 7 */
    uint32_t n_widths;     /* 0: all; else the first ones */
    /* Also sweeps with all weights in memory, to know what computing takes by itself. */
    bool holds_whole;
};

/* One batch width, or one prompt chunk: medians over the pairs. */
struct nj_sweep_bench_figure {
    uint32_t n_rows; /* 0: not measured, there was no memory for it */
    uint32_t depth;  /* of the bare reader */
    double wall_s;
    double read_s; /* of the bare reader, for the bytes of the sweep */
    /* Of the same rows with all weights in memory; if those are not held, of the sweep without
     * what the engine waited for bytes. */
    double compute_s;
    double busy_s;      /* processor time of the engine thread, which computes along */
    double raw_share;   /* rate of the sweep by that of the bare reader */
    double limit_ratio; /* wall by the larger of read and compute */
    double processor_s; /* of all threads */
    double read_bytes;
};

struct nj_sweep_bench_report {
    uint64_t useful_bytes; /* with which nothing would be read again */
    uint64_t memory_bytes;
    uint64_t peak_bytes; /* of the process; 0: not of interest, it held the model twice */
    bool has_whole;      /* all weights were in memory as well */
    const char *reader;
    char note[160]; /* why not the ring; empty when it is used */
    uint32_t n_pairs;
    struct nj_sweep_bench_figure widths[NJ_SWEEP_BENCH_WIDTHS];
    struct nj_sweep_bench_figure prefill;
};

/* Everything that opening a model returns; NJ_E_BUDGET without room for what `holds_whole` asks
 * for; NJ_E_UNSUPPORTED when all of the model stays in
 * memory, so that there is nothing to measure. */
enum nj_status nj_sweep_bench_measure(const struct nj_sweep_bench_options *options,
                                      struct nj_sweep_bench_report *report,
                                      struct nj_error *err);

void nj_sweep_bench_print(FILE *out, const struct nj_sweep_bench_report *report);
void nj_sweep_bench_write(struct nj_json_writer *writer,
                          const struct nj_sweep_bench_report *report);

#endif
