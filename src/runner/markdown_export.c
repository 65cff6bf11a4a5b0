#include "runner/markdown_export.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/json.h"
#include "runner/item_names.h"
#include "runner/markdown_file.h"

/* One pass over all items: their files are written, or only looked at. */
struct pass {
    const struct nj_markdown_export *markdown;
    int items_fd;
    bool writes;
    bool is_sound;
    char model[NJ_DIGEST_HEX_BYTES];
    struct nj_item_names names;
    struct nj_digest_stream *digest;
};

/* `*items_fd` -1 when there is no such folder and none is made. */
static enum nj_status open_items(const struct nj_file_system *fs, int directory_fd, bool create,
                                 int *items_fd, struct nj_error *err)
{
    if (create && fs->make_directory_at(fs->context, directory_fd, "items", 0700) != 0 &&
        errno != EEXIST) {
        return nj_fail(err, NJ_E_STORAGE, "create items: %s", strerror(errno));
    }
    *items_fd = fs->open_at(fs->context, directory_fd, "items",
                            O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (*items_fd < 0 && (create || errno != ENOENT)) {
        return nj_fail(err, NJ_E_STORAGE, "open items: %s", strerror(errno));
    }
    return NJ_OK;
}

/* For a file that is not the one that was written. */
static enum nj_status clear_the_way(const struct pass *pass, const char *name,
                                    struct nj_error *err)
{
    const struct nj_markdown_export *markdown = pass->markdown;
    return markdown->keeps_changed
               ? nj_set_aside(markdown->aside, pass->items_fd, "items/", name, err)
               : NJ_OK;
}

/* The file as it should be, and whether it is. */
static enum nj_status settle_file(struct pass *pass, const struct nj_derived_file *file,
                                  struct nj_error *err)
{
    struct nj_digest sha256;
    bool is_sound = false;
    enum nj_status status = nj_derived_file_check(file, &sha256, &is_sound, err);
    if (status == NJ_OK && !is_sound && pass->writes) {
        status = clear_the_way(pass, file->name, err);
    }
    if (status == NJ_OK && !is_sound && pass->writes) {
        status = nj_derived_file_write(file, NULL, err);
    }
    pass->is_sound = pass->is_sound && is_sound;
    if (status == NJ_OK) {
        nj_digest_stream_add_field(pass->digest, file->name, sha256.bytes, NJ_DIGEST_BYTES);
    }
    return status;
}

/* The line was written for the item: rows that changed since would pair it with another. */
static enum nj_status check_pair(const struct nj_item *item, const struct nj_json_value *line,
                                 struct nj_error *err)
{
    struct nj_text id = {0};
    bool is_same = nj_json_as_text(nj_json_get(line, "id"), &id) && nj_text_equal(id, item->id);
    return is_same ? NJ_OK
                   : nj_fail(err, NJ_E_STATE,
                             "item %llu is not what it was when it was done: the job's rows "
                             "changed under the run",
                             (unsigned long long)item->index);
}

static enum nj_status settle_item(struct pass *pass, const struct nj_item *item,
                                  const char *name, struct nj_text text, struct nj_error *err)
{
    struct nj_json *document = NULL;
    enum nj_status status = nj_json_parse(text, "results.log", &document, err);
    if (status != NJ_OK) {
        return status == NJ_E_INPUT ? NJ_E_STORAGE : status;
    }
    struct nj_markdown_file content = {.job_name = pass->markdown->source->spec->name,
                                       .model = pass->model,
                                       .item = item,
                                       .line = nj_json_root(document)};
    struct nj_derived_file file = {.fs = pass->markdown->fs,
                                   .directory_fd = pass->items_fd,
                                   .name = name,
                                   .content = nj_markdown_file_content,
                                   .context = &content};
    status = check_pair(item, content.line, err);
    if (status == NJ_OK) {
        status = settle_file(pass, &file, err);
    }
    nj_json_destroy(document);
    return status;
}

static enum nj_status visit_item(struct pass *pass, uint64_t index, struct nj_arena *arena,
                                 struct nj_error *err)
{
    const struct nj_markdown_export *markdown = pass->markdown;
    const struct nj_ledger_item *entry = &markdown->export->ledger->items[index];
    char name[NJ_ITEM_NAME_BYTES];
    struct nj_item item;
    enum nj_status status = nj_item_source_read(markdown->source, index, arena, &item, err);
    if (status == NJ_OK) {
        status = nj_item_names_give(&pass->names, &item, name, err);
    }
    if (status != NJ_OK || entry->state == NJ_ITEM_OPEN) {
        return status;
    }
    struct nj_log_spot spot = nj_ledger_line(entry);
    struct nj_text line = {.length_bytes = spot.n_bytes};
    status = nj_line_reader_read(markdown->export->reader, spot, &line.data, err);
    return status == NJ_OK ? settle_item(pass, &item, name, line, err) : status;
}

static enum nj_status visit_items(struct pass *pass, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    uint64_t n_items = pass->markdown->export->ledger->n_items;
    for (uint64_t i = 0; i < n_items && status == NJ_OK; i++) {
        struct nj_arena arena = {0};
        status = visit_item(pass, i, &arena, err);
        nj_arena_deinit(&arena);
    }
    return status;
}

static bool is_markdown(const char *name)
{
    size_t length = strlen(name);
    return length > 3 && strcmp(name + length - 3, ".md") == 0;
}

/* Written by a run, for this job or another one; somebody's notes are not. */
static bool begins_as_ours(const struct nj_file_system *fs, int items_fd, const char *name)
{
    static const char wanted[] = "---\njob: ";
    char found[sizeof wanted - 1];
    int fd = -1;
    if (nj_file_open_read(fs, items_fd, name, &fd, NULL) != NJ_OK) {
        return false;
    }
    ssize_t n = fs->read_at(fs->context, fd, found, sizeof found, 0);
    (void)fs->close(fs->context, fd); /* only looked at */
    return n == (ssize_t)sizeof found && memcmp(found, wanted, sizeof found) == 0;
}

/* A file of no item of this job. */
static enum nj_status settle_stranger(void *context, const char *name, struct nj_error *err)
{
    struct pass *pass = context;
    if (!is_markdown(name) || nj_item_names_has(&pass->names, name)) {
        return NJ_OK;
    }
    pass->is_sound = false;
    if (!pass->writes) {
        return NJ_OK;
    }
    const struct nj_markdown_export *markdown = pass->markdown;
    return markdown->keeps_changed || !begins_as_ours(markdown->fs, pass->items_fd, name)
               ? nj_set_aside(markdown->aside, pass->items_fd, "items/", name, err)
               : nj_derived_file_remove(markdown->fs, pass->items_fd, name, NULL, err);
}

static enum nj_status walk(struct pass *pass, struct nj_digest *sha256, struct nj_error *err)
{
    const struct nj_file_system *fs = pass->markdown->fs;
    nj_digest_to_hex(pass->markdown->model, pass->model);
    enum nj_status status = nj_digest_stream_create(&pass->digest, err);
    if (status == NJ_OK) {
        status = visit_items(pass, err);
    }
    if (status == NJ_OK && pass->items_fd >= 0) {
        status = nj_file_list(fs, pass->items_fd, settle_stranger, pass, err);
    }
    if (status == NJ_OK && pass->writes) {
        status = nj_derived_file_sync(fs, pass->items_fd, err);
    }
    if (status == NJ_OK && pass->writes) {
        status = nj_derived_file_sync(fs, pass->markdown->directory_fd, err);
    }
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(pass->digest, sha256, err);
    }
    nj_digest_stream_destroy(pass->digest);
    nj_item_names_deinit(&pass->names);
    return status;
}

static enum nj_status open_and_walk(struct pass *pass, struct nj_digest *sha256,
                                    struct nj_error *err)
{
    const struct nj_markdown_export *markdown = pass->markdown;
    const struct nj_file_system *fs = markdown->fs;
    enum nj_status status =
        open_items(fs, markdown->directory_fd, pass->writes, &pass->items_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = walk(pass, sha256, err);
    if (pass->items_fd >= 0) {
        (void)fs->close(fs->context, pass->items_fd); /* synced where it mattered */
    }
    return status;
}

enum nj_status nj_markdown_export(const struct nj_markdown_export *markdown,
                                  struct nj_digest *sha256, struct nj_error *err)
{
    struct pass pass = {.markdown = markdown, .writes = true};
    return open_and_walk(&pass, sha256, err);
}

enum nj_status nj_markdown_export_check(const struct nj_markdown_export *markdown,
                                        struct nj_digest *sha256, bool *is_sound,
                                        struct nj_error *err)
{
    struct pass pass = {.markdown = markdown, .is_sound = true};
    enum nj_status status = open_and_walk(&pass, sha256, err);
    if (status == NJ_OK) {
        *is_sound = pass.is_sound;
    }
    return status;
}

/* The items folder when only the names in it matter. */
struct sweep {
    const struct nj_file_system *fs;
    int items_fd;
    struct nj_set_aside *aside; /* NULL: only looks */
    bool has_found;
};

static enum nj_status sweep_name(void *context, const char *name, struct nj_error *err)
{
    struct sweep *sweep = context;
    if (!is_markdown(name)) {
        return NJ_OK;
    }
    sweep->has_found = true;
    if (sweep->aside == NULL) {
        return NJ_OK;
    }
    return begins_as_ours(sweep->fs, sweep->items_fd, name)
               ? nj_derived_file_remove(sweep->fs, sweep->items_fd, name, NULL, err)
               : nj_set_aside(sweep->aside, sweep->items_fd, "items/", name, err);
}

static enum nj_status sweep_names(struct sweep *sweep, int directory_fd, struct nj_error *err)
{
    const struct nj_file_system *fs = sweep->fs;
    enum nj_status status = open_items(fs, directory_fd, false, &sweep->items_fd, err);
    if (status != NJ_OK || sweep->items_fd < 0) {
        return status;
    }
    status = nj_file_list(fs, sweep->items_fd, sweep_name, sweep, err);
    if (status == NJ_OK && sweep->aside != NULL && sweep->has_found) {
        status = nj_derived_file_sync(fs, sweep->items_fd, err);
    }
    (void)fs->close(fs->context, sweep->items_fd); /* synced above */
    return status;
}

enum nj_status nj_markdown_export_remove(const struct nj_file_system *fs, int directory_fd,
                                         struct nj_set_aside *aside, struct nj_error *err)
{
    struct sweep sweep = {.fs = fs, .aside = aside};
    return sweep_names(&sweep, directory_fd, err);
}

enum nj_status nj_markdown_export_exists(const struct nj_file_system *fs, int directory_fd,
                                         bool *exists, struct nj_error *err)
{
    struct sweep sweep = {.fs = fs};
    enum nj_status status = sweep_names(&sweep, directory_fd, err);
    if (status == NJ_OK) {
        *exists = sweep.has_found;
    }
    return status;
}
