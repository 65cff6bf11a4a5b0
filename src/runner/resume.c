#include "runner/resume.h"

#include <string.h>

#include "base/random.h"
#include "runner/journal.h"
#include "runner/result_log.h"
#include "runner/token_log.h"

static enum nj_status open_log(struct nj_log_file *file, const struct nj_run_logs_place *place,
                               const char *name, uint32_t kind, uint32_t version,
                               nj_record_visit *visit, void *context, struct nj_error *err)
{
    struct nj_log_file_place log = {
        .fs = place->fs, .directory_fd = place->directory_fd, .name = name, .log = place->log};
    uint32_t counter[4] = {kind, version, 0, 0};
    uint32_t key[2] = {(uint32_t)place->entropy, (uint32_t)(place->entropy >> 32)};
    uint32_t drawn[4];
    nj_philox4x32_10(counter, key, drawn);
    log.identity.kind = kind;
    log.identity.format_version = version;
    log.identity.salt = drawn[0] | (uint64_t)drawn[1] << 32;
    memcpy(log.identity.fingerprint, place->model.bytes, NJ_DIGEST_BYTES);
    return nj_log_file_open(file, &log, visit, context, err);
}

enum nj_status nj_run_logs_open_journal(struct nj_run_logs *logs,
                                        const struct nj_run_logs_place *place,
                                        struct nj_history *history, struct nj_error *err)
{
    logs->place = *place;
    return open_log(&logs->journal, place, "journal.log", NJ_JOURNAL_KIND, NJ_JOURNAL_VERSION,
                    nj_history_visit, history, err);
}

static enum nj_status visit_result(void *context, const struct nj_record *record,
                                   struct nj_error *err)
{
    struct nj_ledger *ledger = context;
    struct nj_result_record result;
    bool is_result = false;
    enum nj_status status = nj_result_record_decode(record, &result, &is_result, err);
    if (status != NJ_OK || !is_result || result.item_index >= ledger->n_items) {
        return status;
    }
    const struct nj_digest *wanted = &ledger->items[result.item_index].digest;
    if (memcmp(wanted->bytes, result.item_digest.bytes, NJ_DIGEST_BYTES) == 0) {
        nj_ledger_set_done(ledger, result.item_index, result.is_ok,
                           record->offset_bytes + NJ_RECORD_HEADER_BYTES +
                               NJ_RESULT_PREFIX_BYTES,
                           (uint32_t)result.line.length_bytes);
    }
    return NJ_OK;
}

static enum nj_status restore_token(void *context, const struct nj_token_entry *entry,
                                    struct nj_error *err)
{
    struct nj_ledger *ledger = context;
    return nj_ledger_restore(ledger, entry, err);
}

static enum nj_status visit_tokens(void *context, const struct nj_record *record,
                                   struct nj_error *err)
{
    return nj_token_record_decode(record, restore_token, context, err);
}

static enum nj_status adopt_results(struct nj_run_logs *logs, const struct nj_ledger *ledger,
                                    const struct nj_history *history, struct nj_error *err)
{
    for (uint64_t i = 0; i < ledger->n_items; i++) {
        uint8_t state = ledger->items[i].state;
        bool is_marked = nj_history_is_marked(history, i);
        if (is_marked && state == NJ_ITEM_OPEN) {
            nj_log_write(logs->place.log, NJ_LOG_WARNING,
                         "item %llu is marked done, but has no result: it is done again",
                         (unsigned long long)i);
        }
        if (is_marked || state == NJ_ITEM_OPEN) {
            continue;
        }
        struct nj_journal_entry entry = {
            .type = NJ_JOURNAL_DONE, .item_index = i, .is_ok = state == NJ_ITEM_OK};
        enum nj_status status = nj_journal_append(&logs->journal, &entry, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return nj_log_file_sync(&logs->journal, err);
}

enum nj_status nj_run_logs_open_rest(struct nj_run_logs *logs, struct nj_ledger *ledger,
                                     const struct nj_history *history, struct nj_error *err)
{
    enum nj_status status =
        open_log(&logs->results, &logs->place, "results.log", NJ_RESULT_LOG_KIND,
                 NJ_RESULT_LOG_VERSION, visit_result, ledger, err);
    if (status == NJ_OK) {
        status = open_log(&logs->tokens, &logs->place, "tokens.log", NJ_TOKEN_LOG_KIND,
                          NJ_TOKEN_LOG_VERSION, visit_tokens, ledger, err);
    }
    return status == NJ_OK ? adopt_results(logs, ledger, history, err) : status;
}

void nj_run_logs_close(struct nj_run_logs *logs)
{
    nj_log_file_close(&logs->tokens);
    nj_log_file_close(&logs->results);
    nj_log_file_close(&logs->journal);
}
