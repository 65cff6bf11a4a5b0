/* The seed of an item that is given none: a function of the job's seed and the item's identity,
 * so that it depends on no order, batch, limit or resume. */
#ifndef NJ_JOB_ITEM_SEED_H
#define NJ_JOB_ITEM_SEED_H

#include <stdint.h>

#include "base/status.h"

/* Indices before any limit or reordering; a kind that the job does not have is 0. */
struct nj_item_identity {
    uint64_t prompt_index;
    uint64_t row_index;
    uint64_t cell_index; /* of the matrix */
    uint64_t repeat_index;
};

/* Seeds have 53 bits: readers of JSON that hold numbers as doubles keep every digit, so a seed
 * that was copied out of a result gives the same answer again. */
#define NJ_SEED_MOST ((UINT64_C(1) << 53) - 1)

/* The upper 53 bits of the first 8 bytes, little-endian, of SHA-256 over the text "nightjar
 * item seed 1" and then job_seed, prompt, row, cell and repeat as little-endian 64-bit numbers.
 */
enum nj_status nj_item_seed(uint64_t job_seed, const struct nj_item_identity *identity,
                            uint64_t *seed, struct nj_error *err);

#endif
