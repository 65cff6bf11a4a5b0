/* How a run shares the prefixes of its items (generate/prefix_sharing): what for, from how many
 * tokens on, and in how much memory.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_PREFIXES_H
#define NJ_RUNNER_PREFIXES_H

#include <stdint.h>

#include "base/clock.h"
#include "generate/generator.h"
#include "generate/prefix_tree.h"
#include "model/model.h"
#include "nightjar/run.h"

/* The longest beginning, in ids, that items share and that is worth sharing; 0: nothing is
 * shared. `tree` knows all items; NULL is none. */
uint32_t nj_run_prefixes_longest(const struct nj_prefix_tree *tree,
                                 const struct nj_run_options *options);

struct nj_run_prefixes {
    struct nj_prefix_tree *tree; /* of all items; borrowed */
    const struct nj_run_options *options;
    uint32_t batch;          /* sequences whose states have been promised memory */
    uint32_t most_positions; /* of the longest */
    struct nj_clock clock;
    struct nj_prefix_storage storage;
};

/* The generator shares from now on. States of prefixes get memory that no sequence has been
 * promised, at most a sixteenth of the ceiling or one state if that is more. */
void nj_run_prefixes_share(const struct nj_run_prefixes *prefixes, struct nj_model *model,
                           struct nj_generator *generator);

#endif
