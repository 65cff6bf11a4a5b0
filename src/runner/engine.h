/* The model of a run as it computes: opened with this run's options, which change time and
 * memory and no bit, and the generator over it.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_ENGINE_H
#define NJ_RUNNER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "generate/generator.h"
#include "job/spec.h"
#include "model/model.h"
#include "nightjar/run.h"
#include "runner/item_memory.h"
#include "runner/subject.h"

/* Zeroed is closed. */
struct nj_run_engine {
    struct nj_model *model;
    struct nj_generator *generator;
    uint32_t batch;                 /* items that run at once */
    uint64_t snapshot_buffer_bytes; /* set aside for the writer of their snapshots */
    bool has_states_on_disk;        /* and then for the windows that these pass through: */
    uint64_t window_bytes;          /* each of them */
    bool is_width_bound; /* fewer may run, by what an hour may write: nobody insists on disk */
};

/* What there is to do. */
struct nj_run_work {
    bool only_plans;         /* nothing is opened: only whether memory would do is wanted */
    uint64_t n_open;         /* items without result, at least 1: a batch is never wider */
    uint32_t most_positions; /* prompt and answer of the longest item */
    uint32_t n_shared;       /* ids that items begin with in common; 0: nothing is shared */
    struct nj_item_memory memory;
    uint64_t free_disk_bytes; /* where the run folder is or will be; UINT64_MAX: not known */
};

/* Without a batch in options or resources it is as wide as memory allows, at most 256; where
 * prefixes are shared there is then room for the state of one besides. Rows, prompts and
 * results are part of it.
 *
 * States go to disk if that is asked for, or if a batch that was asked for does not fit with
 * its states in memory, but without them; then the disk bounds it too. NJ_E_BUDGET names what
 * is missing, and of the two ways the one that needs less memory.
 *
 * NJ_E_STATE the model changed since `subject` was read; else as nj_model_open and
 * nj_generator_create. Close it also after a failure. */
enum nj_status nj_run_engine_open(struct nj_run_engine *engine, const struct nj_file_system *fs,
                                  const struct nj_run_subject *subject,
                                  const struct nj_job_resources *resources,
                                  const struct nj_run_options *options,
                                  const struct nj_run_work *work, struct nj_error *err);
void nj_run_engine_close(struct nj_run_engine *engine);

#endif
