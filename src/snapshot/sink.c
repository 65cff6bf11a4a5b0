#include "snapshot/sink.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/retention.h"

/* A segment being written. `fd` is -1 when none is. */
struct target {
    int fd;
    int directory_fd;
    char name[NJ_SEGMENT_NAME_BYTES];
    struct nj_segment_file file;
    struct nj_sink_outcome outcome;
};

struct nj_sink {
    const struct nj_file_system *fs;
    struct nj_segment_encoder *encoder;
    struct target *targets;
    uint32_t n_targets;
    struct nj_sink_outcome prune;
};

enum nj_status nj_sink_create(const struct nj_file_system *fs, int pack_level,
                              uint32_t max_targets, struct nj_sink **sink, struct nj_error *err)
{
    struct nj_sink *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write snapshots: out of memory");
    }
    made->fs = fs;
    enum nj_status status = nj_segment_encoder_create(pack_level, &made->encoder, err);
    if (status != NJ_OK) {
        goto out;
    }
    made->targets = calloc((size_t)max_targets + 1, sizeof *made->targets);
    if (made->targets == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "write %u snapshots: out of memory", max_targets);
        goto out;
    }
    made->n_targets = max_targets;
    for (uint32_t i = 0; i < max_targets; i++) {
        made->targets[i].fd = -1;
    }
    *sink = made;
    made = NULL;
out:
    nj_sink_destroy(made);
    return status;
}

/* The file is of no use: it goes, and nothing is ever written to it again. */
static void throw_away(struct nj_sink *sink, struct target *target)
{
    const struct nj_file_system *fs = sink->fs;
    nj_segment_file_deinit(&target->file);
    if (target->fd < 0) {
        return;
    }
    (void)fs->close(fs->context, target->fd); /* whatever it says, the file goes */
    /* A leftover has no commit that anybody named: the loader puts it aside or, if the commit
     * reached the disk after all, finds a true state. */
    (void)fs->unlink_at(fs->context, target->directory_fd, target->name);
    target->fd = -1;
}

void nj_sink_destroy(struct nj_sink *sink)
{
    if (sink == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sink->n_targets && sink->targets != NULL; i++) {
        throw_away(sink, &sink->targets[i]);
    }
    free(sink->targets);
    nj_segment_encoder_destroy(sink->encoder);
    free(sink);
}

static enum nj_status append(struct nj_sink *sink, struct target *target, struct nj_bytes bytes,
                             struct nj_error *err)
{
    enum nj_status status = nj_file_append(sink->fs, target->fd, bytes, target->name, err);
    if (status == NJ_OK) {
        target->outcome.file_bytes += bytes.length_bytes;
    }
    return status;
}

static enum nj_status begin(struct nj_sink *sink, struct target *target,
                            const struct nj_sink_begin *message, struct nj_error *err)
{
    const struct nj_file_system *fs = sink->fs;
    uint8_t bytes[NJ_SEGMENT_HEADER_BYTES];
    target->directory_fd = message->directory_fd;
    nj_segment_name(message->header.number, target->name);
    enum nj_status status = nj_segment_file_begin(&target->file, &message->header, bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    /* Never over a file that is there: what it is, only the loader may judge. */
    target->fd = fs->open_at(fs->context, target->directory_fd, target->name,
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (target->fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "create %s: %s", target->name, strerror(errno));
    }
    return append(sink, target, (struct nj_bytes){bytes, sizeof bytes}, err);
}

static enum nj_status add_record(struct nj_sink *sink, struct target *target,
                                 const struct nj_segment_section *section, struct nj_bytes raw,
                                 struct nj_error *err)
{
    struct nj_bytes record =
        nj_segment_encoder_record(sink->encoder, &target->file, section, raw);
    target->outcome.raw_bytes += raw.length_bytes;
    return append(sink, target, record, err);
}

/* Records on disk before the commit is written, the commit before its name, the name before
 * anybody is told. */
static enum nj_status commit(struct nj_sink *sink, struct target *target, struct nj_error *err)
{
    const struct nj_file_system *fs = sink->fs;
    uint8_t bytes[NJ_SEGMENT_COMMIT_LIMIT_BYTES];
    struct nj_bytes written = {.data = bytes};
    enum nj_status status = nj_file_data_sync(fs, target->fd, target->name, err);
    if (status == NJ_OK) {
        status = nj_segment_file_commit(&target->file, bytes, &written.length_bytes,
                                        &target->outcome.chain, err);
    }
    if (status == NJ_OK) {
        status = append(sink, target, written, err);
    }
    if (status == NJ_OK) {
        status = nj_file_data_sync(fs, target->fd, target->name, err);
    }
    if (status == NJ_OK) {
        status = nj_segment_folder_sync(fs, target->directory_fd, err);
    }
    return status;
}

static void finish(struct nj_sink *sink, struct target *target)
{
    const struct nj_file_system *fs = sink->fs;
    int fd = target->fd;
    target->fd = -1;
    nj_segment_file_deinit(&target->file);
    (void)fs->close(fs->context, fd); /* the syncs have reported anything close could */
    target->outcome.is_durable = true;
}

static void prune(struct nj_sink *sink, const struct nj_sink_prune *message)
{
    struct nj_sink_outcome *outcome = &sink->prune;
    struct nj_error error;
    enum nj_status status = nj_retention_prune(sink->fs, message->directory_fd,
                                               message->current, message->previous, &error);
    if (message->ends_item && status == NJ_OK) {
        status = nj_segment_folder_remove(sink->fs, message->directory_fd, message->item_index,
                                          &error);
    }
    if (message->ends_item) {
        (void)sink->fs->close(sink->fs->context, message->directory_fd); /* synced before */
    }
    if (status != NJ_OK && outcome->status == NJ_OK) {
        outcome->status = status;
        outcome->error = error;
    }
}

static enum nj_status handle_file(struct nj_sink *sink, struct target *target,
                                  const struct nj_sink_message *message, struct nj_bytes bytes,
                                  struct nj_error *err)
{
    switch (message->kind) {
    case NJ_SINK_BEGIN: {
        struct nj_sink_begin begin_with;
        assert(bytes.length_bytes == sizeof begin_with);
        memcpy(&begin_with, bytes.data, sizeof begin_with);
        return begin(sink, target, &begin_with, err);
    }
    case NJ_SINK_RECORD:
        return add_record(sink, target, &message->section, bytes, err);
    case NJ_SINK_COMMIT:
        return commit(sink, target, err);
    case NJ_SINK_ABANDON:
        return nj_fail(err, NJ_E_STOPPED, "%s was given up", target->name);
    case NJ_SINK_PRUNE:
        break;
    }
    return NJ_OK;
}

void nj_sink_handle(struct nj_sink *sink, const struct nj_sink_message *message,
                    struct nj_bytes bytes)
{
    if (message->kind == NJ_SINK_PRUNE) {
        struct nj_sink_prune prune_with;
        assert(bytes.length_bytes == sizeof prune_with);
        memcpy(&prune_with, bytes.data, sizeof prune_with);
        prune(sink, &prune_with);
        return;
    }
    assert(message->target < sink->n_targets);
    struct target *target = &sink->targets[message->target];
    struct nj_sink_outcome *outcome = &target->outcome;
    if (message->kind == NJ_SINK_BEGIN) {
        throw_away(sink, target);
        *outcome = (struct nj_sink_outcome){.status = NJ_OK};
    }
    if (outcome->status != NJ_OK) {
        return; /* what comes after a failure is of no use */
    }
    outcome->status = handle_file(sink, target, message, bytes, &outcome->error);
    if (outcome->status != NJ_OK) {
        throw_away(sink, target);
    } else if (message->kind == NJ_SINK_COMMIT) {
        finish(sink, target);
    }
}

const struct nj_sink_outcome *nj_sink_outcome(const struct nj_sink *sink, uint32_t target)
{
    assert(target < sink->n_targets);
    return &sink->targets[target].outcome;
}

const struct nj_sink_outcome *nj_sink_prune_outcome(const struct nj_sink *sink)
{
    return &sink->prune;
}
