/* What snapshots cost and what they give: packing and unpacking of a model's real states, a
 * round of the writer, restoring, and the share of a run that all of it takes.
 *
 * States are those of sequences that read a made-up prompt and chose some ids.
 *
 * Threads: the caller's and the model's.
 */
#ifndef NJ_TOOLS_BENCH_SNAPSHOT_H
#define NJ_TOOLS_BENCH_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "tools/bench_figure.h"

/* Zero means the default everywhere; `path` is required. */
struct nj_snapshot_bench_options {
    const char *path;      /* of the model */
    const char *folder;    /* segments are written below it; NULL: the working directory */
    const char *cpu_level; /* NULL: the best */
    uint32_t n_threads;    /* 0: one per processor */
    uint64_t memory_bytes; /* 0: what is left here; less makes a sweep wait for the disk */
    uint32_t n_sequences;  /* 0: 4 */
    uint32_t n_positions;  /* of each, before the first snapshot; 0: 256 */
    uint32_t n_pairs;      /* of runs with and without snapshots, each as long as the automatic
                              interval; 0: none */
    bool wants_json;
};

/* Bytes of one kind of state. */
struct nj_snapshot_bench_kind {
    uint64_t raw_bytes;
    uint64_t packed_bytes;
};

struct nj_snapshot_bench_report {
    uint32_t n_threads;
    uint32_t n_sequences;
    uint32_t n_positions;
    struct nj_snapshot_bench_kind recurrent;
    struct nj_snapshot_bench_kind latent;
    double pack_bytes_s;   /* of raw bytes, one thread */
    double unpack_bytes_s; /* ditto */
    /* One round of all sequences. */
    uint64_t file_bytes;
    double copied_s;  /* the engine thread was busy with it, waiting included */
    double blocked_s; /* of that, it waited for room in the buffer */
    double writer_s;  /* processor time of the writer's thread */
    double round_s;   /* until all of it was durable */
    /* Of the first sequence; medians. */
    double restore_s;
    double read_s;    /* reading the same bytes, not held by the system */
    double inflate_s; /* unpacking them on all threads */
    /* At the automatic interval. */
    double interval_s;
    double cost_share; /* engine thread and writer, of the interval */
    double bytes_per_hour;
    uint32_t n_pairs;
    double wall_share; /* median of pairs: how much slower; can be below 0 by chance */
};

/* As opening the model and generating with it fail, NJ_E_STORAGE, NJ_E_MEMORY. What it writes
 * is removed. */
enum nj_status nj_snapshot_bench_measure(const struct nj_snapshot_bench_options *options,
                                         struct nj_snapshot_bench_report *report,
                                         struct nj_error *err);

/* The report as text, or as JSON if the options say so. Caller frees `*text`. */
enum nj_status nj_snapshot_bench_write(const struct nj_snapshot_bench_report *report,
                                       const struct nj_snapshot_bench_options *options,
                                       char **text, size_t *length_bytes, struct nj_error *err);

#endif
