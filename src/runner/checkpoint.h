/* Makes each sweep durable, in the order that recovery relies on:
 *
 *   1. the ids it chose   tokens.log, one append and one sync for all sequences
 *   2. finished items     results.log, one sync
 *   3. claims and done marks   the host's, one sync
 *
 * Nobody is shown an id before 1, or a result before 2 and 3. A run that dies between two of
 * these goes on from what the earlier ones say.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_CHECKPOINT_H
#define NJ_RUNNER_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/status.h"
#include "generate/generator.h"
#include "runner/host.h"
#include "runner/ledger.h"
#include "runner/log_file.h"
#include "runner/slot.h"

/* Everything but live.jsonl and the buffers is borrowed. */
struct nj_checkpoint {
    const struct nj_file_system *fs;
    struct nj_log_file *tokens;
    struct nj_log_file *results;
    const struct nj_run_host *host;
    struct nj_ledger *ledger;
    const struct nj_tokenizer *tokenizer; /* NULL: results have no text */

    bool has_live; /* live.jsonl is open, for people who watch: written, never synced */
    int live_fd;
    struct nj_json_writer line;
    uint8_t *buffer;
    size_t buffer_capacity;
};

void nj_checkpoint_deinit(struct nj_checkpoint *checkpoint);

/* Opens live.jsonl, with the results that the ledger knows; before anything else. */
enum nj_status nj_checkpoint_open_live(struct nj_checkpoint *checkpoint, struct nj_error *err);

/* 1. Slots are the events' sequences' owners. */
enum nj_status nj_checkpoint_tokens(struct nj_checkpoint *checkpoint,
                                    const struct nj_step_event *events, uint32_t n_events,
                                    struct nj_error *err);

/* 2 and 3, for those of the slots whose sequence is finished. They stay as they are. */
enum nj_status nj_checkpoint_results(struct nj_checkpoint *checkpoint,
                                     const struct nj_slot *slots, uint32_t n_slots,
                                     struct nj_error *err);

#endif
