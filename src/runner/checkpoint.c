#include "runner/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runner/export.h"
#include "runner/limits.h"
#include "runner/result_line.h"
#include "runner/result_log.h"

static void close_live(struct nj_checkpoint *checkpoint)
{
    if (checkpoint->has_live) {
        /* derived, rewritten at the next start */
        (void)checkpoint->fs->close(checkpoint->fs->context, checkpoint->live_fd);
    }
    checkpoint->has_live = false;
}

void nj_checkpoint_deinit(struct nj_checkpoint *checkpoint)
{
    close_live(checkpoint);
    nj_json_writer_deinit(&checkpoint->line);
    free(checkpoint->buffer);
    checkpoint->buffer = NULL;
    checkpoint->buffer_capacity = 0;
}

static enum nj_status open_live(struct nj_checkpoint *checkpoint, struct nj_error *err)
{
    uint64_t length_bytes = 0;
    int directory_fd = checkpoint->results->place.directory_fd;
    enum nj_status status =
        nj_export_live(checkpoint->fs, directory_fd, checkpoint->ledger, err);
    return status == NJ_OK ? nj_file_open_append(checkpoint->fs, directory_fd, "live.jsonl",
                                                 &checkpoint->live_fd, &length_bytes, err)
                           : status;
}

/* A storage that failed once is asked once more: the file is made anew either way. */
enum nj_status nj_checkpoint_open_live(struct nj_checkpoint *checkpoint, struct nj_error *err)
{
    close_live(checkpoint);
    enum nj_status status = open_live(checkpoint, err);
    if (status == NJ_E_STORAGE) {
        status = open_live(checkpoint, err);
    }
    checkpoint->has_live = status == NJ_OK;
    return status;
}

static enum nj_status reserve(struct nj_checkpoint *checkpoint, size_t n_bytes,
                              struct nj_error *err)
{
    return nj_vector_reserve(&checkpoint->buffer, &checkpoint->buffer_capacity, 1, n_bytes,
                             err);
}

static struct nj_token_entry entry_of(const struct nj_step_event *event)
{
    const struct nj_slot *slot = nj_sequence_owner(event->sequence);
    struct nj_token_entry entry = {.item_index = slot->index,
                                   .item_tag = nj_item_tag(&slot->digest),
                                   .sample = slot->item.sample,
                                   .position = event->position,
                                   .token = event->token,
                                   .logprob = event->logprob,
                                   .n_top = event->n_top};
    memcpy(entry.top, event->top, event->n_top * sizeof *event->top);
    return entry;
}

enum nj_status nj_checkpoint_tokens(struct nj_checkpoint *checkpoint,
                                    const struct nj_step_event *events, uint32_t n_events,
                                    struct nj_error *err)
{
    enum nj_status status =
        reserve(checkpoint, (size_t)n_events * NJ_TOKEN_ENTRY_LIMIT_BYTES, err);
    if (status != NJ_OK) {
        return status;
    }
    size_t n_bytes = 0;
    for (uint32_t i = 0; i < n_events; i++) {
        if (events[i].type == NJ_STEP_TOKEN) {
            struct nj_token_entry entry = entry_of(&events[i]);
            n_bytes += nj_token_entries_encode(&entry, 1, checkpoint->buffer + n_bytes);
        }
    }
    if (n_bytes == 0) {
        return NJ_OK;
    }
    struct nj_bytes payload = {.data = checkpoint->buffer, .length_bytes = n_bytes};
    status = nj_log_file_append(checkpoint->tokens, NJ_TOKEN_RECORD_SWEEP, payload, NULL, err);
    return status == NJ_OK ? nj_log_file_sync(checkpoint->tokens, err) : status;
}

static enum nj_status append_result(struct nj_checkpoint *checkpoint,
                                    const struct nj_slot *slot, struct nj_error *err)
{
    struct nj_result_record result = {.item_index = slot->index,
                                      .sample = slot->item.sample,
                                      .is_ok = nj_slot_is_ok(slot),
                                      .item_digest = slot->digest};
    nj_json_writer_reset(&checkpoint->line);
    enum nj_status status =
        nj_result_line_write(slot, checkpoint->tokenizer, &checkpoint->line, err);
    if (status == NJ_OK) {
        status = nj_json_finish(&checkpoint->line, &result.line, err);
    }
    if (status == NJ_OK && slot->timeout_ns > 0) {
        status = nj_timeout_digest(&slot->digest, slot->timeout_ns, &result.item_digest, err);
    }
    if (status == NJ_OK) {
        status = reserve(checkpoint, NJ_RESULT_PREFIX_BYTES + result.line.length_bytes, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    nj_result_record_encode(&result, checkpoint->buffer);
    struct nj_bytes payload = {.data = checkpoint->buffer,
                               .length_bytes =
                                   NJ_RESULT_PREFIX_BYTES + result.line.length_bytes};
    return nj_log_file_append(checkpoint->results, NJ_RESULT_RECORD_ITEM, payload, NULL, err);
}

/* The item's result is the `ordinal`-th record that the last sync made durable. */
static void note_done(struct nj_checkpoint *checkpoint, const struct nj_slot *slot,
                      size_t ordinal)
{
    struct nj_log_spot line = nj_log_file_spot(checkpoint->results, ordinal);
    line.offset_bytes += NJ_RESULT_PREFIX_BYTES;
    line.n_bytes -= NJ_RESULT_PREFIX_BYTES;
    nj_ledger_set_done(checkpoint->ledger, slot->index, nj_slot_is_ok(slot), &line);
}

/* The line that was just logged, for those who follow live.jsonl. */
static enum nj_status show_result(struct nj_checkpoint *checkpoint, const struct nj_slot *slot,
                                  struct nj_error *err)
{
    struct nj_text line;
    nj_json_writer_reset(&checkpoint->line);
    enum nj_status status =
        nj_result_line_write(slot, checkpoint->tokenizer, &checkpoint->line, err);
    if (status == NJ_OK) {
        nj_json_write_newline(&checkpoint->line);
        status = nj_json_finish(&checkpoint->line, &line, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    struct nj_bytes bytes = {.data = (const uint8_t *)line.data,
                             .length_bytes = line.length_bytes};
    status = nj_file_append(checkpoint->fs, checkpoint->live_fd, bytes, "live.jsonl", err);
    return status == NJ_E_STORAGE ? nj_checkpoint_open_live(checkpoint, err) : status;
}

static enum nj_status mark_done(struct nj_checkpoint *checkpoint, const struct nj_slot *slot,
                                struct nj_error *err)
{
    enum nj_status status = show_result(checkpoint, slot, err);
    if (status != NJ_OK) {
        return status;
    }
    const struct nj_run_host *host = checkpoint->host;
    return host->item_done(host->context, slot->index, slot->item.sample, nj_slot_is_ok(slot),
                           err);
}

enum nj_status nj_checkpoint_results(struct nj_checkpoint *checkpoint,
                                     const struct nj_slot *slots, uint32_t n_slots,
                                     struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < n_slots && status == NJ_OK; i++) {
        if (nj_slot_is_finished(&slots[i])) {
            status = append_result(checkpoint, &slots[i], err);
        }
    }
    if (status == NJ_OK) {
        status = nj_log_file_sync(checkpoint->results, err);
    }
    size_t ordinal = 0;
    for (uint32_t i = 0; i < n_slots && status == NJ_OK; i++) {
        if (nj_slot_is_finished(&slots[i])) {
            note_done(checkpoint, &slots[i], ordinal++);
            status = mark_done(checkpoint, &slots[i], err);
        }
    }
    const struct nj_run_host *host = checkpoint->host;
    return status == NJ_OK ? host->commit(host->context, err) : status;
}
