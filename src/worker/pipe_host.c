#include "worker/pipe_host.h"

#include <stdlib.h>

#include "base/vector.h"

void nj_pipe_host_init(struct nj_pipe_host *host, struct nj_pipe *pipe, struct nj_clock clock,
                       uint64_t job_id)
{
    *host = (struct nj_pipe_host){.pipe = pipe, .clock = clock, .job_id = job_id};
    nj_json_writer_init(&host->writer);
}

void nj_pipe_host_deinit(struct nj_pipe_host *host)
{
    nj_json_writer_deinit(&host->writer);
    free(host->taken);
    host->taken = NULL;
}

static enum nj_status say(struct nj_pipe_host *host, struct nj_worker_message message,
                          struct nj_error *err)
{
    if (host->is_lost) {
        return nj_fail(err, NJ_E_STOPPED, "tell the daemon: it is gone");
    }
    return nj_pipe_send(host->pipe, &message, err);
}

enum nj_status nj_pipe_host_greet(struct nj_pipe_host *host, uint64_t process_id,
                                  struct nj_error *err)
{
    struct nj_worker_message hello = {
        .type = NJ_WORKER_HELLO, .version = NJ_WORKER_PROTOCOL_VERSION, .number = process_id};
    struct nj_worker_message answer;
    enum nj_status status = say(host, hello, err);
    if (status == NJ_OK) {
        status = nj_pipe_receive(host->pipe, &answer, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (answer.type != NJ_WORKER_WELCOME || answer.version != NJ_WORKER_PROTOCOL_VERSION) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "the daemon speaks version %u to its worker, this is version %d: "
                       "start the daemon again",
                       answer.version, NJ_WORKER_PROTOCOL_VERSION);
    }
    return NJ_OK;
}

static enum nj_status tell_done(struct nj_pipe_host *host, uint64_t item_index, uint32_t sample,
                                bool is_ok, struct nj_error *err)
{
    return say(host,
               (struct nj_worker_message){.type = NJ_WORKER_DONE,
                                          .job_id = host->job_id,
                                          .item_index = item_index,
                                          .sample = sample,
                                          .is_ok = is_ok},
               err);
}

static bool is_done(const struct nj_pipe_host *host, uint64_t item_index)
{
    return host->ledger->items[item_index].state != NJ_ITEM_OPEN;
}

/* Results that were durable before their marks. */
static enum nj_status begin(void *context, const struct nj_ledger *ledger, uint32_t n_places,
                            struct nj_error *err)
{
    struct nj_pipe_host *host = context;
    enum nj_status status = NJ_OK;
    host->ledger = ledger;
    for (uint64_t i = 0; i < ledger->n_items && status == NJ_OK; i++) {
        if (is_done(host, i)) {
            status = tell_done(host, i, 0, ledger->items[i].state == NJ_ITEM_OK, err);
        }
    }
    struct nj_worker_message ready = {.type = NJ_WORKER_READY, .number = n_places};
    return status == NJ_OK ? say(host, ready, err) : status;
}

static enum nj_status take(struct nj_pipe_host *host, const struct nj_worker_message *message,
                           struct nj_error *err)
{
    if (message->job_id != host->job_id || message->item_index >= host->ledger->n_items) {
        return nj_fail(err, NJ_E_INPUT, "the daemon gives item %llu.%llu, which is not ours",
                       (unsigned long long)message->job_id,
                       (unsigned long long)message->item_index);
    }
    enum nj_status status = nj_vector_reserve(&host->taken, &host->capacity,
                                              sizeof host->taken[0], host->n_taken + 1, err);
    if (status == NJ_OK) {
        host->taken[host->n_taken++] = message->item_index;
    }
    return status;
}

/* Everything told so far becomes durable there; items and an order come back. */
static enum nj_status ask(struct nj_pipe_host *host, uint64_t sweep_ns, struct nj_error *err)
{
    struct nj_worker_message swept = {.type = NJ_WORKER_SWEPT, .number = sweep_ns};
    struct nj_worker_message answer = {.type = NJ_WORKER_TAKE};
    enum nj_status status = say(host, swept, err);
    while (status == NJ_OK && answer.type != NJ_WORKER_GO) {
        status = nj_pipe_receive(host->pipe, &answer, err);
        if (status == NJ_OK && answer.type == NJ_WORKER_TAKE) {
            status = take(host, &answer, err);
        } else if (status == NJ_OK && answer.type != NJ_WORKER_GO) {
            status = nj_fail(err, NJ_E_INPUT, "the daemon answers with type %d", answer.type);
        }
    }
    host->is_draining = host->is_draining || answer.number == NJ_WORKER_DRAIN;
    host->has_asked = true;
    host->answered_ns = host->clock.monotonic_ns(host->clock.context);
    return status;
}

static enum nj_status claim(void *context, uint64_t *item_index, bool *has_item,
                            struct nj_error *err)
{
    struct nj_pipe_host *host = context;
    enum nj_status status = host->has_asked ? NJ_OK : ask(host, 0, err);
    while (status == NJ_OK && host->next_taken < host->n_taken) {
        uint64_t taken = host->taken[host->next_taken++];
        if (!is_done(host, taken)) {
            *item_index = taken;
            *has_item = true;
            return NJ_OK;
        }
        status = tell_done(host, taken, 0, host->ledger->items[taken].state == NJ_ITEM_OK, err);
    }
    host->n_taken = 0;
    host->next_taken = 0;
    *has_item = false;
    return status;
}

static enum nj_status item_done(void *context, uint64_t item_index, uint32_t sample, bool is_ok,
                                struct nj_error *err)
{
    struct nj_pipe_host *host = context;
    enum nj_status status =
        host->folder->item_done(host->folder->context, item_index, sample, is_ok, err);
    return status == NJ_OK ? tell_done(host, item_index, sample, is_ok, err) : status;
}

static enum nj_status commit(void *context, struct nj_error *err)
{
    struct nj_pipe_host *host = context;
    uint64_t now_ns = host->clock.monotonic_ns(host->clock.context);
    enum nj_status status = host->folder->commit(host->folder->context, err);
    return status == NJ_OK ? ask(host, now_ns - host->answered_ns, err) : status;
}

static enum nj_status reserve(void *context, uint64_t bytes, struct nj_error *err)
{
    struct nj_pipe_host *host = context;
    struct nj_worker_message question = {.type = NJ_WORKER_RESERVE, .number = bytes};
    struct nj_worker_message answer;
    enum nj_status status = say(host, question, err);
    if (status == NJ_OK) {
        status = nj_pipe_receive(host->pipe, &answer, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (answer.type != NJ_WORKER_ROOM) {
        return nj_fail(err, NJ_E_INPUT, "the daemon answers with type %d", answer.type);
    }
    if (!answer.is_ok) {
        return nj_fail(err, NJ_E_STORAGE,
                       "the disk has %llu bytes for this job, the next items may write %llu",
                       (unsigned long long)answer.number, (unsigned long long)bytes);
    }
    return NJ_OK;
}

static enum nj_run_control poll(void *context)
{
    const struct nj_pipe_host *host = context;
    enum nj_run_control folder = host->folder->poll(host->folder->context);
    return folder == NJ_RUN_GO_ON && (host->is_draining || host->is_lost) ? NJ_RUN_DRAIN
                                                                          : folder;
}

static enum nj_status tell_event(struct nj_pipe_host *host, const struct nj_event *event)
{
    struct nj_text text = {NULL, 0};
    nj_json_writer_reset(&host->writer);
    nj_event_write(&host->writer, event);
    enum nj_status status = nj_json_finish(&host->writer, &text, NULL);
    if (status == NJ_OK && event->type == NJ_EVENT_TOKEN) { /* told when it is in the log */
        status = say(host,
                     (struct nj_worker_message){.type = NJ_WORKER_PROGRESS,
                                                .job_id = host->job_id,
                                                .item_index = event->item_index},
                     NULL);
    }
    return status == NJ_OK
               ? say(host,
                     (struct nj_worker_message){
                         .type = NJ_WORKER_EVENT, .job_id = host->job_id, .text = text},
                     NULL)
               : status;
}

static void event(void *context, const struct nj_event *told)
{
    struct nj_pipe_host *host = context;
    host->folder->event(host->folder->context, told);
    if (tell_event(host, told) != NJ_OK) {
        host->is_lost = true;
    }
}

static struct nj_run_host over(void *context, const struct nj_run_host *folder)
{
    struct nj_pipe_host *host = context;
    host->folder = folder;
    return (struct nj_run_host){.context = host,
                                .claim = claim,
                                .item_done = item_done,
                                .commit = commit,
                                .reserve = reserve,
                                .poll = poll,
                                .event = event};
}

struct nj_run_patron nj_pipe_host_patron(struct nj_pipe_host *host)
{
    return (struct nj_run_patron){.context = host, .begin = begin, .over = over};
}
