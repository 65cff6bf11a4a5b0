/* Payloads from anywhere in the logs of a run folder, behind checksums that are right.
 *
 * Links: runner/token_log.c runner/journal.c runner/result_log.c runner/identity.c
 * Links: runner/history.c runner/log_*.c runner/held_records.c runner/quarantine.c
 * Links: runner/pending_file.c format/record_log.c format/checksum.c
 *
 * The input is a list of records: a byte each for log, type and length, then the payload. Each
 * is decoded; what is taken as ids or a result and written again must be the same bytes, and
 * what the journal says is remembered in memory bounded by what was read.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/history.h"
#include "runner/journal.h"
#include "runner/result_log.h"
#include "runner/token_log.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

enum { PAYLOAD_LIMIT_BYTES = 255, ENTRIES_LIMIT = PAYLOAD_LIMIT_BYTES / NJ_TOKEN_ENTRY_BYTES };

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct entries {
    struct nj_token_entry items[ENTRIES_LIMIT];
    size_t n_items;
};

static enum nj_status keep_entry(void *context, const struct nj_token_entry *entry,
                                 struct nj_error *err)
{
    struct entries *entries = context;
    (void)err;
    require(entries->n_items < ENTRIES_LIMIT && entry->n_top <= NJ_MAX_TOP_LOGPROBS);
    entries->items[entries->n_items++] = *entry;
    return NJ_OK;
}

static void check_ids(const struct nj_record *record)
{
    struct entries entries = {.n_items = 0};
    uint8_t again[ENTRIES_LIMIT * NJ_TOKEN_ENTRY_LIMIT_BYTES];
    enum nj_status status = nj_token_record_decode(record, keep_entry, &entries, NULL);
    require(status == NJ_OK || status == NJ_E_STATE);
    size_t n_bytes = nj_token_entries_encode(entries.items, entries.n_items, again);
    require(n_bytes <= record->payload.length_bytes);
    require(memcmp(again, record->payload.data, n_bytes) == 0);
    require(status != NJ_OK || record->type != NJ_TOKEN_RECORD_SWEEP ||
            n_bytes == record->payload.length_bytes);
}

static void check_result(const struct nj_record *record)
{
    uint8_t again[PAYLOAD_LIMIT_BYTES + NJ_RESULT_PREFIX_BYTES];
    struct nj_result_record result;
    bool is_result = false;
    enum nj_status status = nj_result_record_decode(record, &result, &is_result, NULL);
    require(status == NJ_OK || status == NJ_E_STATE);
    if (status != NJ_OK || !is_result) {
        return;
    }
    enum { OK_OFFSET = 12, OK_END = 16 }; /* any number but 1 means failed */
    nj_result_record_encode(&result, again);
    require(NJ_RESULT_PREFIX_BYTES + result.line.length_bytes == record->payload.length_bytes);
    require(memcmp(again, record->payload.data, OK_OFFSET) == 0);
    require(memcmp(again + OK_END, record->payload.data + OK_END,
                   record->payload.length_bytes - OK_END) == 0);
}

static void check_journal(const struct nj_record *record, struct nj_history *history)
{
    struct nj_journal_entry entry;
    bool is_known = false;
    enum nj_status status = nj_journal_decode(record, &entry, &is_known, NULL);
    require(status == NJ_OK || status == NJ_E_STATE);
    require(nj_history_visit(history, record, NULL) == status);
}

static void check_record(const struct nj_record *record, uint8_t log,
                         struct nj_history *history)
{
    struct nj_run_identity identity;
    switch (log % 4) {
    case 0:
        check_ids(record);
        break;
    case 1:
        check_result(record);
        break;
    case 2:
        check_journal(record, history);
        break;
    default:
        if (nj_run_identity_decode(record, &identity, NULL) == NJ_OK) {
            nj_history_identify(history, (enum nj_run_log)(log / 4 % NJ_N_RUN_LOGS), &identity);
        }
        break;
    }
}

static void check_history(const struct nj_history *history)
{
    struct nj_json_writer writer;
    struct nj_text text;
    struct nj_json *document = NULL;
    nj_json_writer_init(&writer);
    nj_history_write(history, &writer);
    require(nj_json_finish(&writer, &text, NULL) == NJ_OK);
    struct nj_error error;
    if (nj_json_parse(text, "history", &document, &error) != NJ_OK) {
        require(strstr(error.text, "too big") != NULL); /* a count above 2^63 */
    }
    nj_json_destroy(document);
    nj_json_writer_deinit(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    struct nj_history history = {0};
    uint64_t sequence = 0;
    size_t at = 0;
    while (at + 3 <= length_bytes) {
        size_t left = length_bytes - at - 3;
        size_t n_bytes = data[at + 2] < left ? data[at + 2] : left;
        uint8_t *payload = malloc(n_bytes + 1); /* so that a read past its end is seen */
        require(payload != NULL);
        memcpy(payload, data + at + 3, n_bytes);
        struct nj_record record = {
            .type = data[at + 1] % 16, .sequence = sequence++, .payload = {payload, n_bytes}};
        check_record(&record, data[at], &history);
        free(payload);
        at += 3 + n_bytes;
    }
    check_history(&history);
    nj_history_deinit(&history);
    return 0;
}
