/* Runs a job file to a result file, here and now; the same call continues a run that was
 * stopped or killed.
 *
 *     struct nj_run_options options = {.job_path = "jobs/capitals.yaml"};
 *     struct nj_run_report report;
 *     struct nj_error error;
 *     if (nj_run_file(&options, &report, &error) != NJ_OK) { ... error.text ... }
 *
 * Results are in `report.output_directory`/results.jsonl (docs/formats/results.md). They depend
 * on the job, the model and the numerics version only.
 *
 * Threads: a run belongs to the calling thread; several may run in different folders.
 */
#ifndef NIGHTJAR_RUN_H
#define NIGHTJAR_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "nightjar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What to do with a run folder that belongs to another job, model or numerics version. */
enum nj_run_mode {
    NJ_RUN_CONTINUE, /* refuse, naming what changed */
    NJ_RUN_RESTART,  /* keep finished items that are the same, do all others anew */
    NJ_RUN_FRESH     /* move it aside to DIR.1, DIR.2, ... and begin an empty one */
};

/* Where the states of items under way lie. It changes no byte of the results. */
enum nj_states_place {
    NJ_STATES_UNSAID, /* as the job says, else auto */
    NJ_STATES_AUTO,   /* in memory; on disk when a batch that was asked for does not fit */
    NJ_STATES_MEMORY,
    NJ_STATES_DISK
};

/* For `share_prefixes`: each item reads its own prompt. */
#define NJ_SHARE_NOTHING UINT32_MAX
/* For `prefix_cache_bytes`: nothing outlives a run. */
#define NJ_CACHE_NOTHING UINT64_MAX

/* Zero means the default everywhere; only job_path is required. */
struct nj_run_options {
    const char *job_path;         /* YAML */
    const char *model_path;       /* NULL: the job's `model` */
    const char *output_directory; /* NULL: the job's `output.dir`/NAME, else results/NAME */
    enum nj_run_mode mode;

    /* None of these changes a byte of the results. */
    const char *cpu_level;  /* "auto" (default), "scalar", "avx2", "avx512" */
    uint32_t n_threads;     /* 0: one per CPU */
    uint32_t batch;         /* items under way at once; 0: as memory allows, at most 256 */
    uint32_t prefill_chunk; /* prompt rows of one item in one sweep; 0: as many as fit */
    uint64_t memory_bytes;  /* for everything; 0: what machine and cgroup have left */
    const char *reader; /* of weights that do not fit: "auto" (default), "ring", "threads" */
    enum nj_states_place states;
    /* Items that begin with so many tokens in common read them once; 0: as many as it pays for;
     * NJ_SHARE_NOTHING: never. */
    uint32_t share_prefixes;
    /* States of prefixes that were dear to read are kept here for runs to come, private and
     * bounded; NULL: nowhere. */
    const char *prefix_cache_directory;
    uint64_t prefix_cache_bytes; /* of all files; 0: the job's, else 8 GiB */

    double latent_norm_eps; /* 0: the job's, else the model's */

    void *context;
    /* Asked before each sweep; true ends the run there with NJ_E_STOPPED. NULL: never. */
    bool (*should_stop)(void *context);
};

enum { NJ_RUN_PATH_BYTES = 4096 };

struct nj_run_report {
    char output_directory[NJ_RUN_PATH_BYTES];
    uint64_t n_items;
    uint64_t n_items_ok;     /* of all runs of this folder */
    uint64_t n_items_failed; /* ditto */
    uint64_t n_items_kept;   /* finished by earlier runs */
    uint64_t n_items_resumed;
    uint64_t n_tokens_generated;   /* by this run */
    uint64_t n_tokens_restored;    /* chosen by earlier runs, of items under way */
    uint64_t n_positions_restored; /* of those and of prompts, not read again for a snapshot */
    uint64_t n_snapshots;          /* written by this run */
    bool has_states_on_disk;
    uint64_t state_bytes_read; /* of states on disk; and written: */
    uint64_t state_bytes_written;
    uint64_t n_prompt_tokens;        /* of the items that this run began */
    uint64_t n_prefix_tokens;        /* that one item read for others too */
    uint64_t n_prefix_forks;         /* items that took over what another had read */
    uint64_t n_prefix_tokens_spared; /* that these did not have to read */
    uint64_t prefix_memory_bytes;    /* held at most for their states */
    uint64_t n_prefixes_stored;      /* in the cache, for later runs */
    uint64_t prefix_stored_bytes;    /* written for that */
    uint64_t n_prefix_tokens_loaded; /* that no item had to read: from the cache */
    uint64_t n_sweeps;
    uint64_t n_rows;
    uint64_t weight_bytes_read;
    uint64_t elapsed_ns;
};

/* NJ_OK every item is done (see n_items_failed); also when all were done before.
 * NJ_E_STOPPED by should_stop; the same call continues. NJ_E_LIMIT `budget.max_runtime` or
 * `stop_on_failures` of the job ended it; with a higher limit the same call continues.
 * NJ_E_INPUT the job file or an item is wrong; NJ_E_STATE another job, model or numerics
 * version, or another process in the folder; NJ_E_NOT_FOUND, NJ_E_WEIGHTS the model;
 * NJ_E_BUDGET memory or disk is too small; NJ_E_STORAGE a write or sync failed;
 * NJ_E_PERMISSION, NJ_E_IO, NJ_E_MEMORY, NJ_E_UNSUPPORTED, NJ_E_USAGE. The report is filled in
 * as far as the run came. */
enum nj_status nj_run_file(const struct nj_run_options *options, struct nj_run_report *report,
                           struct nj_error *err);

#ifdef __cplusplus
}
#endif

#endif
