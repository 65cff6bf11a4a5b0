/* One pass over all items before any work: everything that could be wrong is found now, every
 * item's digest enters the ledger, and the chain over them says whether a run folder belongs to
 * this job. Prompts are rendered and thrown away; they are rendered again when claimed.
 */
#ifndef NJ_RUNNER_SURVEY_H
#define NJ_RUNNER_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "generate/prefix_tree.h"
#include "job/diagnostics.h"
#include "runner/item_memory.h"
#include "runner/ledger.h"
#include "runner/prompt.h"

struct nj_survey {
    uint64_t n_items;
    uint64_t n_left_out; /* items behind these, for which `max_output_tokens` has no room */
    bool uses_job_seed;  /* an item draws with a seed derived from the job's */
    uint64_t n_prompt_tokens;
    uint32_t most_positions;        /* prompt and max_tokens of the longest item */
    uint64_t n_output_tokens_limit; /* sum of max_tokens */
    struct nj_item_memory memory;   /* of the longest items */
    struct nj_digest items;         /* chained over all items */
    struct nj_digest items_before;  /* chained over the first `n_before` of them */
};

enum { NJ_SURVEY_COMPLAINTS_LIMIT = 20 }; /* spelled out; more are counted */

/* Borrowed. `n_before` (at most n_items, else `items_before` equals `items`) is how many items
 * an earlier run of this folder had: rows that were only appended are the same job. */
struct nj_survey_options {
    const struct nj_prompt_setting *setting;
    const struct nj_file_system *fs;
    uint64_t job_seed;
    uint64_t n_before;
    struct nj_diagnostics *complaints; /* NULL: only the first is told, in the error */
    struct nj_prefix_tree *prefixes;   /* hears of every prompt; NULL: nobody wants to know */
};

/* Adds the next item's digest to the chain over all of them, which begins as zeros. */
enum nj_status nj_items_chain(struct nj_digest *items, const struct nj_digest *item,
                              struct nj_error *err);

/* Under `budget.max_output_tokens` the job has as many of its items, from the first, as may
 * write so much: each reserves its max_tokens, for all its samples together. So which items are
 * done depends on no speed, batch or resume, and with a larger budget items are appended.
 *
 * NJ_E_INPUT with a complaint about each item that cannot be run: where its row or prompt
 * stands, what is wrong and what to do. */
enum nj_status nj_survey_run(const struct nj_survey_options *options, struct nj_ledger *ledger,
                             struct nj_survey *survey, struct nj_error *err);

#endif
