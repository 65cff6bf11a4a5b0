/* Which item of a job is the first that is not what it was when an earlier run of the folder
 * began, and in which field.
 *
 * The earlier job is read again from the copy in spec.yaml. That it is what was run is proved
 * by its items digest: it does not agree when row or prompt files changed since, or when the
 * command line changed the job. Then the results tell: those of all generations, if the same
 * digest comes out of them (items without a result being taken as they are today), else those
 * of the last one, if they are there for every item up to the first that changed; else no item
 * is named.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_JOB_CHANGE_H
#define NJ_RUNNER_JOB_CHANGE_H

#include "base/file.h"
#include "runner/findings.h"
#include "runner/identity.h"
#include "runner/item_source.h"
#include "runner/ledger.h"
#include "runner/prompt.h"

enum { NJ_JOB_CHANGE_BYTES = 400 };

/* Borrowed. */
struct nj_job_change {
    const struct nj_file_system *fs;
    int directory_fd; /* of the run folder */
    const struct nj_run_identity *earlier;
    const struct nj_prompt_setting *setting; /* of today's job */
    struct nj_item_source *source;           /* of today's items */
    const struct nj_ledger *ledger;          /* with their digests */
    const struct nj_findings *findings;      /* of earlier runs */
};

/* Writes "item 3 (heron): `sampling.top_k` was 5 and is 6"; empty when it cannot be told.
 * Whatever fails on the way only leaves it untold. */
void nj_job_change_describe(const struct nj_job_change *change, char text[NJ_JOB_CHANGE_BYTES]);

#endif
