/* manifest.json: what produced these results, and the history of the run.
 *
 * Its `reproducible` section holds only what decides bytes: two runs of the same job with the
 * same model have the same section, whatever machine, speed and interruptions they had.
 *
 * File: docs/formats/run-folder.md.
 */
#ifndef NJ_RUNNER_MANIFEST_H
#define NJ_RUNNER_MANIFEST_H

#include <stdint.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "generate/prefix_sharing.h"
#include "job/spec.h"
#include "nightjar/run.h"
#include "runner/history.h"
#include "runner/journal.h"
#include "runner/ledger.h"

/* Borrowed. */
struct nj_manifest {
    const struct nj_job_spec *spec;
    const struct nj_run_identity *identity;
    const struct nj_ledger *ledger;
    const struct nj_history *history;
    const struct nj_run_options *options;
    const char *model_path;
    const char *cpu_level; /* that the last run computed with; NULL when it had no work */
    struct nj_prefix_counts prefixes;
    struct nj_digest results;  /* SHA-256 of results.jsonl */
    struct nj_digest csv;      /* of results.csv, if the job asks for it */
    struct nj_digest markdown; /* over the files in items/, if it asks for them */
};

enum nj_status nj_manifest_write(const struct nj_manifest *manifest,
                                 const struct nj_file_system *fs, int directory_fd,
                                 struct nj_error *err);

enum { NJ_MANIFEST_LIMIT_BYTES = 256 << 20 };

enum nj_manifest_state {
    NJ_MANIFEST_OTHER,    /* absent, unreadable, or about another run */
    NJ_MANIFEST_SAME_RUN, /* about this run, but not what would be written now */
    NJ_MANIFEST_SOUND
};

/* What manifest.json in the folder is; changes nothing. */
enum nj_status nj_manifest_check(const struct nj_manifest *manifest,
                                 const struct nj_file_system *fs, int directory_fd,
                                 enum nj_manifest_state *state, struct nj_error *err);

#endif
