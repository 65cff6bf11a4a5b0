/* Byte-pair merging of one piece.
 *
 * The piece starts as single bytes; the adjacent pair whose bytes together have the lowest rank
 * becomes one, leftmost first where ranks are equal, until no pair is a token. A heap keeps the
 * candidates, so n bytes take O(n log n) look-ups: a run of 25,000 letters is one piece.
 *
 * Threads: one owner; the memory is kept from piece to piece.
 */
#ifndef NJ_TOKENIZER_MERGE_H
#define NJ_TOKENIZER_MERGE_H

#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"
#include "tokenizer/rank_table.h"
#include "tokenizer/tokenizer.h"

struct nj_merge_symbol;
struct nj_merge_candidate;

/* Zeroed is valid and empty. */
struct nj_merge {
    struct nj_merge_symbol *symbols;
    size_t symbols_capacity;
    struct nj_merge_candidate *heap;
    size_t n_heap;
    size_t heap_capacity;
};

void nj_merge_deinit(struct nj_merge *merge);

/* Appends the ids of the piece (of fewer than 2^31 bytes). On failure the list may hold some of
 * them. */
enum nj_status nj_merge_piece(struct nj_merge *merge, const struct nj_rank_table *table,
                              struct nj_bytes piece, struct nj_token_list *list,
                              struct nj_error *err);

#endif
