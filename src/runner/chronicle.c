#include "runner/chronicle.h"

static int64_t now_ms(const struct nj_chronicle *chronicle)
{
    return chronicle->clock.unix_ms(chronicle->clock.context);
}

static uint64_t now_ns(const struct nj_chronicle *chronicle)
{
    return chronicle->clock.monotonic_ns(chronicle->clock.context);
}

void nj_chronicle_begin(struct nj_chronicle *chronicle)
{
    chronicle->has_begun = true;
    chronicle->began_ns = now_ns(chronicle);
    chronicle->heard_ns = chronicle->began_ns;
}

void nj_chronicle_tell(const struct nj_chronicle *chronicle, enum nj_event_type type,
                       const char *reason)
{
    const struct nj_ledger *ledger = chronicle->ledger;
    const struct nj_run_report *report = chronicle->report;
    struct nj_event event = {.type = type,
                             .unix_ms = now_ms(chronicle),
                             .job_name = chronicle->job_name,
                             .folder = nj_text_from(report->output_directory),
                             .text = nj_text_from(reason),
                             .n_items = ledger->n_items,
                             .n_items_done = ledger->n_ok + ledger->n_failed,
                             .n_items_failed = ledger->n_failed,
                             .n_items_kept = report->n_items_kept,
                             .n_running = ledger->n_restored,
                             .n_tokens_restored = nj_ledger_n_tokens_restored(ledger),
                             .n_output_tokens = chronicle->counts->n_generated};
    const struct nj_run_observer *observer = chronicle->observer;
    if (observer != NULL && observer->event != NULL) {
        observer->event(observer->context, &event);
    }
}

struct nj_journal_entry nj_chronicle_turn(const struct nj_chronicle *chronicle,
                                          enum nj_journal_type type)
{
    const struct nj_ledger *ledger = chronicle->ledger;
    struct nj_journal_entry turn = {.type = type,
                                    .unix_ms = now_ms(chronicle),
                                    .n_items_done = ledger->n_ok + ledger->n_failed,
                                    .n_tokens_generated = chronicle->counts->n_generated,
                                    .n_tokens_fed_again = chronicle->counts->n_fed_again};
    if (type == NJ_JOURNAL_STARTED) {
        turn.n_items_under_way = ledger->n_restored;
        turn.n_tokens_restored = nj_ledger_n_tokens_restored(ledger);
    } else if (chronicle->has_begun) {
        turn.n_items_under_way = chronicle->counts->n_under_way;
        turn.run_ms = (now_ns(chronicle) - chronicle->began_ns) / 1000000;
    }
    return turn;
}

enum nj_status nj_chronicle_log(const struct nj_chronicle *chronicle,
                                const struct nj_journal_entry *turn, struct nj_error *err)
{
    enum nj_status status = nj_journal_append(chronicle->journal, turn, err);
    return status == NJ_OK ? nj_log_file_sync(chronicle->journal, err) : status;
}

enum nj_status nj_chronicle_write(const struct nj_chronicle *chronicle,
                                  enum nj_journal_type type, struct nj_error *err)
{
    struct nj_journal_entry turn = nj_chronicle_turn(chronicle, type);
    enum nj_status status = nj_chronicle_log(chronicle, &turn, err);
    return status == NJ_OK ? nj_history_add(chronicle->history, &turn, err) : status;
}

enum nj_status nj_chronicle_give_sign(struct nj_chronicle *chronicle, struct nj_error *err)
{
    uint64_t now = now_ns(chronicle);
    if (!chronicle->has_begun || now - chronicle->heard_ns < NJ_CHRONICLE_INTERVAL_NS) {
        return NJ_OK;
    }
    chronicle->heard_ns = now;
    struct nj_journal_entry sign = nj_chronicle_turn(chronicle, NJ_JOURNAL_ALIVE);
    return nj_journal_append(chronicle->journal, &sign, err);
}
