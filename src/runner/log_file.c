#include "runner/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LIMIT_BYTES = INT32_MAX }; /* what is read whole when a run is continued */

/* The log as found: its bytes live in `arena` until recovery is done. */
struct found_log {
    struct nj_arena arena;
    struct nj_bytes bytes;
    bool exists;
};

static enum nj_status read_found(const struct nj_log_file_place *place, struct found_log *found,
                                 struct nj_error *err)
{
    struct nj_error absent;
    enum nj_status status =
        nj_file_read_whole(place->fs, place->directory_fd, place->name, LOG_LIMIT_BYTES,
                           &found->arena, &found->bytes, &absent);
    found->exists = status == NJ_OK;
    if (status == NJ_OK || status == NJ_E_NOT_FOUND) {
        return NJ_OK;
    }
    return nj_fail(err, status, "%s", absent.text);
}

/* Copies the bytes that will be cut to NAME.bad-OFFSET. The name is a function of the place, so
 * that dying in here and doing it again leaves one copy. */
static enum nj_status quarantine(const struct nj_log_file_place *place, struct nj_bytes tail,
                                 uint64_t offset, struct nj_error *err)
{
    char name[80];
    (void)snprintf(name, sizeof name, "%s.bad-%llu", place->name, (unsigned long long)offset);
    enum nj_status status = nj_file_replace(place->fs, place->directory_fd, name, tail, err);
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "quarantine of %s", place->name);
}

static enum nj_status cut(struct nj_log_file *file, uint64_t length_bytes, struct nj_error *err)
{
    const struct nj_file_system *fs = file->fs;
    if (fs->truncate(fs->context, file->fd, (off_t)length_bytes) != 0 ||
        fs->sync(fs->context, file->fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "cut %s to %llu bytes: %s", file->name,
                       (unsigned long long)length_bytes, strerror(errno));
    }
    file->length_bytes = length_bytes;
    return NJ_OK;
}

static enum nj_status begin_log(struct nj_log_file *file, const struct nj_log_file_place *place,
                                struct nj_error *err)
{
    uint8_t header[NJ_RECORD_LOG_HEADER_BYTES];
    nj_record_log_encode_header(&place->identity, header, &file->cursor);
    struct nj_bytes bytes = {.data = header, .length_bytes = sizeof header};
    enum nj_status status = nj_file_append(file->fs, file->fd, bytes, file->name, err);
    if (status == NJ_OK) {
        status = nj_file_data_sync(file->fs, file->fd, file->name, err);
    }
    if (status == NJ_OK) {
        file->length_bytes = sizeof header;
    }
    return status;
}

/* Whether this log is one that we may touch at all. */
static enum nj_status check_kind(const struct nj_log_file_place *place,
                                 const struct nj_record_log_scan *scan, struct nj_error *err)
{
    if (scan->end == NJ_LOG_END_NEWER) {
        return nj_fail(err, NJ_E_STATE,
                       "%s has format version %u, written by a newer nightjar (this one knows "
                       "%u): nothing was touched",
                       place->name, scan->identity.format_version,
                       place->identity.format_version);
    }
    bool has_header = scan->valid_bytes >= NJ_RECORD_LOG_HEADER_BYTES;
    if (has_header && scan->identity.kind != place->identity.kind) {
        return nj_fail(err, NJ_E_STATE, "%s is another kind of log: nothing was touched",
                       place->name);
    }
    return NJ_OK;
}

/* Keeps what was verified; everything else is copied away and cut. */
static enum nj_status recover(struct nj_log_file *file, const struct nj_log_file_place *place,
                              const struct found_log *found,
                              const struct nj_record_log_scan *scan, struct nj_error *err)
{
    uint64_t keep = scan->valid_bytes; /* 0 when the header itself does not verify */
    struct nj_bytes tail = {.length_bytes = found->bytes.length_bytes - keep};
    if (tail.length_bytes > 0) {
        tail.data = found->bytes.data + keep;
    }
    if (scan->end != NJ_LOG_END_CLEAN && tail.length_bytes > 0) {
        enum nj_status status = quarantine(place, tail, keep, err);
        if (status != NJ_OK) {
            return status;
        }
        nj_log_write(
            place->log, NJ_LOG_WARNING,
            "%s: %s; %zu bytes were moved to %s.bad-%llu, what they held is done again",
            place->name, scan->complaint, tail.length_bytes, place->name,
            (unsigned long long)keep);
    }
    file->cursor = scan->cursor;
    file->length_bytes = keep;
    return tail.length_bytes > 0 ? cut(file, keep, err) : NJ_OK;
}

static enum nj_status open_found(struct nj_log_file *file,
                                 const struct nj_log_file_place *place,
                                 const struct found_log *found, nj_record_visit *visit,
                                 void *context, struct nj_error *err)
{
    struct nj_record_log_scan scan = {.end = NJ_LOG_END_NO_HEADER};
    enum nj_status status = nj_record_log_scan(found->bytes, place->identity.format_version,
                                               visit, context, &scan, err);
    if (status == NJ_OK) {
        status = check_kind(place, &scan, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    uint64_t length_bytes = 0;
    status = nj_file_open_append(place->fs, place->directory_fd, place->name, &file->fd,
                                 &length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    file->is_open = true;
    status = recover(file, place, found, &scan, err);
    if (status == NJ_OK && file->length_bytes == 0) {
        status = begin_log(file, place, err);
    }
    return status;
}

enum nj_status nj_log_file_open(struct nj_log_file *file, const struct nj_log_file_place *place,
                                nj_record_visit *visit, void *context, struct nj_error *err)
{
    struct found_log found = {0};
    *file = (struct nj_log_file){.fs = place->fs, .name = place->name, .fd = -1};
    enum nj_status status = read_found(place, &found, err);
    if (status == NJ_OK) {
        status = open_found(file, place, &found, visit, context, err);
    }
    nj_arena_deinit(&found.arena);
    if (status != NJ_OK) {
        nj_log_file_close(file);
    }
    return status;
}

void nj_log_file_close(struct nj_log_file *file)
{
    if (file->is_open) {
        (void)file->fs->close(file->fs->context, file->fd); /* synced, or given up, before */
    }
    file->is_open = false;
}

enum nj_status nj_log_file_append(struct nj_log_file *file, uint32_t type,
                                  struct nj_bytes payload, uint64_t *payload_offset,
                                  struct nj_error *err)
{
    if (file->is_poisoned) {
        return nj_fail(err, NJ_E_STORAGE, "append to %s: an earlier write or sync failed",
                       file->name);
    }
    if (payload.length_bytes > NJ_RECORD_PAYLOAD_LIMIT_BYTES) {
        return nj_fail(err, NJ_E_STORAGE,
                       "append to %s: %zu bytes are more than a record holds", file->name,
                       payload.length_bytes);
    }
    size_t n_bytes = nj_record_encoded_bytes(payload.length_bytes);
    uint8_t *encoded = malloc(n_bytes);
    if (encoded == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "append to %s: out of memory", file->name);
    }
    nj_record_encode(&file->cursor, type, payload, encoded);
    struct nj_bytes bytes = {.data = encoded, .length_bytes = n_bytes};
    enum nj_status status = nj_file_append(file->fs, file->fd, bytes, file->name, err);
    free(encoded);
    if (status != NJ_OK) {
        file->is_poisoned = true;
        return status;
    }
    if (payload_offset != NULL) {
        *payload_offset = file->length_bytes + NJ_RECORD_HEADER_BYTES;
    }
    file->length_bytes += n_bytes;
    file->is_dirty = true;
    return NJ_OK;
}

enum nj_status nj_log_file_sync(struct nj_log_file *file, struct nj_error *err)
{
    if (!file->is_dirty) {
        return NJ_OK;
    }
    enum nj_status status = nj_file_data_sync(file->fs, file->fd, file->name, err);
    file->is_poisoned = status != NJ_OK;
    file->is_dirty = false;
    return status;
}
