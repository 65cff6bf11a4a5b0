/* The one event schema: what a run tells the progress line, `--json`, and later the worker pipe
 * and the API (docs/formats/events.md). */
#ifndef NJ_JOB_EVENT_H
#define NJ_JOB_EVENT_H

#include <stdint.h>

#include "base/json.h"
#include "base/text.h"
#include "base/value_types.h"

enum nj_event_type {
    NJ_EVENT_RUN_STARTED,
    NJ_EVENT_ITEM_STARTED,
    NJ_EVENT_ITEM_RESUMED,
    NJ_EVENT_TOKEN,
    NJ_EVENT_ITEM_DONE,
    NJ_EVENT_SWEEP_DONE,
    NJ_EVENT_RUN_PAUSED,
    NJ_EVENT_RUN_DONE
};

/* Fields that a type does not use are zero; which it uses is in docs/formats/events.md. */
struct nj_event {
    enum nj_event_type type;
    int64_t unix_ms;
    uint64_t item_index;
    uint32_t sample;
    struct nj_text item_id;
    struct nj_text job_name;
    struct nj_text folder; /* of the run */
    uint64_t n_items;      /* of the job */
    uint64_t n_items_done; /* finished, this run and earlier ones */
    uint64_t n_items_failed;
    uint64_t n_items_kept;      /* finished by earlier runs */
    uint64_t n_tokens_restored; /* of items under way, from the token log */
    uint64_t n_prompt_tokens;
    uint64_t n_output_tokens;
    uint64_t n_from_snapshot;  /* ids of the item that a stored state had read */
    uint64_t n_fed_again;      /* and those that the model reads again */
    uint64_t n_snapshot_bytes; /* of the segments that the state was read from */
    uint64_t restore_ns;       /* finding, verifying and unpacking them */
    uint64_t n_prefill;        /* given ids of items that have not chosen one in this run yet */
    uint64_t n_prefill_read;   /* of them, those that the model has read */
    uint64_t n_rows;           /* of the sweep */
    uint64_t n_prefill_rows;   /* of these, those that read prompts or restored ids */
    uint64_t n_running;        /* sequences in the batch; at the start, items under way */
    uint64_t sweep_ns;
    nj_token token;
    struct nj_text text; /* finish reason, pause reason */
};

const char *nj_event_type_name(enum nj_event_type type);

/* Appends the event as one JSON object. */
void nj_event_write(struct nj_json_writer *writer, const struct nj_event *event);

#endif
