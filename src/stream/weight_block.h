/* One large block of memory for weights, paid for in the budget before it is taken.
 *
 * Threads: one at a time.
 */
#ifndef NJ_STREAM_WEIGHT_BLOCK_H
#define NJ_STREAM_WEIGHT_BLOCK_H

#include <stdint.h>

#include "base/byte_budget.h"
#include "base/status.h"

struct nj_weight_block {
    uint8_t *bytes; /* at a page; NULL when empty */
    uint64_t length_bytes;
    struct nj_byte_budget *budget;
};

/* Memory is touched only when it is used. `length_bytes` is a multiple of the page; 0 takes
 * nothing. NJ_E_BUDGET begins with `what` and has both figures; NJ_E_MEMORY. */
enum nj_status nj_weight_block_take(struct nj_weight_block *block, uint64_t length_bytes,
                                    struct nj_byte_budget *budget, const char *what,
                                    struct nj_error *err);
void nj_weight_block_give_back(struct nj_weight_block *block);

#endif
