#include "runner/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "runner/pending_file.h"

enum { WINDOW_BYTES = 1 << 20 }; /* of a log that is looked at in one piece */

/* A part of the file in memory: a log may be larger than memory. */
struct window {
    const struct nj_file_system *fs;
    const char *name;
    int fd;
    uint64_t length_bytes; /* of the file */
    uint8_t *bytes;
    size_t capacity_bytes;
    uint64_t first; /* offset of bytes[0] */
    size_t n_held;
};

static enum nj_status fill(struct window *window, uint64_t offset, size_t n_bytes,
                           struct nj_error *err)
{
    uint64_t n_left = window->length_bytes - offset;
    size_t n_wanted = n_left < WINDOW_BYTES ? (size_t)n_left : WINDOW_BYTES;
    n_wanted = n_bytes > n_wanted ? n_bytes : n_wanted;
    window->n_held = 0;
    enum nj_status status =
        nj_vector_reserve(&window->bytes, &window->capacity_bytes, 1, n_wanted, err);
    if (status == NJ_OK) {
        status = nj_file_read_exactly(window->fs, window->fd, window->bytes, n_wanted, offset,
                                      window->name, err);
    }
    if (status == NJ_OK) {
        window->first = offset;
        window->n_held = n_wanted;
    }
    return status;
}

/* The view of a nj_record_source. */
static enum nj_status view_window(void *context, uint64_t offset, size_t n_bytes,
                                  const uint8_t **data, struct nj_error *err)
{
    struct window *window = context;
    bool is_held = offset >= window->first && window->n_held >= n_bytes &&
                   offset - window->first <= window->n_held - n_bytes;
    if (!is_held) {
        enum nj_status status = fill(window, offset, n_bytes, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    *data = window->bytes + (offset - window->first);
    return NJ_OK;
}

static void close_window(struct window *window)
{
    (void)window->fs->close(window->fs->context, window->fd); /* only read from */
    free(window->bytes);
}

/* `*exists` false, and nothing open, when there is no such file. */
static enum nj_status open_window(struct window *window, const struct nj_log_file_place *place,
                                  bool *exists, struct nj_error *err)
{
    struct nj_error failure;
    *window = (struct window){.fs = place->fs, .name = place->name, .fd = -1};
    enum nj_status status =
        nj_file_open_read(place->fs, place->directory_fd, place->name, &window->fd, &failure);
    *exists = status == NJ_OK;
    if (status == NJ_E_NOT_FOUND) {
        return NJ_OK;
    }
    if (status != NJ_OK) {
        return nj_fail(err, status == NJ_E_INPUT ? NJ_E_STORAGE : status, "%s", failure.text);
    }
    status = nj_file_length(place->fs, window->fd, &window->length_bytes, err);
    if (status != NJ_OK) {
        close_window(window);
    }
    return status;
}

/* Hears of every record first, to tell a record that cannot be true from a visit that failed.
 */
struct sceptic {
    nj_record_visit *visit;
    void *context;
    bool is_refused;
};

static enum nj_status visit_sceptically(void *context, const struct nj_record *record,
                                        struct nj_error *err)
{
    struct sceptic *sceptic = context;
    enum nj_status status = sceptic->visit(sceptic->context, record, err);
    sceptic->is_refused = status == NJ_E_STATE;
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

/* Another kind's records must not reach the visit, so the header is judged first. */
static enum nj_status visit_nothing(void *context, const struct nj_record *record,
                                    struct nj_error *err)
{
    (void)context;
    (void)record;
    (void)err;
    return NJ_E_STOPPED;
}

static enum nj_status scan_window(struct window *window, const struct nj_log_file_place *place,
                                  nj_record_visit *visit, void *context,
                                  struct nj_record_log_scan *scan, struct nj_error *err)
{
    struct nj_error failure = {0};
    struct sceptic sceptic = {.visit = visit, .context = context};
    struct nj_record_source source = {
        .context = window, .length_bytes = window->length_bytes, .view = view_window};
    uint32_t version = place->identity.format_version;
    enum nj_status status =
        nj_record_log_scan_source(&source, version, visit_nothing, NULL, scan, &failure);
    if (status == NJ_OK || status == NJ_E_STOPPED) {
        status = check_kind(place, scan, err);
        if (status != NJ_OK) {
            return status;
        }
        status = nj_record_log_scan_source(&source, version, visit_sceptically, &sceptic, scan,
                                           &failure);
    }
    if (status == NJ_E_STATE && sceptic.is_refused) {
        scan->end = NJ_LOG_END_DAMAGED;
        (void)snprintf(scan->complaint, sizeof scan->complaint, "%.150s", failure.text);
        return NJ_OK;
    }
    return status == NJ_OK ? NJ_OK : nj_fail(err, status, "%s", failure.text);
}

enum nj_status nj_log_file_read(const struct nj_log_file_place *place, nj_record_visit *visit,
                                void *context, struct nj_log_found *found, struct nj_error *err)
{
    struct window window;
    *found = (struct nj_log_found){.scan = {.end = NJ_LOG_END_NO_HEADER}};
    enum nj_status status = open_window(&window, place, &found->exists, err);
    if (status != NJ_OK || !found->exists) {
        return status;
    }
    found->length_bytes = window.length_bytes;
    status = scan_window(&window, place, visit, context, &found->scan, err);
    close_window(&window);
    return status;
}

static enum nj_status copy_tail(struct window *window, uint64_t offset,
                                struct nj_pending_file *copy, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && offset < window->length_bytes) {
        uint64_t n_left = window->length_bytes - offset;
        size_t n_bytes = n_left < WINDOW_BYTES ? (size_t)n_left : WINDOW_BYTES;
        struct nj_bytes piece = {.length_bytes = n_bytes};
        status = view_window(window, offset, n_bytes, &piece.data, err);
        if (status == NJ_OK) {
            status = nj_pending_file_append(copy, piece, err);
        }
        offset += n_bytes;
    }
    return status;
}

/* Copies the bytes that will be cut to NAME.bad-OFFSET. The name is a function of the place, so
 * that dying in here and doing it again leaves one copy. */
static enum nj_status quarantine(const struct nj_log_file *file,
                                 const struct nj_log_file_place *place, uint64_t offset,
                                 struct nj_error *err)
{
    char name[60];
    struct nj_pending_file copy;
    struct window window = {
        .fs = file->fs, .name = file->name, .fd = file->fd, .length_bytes = file->length_bytes};
    (void)snprintf(name, sizeof name, "%s.bad-%llu", place->name, (unsigned long long)offset);
    enum nj_status status =
        nj_pending_file_begin(&copy, place->fs, place->directory_fd, name, err);
    if (status == NJ_OK) {
        status = copy_tail(&window, offset, &copy, err);
        if (status == NJ_OK) {
            status = nj_pending_file_commit(&copy, NULL, err);
        } else {
            nj_pending_file_abandon(&copy);
        }
    }
    free(window.bytes);
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

/* Keeps what was verified; everything else is copied away and cut. */
static enum nj_status cut_tail(struct nj_log_file *file, const struct nj_log_file_place *place,
                               const struct nj_record_log_scan *scan, struct nj_error *err)
{
    uint64_t keep = scan->valid_bytes; /* 0 when the header itself does not verify */
    uint64_t n_tail = file->length_bytes - keep;
    file->cursor = scan->cursor;
    if (n_tail == 0) {
        return NJ_OK;
    }
    if (scan->end != NJ_LOG_END_CLEAN) {
        enum nj_status status = quarantine(file, place, keep, err);
        if (status != NJ_OK) {
            return status;
        }
        nj_log_write(
            place->log, NJ_LOG_WARNING,
            "%s: %s; %llu bytes were moved to %s.bad-%llu, what they held is done again",
            place->name, scan->complaint, (unsigned long long)n_tail, place->name,
            (unsigned long long)keep);
    }
    return cut(file, keep, err);
}

static enum nj_status recover(struct nj_log_file *file, const struct nj_log_file_place *place,
                              const struct nj_log_found *found, struct nj_error *err)
{
    if (file->length_bytes != found->length_bytes) {
        return nj_fail(err, NJ_E_STATE, "%s changed while it was looked at", place->name);
    }
    enum nj_status status = cut_tail(file, place, &found->scan, err);
    return status == NJ_OK && file->length_bytes == 0 ? begin_log(file, place, err) : status;
}

enum nj_status nj_log_file_recover(struct nj_log_file *file,
                                   const struct nj_log_file_place *place,
                                   const struct nj_log_found *found, struct nj_error *err)
{
    *file = (struct nj_log_file){.fs = place->fs, .name = place->name, .fd = -1};
    enum nj_status status = nj_file_open_append(place->fs, place->directory_fd, place->name,
                                                &file->fd, &file->length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    file->is_open = true;
    status = recover(file, place, found, err);
    if (status != NJ_OK) {
        nj_log_file_close(file);
    }
    return status;
}

enum nj_status nj_log_file_open(struct nj_log_file *file, const struct nj_log_file_place *place,
                                nj_record_visit *visit, void *context, struct nj_error *err)
{
    struct nj_log_found found;
    *file = (struct nj_log_file){.fs = place->fs, .name = place->name, .fd = -1};
    enum nj_status status = nj_log_file_read(place, visit, context, &found, err);
    return status == NJ_OK ? nj_log_file_recover(file, place, &found, err) : status;
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
