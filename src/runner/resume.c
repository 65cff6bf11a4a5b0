#include "runner/resume.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "runner/journal.h"
#include "runner/result_log.h"
#include "runner/token_log.h"

struct log_kind {
    const char *name;
    uint32_t kind;
    uint32_t version;
    uint32_t identity_type; /* of its identity records */
    uint32_t item_type;     /* of the records that were drawn with a seed; 0: it has none */
};

static const struct log_kind kinds[NJ_N_RUN_LOGS] = {
    [NJ_LOG_JOURNAL] = {"journal.log", NJ_JOURNAL_KIND, NJ_JOURNAL_VERSION, NJ_JOURNAL_IDENTITY,
                        0},
    [NJ_LOG_RESULTS] = {"results.log", NJ_RESULT_LOG_KIND, NJ_RESULT_LOG_VERSION,
                        NJ_RESULT_RECORD_IDENTITY, NJ_RESULT_RECORD_ITEM},
    [NJ_LOG_TOKENS] = {"tokens.log", NJ_TOKEN_LOG_KIND, NJ_TOKEN_LOG_VERSION,
                       NJ_TOKEN_RECORD_IDENTITY, NJ_TOKEN_RECORD_SWEEP}};

static struct nj_log_file_place place_of(const struct nj_run_logs_place *place,
                                         enum nj_run_log log)
{
    const struct log_kind *kind = &kinds[log];
    struct nj_log_file_place file = {.fs = place->fs,
                                     .directory_fd = place->directory_fd,
                                     .name = kind->name,
                                     .log = place->log};
    uint32_t counter[4] = {kind->kind, kind->version, 0, 0};
    uint32_t key[2] = {(uint32_t)place->entropy, (uint32_t)(place->entropy >> 32)};
    uint32_t drawn[4];
    nj_philox4x32_10(counter, key, drawn);
    file.identity.kind = kind->kind;
    file.identity.format_version = kind->version;
    file.identity.salt = drawn[0] | (uint64_t)drawn[1] << 32;
    memcpy(file.identity.fingerprint, place->model.bytes, NJ_DIGEST_BYTES);
    return file;
}

/* One log of items as it is read. */
struct reading {
    struct nj_history *history;
    struct nj_findings *findings;
    enum nj_run_log log;
    const struct nj_log_found *found; /* which segment is read */
    uint32_t n_vocabulary;
};

static enum nj_status visit_identity(const struct reading *reading,
                                     const struct nj_record *record, struct nj_error *err)
{
    struct nj_run_identity identity;
    enum nj_status status = nj_run_identity_decode(record, &identity, err);
    if (status == NJ_OK) {
        nj_history_identify(reading->history, reading->log, &identity);
        reading->findings->generation = reading->history->generations[reading->log];
    }
    return status;
}

static enum nj_status visit_result(const struct reading *reading,
                                   const struct nj_record *record, struct nj_error *err)
{
    struct nj_result_record result;
    bool is_result = false;
    struct nj_log_spot payload = {.segment = reading->found->segment,
                                  .n_bytes = (uint32_t)record->payload.length_bytes,
                                  .offset_bytes =
                                      record->offset_bytes + NJ_RECORD_HEADER_BYTES};
    enum nj_status status = nj_result_record_decode(record, &result, &is_result, err);
    return status == NJ_OK && is_result
               ? nj_findings_add_result(reading->findings, &result, payload, err)
               : status;
}

static enum nj_status visit_id(void *context, const struct nj_token_entry *entry,
                               struct nj_error *err)
{
    const struct reading *reading = context;
    if (entry->token < 0 || (uint32_t)entry->token >= reading->n_vocabulary) {
        return nj_fail(err, NJ_E_STATE,
                       "tokens.log: id %ld was never chosen, the model has %lu",
                       (long)entry->token, (unsigned long)reading->n_vocabulary);
    }
    return nj_findings_add_id(reading->findings, entry, err);
}

static enum nj_status visit_items(void *context, const struct nj_record *record,
                                  struct nj_error *err)
{
    struct reading *reading = context;
    const struct log_kind *kind = &kinds[reading->log];
    if (record->type == kind->identity_type) {
        return visit_identity(reading, record, err);
    }
    if (record->type != kind->item_type) {
        return NJ_OK; /* a kind that a later version of the same format may add */
    }
    enum nj_status status = reading->log == NJ_LOG_RESULTS
                                ? visit_result(reading, record, err)
                                : nj_token_record_decode(record, visit_id, reading, err);
    if (status == NJ_OK) {
        reading->history->n_item_records++;
    }
    return status;
}

enum nj_status nj_run_logs_read(struct nj_run_logs *logs, const struct nj_run_logs_place *place,
                                struct nj_history *history, struct nj_error *err)
{
    logs->place = *place;
    struct nj_log_file_place journal = place_of(place, NJ_LOG_JOURNAL);
    enum nj_status status = nj_log_file_read(&journal, nj_history_visit, history,
                                             &logs->found[NJ_LOG_JOURNAL], err);
    for (enum nj_run_log log = NJ_LOG_RESULTS; log < NJ_N_RUN_LOGS && status == NJ_OK; log++) {
        struct reading reading = {.history = history,
                                  .findings = &logs->findings,
                                  .log = log,
                                  .found = &logs->found[log],
                                  .n_vocabulary = place->n_vocabulary};
        struct nj_log_file_place file = place_of(place, log);
        status = nj_log_file_read(&file, visit_items, &reading, &logs->found[log], err);
    }
    return status;
}

enum nj_status nj_run_logs_enter(struct nj_run_logs *logs, struct nj_ledger *ledger,
                                 uint64_t item_timeout_ns, struct nj_error *err)
{
    enum nj_status status = nj_findings_enter(&logs->findings, ledger, item_timeout_ns, err);
    nj_findings_deinit(&logs->findings);
    return status;
}

enum nj_status nj_run_logs_open(struct nj_run_logs *logs, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (enum nj_run_log log = 0; log < NJ_N_RUN_LOGS && status == NJ_OK; log++) {
        struct nj_log_file_place file = place_of(&logs->place, log);
        status = nj_log_file_recover(&logs->files[log], &file, &logs->found[log], err);
    }
    return status;
}

enum nj_status nj_run_logs_identify(struct nj_run_logs *logs, struct nj_history *history,
                                    struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (enum nj_run_log log = 0; log < NJ_N_RUN_LOGS && status == NJ_OK; log++) {
        if (history->generations[log] == history->identity.generation) {
            continue;
        }
        status = nj_run_identity_append(&logs->files[log], kinds[log].identity_type,
                                        &history->identity, err);
        if (status == NJ_OK) {
            status = nj_log_file_sync(&logs->files[log], err);
        }
        if (status == NJ_OK) {
            history->generations[log] = history->identity.generation;
        }
    }
    return status;
}

/* Items that the journal marks done, and that are open all the same. */
struct reopened {
    uint64_t n_items;
    uint64_t first;
};

static void note_reopened(struct reopened *reopened, uint64_t item_index)
{
    reopened->first = reopened->n_items++ == 0 ? item_index : reopened->first;
}

/* One sentence each, however many there are. */
static void tell_reopened(const struct nj_log *log, const struct reopened *timed_out,
                          const struct reopened *unproven)
{
    if (timed_out->n_items > 0) {
        nj_log_write(log, NJ_LOG_INFO,
                     "%llu items had timed out under another `budget.item_timeout` (the first "
                     "is item %llu): they are taken up again",
                     (unsigned long long)timed_out->n_items,
                     (unsigned long long)timed_out->first);
    }
    if (unproven->n_items > 0) {
        nj_log_write(log, NJ_LOG_WARNING,
                     "%llu items are marked done, but have no result (the first is item %llu): "
                     "they are done again",
                     (unsigned long long)unproven->n_items,
                     (unsigned long long)unproven->first);
    }
}

/* An item that is done has its mark, or gets it; a mark without a result means nothing. */
static enum nj_status adopt_items(struct nj_run_logs *logs, const struct nj_ledger *ledger,
                                  const uint8_t *is_marked, struct nj_error *err)
{
    struct reopened timed_out = {0};
    struct reopened unproven = {0};
    for (uint64_t i = 0; i < ledger->n_items; i++) {
        const struct nj_ledger_item *item = &ledger->items[i];
        if (is_marked[i] != 0 && item->state == NJ_ITEM_OPEN) {
            note_reopened(item->had_timed_out ? &timed_out : &unproven, i);
        }
        if (is_marked[i] != 0 || item->state == NJ_ITEM_OPEN) {
            continue;
        }
        struct nj_journal_entry entry = {
            .type = NJ_JOURNAL_DONE, .item_index = i, .is_ok = item->state == NJ_ITEM_OK};
        enum nj_status status = nj_journal_append(&logs->files[NJ_LOG_JOURNAL], &entry, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    tell_reopened(logs->place.log, &timed_out, &unproven);
    return nj_log_file_sync(&logs->files[NJ_LOG_JOURNAL], err);
}

enum nj_status nj_run_logs_adopt(struct nj_run_logs *logs, const struct nj_ledger *ledger,
                                 const struct nj_history *history, struct nj_error *err)
{
    uint8_t *is_marked = NULL;
    enum nj_status status = nj_history_marks(history, ledger->n_items, &is_marked, err);
    if (status == NJ_OK) {
        status = adopt_items(logs, ledger, is_marked, err);
    }
    free(is_marked);
    return status;
}

void nj_run_logs_close(struct nj_run_logs *logs)
{
    for (enum nj_run_log log = 0; log < NJ_N_RUN_LOGS; log++) {
        nj_log_file_close(&logs->files[log]);
    }
    nj_findings_deinit(&logs->findings);
}
