#include "runner/derived_file.h"

#include <errno.h>
#include <string.h>

#include "runner/identity.h"

enum nj_status nj_sink_give(const struct nj_sink *sink, struct nj_text text,
                            struct nj_error *err)
{
    if (text.length_bytes == 0) {
        return NJ_OK;
    }
    if (sink->file != NULL) {
        struct nj_bytes bytes = {.data = (const uint8_t *)text.data,
                                 .length_bytes = text.length_bytes};
        return nj_pending_file_append(sink->file, bytes, err);
    }
    nj_digest_stream_add(sink->digest, text.data, text.length_bytes);
    return NJ_OK;
}

enum nj_status nj_sink_give_string(const struct nj_sink *sink, const char *text,
                                   struct nj_error *err)
{
    return nj_sink_give(sink, nj_text_from(text), err);
}

enum nj_status nj_derived_file_write(const struct nj_derived_file *file,
                                     struct nj_digest *sha256, struct nj_error *err)
{
    struct nj_pending_file pending;
    struct nj_sink sink = {.file = &pending};
    enum nj_status status =
        nj_pending_file_begin(&pending, file->fs, file->directory_fd, file->name, err);
    if (status != NJ_OK) {
        return status;
    }
    status = file->content(file->context, &sink, err);
    if (status != NJ_OK) {
        nj_pending_file_abandon(&pending);
        return status;
    }
    return nj_pending_file_publish(&pending, sha256, err);
}

/* What the file's digest would be if it were written now. */
static enum nj_status digest_content(const struct nj_derived_file *file,
                                     struct nj_digest *sha256, struct nj_error *err)
{
    struct nj_sink sink = {0};
    enum nj_status status = nj_digest_stream_create(&sink.digest, err);
    if (status == NJ_OK) {
        status = file->content(file->context, &sink, err);
    }
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(sink.digest, sha256, err);
    }
    nj_digest_stream_destroy(sink.digest);
    return status;
}

enum nj_status nj_derived_file_check(const struct nj_derived_file *file,
                                     struct nj_digest *sha256, bool *is_sound,
                                     struct nj_error *err)
{
    struct nj_digest found;
    enum nj_status status = digest_content(file, sha256, err);
    if (status == NJ_OK) { /* a file that cannot be read is not the one that was written */
        *is_sound =
            nj_file_digest(file->fs, file->directory_fd, file->name, &found, NULL) == NJ_OK &&
            memcmp(found.bytes, sha256->bytes, sizeof found.bytes) == 0;
    }
    return status;
}

enum nj_status nj_derived_file_remove(const struct nj_file_system *fs, int directory_fd,
                                      const char *name, bool *was_there, struct nj_error *err)
{
    bool is_gone = fs->unlink_at(fs->context, directory_fd, name) == 0;
    if (!is_gone && errno != ENOENT) {
        return nj_fail(err, NJ_E_STORAGE, "remove %s: %s", name, strerror(errno));
    }
    if (was_there != NULL) {
        *was_there = is_gone;
    }
    return NJ_OK;
}

enum nj_status nj_derived_file_sync(const struct nj_file_system *fs, int directory_fd,
                                    struct nj_error *err)
{
    return fs->sync(fs->context, directory_fd) == 0
               ? NJ_OK
               : nj_fail(err, NJ_E_STORAGE, "sync the folder of the results: %s",
                         strerror(errno));
}
