/* What must match for a stored state to be the state of this item of this run.
 *
 * Weights, numerics, options, prompt and seed decide every bit; build, threads, memory, batch
 * and instruction set decide none, so they are not here. Everything stands in the segment's
 * file header field by field, so that a refusal can name what differs.
 */
#ifndef NJ_SNAPSHOT_FINGERPRINT_H
#define NJ_SNAPSHOT_FINGERPRINT_H

#include "base/digest.h"
#include "base/status.h"
#include "format/segment.h"

/* Whose state: one item of a run. */
struct nj_snapshot_identity {
    uint8_t job[NJ_SEGMENT_JOB_BYTES]; /* zeros where jobs have no name of their own */
    uint64_t item_index;
    struct nj_digest
        item; /* prompt, options, seed, model, numerics: run-folder.md, section 3 */
    uint32_t sample;
    uint32_t numerics_version;
    float latent_norm_eps;
    struct nj_digest weights;
    struct nj_digest template; /* zeros without one */
};

/* A file header that says so; number, previous segment and salt are zero. */
struct nj_segment_header nj_snapshot_header(const struct nj_snapshot_identity *identity);

/* NJ_E_STATE naming the first field that differs. */
enum nj_status nj_snapshot_identity_check(const struct nj_segment_header *found,
                                          const struct nj_snapshot_identity *wanted,
                                          struct nj_error *err);

#endif
