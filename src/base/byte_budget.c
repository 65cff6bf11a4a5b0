#include "base/byte_budget.h"

#include <assert.h>
#include <inttypes.h>

void nj_byte_budget_init(struct nj_byte_budget *budget, uint64_t ceiling_bytes)
{
    *budget = (struct nj_byte_budget){.ceiling_bytes = ceiling_bytes};
}

void nj_byte_budget_deinit(struct nj_byte_budget *budget)
{
    assert(budget->held_bytes == 0);
    *budget = (struct nj_byte_budget){.ceiling_bytes = 0};
}

enum nj_status nj_byte_budget_take(struct nj_byte_budget *budget, uint64_t bytes,
                                   struct nj_error *err)
{
    uint64_t left_bytes = budget->ceiling_bytes - budget->held_bytes;
    if (bytes > left_bytes) {
        return nj_fail(err, NJ_E_BUDGET,
                       "needs %" PRIu64 " bytes, but %" PRIu64 " of the budget of %" PRIu64
                       " bytes are left (%" PRIu64 " missing)",
                       bytes, left_bytes, budget->ceiling_bytes, bytes - left_bytes);
    }
    budget->held_bytes += bytes;
    if (budget->held_bytes > budget->peak_bytes) {
        budget->peak_bytes = budget->held_bytes;
    }
    return NJ_OK;
}

void nj_byte_budget_give_back(struct nj_byte_budget *budget, uint64_t bytes)
{
    assert(bytes <= budget->held_bytes);
    budget->held_bytes -= bytes;
}
