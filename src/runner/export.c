#include "runner/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runner/identity.h"
#include "runner/line_reader.h"
#include "runner/pending_file.h"

/* Where lines go: into a file in the making, or only into a digest. */
struct sink {
    struct nj_pending_file *file;    /* NULL: none */
    struct nj_digest_stream *digest; /* used without a file, which has its own */
};

static enum nj_status give(const struct sink *sink, struct nj_bytes bytes, struct nj_error *err)
{
    if (sink->file != NULL) {
        return nj_pending_file_append(sink->file, bytes, err);
    }
    nj_digest_stream_add(sink->digest, bytes.data, bytes.length_bytes);
    return NJ_OK;
}

/* Copies one result line, and a newline, to the sink. */
static enum nj_status copy_line(struct nj_line_reader *reader, struct nj_log_spot spot,
                                const struct sink *sink, struct nj_error *err)
{
    const char *line = NULL;
    enum nj_status status = nj_line_reader_read(reader, spot, &line, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_bytes bytes = {.data = (const uint8_t *)line,
                             .length_bytes = (size_t)spot.n_bytes + 1};
    return give(sink, bytes, err);
}

enum selection { ALL_ITEMS, FAILED_ITEMS };

static enum nj_status copy_in_order(struct nj_line_reader *reader,
                                    const struct nj_ledger *ledger, enum selection selection,
                                    const struct sink *sink, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint64_t i = 0; i < ledger->n_items && status == NJ_OK; i++) {
        const struct nj_ledger_item *item = &ledger->items[i];
        if (item->state == NJ_ITEM_FAILED ||
            (item->state == NJ_ITEM_OK && selection == ALL_ITEMS)) {
            status = copy_line(reader, nj_ledger_line(item), sink, err);
        }
    }
    return status;
}

static enum nj_status export_in_order(struct nj_line_reader *reader, int directory_fd,
                                      const char *name, const struct nj_ledger *ledger,
                                      enum selection selection, struct nj_digest *sha256,
                                      struct nj_error *err)
{
    struct nj_pending_file file;
    struct sink sink = {.file = &file};
    enum nj_status status = nj_pending_file_begin(&file, reader->fs, directory_fd, name, err);
    if (status != NJ_OK) {
        return status;
    }
    status = copy_in_order(reader, ledger, selection, &sink, err);
    if (status != NJ_OK) {
        nj_pending_file_abandon(&file);
        return status;
    }
    return nj_pending_file_commit(&file, sha256, err);
}

enum nj_status nj_export_results(const struct nj_file_system *fs, int directory_fd,
                                 const struct nj_ledger *ledger, struct nj_digest *sha256,
                                 struct nj_error *err)
{
    struct nj_line_reader reader = {.fs = fs, .directory_fd = directory_fd};
    enum nj_status status = NJ_OK;
    if (ledger->n_failed > 0) {
        status = export_in_order(&reader, directory_fd, "errors.jsonl", ledger, FAILED_ITEMS,
                                 NULL, err);
    } else {
        status = nj_export_remove(fs, directory_fd, "errors.jsonl", err);
    }
    if (status == NJ_OK) {
        status = export_in_order(&reader, directory_fd, "results.jsonl", ledger, ALL_ITEMS,
                                 sha256, err);
    }
    nj_line_reader_deinit(&reader);
    return status;
}

/* What the file's digest would be if it were written now. */
static enum nj_status digest_in_order(struct nj_line_reader *reader,
                                      const struct nj_ledger *ledger, enum selection selection,
                                      struct nj_digest *sha256, struct nj_error *err)
{
    struct sink sink = {0};
    enum nj_status status = nj_digest_stream_create(&sink.digest, err);
    if (status == NJ_OK) {
        status = copy_in_order(reader, ledger, selection, &sink, err);
    }
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(sink.digest, sha256, err);
    }
    nj_digest_stream_destroy(sink.digest);
    return status;
}

/* A file that cannot be read is not the one that was written. */
static bool has_digest(const struct nj_file_system *fs, int directory_fd, const char *name,
                       const struct nj_digest *wanted)
{
    struct nj_digest found;
    return nj_file_digest(fs, directory_fd, name, &found, NULL) == NJ_OK &&
           memcmp(found.bytes, wanted->bytes, sizeof found.bytes) == 0;
}

static bool is_absent(const struct nj_file_system *fs, int directory_fd, const char *name)
{
    int fd = -1;
    enum nj_status status = nj_file_open_read(fs, directory_fd, name, &fd, NULL);
    if (status == NJ_OK) {
        (void)fs->close(fs->context, fd); /* only looked at */
    }
    return status == NJ_E_NOT_FOUND;
}

enum nj_status nj_export_check(const struct nj_file_system *fs, int directory_fd,
                               const struct nj_ledger *ledger, struct nj_digest *sha256,
                               bool *is_sound, struct nj_error *err)
{
    struct nj_line_reader reader = {.fs = fs, .directory_fd = directory_fd};
    struct nj_digest errors;
    enum nj_status status = digest_in_order(&reader, ledger, ALL_ITEMS, sha256, err);
    if (status == NJ_OK) {
        status = digest_in_order(&reader, ledger, FAILED_ITEMS, &errors, err);
    }
    nj_line_reader_deinit(&reader);
    if (status != NJ_OK) {
        return status;
    }
    *is_sound = has_digest(fs, directory_fd, "results.jsonl", sha256) &&
                (ledger->n_failed > 0 ? has_digest(fs, directory_fd, "errors.jsonl", &errors)
                                      : is_absent(fs, directory_fd, "errors.jsonl"));
    return NJ_OK;
}

enum nj_status nj_export_remove(const struct nj_file_system *fs, int directory_fd,
                                const char *name, struct nj_error *err)
{
    if (fs->unlink_at(fs->context, directory_fd, name) != 0) {
        return errno == ENOENT
                   ? NJ_OK
                   : nj_fail(err, NJ_E_STORAGE, "remove %s: %s", name, strerror(errno));
    }
    if (fs->sync(fs->context, directory_fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "sync the folder after removing %s: %s", name,
                       strerror(errno));
    }
    return NJ_OK;
}

static int compare_spots(const void *a, const void *b)
{
    const struct nj_log_spot *first = a;
    const struct nj_log_spot *second = b;
    if (first->segment != second->segment) {
        return first->segment > second->segment ? 1 : -1;
    }
    return (first->offset_bytes > second->offset_bytes) -
           (first->offset_bytes < second->offset_bytes);
}

/* The lines of items done, in the order in which they were. Caller frees `*spots`. */
static enum nj_status completion_order(const struct nj_ledger *ledger,
                                       struct nj_log_spot **spots, size_t *n_spots,
                                       struct nj_error *err)
{
    size_t n = 0;
    struct nj_log_spot *found = calloc(ledger->n_ok + ledger->n_failed + 1, sizeof *found);
    if (found == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "order finished items: out of memory");
    }
    for (uint64_t i = 0; i < ledger->n_items; i++) {
        const struct nj_ledger_item *item = &ledger->items[i];
        if (item->state != NJ_ITEM_OPEN) {
            found[n++] = nj_ledger_line(item);
        }
    }
    qsort(found, n, sizeof *found, compare_spots);
    *spots = found;
    *n_spots = n;
    return NJ_OK;
}

static enum nj_status rewrite_live(struct nj_line_reader *reader, int directory_fd,
                                   const struct nj_ledger *ledger, struct nj_error *err)
{
    struct nj_log_spot *spots = NULL;
    size_t n_spots = 0;
    struct nj_pending_file file;
    struct sink sink = {.file = &file};
    enum nj_status status = completion_order(ledger, &spots, &n_spots, err);
    if (status == NJ_OK) {
        status = nj_pending_file_begin(&file, reader->fs, directory_fd, "live.jsonl", err);
    }
    if (status != NJ_OK) {
        goto out;
    }
    for (size_t i = 0; i < n_spots && status == NJ_OK; i++) {
        status = copy_line(reader, spots[i], &sink, err);
    }
    if (status == NJ_OK) {
        status = nj_pending_file_commit(&file, NULL, err);
    } else {
        nj_pending_file_abandon(&file);
    }
out:
    free(spots);
    return status;
}

enum nj_status nj_export_live(const struct nj_file_system *fs, int directory_fd,
                              const struct nj_ledger *ledger, struct nj_error *err)
{
    struct nj_line_reader reader = {.fs = fs, .directory_fd = directory_fd};
    enum nj_status status = rewrite_live(&reader, directory_fd, ledger, err);
    nj_line_reader_deinit(&reader);
    return status;
}
