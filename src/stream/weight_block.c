#include "stream/weight_block.h"

#include <inttypes.h>
#include <stddef.h>
#include <sys/mman.h>

enum { HUGE_PAGE_BYTES = 2 * 1024 * 1024 };

enum nj_status nj_weight_block_take(struct nj_weight_block *block, uint64_t length_bytes,
                                    struct nj_byte_budget *budget, const char *what,
                                    struct nj_error *err)
{
    *block = (struct nj_weight_block){.budget = budget};
    if (length_bytes == 0) {
        return NJ_OK;
    }
    enum nj_status status = nj_byte_budget_take(budget, length_bytes, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "%s", what);
    }
    void *bytes = mmap(NULL, (size_t)length_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) {
        nj_byte_budget_give_back(budget, length_bytes);
        return nj_fail(err, NJ_E_MEMORY, "%s: no memory for %" PRIu64 " bytes", what,
                       length_bytes);
    }
    if (length_bytes >= HUGE_PAGE_BYTES) {
        (void)madvise(bytes, (size_t)length_bytes, MADV_HUGEPAGE); /* only faster */
    }
    block->bytes = bytes;
    block->length_bytes = length_bytes;
    return NJ_OK;
}

void nj_weight_block_give_back(struct nj_weight_block *block)
{
    if (block->bytes != NULL) {
        (void)munmap(block->bytes, (size_t)block->length_bytes); /* cannot fail: ours, whole */
        nj_byte_budget_give_back(block->budget, block->length_bytes);
    }
    *block = (struct nj_weight_block){.bytes = NULL};
}
