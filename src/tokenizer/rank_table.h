/* The ordinary tokens of a vocabulary: bytes by rank, and rank by bytes.
 *
 * Read from `tiktoken.model`, whose lines are `base64(bytes) SPACE rank`; rank and token id are
 * the same number. The table lives in an arena and is constant once parsed.
 */
#ifndef NJ_TOKENIZER_RANK_TABLE_H
#define NJ_TOKENIZER_RANK_TABLE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "base/value_types.h"

#define NJ_RANK_FILE "tiktoken.model"

/* Invariants: every rank below n_ranks has its own, non-empty bytes; each of the 256 single
 * bytes is a token; slots (a power of two of them, at most half in use) hold rank + 1, or 0. */
struct nj_rank_table {
    uint32_t n_ranks;
    size_t longest_bytes;
    struct nj_bytes *pieces; /* (n_ranks) */
    uint32_t *slots;
    uint32_t slot_mask;
};

/* NJ_E_WEIGHTS names file and line. The lines may come in any order of ranks; the ranks must be
 * 0 .. lines - 1. */
enum nj_status nj_rank_table_parse(struct nj_bytes content, struct nj_arena *arena,
                                   struct nj_rank_table *table, struct nj_error *err);

/* The token whose bytes are exactly these, or -1. */
nj_token nj_rank_table_find(const struct nj_rank_table *table, struct nj_bytes bytes);

#endif
