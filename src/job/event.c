#include "job/event.h"

#include <stdbool.h>

#include "base/clock.h"

enum { EVENT_SCHEMA_VERSION = 1 };

const char *nj_event_type_name(enum nj_event_type type)
{
    static const char *const names[] = {"run_started", "item_started", "item_resumed",
                                        "token",       "item_done",    "sweep_done",
                                        "run_paused",  "run_done"};
    return names[type];
}

static void write_time(struct nj_json_writer *writer, int64_t unix_ms)
{
    char text[NJ_CLOCK_TEXT_BYTES];
    nj_json_key(writer, "time");
    nj_json_write_string(writer, nj_clock_format(unix_ms, text));
    nj_json_key(writer, "time_unix");
    nj_json_write_number(writer, (double)unix_ms / 1000.0);
}

static void write_count(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_named(struct nj_json_writer *writer, const char *key, struct nj_text value)
{
    nj_json_key(writer, key);
    nj_json_write_text(writer, value);
}

static void write_item(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_count(writer, "item_index", event->item_index);
    write_count(writer, "sample", event->sample);
    write_named(writer, "item_id", event->item_id);
}

static void write_progress(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_count(writer, "items", event->n_items);
    write_count(writer, "items_done", event->n_items_done);
    write_count(writer, "items_failed", event->n_items_failed);
}

static void write_job(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_named(writer, "job", event->job_name);
    write_named(writer, "folder", event->folder);
}

static void write_run_started(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_job(writer, event);
    write_progress(writer, event);
    write_count(writer, "items_kept", event->n_items_kept);
    write_count(writer, "items_under_way", event->n_running);
    write_count(writer, "tokens_restored", event->n_tokens_restored);
}

static void write_item_started(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_item(writer, event);
    write_count(writer, "prompt_tokens", event->n_prompt_tokens);
}

static void write_item_resumed(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_item_started(writer, event);
    write_count(writer, "tokens_restored", event->n_tokens_restored);
    write_count(writer, "tokens_from_snapshot", event->n_from_snapshot);
    write_count(writer, "tokens_fed_again", event->n_fed_again);
    write_count(writer, "snapshot_bytes", event->n_snapshot_bytes);
    nj_json_key(writer, "restore_seconds");
    nj_json_write_number(writer, (double)event->restore_ns / 1e9);
}

static void write_token(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_item(writer, event);
    nj_json_key(writer, "token");
    nj_json_write_integer(writer, event->token);
}

static void write_item_done(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_item(writer, event);
    write_named(writer, "finish_reason", event->text);
    write_count(writer, "prompt_tokens", event->n_prompt_tokens);
    write_count(writer, "output_tokens", event->n_output_tokens);
    write_progress(writer, event);
}

static void write_sweep_done(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_count(writer, "rows", event->n_rows);
    write_count(writer, "running", event->n_running);
    write_count(writer, "prefill_tokens", event->n_prefill);
    write_count(writer, "prefill_tokens_read", event->n_prefill_read);
    write_count(writer, "prefill_rows", event->n_prefill_rows);
    write_count(writer, "prompt_tokens", event->n_prompt_tokens);
    write_count(writer, "output_tokens", event->n_output_tokens);
    write_count(writer, "tokens_restored", event->n_tokens_restored);
    nj_json_key(writer, "seconds");
    nj_json_write_number(writer, (double)event->sweep_ns / 1e9);
    write_progress(writer, event);
}

static void write_run_paused(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_job(writer, event);
    write_named(writer, "reason", event->text);
    write_progress(writer, event);
}

static void write_run_done(struct nj_json_writer *writer, const struct nj_event *event)
{
    write_job(writer, event);
    write_progress(writer, event);
    write_count(writer, "items_kept", event->n_items_kept);
    write_count(writer, "tokens_restored", event->n_tokens_restored);
    write_count(writer, "output_tokens", event->n_output_tokens);
}

void nj_event_write(struct nj_json_writer *writer, const struct nj_event *event)
{
    static void (*const write_fields[])(struct nj_json_writer *, const struct nj_event *) = {
        write_run_started, write_item_started, write_item_resumed, write_token,
        write_item_done,   write_sweep_done,   write_run_paused,   write_run_done};
    nj_json_begin_object(writer);
    write_count(writer, "version", EVENT_SCHEMA_VERSION);
    nj_json_key(writer, "type");
    nj_json_write_string(writer, nj_event_type_name(event->type));
    write_time(writer, event->unix_ms);
    write_fields[event->type](writer, event);
    nj_json_end_object(writer);
}
