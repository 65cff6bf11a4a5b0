/* How a run shares the prefixes of its items (generate/prefix_sharing): from how many tokens
 * on, in how much memory, and what is taken from and given to the cache that outlives it
 * (snapshot/prefix_cache). Nothing here can fail a run.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_PREFIXES_H
#define NJ_RUNNER_PREFIXES_H

#include <stdint.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "generate/generator.h"
#include "generate/prefix_tree.h"
#include "job/spec.h"
#include "model/model.h"
#include "nightjar/run.h"
#include "snapshot/interval.h"
#include "snapshot/prefix_cache.h"

/* A state is worth storing when reading its ids took longer: loading and storing one of Kimi K3
 * takes a second or two each, and a prefix is not always wanted again. */
#define NJ_PREFIX_STORE_NS (UINT64_C(10) * 1000 * 1000 * 1000)

/* The longest beginning, in ids, that items share and that is worth sharing; 0: nothing is
 * shared. `tree` knows all items; NULL is none. */
uint32_t nj_run_prefixes_longest(const struct nj_prefix_tree *tree,
                                 const struct nj_run_options *options);

/* All borrowed. */
struct nj_run_prefixes_place {
    const struct nj_file_system
        *fs;                     /* of the cache; used by a thread too: nothing that waits */
    struct nj_prefix_tree *tree; /* of all items */
    const struct nj_run_options *options;
    const struct nj_job_resources *resources;
    struct nj_model *model;
    struct nj_generator *generator;
    const struct nj_digest *weights; /* the model's fingerprint */
    uint32_t batch;                  /* sequences whose states have been promised memory */
    uint32_t most_positions;         /* of the longest */
    const struct nj_log *log;
    struct nj_clock clock;
    uint64_t entropy;
    uint64_t least_store_ns; /* 0: NJ_PREFIX_STORE_NS */
};

/* Zeroed is closed. */
struct nj_run_prefixes {
    struct nj_run_prefixes_place place;
    struct nj_prefix_cache *cache; /* NULL: there is none */
    uint64_t n_stored;
    uint64_t stored_bytes;
};

/* The generator shares from now on; not where states live on disk, for there a fork is a copy
 * of a file, and a seat more. States of prefixes get memory that no sequence has been
 * promised, at most a sixteenth of the ceiling or one state if that is more. */
void nj_run_prefixes_open(struct nj_run_prefixes *prefixes,
                          const struct nj_run_prefixes_place *place);

/* The run ends: what the generator keeps and what was dear enough is stored, as far as the
 * budget of writes allows. */
void nj_run_prefixes_store(struct nj_run_prefixes *prefixes, struct nj_write_budget *budget);

void nj_run_prefixes_close(struct nj_run_prefixes *prefixes);

#endif
