/* results.log: one finished item per record, the line that people get and what it belongs to.
 *
 * The first durable result of an item wins; a result without a done mark in the journal is
 * adopted. results.jsonl and live.jsonl are derived from this log.
 *
 * File: docs/formats/results.md.
 */
#ifndef NJ_RUNNER_RESULT_LOG_H
#define NJ_RUNNER_RESULT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/digest.h"
#include "base/status.h"
#include "base/text.h"
#include "format/record_log.h"

enum {
    NJ_RESULT_LOG_VERSION = 1,
    NJ_RESULT_LOG_KIND = 'R' | 'E' << 8 | 'S' << 16 | 'L' << 24,
    NJ_RESULT_RECORD_ITEM = 1,
    NJ_RESULT_RECORD_IDENTITY = 2, /* as in the journal: what the items after it belong to */
    NJ_RESULT_PREFIX_BYTES = 48    /* before the line */
};

struct nj_result_record {
    uint64_t item_index;
    uint32_t sample;
    bool is_ok;
    struct nj_digest item_digest;
    struct nj_text line; /* one JSON object, no newline */
};

/* `out` has room for NJ_RESULT_PREFIX_BYTES + the line's length. */
void nj_result_record_encode(const struct nj_result_record *result, uint8_t *out);

/* `*is_result` false for a record type that this version does not know. The line is a view. */
enum nj_status nj_result_record_decode(const struct nj_record *record,
                                       struct nj_result_record *result, bool *is_result,
                                       struct nj_error *err);

#endif
