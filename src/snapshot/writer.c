#include "snapshot/writer.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "snapshot/handover.h"
#include "snapshot/shape.h"
#include "snapshot/sink.h"
#include "snapshot/text_state.h"

enum {
    MODEST_SHARE = 32,
    BUFFER_LIMIT_BYTES = 64 << 20, /* more only delays the moment when the disk decides */
    TOKENS_PIECE = NJ_SEGMENT_PAYLOAD_LIMIT_BYTES / sizeof(nj_token)
};

/* One sequence of the round under way. */
struct target {
    struct nj_snapshot_target asked;
    struct nj_snapshot_shape shape;
    uint64_t number;
    bool is_base;
    bool is_begun; /* its file was announced */
};

/* Invariant: `n_targets` are of the round under way or of the last one; `is_open` from begin to
 * commit or abandon. */
struct nj_snapshot_writer {
    struct nj_snapshot_writer_options options;
    struct nj_handover *handover;
    struct nj_sink *sink;
    pthread_t thread;
    bool has_thread;
    uint64_t paid_bytes;
    struct target *targets;
    uint32_t n_targets;
    bool is_open;
    uint64_t n_salts;
    struct nj_snapshot_stats stats;
};

/* --- the thread --- */

static void *work(void *context)
{
    struct nj_snapshot_writer *writer = context;
    size_t n_bytes = 0;
    const uint8_t *taken = NULL;
    while ((taken = nj_handover_take(writer->handover, &n_bytes)) != NULL) {
        struct nj_sink_message message;
        memcpy(&message, taken, sizeof message);
        struct nj_bytes bytes = {.data = taken + sizeof message,
                                 .length_bytes = n_bytes - sizeof message};
        nj_sink_handle(writer->sink, &message, bytes);
        nj_handover_release(writer->handover);
    }
    return NULL;
}

/* --- creation --- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Room for the largest message of this model. */
static uint64_t least_buffer_bytes(const struct nj_dims *dims)
{
    uint64_t position_bytes = nj_state_position_values(dims) * sizeof(float);
    uint64_t record = NJ_SEGMENT_PAYLOAD_LIMIT_BYTES;
    record = record < position_bytes ? position_bytes : record;
    return record + sizeof(struct nj_sink_message) + 2 * (uint64_t)NJ_HANDOVER_OVERHEAD_BYTES;
}

uint64_t nj_snapshot_writer_recommended_bytes(const struct nj_dims *dims, uint32_t max_targets)
{
    uint64_t state_bytes = nj_chain_base_bytes(dims, 4 * NJ_PAGE_POSITIONS);
    uint64_t wanted = smaller(state_bytes, BUFFER_LIMIT_BYTES) * max_targets;
    return smaller(wanted, BUFFER_LIMIT_BYTES) + least_buffer_bytes(dims);
}

uint64_t nj_snapshot_writer_modest_bytes(const struct nj_dims *dims, uint32_t max_targets,
                                         uint64_t memory_bytes)
{
    uint64_t least = least_buffer_bytes(dims);
    uint64_t share = memory_bytes / MODEST_SHARE;
    return smaller(nj_snapshot_writer_recommended_bytes(dims, max_targets),
                   share < least ? least : share);
}

uint64_t nj_snapshot_writer_total_bytes(uint64_t buffer_bytes)
{
    return buffer_bytes + NJ_SINK_BYTES;
}

static enum nj_status pay(struct nj_snapshot_writer *writer, struct nj_error *err)
{
    uint64_t bytes = nj_snapshot_writer_total_bytes(writer->options.buffer_bytes);
    if (writer->options.budget == NULL) {
        return NJ_OK;
    }
    enum nj_status status = nj_byte_budget_take(writer->options.budget, bytes, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "memory to write snapshots with");
    }
    writer->paid_bytes = bytes;
    return NJ_OK;
}

static enum nj_status start_thread(struct nj_snapshot_writer *writer, struct nj_error *err)
{
    int problem = nj_thread_start(&writer->thread, work, writer);
    if (problem != 0) {
        return nj_fail(err, NJ_E_MEMORY, "start the thread that writes snapshots: %s",
                       strerror(problem));
    }
    writer->has_thread = true;
    return NJ_OK;
}

static enum nj_status take_parts(struct nj_snapshot_writer *writer, struct nj_error *err)
{
    const struct nj_snapshot_writer_options *options = &writer->options;
    enum nj_status status = pay(writer, err);
    if (status != NJ_OK) {
        return status;
    }
    writer->targets = calloc((size_t)options->max_targets + 1, sizeof *writer->targets);
    if (writer->targets == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write snapshots: out of memory");
    }
    status = nj_sink_create(options->fs, options->pack_level, options->max_targets,
                            &writer->sink, err);
    if (status == NJ_OK) {
        status = nj_handover_create((size_t)options->buffer_bytes, &writer->handover, err);
    }
    return status == NJ_OK ? start_thread(writer, err) : status;
}

enum nj_status nj_snapshot_writer_create(const struct nj_snapshot_writer_options *options,
                                         struct nj_snapshot_writer **writer,
                                         struct nj_error *err)
{
    struct nj_snapshot_writer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write snapshots: out of memory");
    }
    made->options = *options;
    uint64_t least = least_buffer_bytes(options->dims);
    if (options->buffer_bytes == 0) {
        made->options.buffer_bytes =
            nj_snapshot_writer_recommended_bytes(options->dims, options->max_targets);
    } else if (options->buffer_bytes < least) {
        made->options.buffer_bytes = least;
    }
    enum nj_status status = take_parts(made, err);
    if (status != NJ_OK) {
        nj_snapshot_writer_destroy(made);
        return status;
    }
    *writer = made;
    return NJ_OK;
}

void nj_snapshot_writer_destroy(struct nj_snapshot_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    if (writer->has_thread) {
        nj_snapshot_writer_abandon(writer);
        nj_handover_close(writer->handover);
        (void)pthread_join(writer->thread, NULL); /* fails only on misuse */
    }
    nj_handover_destroy(writer->handover);
    nj_sink_destroy(writer->sink);
    free(writer->targets);
    if (writer->options.budget != NULL) {
        nj_byte_budget_give_back(writer->options.budget, writer->paid_bytes);
    }
    free(writer);
}

bool nj_snapshot_writer_is_busy(struct nj_snapshot_writer *writer)
{
    return writer->is_open || !nj_handover_is_empty(writer->handover);
}

void nj_snapshot_writer_wait(struct nj_snapshot_writer *writer)
{
    nj_handover_wait_until_empty(writer->handover);
}

/* --- handing over --- */

static uint64_t now(const struct nj_snapshot_writer *writer)
{
    const struct nj_clock *clock = &writer->options.clock;
    return clock->monotonic_ns(clock->context);
}

/* Room for a message and so many bytes behind it, which are returned to be filled. */
static uint8_t *reserve(struct nj_snapshot_writer *writer,
                        const struct nj_sink_message *message, size_t n_bytes)
{
    bool waited = false;
    uint64_t before = now(writer);
    uint8_t *place = nj_handover_reserve(writer->handover, sizeof *message + n_bytes, &waited);
    if (waited) {
        writer->stats.blocked_ns += now(writer) - before;
    }
    memcpy(place, message, sizeof *message);
    return place + sizeof *message;
}

static void publish(struct nj_snapshot_writer *writer)
{
    nj_handover_publish(writer->handover);
}

static void send(struct nj_snapshot_writer *writer, const struct nj_sink_message *message,
                 const void *data, size_t n_bytes)
{
    uint8_t *place = reserve(writer, message, n_bytes);
    if (n_bytes > 0) {
        memcpy(place, data, n_bytes);
    }
    publish(writer);
}

static struct nj_sink_message record_message(const struct nj_snapshot_writer *writer,
                                             const struct target *target,
                                             enum nj_segment_record_type type)
{
    return (struct nj_sink_message){.kind = NJ_SINK_RECORD,
                                    .target = (uint32_t)(target - writer->targets),
                                    .section = {.type = type}};
}

/* --- a round --- */

enum nj_status nj_snapshot_writer_begin(struct nj_snapshot_writer *writer,
                                        const struct nj_snapshot_target *targets,
                                        uint32_t n_targets, struct nj_error *err)
{
    if (nj_snapshot_writer_is_busy(writer)) {
        return nj_fail(err, NJ_E_STATE, "begin snapshots: earlier ones are under way");
    }
    if (n_targets > writer->options.max_targets) {
        return nj_fail(err, NJ_E_USAGE, "begin %u snapshots: at most %u at once", n_targets,
                       writer->options.max_targets);
    }
    for (uint32_t i = 0; i < n_targets; i++) {
        writer->targets[i] = (struct target){.asked = targets[i]};
    }
    writer->n_targets = n_targets;
    writer->is_open = true;
    return NJ_OK;
}

static uint64_t next_salt(struct nj_snapshot_writer *writer)
{
    /* Consecutive numbers times an odd constant never repeat; the entropy sets files of one
     * process apart from those of another. */
    writer->n_salts += 1;
    return writer->options.entropy ^ (writer->n_salts * 0x9E3779B97F4A7C15U);
}

/* Now the sweep runs, and it is known how long the state will be. */
static void begin_target(struct nj_snapshot_writer *writer, struct target *target)
{
    const struct nj_snapshot_chain *chain = target->asked.chain;
    const struct nj_dims *dims = writer->options.dims;
    uint32_t n_positions = nj_state_next_length(target->asked.sequence->state);
    bool is_base = nj_chain_wants_base(chain, dims, n_positions);
    target->is_base = is_base;
    nj_snapshot_shape_of(dims, n_positions, is_base ? 0 : chain->n_positions, &target->shape);
    target->number = chain->highest_number + 1;
    target->asked.chain->highest_number = target->number;

    struct nj_sink_begin begin = {.directory_fd = target->asked.directory_fd,
                                  .header = nj_snapshot_header(&target->asked.identity)};
    begin.header.number = target->number;
    begin.header.previous_number = is_base ? 0 : chain->number;
    begin.header.previous_chain = is_base ? 0 : chain->chain;
    begin.header.salt = next_salt(writer);
    struct nj_sink_message message = record_message(writer, target, NJ_SEGMENT_SNAP_BEGIN);
    message.kind = NJ_SINK_BEGIN;
    send(writer, &message, &begin, sizeof begin);

    uint8_t shape[NJ_SHAPE_BYTES_LIMIT];
    size_t n_shape = nj_snapshot_shape_encode(&target->shape, shape);
    message.kind = NJ_SINK_RECORD;
    send(writer, &message, shape, n_shape);
    target->is_begun = true;
}

static void send_recurrent(struct nj_snapshot_writer *writer, const struct target *target,
                           uint32_t layer)
{
    uint64_t n_values = 0;
    const float *values = nj_state_recurrent(target->asked.sequence->state, layer, &n_values);
    uint32_t piece = nj_snapshot_recurrent_piece(&target->shape);
    struct nj_sink_message message = record_message(writer, target, NJ_SEGMENT_RECURRENT);
    message.section.layer = layer;
    for (uint64_t done = 0; done < n_values; done += message.section.count) {
        message.section.first = (uint32_t)done;
        message.section.count = (uint32_t)smaller(n_values - done, piece);
        send(writer, &message, values + done, message.section.count * sizeof *values);
    }
}

static void send_positions(struct nj_snapshot_writer *writer, const struct target *target,
                           uint32_t layer)
{
    const struct nj_snapshot_shape *shape = &target->shape;
    uint32_t piece = nj_snapshot_kv_piece(shape);
    struct nj_sink_message message = record_message(writer, target, NJ_SEGMENT_KV);
    message.section.layer = layer;
    for (uint32_t position = shape->first_position; position < shape->n_positions;
         position += message.section.count) {
        uint32_t left = shape->n_positions - position;
        message.section.first = position;
        message.section.count = left < piece ? left : piece;
        size_t n_bytes = (size_t)message.section.count * shape->position_values * sizeof(float);
        void *place = reserve(writer, &message, n_bytes);
        nj_state_get_positions(target->asked.sequence->state, layer, position,
                               message.section.count, place);
        publish(writer);
    }
}

void nj_snapshot_writer_layer(void *context, uint32_t layer)
{
    struct nj_snapshot_writer *writer = context;
    if (!writer->is_open) {
        return;
    }
    uint64_t before = now(writer);
    for (uint32_t i = 0; i < writer->n_targets; i++) {
        struct target *target = &writer->targets[i];
        if (layer == 0) {
            begin_target(writer, target);
        }
        if (!target->is_begun) {
            continue; /* begun in the middle of a sweep: it has missed a layer */
        }
        if (target->shape.mixers[layer] == NJ_MIXER_LATENT) {
            send_positions(writer, target, layer);
        } else {
            send_recurrent(writer, target, layer);
        }
    }
    writer->stats.copied_ns += now(writer) - before;
}

void nj_snapshot_writer_all_layers(struct nj_snapshot_writer *writer)
{
    for (uint32_t layer = 0; layer < writer->options.dims->n_layers; layer++) {
        nj_snapshot_writer_layer(writer, layer);
    }
}

static void send_tokens(struct nj_snapshot_writer *writer, const struct target *target)
{
    const struct nj_sequence *sequence = target->asked.sequence;
    struct nj_sink_message message = record_message(writer, target, NJ_SEGMENT_TOKENS);
    for (size_t done = 0; done < sequence->n_tokens; done += message.section.count) {
        message.section.first = (uint32_t)done;
        message.section.count = (uint32_t)smaller(sequence->n_tokens - done, TOKENS_PIECE);
        send(writer, &message, sequence->tokens + done,
             message.section.count * sizeof *sequence->tokens);
    }
}

/* False when it cannot be written down; the snapshot is then given up. */
static bool send_text_state(struct nj_snapshot_writer *writer, const struct target *target)
{
    const struct nj_sequence *sequence = target->asked.sequence;
    uint8_t mark[NJ_OUTPUT_MARK_BYTES];
    size_t n_bytes = nj_text_state_bytes(sequence);
    struct nj_error ignored; /* out of memory for a digest: there will be other snapshots */
    if (n_bytes > NJ_SEGMENT_PAYLOAD_LIMIT_BYTES ||
        nj_output_mark_encode(sequence, mark, &ignored) != NJ_OK) {
        return false;
    }
    struct nj_sink_message message = record_message(writer, target, NJ_SEGMENT_SAMPLER);
    nj_text_state_encode(sequence, reserve(writer, &message, n_bytes));
    publish(writer);
    message.section.type = NJ_SEGMENT_OUTPUT_MARK;
    send(writer, &message, mark, sizeof mark);
    return true;
}

static void end_target(struct nj_snapshot_writer *writer, const struct target *target,
                       enum nj_sink_kind kind)
{
    struct nj_sink_message message = record_message(writer, target, NJ_SEGMENT_SNAP_COMMIT);
    message.kind = kind;
    send(writer, &message, NULL, 0);
}

static bool is_worth_a_commit(const struct target *target)
{
    const struct nj_sequence *sequence = target->asked.sequence;
    return sequence->finish == NJ_FINISH_NONE && !nj_state_is_broken(sequence->state) &&
           nj_state_length(sequence->state) == target->shape.n_positions;
}

void nj_snapshot_writer_commit(struct nj_snapshot_writer *writer)
{
    for (uint32_t i = 0; i < writer->n_targets && writer->is_open; i++) {
        const struct target *target = &writer->targets[i];
        if (!target->is_begun) {
            continue;
        }
        bool is_whole = is_worth_a_commit(target);
        if (is_whole) {
            send_tokens(writer, target);
            is_whole = send_text_state(writer, target);
        }
        end_target(writer, target, is_whole ? NJ_SINK_COMMIT : NJ_SINK_ABANDON);
    }
    writer->is_open = false;
}

void nj_snapshot_writer_abandon(struct nj_snapshot_writer *writer)
{
    for (uint32_t i = 0; i < writer->n_targets && writer->is_open; i++) {
        if (writer->targets[i].is_begun) {
            end_target(writer, &writer->targets[i], NJ_SINK_ABANDON);
        }
    }
    writer->is_open = false;
}

/* --- afterwards --- */

bool nj_snapshot_writer_take_outcome(struct nj_snapshot_writer *writer, uint32_t index,
                                     struct nj_snapshot_outcome *outcome)
{
    if (index >= writer->n_targets || nj_snapshot_writer_is_busy(writer)) {
        return false;
    }
    struct target *target = &writer->targets[index];
    if (!target->is_begun) {
        *outcome = (struct nj_snapshot_outcome){.status = NJ_E_STOPPED};
        return true;
    }
    const struct nj_sink_outcome *found = nj_sink_outcome(writer->sink, index);
    *outcome = (struct nj_snapshot_outcome){.is_durable = found->is_durable,
                                            .status = found->status,
                                            .error = found->error,
                                            .number = target->number,
                                            .n_positions = target->shape.n_positions,
                                            .raw_bytes = found->raw_bytes,
                                            .file_bytes = found->file_bytes};
    writer->stats.raw_bytes += found->raw_bytes;
    writer->stats.file_bytes += found->file_bytes;
    if (found->is_durable && target->asked.chain == NULL) {
        outcome->is_durable = false; /* its item is finished, and the segment is gone again */
        outcome->status = NJ_E_STOPPED;
    } else if (found->is_durable) {
        writer->stats.n_durable += 1;
        nj_chain_advance(target->asked.chain, target->number, found->chain,
                         target->shape.n_positions, target->is_base);
    }
    target->is_begun = false;
    return true;
}

void nj_snapshot_writer_prune(struct nj_snapshot_writer *writer, int directory_fd,
                              const struct nj_snapshot_chain *chain)
{
    struct nj_sink_message message = {.kind = NJ_SINK_PRUNE};
    struct nj_sink_prune prune = {.directory_fd = directory_fd,
                                  .current = chain->number,
                                  .previous = chain->previous_number};
    send(writer, &message, &prune, sizeof prune);
}

void nj_snapshot_writer_forget(struct nj_snapshot_writer *writer, int directory_fd,
                               uint64_t item_index, const struct nj_snapshot_chain *chain)
{
    struct nj_sink_message message = {.kind = NJ_SINK_PRUNE};
    struct nj_sink_prune prune = {
        .directory_fd = directory_fd, .ends_item = true, .item_index = item_index};
    assert(!writer->is_open);
    for (uint32_t i = 0; i < writer->n_targets; i++) {
        if (writer->targets[i].asked.chain == chain) {
            writer->targets[i].asked.chain = NULL;
        }
    }
    send(writer, &message, &prune, sizeof prune);
}

enum nj_status nj_snapshot_writer_prune_status(struct nj_snapshot_writer *writer,
                                               struct nj_error *err)
{
    nj_snapshot_writer_wait(writer);
    const struct nj_sink_outcome *outcome = nj_sink_prune_outcome(writer->sink);
    return outcome->status == NJ_OK ? NJ_OK
                                    : nj_fail(err, outcome->status, "%s", outcome->error.text);
}

struct nj_snapshot_stats nj_snapshot_writer_stats(const struct nj_snapshot_writer *writer)
{
    return writer->stats;
}
