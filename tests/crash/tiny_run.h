/* Runs a small job on a tiny model, for tests that stop, kill, damage and continue it.
 *
 * The model and the job are written to the test's folder once; every run has a folder of its
 * own below it.
 */
#ifndef NJ_TESTS_CRASH_TINY_RUN_H
#define NJ_TESTS_CRASH_TINY_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "job/event.h"
#include "nightjar/run.h"

/* Zero means the default everywhere; `folder` is required. */
struct tiny_run {
    const char *folder;              /* below the test's folder */
    const char *job;                 /* YAML without `model`; NULL: tiny_run_job */
    const char *model;               /* folder name given to tiny_run_model; NULL: "model" */
    const char *model_path;          /* instead of `model`: a model that is there */
    const struct nj_file_system *fs; /* NULL: tiny_run_files */
    uint32_t n_threads;              /* 0: 1 */
    uint32_t batch;
    uint64_t memory_bytes;
    uint32_t prefill_chunk;
    enum nj_states_place states;
    uint32_t share_prefixes;  /* as in nj_run_options */
    const char *prefix_cache; /* its folder, below the test's; everything is worth storing */
    uint64_t prefix_cache_bytes;
    const struct nj_log *log;
    const char *cpu_level;
    double latent_norm_eps;
    enum nj_run_mode mode;
    uint32_t stop_after_sweeps;                        /* 0: never */
    bool is_killed;                                    /* SIGKILL instead of stopping */
    uint64_t entropy;                                  /* 0: 1 */
    void (*wait)(void *context, uint64_t duration_ns); /* NULL: does not wait for room */
    /* NULL: nobody knows how much room there is */
    uint64_t (*free_bytes)(void *context, const char *path);
    void (*hear)(void *context, const struct nj_event *event); /* the context is of no use */
};

/* The real file system, except that syncs return at once: what was written survives SIGKILL
 * without them, and hundreds of runs would otherwise wait for the disk. */
const struct nj_file_system *tiny_run_files(void);

/* Seven sampled and greedy items of different lengths, driven by ids. */
extern const char tiny_run_job[];

/* Writes a T5 model to this name below the test's folder, if it is not there. */
void tiny_run_model(const char *name);

enum nj_status tiny_run(const struct tiny_run *run, struct nj_run_report *report,
                        struct nj_error *err);

/* In a child process. Returns its exit status as wait gives it: 0 for NJ_OK. */
int tiny_run_in_child(const struct tiny_run *run);

/* The path of a file in a run's folder; valid until the next call. */
const char *tiny_run_path(const char *folder, const char *name);

/* A file's bytes, NUL-terminated, or NULL. Caller frees. */
char *tiny_run_read(const char *folder, const char *name, size_t *length_bytes);
bool tiny_run_has(const char *folder, const char *name);

/* Removes a run's folder. */
void tiny_run_remove(const char *folder);

#endif
