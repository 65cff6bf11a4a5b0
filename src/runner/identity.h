/* What a run is: everything that decides its results, and whether a run folder belongs to it.
 *
 * The identity is the first thing that a run makes durable, and each log of the folder holds
 * it: whichever two of them are lost, the third still says with which seed results were drawn.
 *
 * File: docs/formats/run-folder.md.
 */
#ifndef NJ_RUNNER_IDENTITY_H
#define NJ_RUNNER_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "format/record_log.h"
#include "runner/log_file.h"

/* Field by field, so that a change can be named. */
struct nj_run_identity {
    struct nj_digest model; /* fingerprint */
    uint32_t numerics_version;
    float latent_norm_eps; /* in force */
    bool uses_job_seed;    /* an item draws with a seed derived from it */
    uint64_t job_seed;     /* 0 when it is not used */
    uint64_t n_items;
    struct nj_digest items; /* chained over the items' digests in input order */
    struct nj_digest spec;  /* SHA-256 of the job file, for the manifest only */
    struct nj_digest rows;  /* SHA-256 of the row file, zeros without one, ditto */
    uint32_t generation; /* counts the identities of a folder from 1; the highest is in force;
                            0 in folders of an older nightjar, which did not count */
};

enum { NJ_RUN_IDENTITY_BYTES = 160 };

enum nj_status nj_run_identity_append(struct nj_log_file *file, uint32_t record_type,
                                      const struct nj_run_identity *identity,
                                      struct nj_error *err);

/* NJ_E_STATE for a record that is too short. */
enum nj_status nj_run_identity_decode(const struct nj_record *record,
                                      struct nj_run_identity *identity, struct nj_error *err);

/* But for the generation. */
bool nj_run_identity_equal(const struct nj_run_identity *a, const struct nj_run_identity *b);

/* Why a folder may not be continued; in the order in which it is looked at. */
enum nj_run_change {
    NJ_CHANGE_NONE,
    NJ_CHANGE_MODEL,
    NJ_CHANGE_NUMERICS,
    NJ_CHANGE_LATENT_NORM_EPS,
    NJ_CHANGE_JOB_SEED,
    NJ_CHANGE_FEWER_ITEMS,
    NJ_CHANGE_ITEMS
};

/* `items_before` is the chain over as many of today's items as the earlier run had: items that
 * were only appended are the same job. */
enum nj_run_change nj_run_identity_compare(const struct nj_run_identity *earlier,
                                           const struct nj_run_identity *now,
                                           const struct nj_digest *items_before);

/* NJ_E_STATE naming what changed, from what to what, and the flags that go on anyway.
 * `first_item` says it of items, and may be empty. */
enum nj_status nj_run_identity_refuse(enum nj_run_change change,
                                      const struct nj_run_identity *earlier,
                                      const struct nj_run_identity *now, const char *first_item,
                                      const char *folder_path, struct nj_error *err);

/* SHA-256 of a file of any size. */
enum nj_status nj_file_digest(const struct nj_file_system *fs, int directory_fd,
                              const char *name, struct nj_digest *digest, struct nj_error *err);

#endif
