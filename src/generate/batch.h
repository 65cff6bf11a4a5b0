/* Which rows the next sweep holds: policy only, it never changes a bit.
 *
 * Every sequence that waits for one token gets its row first, in the order given; prompts share
 * what is left, in the same order, at most `prefill_chunk` rows each. A sequence that waits for
 * another has none, and one that is to be forked stops there (generate/prefix_sharing).
 */
#ifndef NJ_GENERATE_BATCH_H
#define NJ_GENERATE_BATCH_H

#include <stdint.h>

#include "generate/sequence.h"
#include "model/sweep.h"

/* Rows of one sequence: they stand together. */
struct nj_batch_share {
    struct nj_sequence *sequence;
    uint32_t first_row;
    uint32_t n_rows;
    bool wants_logits; /* its last row is the last pending id */
};

struct nj_batch_limits {
    uint32_t max_rows;
    uint32_t prefill_chunk; /* 0: no limit */
};

/* Plans rows and shares for the sequences that are not finished. `rows` has room for max_rows,
 * `shares` for n_sequences. */
void nj_batch_plan(struct nj_sequence *const *sequences, uint32_t n_sequences,
                   const struct nj_batch_limits *limits, struct nj_row *rows, uint32_t *n_rows,
                   struct nj_batch_share *shares, uint32_t *n_shares);

#endif
