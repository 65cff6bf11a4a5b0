/* States of prefixes that prompts to come will begin with, kept in memory.
 *
 * Only a cache: what is not there is computed again. It holds no more than its bound, and gives
 * up first what nobody is expected to want, then what was not used for longest.
 *
 * Threads: one owner.
 */
#ifndef NJ_GENERATE_PREFIX_SHELF_H
#define NJ_GENERATE_PREFIX_SHELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/value_types.h"
#include "generate/prefix_tree.h"
#include "model/state.h"

/* Entries at most, whatever their size. */
enum { NJ_PREFIX_SHELF_ENTRIES = 64 };

/* A state and the ids that it has read. */
struct nj_prefix_entry {
    nj_token *ids;
    uint32_t n_ids;
    struct nj_state *state;
    uint64_t n_bytes;     /* counted against the bound */
    uint64_t cost_ns;     /* what reading the ids took; 0: not measured */
    uint64_t used;        /* the shelf's clock when it was last used */
    bool is_from_storage; /* or written there already */
};

/* Zeroed, then with its first three members filled in, is empty. */
struct nj_prefix_shelf {
    const struct nj_dims *dims;
    const struct nj_prefix_tree *tree; /* who is still to come; borrowed */
    uint64_t limit_bytes;
    struct nj_prefix_entry entries[NJ_PREFIX_SHELF_ENTRIES];
    size_t n_entries;
    uint64_t held_bytes;
    uint64_t peak_bytes;
    uint64_t clock;
};

void nj_prefix_shelf_deinit(struct nj_prefix_shelf *shelf);

/* What a state of so many ids counts: as if it owned all of its pages. */
uint64_t nj_prefix_state_bytes(const struct nj_dims *dims, uint32_t n_ids);

/* The entry with the most ids, at most `n_ids`, that `ids` begin with; NULL: there is none.
 * Valid until the shelf changes. */
const struct nj_prefix_entry *nj_prefix_shelf_find(const struct nj_prefix_shelf *shelf,
                                                   const nj_token *ids, uint32_t n_ids);
/* It served somebody. */
void nj_prefix_shelf_use(struct nj_prefix_shelf *shelf, const struct nj_prefix_entry *entry);

/* Whether a state of so many ids, wanted by so many prompts to come, could be kept. */
bool nj_prefix_shelf_has_room(const struct nj_prefix_shelf *shelf, uint32_t n_ids,
                              uint64_t n_to_come);

/* Keeps a fork of `state`, which has read `ids`, in the place of what is worth less. Returns
 * the entry, or NULL: there was no room. */
struct nj_prefix_entry *nj_prefix_shelf_put(struct nj_prefix_shelf *shelf, const nj_token *ids,
                                            const struct nj_state *state, uint64_t n_to_come);

/* Gives up the entry that is worth least; false when there is none. */
bool nj_prefix_shelf_drop(struct nj_prefix_shelf *shelf);

#endif
