#include "runner/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "runner/quarantine.h"

static enum nj_status write_header(struct nj_log_file *file,
                                   const struct nj_record_log_identity *identity,
                                   struct nj_error *err)
{
    uint8_t header[NJ_RECORD_LOG_HEADER_BYTES];
    nj_record_log_encode_header(identity, header, &file->cursor);
    struct nj_bytes bytes = {.data = header, .length_bytes = sizeof header};
    enum nj_status status =
        nj_file_append(file->place.fs, file->fd, bytes, file->place.name, err);
    file->length_bytes = sizeof header;
    return status;
}

static enum nj_status write_record(struct nj_log_file *file, uint32_t type,
                                   struct nj_bytes payload, struct nj_error *err)
{
    size_t n_bytes = nj_record_encoded_bytes(payload.length_bytes);
    uint8_t *encoded = malloc(n_bytes);
    if (encoded == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "append to %s: out of memory", file->place.name);
    }
    nj_record_encode(&file->cursor, type, payload, encoded);
    struct nj_bytes bytes = {.data = encoded, .length_bytes = n_bytes};
    enum nj_status status =
        nj_file_append(file->place.fs, file->fd, bytes, file->place.name, err);
    free(encoded);
    file->length_bytes += n_bytes;
    return status;
}

/* Writes the held record at the end of the segment, and notes where. */
static enum nj_status write_held(struct nj_log_file *file, size_t index, struct nj_error *err)
{
    struct nj_held_record *record = &file->held.records[index];
    record->spot.segment = file->segment;
    record->spot.offset_bytes = file->length_bytes + NJ_RECORD_HEADER_BYTES;
    return write_record(file, record->type, nj_held_records_payload(&file->held, index), err);
}

/* Everything in the segment is on the disk. */
static void settle(struct nj_log_file *file)
{
    file->durable_bytes = file->length_bytes;
    file->durable_chain = file->cursor.chain;
    file->held.n_durable = file->held.n_records;
    file->is_dirty = false;
}

/* The content of a new segment: what it continues, and what is held and not durable. */
static enum nj_status write_continuation(struct nj_log_file *file,
                                         const struct nj_log_continuation *continuation,
                                         struct nj_error *err)
{
    uint8_t payload[NJ_LOG_CONTINUATION_BYTES];
    struct nj_record_log_identity identity = file->place.identity;
    identity.salt += continuation->segment * UINT64_C(0x9E3779B97F4A7C15);
    nj_log_continuation_encode(continuation, payload);
    struct nj_bytes bytes = {.data = payload, .length_bytes = sizeof payload};
    enum nj_status status = write_header(file, &identity, err);
    if (status == NJ_OK) {
        status = write_record(file, NJ_LOG_RECORD_CONTINUATION, bytes, err);
    }
    for (size_t i = file->held.n_durable; i < file->held.n_records && status == NJ_OK; i++) {
        status = write_held(file, i, err);
    }
    return status;
}

static enum nj_status create_segment(const struct nj_log_file *file, const char *name, int *fd,
                                     struct nj_error *err)
{
    const struct nj_file_system *fs = file->place.fs;
    *fd = fs->open_at(fs->context, file->place.directory_fd, name,
                      O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return *fd >= 0 ? NJ_OK
                    : nj_fail(err, NJ_E_STORAGE, "create %s: %s", name, strerror(errno));
}

/* Bytes on the disk, then the name on the disk. */
static enum nj_status sync_segment(const struct nj_log_file *file, const char *name,
                                   struct nj_error *err)
{
    const struct nj_file_system *fs = file->place.fs;
    enum nj_status status = nj_file_data_sync(fs, file->fd, name, err);
    if (status == NJ_OK && fs->sync(fs->context, file->place.directory_fd) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "sync the folder of %s: %s", name, strerror(errno));
    }
    return status;
}

/* Continues in a new segment. The old descriptor stays open until the new one is durable. */
static enum nj_status begin_segment(struct nj_log_file *file, struct nj_error *err)
{
    const struct nj_file_system *fs = file->place.fs;
    const struct nj_log_continuation continuation = {.segment = file->newest + 1,
                                                     .before = file->segment,
                                                     .kept_bytes = file->durable_bytes,
                                                     .chain = file->durable_chain};
    char name[NJ_LOG_NAME_BYTES];
    int old_fd = file->fd;
    if (continuation.segment > NJ_LOG_SEGMENTS_LIMIT) {
        return nj_fail(err, NJ_E_STORAGE, "%s has %d segments, and no more are allowed",
                       file->place.name, NJ_LOG_SEGMENTS_LIMIT);
    }
    (void)nj_log_segment_name(file->place.name, continuation.segment, name);
    enum nj_status status = create_segment(file, name, &file->fd, err);
    if (status != NJ_OK) {
        file->fd = old_fd;
        return status;
    }
    file->newest = continuation.segment;
    file->segment = continuation.segment;
    status = write_continuation(file, &continuation, err);
    if (status == NJ_OK) {
        status = sync_segment(file, name, err);
    }
    if (old_fd >= 0) {
        (void)fs->close(fs->context, old_fd); /* what it held is written anew, or lost */
    }
    if (status == NJ_OK) {
        settle(file);
    } else {
        (void)fs->unlink_at(fs->context, file->place.directory_fd,
                            name); /* tells nothing new */
    }
    return status;
}

/* After `failure`: when it was the storage that failed, a new segment may help. */
static enum nj_status go_on_elsewhere(struct nj_log_file *file, const struct nj_error *failure,
                                      struct nj_error *err)
{
    struct nj_error second;
    if (failure->status != NJ_E_STORAGE) {
        file->is_poisoned = true;
        return nj_fail(err, failure->status, "%s", failure->text);
    }
    if (begin_segment(file, &second) != NJ_OK) {
        file->is_poisoned = true;
        return nj_fail(err, NJ_E_STORAGE, "%s; a new segment did not help: %s", failure->text,
                       second.text);
    }
    nj_log_write(file->place.log, NJ_LOG_WARNING,
                 "%s: the storage failed; what it had not taken was written again to %s.%u, "
                 "and the run goes on",
                 failure->text, file->place.name, file->segment);
    return NJ_OK;
}

static enum nj_status cut(struct nj_log_file *file, uint64_t length_bytes, struct nj_error *err)
{
    const struct nj_file_system *fs = file->place.fs;
    if (fs->truncate(fs->context, file->fd, (off_t)length_bytes) != 0 ||
        fs->sync(fs->context, file->fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "cut %s to %llu bytes: %s", file->place.name,
                       (unsigned long long)length_bytes, strerror(errno));
    }
    file->length_bytes = length_bytes;
    return NJ_OK;
}

/* Keeps what was verified; everything else is copied away and cut. */
static enum nj_status cut_tail(struct nj_log_file *file, const char *name,
                               const struct nj_log_found *found, struct nj_error *err)
{
    char copy[NJ_QUARANTINE_NAME_BYTES];
    uint64_t keep = found->scan.valid_bytes; /* 0 when the header itself does not verify */
    uint64_t n_tail = file->length_bytes - keep;
    if (n_tail == 0) {
        return NJ_OK;
    }
    if (found->scan.end != NJ_LOG_END_CLEAN) {
        struct nj_log_tail tail = {.fs = file->place.fs,
                                   .directory_fd = file->place.directory_fd,
                                   .name = name,
                                   .offset_bytes = keep};
        enum nj_status status = nj_quarantine(&tail, copy, err);
        if (status != NJ_OK) {
            return status;
        }
        nj_log_write(file->place.log, NJ_LOG_WARNING,
                     "%s: %s; %llu bytes were moved to %s, what they held is done again", name,
                     found->scan.complaint, (unsigned long long)n_tail, copy);
    }
    return cut(file, keep, err);
}

static enum nj_status begin_log(struct nj_log_file *file, struct nj_error *err)
{
    enum nj_status status = write_header(file, &file->place.identity, err);
    return status == NJ_OK ? nj_file_data_sync(file->place.fs, file->fd, file->place.name, err)
                           : status;
}

/* The segment that was read last is the newest one: it is appended to. */
static enum nj_status reopen(struct nj_log_file *file, const struct nj_log_found *found,
                             struct nj_error *err)
{
    char name[NJ_LOG_NAME_BYTES];
    (void)nj_log_segment_name(file->place.name, file->segment, name);
    enum nj_status status = nj_file_open_append(file->place.fs, file->place.directory_fd, name,
                                                &file->fd, &file->length_bytes, err);
    if (status == NJ_OK && file->length_bytes != found->length_bytes) {
        status = nj_fail(err, NJ_E_STATE, "%s changed while it was looked at", name);
    }
    if (status == NJ_OK) {
        status = cut_tail(file, name, found, err);
    }
    return status == NJ_OK && file->length_bytes == 0 ? begin_log(file, err) : status;
}

static void tell_damage(const struct nj_log_file_place *place, const struct nj_log_found *found)
{
    char name[NJ_LOG_NAME_BYTES];
    if (found->n_damaged > 0) {
        nj_log_write(place->log, NJ_LOG_WARNING,
                     "%s: %s; what it held from there on is done again",
                     nj_log_segment_name(place->name, found->damaged, name), found->complaint);
    }
}

static enum nj_status recover(struct nj_log_file *file, const struct nj_log_found *found,
                              struct nj_error *err)
{
    struct nj_error failure = {0};
    tell_damage(&file->place, found);
    if (file->segment != file->newest) {
        (void)nj_fail(&failure, NJ_E_STORAGE, "%s.%u does not verify", file->place.name,
                      file->newest);
    } else if (reopen(file, found, &failure) == NJ_OK) {
        settle(file);
        return NJ_OK;
    }
    return go_on_elsewhere(file, &failure, err);
}

enum nj_status nj_log_file_recover(struct nj_log_file *file,
                                   const struct nj_log_file_place *place,
                                   const struct nj_log_found *found, struct nj_error *err)
{
    *file = (struct nj_log_file){.place = *place,
                                 .fd = -1,
                                 .is_open = true,
                                 .is_busy = true,
                                 .segment = found->segment > 0 ? found->segment : 1,
                                 .newest = found->newest > 0 ? found->newest : 1,
                                 .cursor = found->scan.cursor,
                                 .durable_bytes = found->scan.valid_bytes,
                                 .durable_chain = found->scan.cursor.chain};
    enum nj_status status = recover(file, found, err);
    file->is_busy = false;
    if (status != NJ_OK) {
        nj_log_file_close(file);
    }
    return status;
}

enum nj_status nj_log_file_open(struct nj_log_file *file, const struct nj_log_file_place *place,
                                nj_record_visit *visit, void *context, struct nj_error *err)
{
    struct nj_log_found found;
    enum nj_status status = nj_log_file_read(place, visit, context, &found, err);
    return status == NJ_OK ? nj_log_file_recover(file, place, &found, err) : status;
}

void nj_log_file_close(struct nj_log_file *file)
{
    if (!file->is_open) {
        return;
    }
    if (file->fd >= 0) {
        const struct nj_file_system *fs = file->place.fs;
        (void)fs->close(fs->context, file->fd); /* synced whenever it mattered */
    }
    nj_held_records_deinit(&file->held);
    file->fd = -1;
    file->is_open = false;
}

static enum nj_status check_append(const struct nj_log_file *file, struct nj_bytes payload,
                                   struct nj_error *err)
{
    if (file->is_poisoned) {
        return nj_fail(err, NJ_E_STORAGE, "append to %s: an earlier write or sync failed",
                       file->place.name);
    }
    if (payload.length_bytes > NJ_RECORD_PAYLOAD_LIMIT_BYTES) {
        return nj_fail(err, NJ_E_STORAGE,
                       "append to %s: %zu bytes are more than a record holds", file->place.name,
                       payload.length_bytes);
    }
    return NJ_OK;
}

enum nj_status nj_log_file_append(struct nj_log_file *file, uint32_t type,
                                  struct nj_bytes payload, size_t *ordinal,
                                  struct nj_error *err)
{
    struct nj_error failure = {0};
    enum nj_status status = check_append(file, payload, err);
    if (status != NJ_OK) {
        return status;
    }
    if (!file->is_dirty) {
        nj_held_records_clear(&file->held);
    }
    status = nj_held_records_add(&file->held, type, payload, err);
    if (status != NJ_OK) {
        return status;
    }
    file->is_busy = true;
    status = write_held(file, file->held.n_records - 1, &failure);
    if (status != NJ_OK) {
        status = go_on_elsewhere(file, &failure, err);
    }
    file->is_busy = false;
    file->is_dirty = true;
    if (status == NJ_OK && ordinal != NULL) {
        *ordinal = file->held.n_records - 1;
    }
    return status;
}

enum nj_status nj_log_file_sync(struct nj_log_file *file, struct nj_error *err)
{
    struct nj_error failure = {0};
    if (!file->is_dirty || file->is_poisoned) {
        return file->is_poisoned ? check_append(file, (struct nj_bytes){0}, err) : NJ_OK;
    }
    file->is_busy = true;
    enum nj_status status =
        nj_file_data_sync(file->place.fs, file->fd, file->place.name, &failure);
    if (status == NJ_OK) {
        settle(file);
    } else {
        status = go_on_elsewhere(file, &failure, err);
    }
    file->is_busy = false;
    return status;
}

struct nj_log_spot nj_log_file_spot(const struct nj_log_file *file, size_t ordinal)
{
    return file->held.records[ordinal].spot;
}
