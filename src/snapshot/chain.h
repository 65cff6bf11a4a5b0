/* What an item's folder holds, as far as the next snapshot needs to know it.
 *
 * The latent cache only grows, so a segment stores its new positions and names the one before
 * it, back to a base. The recurrent part is whole in each: in all but the newest it lies dead.
 */
#ifndef NJ_SNAPSHOT_CHAIN_H
#define NJ_SNAPSHOT_CHAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "model/dims.h"

/* A chain is read from as many files. */
enum { NJ_CHAIN_SEGMENTS_LIMIT = 32 };

/* Zeroed: an empty folder. */
struct nj_snapshot_chain {
    uint64_t number;          /* the newest durable segment; 0: none */
    uint64_t previous_number; /* the snapshot before it; 0: none */
    uint64_t highest_number;  /* ever used in the folder */
    uint32_t chain;           /* of the newest: what its successor names */
    uint32_t n_positions;     /* that the newest holds, with what it chains to */
    uint32_t n_segments;      /* from base to newest */
};

/* Bytes of the latent cache of so many positions, and of all that a base of them stores. */
uint64_t nj_chain_kv_bytes(const struct nj_dims *dims, uint32_t n_positions);
uint64_t nj_chain_base_bytes(const struct nj_dims *dims, uint32_t n_positions);

/* Whether the next segment should be a base: there is no chain, it is as long as may be, or the
 * recurrent parts that would then lie dead in it come to more than the latent cache that a base
 * stores again. */
bool nj_chain_wants_base(const struct nj_snapshot_chain *chain, const struct nj_dims *dims,
                         uint32_t n_positions);

/* A segment of this number became durable. */
void nj_chain_advance(struct nj_snapshot_chain *chain, uint64_t number, uint32_t chain_value,
                      uint32_t n_positions, bool is_base);

#endif
