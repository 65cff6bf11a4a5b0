#include "snapshot/chain.h"

#include "model/state.h"

uint64_t nj_chain_kv_bytes(const struct nj_dims *dims, uint32_t n_positions)
{
    return nj_state_page_bytes(dims) / NJ_PAGE_POSITIONS * n_positions;
}

uint64_t nj_chain_base_bytes(const struct nj_dims *dims, uint32_t n_positions)
{
    return nj_state_recurrent_bytes(dims) + nj_chain_kv_bytes(dims, n_positions);
}

bool nj_chain_wants_base(const struct nj_snapshot_chain *chain, const struct nj_dims *dims,
                         uint32_t n_positions)
{
    if (chain->number == 0 || chain->n_positions > n_positions ||
        chain->n_segments >= NJ_CHAIN_SEGMENTS_LIMIT) {
        return true;
    }
    uint64_t dead_bytes = chain->n_segments * nj_state_recurrent_bytes(dims);
    return dead_bytes > nj_chain_kv_bytes(dims, chain->n_positions);
}

void nj_chain_advance(struct nj_snapshot_chain *chain, uint64_t number, uint32_t chain_value,
                      uint32_t n_positions, bool is_base)
{
    chain->previous_number = chain->number;
    chain->number = number;
    chain->chain = chain_value;
    chain->n_positions = n_positions;
    chain->n_segments = is_base ? 1 : chain->n_segments + 1;
    if (number > chain->highest_number) {
        chain->highest_number = number;
    }
}
