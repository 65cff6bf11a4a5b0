#include "runner/quarantine.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "runner/identity.h"
#include "runner/log_window.h"
#include "runner/pending_file.h"

/* Gives the tail, piece by piece, to a file in the making, or only to a digest. */
static enum nj_status give_tail(struct nj_log_window *window, uint64_t offset,
                                struct nj_pending_file *file, struct nj_digest_stream *digest,
                                struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && offset < window->length_bytes) {
        uint64_t n_left = window->length_bytes - offset;
        struct nj_bytes piece = {.length_bytes = n_left < NJ_LOG_WINDOW_BYTES
                                                     ? (size_t)n_left
                                                     : NJ_LOG_WINDOW_BYTES};
        status = nj_log_window_view(window, offset, piece.length_bytes, &piece.data, err);
        if (status == NJ_OK && file != NULL) {
            status = nj_pending_file_append(file, piece, err);
        } else if (status == NJ_OK) {
            nj_digest_stream_add(digest, piece.data, piece.length_bytes);
        }
        offset += piece.length_bytes;
    }
    return status;
}

static enum nj_status digest_tail(struct nj_log_window *window, uint64_t offset,
                                  struct nj_digest *digest, struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status == NJ_OK) {
        status = give_tail(window, offset, NULL, stream, err);
    }
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(stream, digest, err);
    }
    nj_digest_stream_destroy(stream);
    return status;
}

static enum nj_status copy_tail(const struct nj_log_tail *tail, struct nj_log_window *window,
                                const char *name, struct nj_error *err)
{
    struct nj_pending_file file;
    enum nj_status status =
        nj_pending_file_begin(&file, tail->fs, tail->directory_fd, name, err);
    if (status != NJ_OK) {
        return status;
    }
    status = give_tail(window, tail->offset_bytes, &file, NULL, err);
    if (status != NJ_OK) {
        nj_pending_file_abandon(&file);
        return status;
    }
    return nj_pending_file_commit(&file, NULL, err);
}

static enum nj_status quarantine(const struct nj_log_tail *tail, struct nj_log_window *window,
                                 char copy[NJ_QUARANTINE_NAME_BYTES], struct nj_error *err)
{
    enum { COPIES_LIMIT = 10000 };
    struct nj_digest wanted;
    struct nj_digest found;
    unsigned long long offset = tail->offset_bytes;
    enum nj_status status = digest_tail(window, tail->offset_bytes, &wanted, err);
    if (status != NJ_OK) {
        return status;
    }
    for (unsigned number = 1; number <= COPIES_LIMIT; number++) {
        (void)(number == 1
                   ? snprintf(copy, NJ_QUARANTINE_NAME_BYTES, "%s.bad-%llu", tail->name, offset)
                   : snprintf(copy, NJ_QUARANTINE_NAME_BYTES, "%s.bad-%llu.%u", tail->name,
                              offset, number));
        status = nj_file_digest(tail->fs, tail->directory_fd, copy, &found, NULL);
        if (status == NJ_E_NOT_FOUND) {
            return copy_tail(tail, window, copy, err);
        }
        if (status == NJ_OK && memcmp(found.bytes, wanted.bytes, sizeof found.bytes) == 0) {
            return NJ_OK;
        }
    }
    return nj_fail(err, NJ_E_STORAGE, "%d copies are there already", COPIES_LIMIT);
}

enum nj_status nj_quarantine(const struct nj_log_tail *tail,
                             char copy[NJ_QUARANTINE_NAME_BYTES], struct nj_error *err)
{
    struct nj_log_window window;
    bool exists = false;
    enum nj_status status =
        nj_log_window_open(&window, tail->fs, tail->directory_fd, tail->name, &exists, err);
    if (status == NJ_OK && exists) {
        status = quarantine(tail, &window, copy, err);
        nj_log_window_close(&window);
    }
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "quarantine of %s", tail->name);
}
