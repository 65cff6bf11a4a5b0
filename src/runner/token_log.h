/* tokens.log: the ids that every sweep chose, durable before anyone sees them.
 *
 * One record a sweep, with one entry per sequence that chose an id. The log is the truth: a
 * sequence's state is rebuilt from its prompt and these ids. An entry is tied to its prompt,
 * options, model and numbers by the item's tag, so that ids chosen for something else are never
 * taken.
 *
 * File: docs/formats/token-log.md.
 */
#ifndef NJ_RUNNER_TOKEN_LOG_H
#define NJ_RUNNER_TOKEN_LOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "base/value_types.h"
#include "format/record_log.h"
#include "nightjar/generate.h"

enum {
    NJ_TOKEN_LOG_VERSION = 1,
    NJ_TOKEN_LOG_KIND = 'T' | 'O' << 8 | 'K' << 16 | 'S' << 24,
    NJ_TOKEN_RECORD_SWEEP = 1,
    NJ_TOKEN_RECORD_IDENTITY = 2, /* as in the journal */
    NJ_TOKEN_ENTRY_BYTES = 36,    /* without alternatives */
    NJ_TOKEN_ALTERNATIVE_BYTES = 8,
    NJ_TOKEN_ENTRY_LIMIT_BYTES =
        NJ_TOKEN_ENTRY_BYTES + NJ_MAX_TOP_LOGPROBS * NJ_TOKEN_ALTERNATIVE_BYTES
};

struct nj_token_entry {
    uint64_t item_index;
    uint64_t item_tag; /* nj_item_tag of the item's digest */
    uint32_t sample;
    uint32_t position; /* counted from the prompt's first id */
    nj_token token;
    float logprob;
    uint32_t n_top;
    struct nj_token_logprob top[NJ_MAX_TOP_LOGPROBS]; /* alternatives, likeliest first */
};

/* `out` has room for n_entries * NJ_TOKEN_ENTRY_LIMIT_BYTES; returns the bytes written. */
size_t nj_token_entries_encode(const struct nj_token_entry *entries, size_t n_entries,
                               uint8_t *out);

typedef enum nj_status nj_token_entry_visit(void *context, const struct nj_token_entry *entry,
                                            struct nj_error *err);

/* Visits the entries of one record. NJ_E_STATE for a record that verifies and yet makes no
 * sense: a log of this version never holds one. */
enum nj_status nj_token_record_decode(const struct nj_record *record,
                                      nj_token_entry_visit *visit, void *context,
                                      struct nj_error *err);

#endif
