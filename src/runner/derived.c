#include "runner/derived.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "runner/csv_export.h"
#include "runner/export.h"
#include "runner/markdown_export.h"

/* The files beside each other in the run folder. The order of writing: what others count on
 * comes last. */
enum { ERRORS, CSV, RESULTS, N_FILES };

static const char *const names[N_FILES] = {"errors.jsonl", "results.csv", "results.jsonl"};

/* A file that is not wanted does not exist. */
static bool is_wanted(const struct nj_derived *derived, int file)
{
    switch (file) {
    case ERRORS:
        return derived->manifest.ledger->n_failed > 0;
    case CSV:
        return (derived->manifest.spec->output_formats & NJ_OUTPUT_CSV) != 0;
    default:
        return true;
    }
}

static struct nj_derived_file file_of(const struct nj_derived *derived, int file,
                                      struct nj_export *export)
{
    static nj_derived_content *const contents[N_FILES] = {nj_export_errors, nj_csv_export,
                                                          nj_export_results};
    return (struct nj_derived_file){.fs = derived->fs,
                                    .directory_fd = derived->directory_fd,
                                    .name = names[file],
                                    .content = contents[file],
                                    .context = export};
}

static void note_digest(struct nj_derived *derived, int file, const struct nj_digest *sha256)
{
    if (file == RESULTS) {
        derived->manifest.results = *sha256;
    } else if (file == CSV) {
        derived->manifest.csv = *sha256;
    }
}

static bool wants_markdown(const struct nj_derived *derived)
{
    return (derived->manifest.spec->output_formats & NJ_OUTPUT_MARKDOWN) != 0;
}

static struct nj_markdown_export markdown_of(struct nj_derived *derived,
                                             struct nj_export *export)
{
    return (struct nj_markdown_export){.fs = derived->fs,
                                       .directory_fd = derived->directory_fd,
                                       .export = export,
                                       .source = derived->source,
                                       .model = &derived->manifest.identity->model,
                                       .aside = &derived->aside,
                                       .keeps_changed = derived->keeps_changed};
}

static bool is_absent(const struct nj_derived *derived, const char *name)
{
    int fd = -1;
    enum nj_status status =
        nj_file_open_read(derived->fs, derived->directory_fd, name, &fd, NULL);
    if (status == NJ_OK) {
        (void)derived->fs->close(derived->fs->context, fd); /* only looked at */
    }
    return status == NJ_E_NOT_FOUND;
}

static enum nj_status check_file(struct nj_derived *derived, int file, struct nj_export *export,
                                 bool *is_sound, struct nj_error *err)
{
    struct nj_digest sha256;
    if (!is_wanted(derived, file)) {
        *is_sound = is_absent(derived, names[file]);
        return NJ_OK;
    }
    struct nj_derived_file content = file_of(derived, file, export);
    enum nj_status status = nj_derived_file_check(&content, &sha256, is_sound, err);
    if (status == NJ_OK) {
        note_digest(derived, file, &sha256);
    }
    return status;
}

/* Whether the manifest that is there, of whatever job, has this text in it. */
static bool manifest_has(const struct nj_derived *derived, const char *text)
{
    struct nj_arena arena = {0};
    struct nj_bytes manifest = {0};
    bool has_it =
        nj_file_read_whole(derived->fs, derived->directory_fd, "manifest.json",
                           NJ_MANIFEST_LIMIT_BYTES, &arena, &manifest, NULL) == NJ_OK &&
        memmem(manifest.data, manifest.length_bytes, text, strlen(text)) != NULL;
    nj_arena_deinit(&arena);
    return has_it;
}

/* Whether the file is as a run wrote it: the manifest names its digest. errors.jsonl has none
 * there. */
static bool is_known_to_manifest(const struct nj_derived *derived, const char *name)
{
    struct nj_digest found;
    char hex[NJ_DIGEST_HEX_BYTES];
    if (nj_file_digest(derived->fs, derived->directory_fd, name, &found, NULL) != NJ_OK) {
        return false;
    }
    nj_digest_to_hex(&found, hex);
    return manifest_has(derived, hex);
}

/* While files are mended: one that a run wrote, and that is not there. */
static bool is_missed(const struct nj_derived *derived, int file)
{
    return derived->keeps_changed && is_wanted(derived, file) &&
           !(file == CSV && manifest_has(derived, "\"csv_sha256\":null"));
}

/* What a run wrote for another configuration of the job is nobody's work. The lines of
 * errors.jsonl are in results.jsonl too. */
static enum nj_status clear_the_way(struct nj_derived *derived, int file,
                                    struct nj_export *export, struct nj_error *err)
{
    const char *name = names[file];
    bool is_there = !is_absent(derived, name);
    bool is_sound = false;
    if (file == ERRORS || (!is_there && !is_missed(derived, file))) {
        return NJ_OK;
    }
    enum nj_status status =
        is_there ? check_file(derived, file, export, &is_sound, err) : NJ_OK;
    return status == NJ_OK && !is_sound && !is_known_to_manifest(derived, name)
               ? nj_set_aside(&derived->aside, derived->directory_fd, "", name, err)
               : status;
}

static enum nj_status write_file(struct nj_derived *derived, int file, struct nj_export *export,
                                 struct nj_error *err)
{
    struct nj_digest sha256;
    enum nj_status status = clear_the_way(derived, file, export, err);
    if (status != NJ_OK) {
        return status;
    }
    if (!is_wanted(derived, file)) {
        return nj_derived_file_remove(derived->fs, derived->directory_fd, names[file], NULL,
                                      err);
    }
    struct nj_derived_file content = file_of(derived, file, export);
    status = nj_derived_file_write(&content, &sha256, err);
    if (status == NJ_OK) {
        note_digest(derived, file, &sha256);
    }
    return status;
}

static enum nj_status write_markdown(struct nj_derived *derived, struct nj_export *export,
                                     struct nj_error *err)
{
    struct nj_markdown_export markdown = markdown_of(derived, export);
    derived->aside.ignores_missing = manifest_has(derived, "\"markdown_sha256\":null");
    enum nj_status status =
        wants_markdown(derived)
            ? nj_markdown_export(&markdown, &derived->manifest.markdown, err)
            : nj_markdown_export_remove(derived->fs, derived->directory_fd, &derived->aside,
                                        err);
    derived->aside.ignores_missing = false;
    return status;
}

static enum nj_status write_files(struct nj_derived *derived, struct nj_export *export,
                                  struct nj_error *err)
{
    enum nj_status status = write_markdown(derived, export, err);
    for (int file = 0; file < N_FILES && status == NJ_OK; file++) {
        status = write_file(derived, file, export, err);
    }
    return status == NJ_OK ? nj_derived_file_sync(derived->fs, derived->directory_fd, err)
                           : status;
}

static enum nj_status write_all(struct nj_derived *derived, struct nj_error *err)
{
    struct nj_manifest *manifest = &derived->manifest;
    struct nj_line_reader reader = {.fs = derived->fs, .directory_fd = derived->directory_fd};
    struct nj_export export = {.reader = &reader, .ledger = manifest->ledger};
    enum nj_status status = write_files(derived, &export, err);
    nj_line_reader_deinit(&reader);
    return status == NJ_OK
               ? nj_manifest_write(manifest, derived->fs, derived->directory_fd, err)
               : status;
}

/* Says what was set aside, also before a failure. */
static void tell_aside(struct nj_derived *derived)
{
    nj_set_aside_tell(&derived->aside, derived->log);
    derived->aside = (struct nj_set_aside){.fs = derived->fs};
}

/* A storage that failed once is asked once more, from the logs and with new files. */
enum nj_status nj_derived_write(struct nj_derived *derived, struct nj_error *err)
{
    derived->aside.fs = derived->fs;
    enum nj_status status = write_all(derived, err);
    status = status == NJ_E_STORAGE ? write_all(derived, err) : status;
    tell_aside(derived);
    return status;
}

static enum nj_status check_markdown(struct nj_derived *derived, struct nj_export *export,
                                     bool *is_sound, struct nj_error *err)
{
    struct nj_markdown_export markdown = markdown_of(derived, export);
    if (wants_markdown(derived)) {
        return nj_markdown_export_check(&markdown, &derived->manifest.markdown, is_sound, err);
    }
    bool exists = true;
    enum nj_status status =
        nj_markdown_export_exists(derived->fs, derived->directory_fd, &exists, err);
    *is_sound = !exists;
    return status;
}

static enum nj_status check_files(struct nj_derived *derived, bool *are_sound,
                                  struct nj_error *err)
{
    struct nj_line_reader reader = {.fs = derived->fs, .directory_fd = derived->directory_fd};
    struct nj_export export = {.reader = &reader, .ledger = derived->manifest.ledger};
    enum nj_status status = check_markdown(derived, &export, are_sound, err);
    for (int file = 0; file < N_FILES && status == NJ_OK; file++) {
        bool is_sound = false;
        status = check_file(derived, file, &export, &is_sound, err);
        *are_sound = *are_sound && is_sound;
    }
    nj_line_reader_deinit(&reader);
    return status;
}

/* Sound files are written again too, with the same bytes. */
static enum nj_status write_over(struct nj_derived *derived, struct nj_error *err)
{
    derived->aside = (struct nj_set_aside){.fs = derived->fs};
    derived->keeps_changed = true;
    enum nj_status status = nj_derived_write(derived, err);
    derived->keeps_changed = false;
    return status;
}

enum nj_status nj_derived_mend(struct nj_derived *derived, struct nj_error *err)
{
    bool are_sound = false;
    enum nj_manifest_state state = NJ_MANIFEST_OTHER;
    enum nj_status status = check_files(derived, &are_sound, err);
    if (status == NJ_OK) {
        status = nj_manifest_check(&derived->manifest, derived->fs, derived->directory_fd,
                                   &state, err);
    }
    bool has_manifest = state == NJ_MANIFEST_SOUND;
    if (status != NJ_OK || (are_sound && has_manifest)) {
        return status;
    }
    return write_over(derived, err);
}

/* errors.jsonl has no digest in the manifest, and repeats lines of results.jsonl. */
static enum nj_status remove_stale_file(struct nj_derived *derived, int file, bool *has_removed,
                                        struct nj_error *err)
{
    const char *name = names[file];
    bool was_there = false;
    if (file != ERRORS && !is_absent(derived, name) && !is_known_to_manifest(derived, name)) {
        *has_removed = true;
        return nj_set_aside(&derived->aside, derived->directory_fd, "", name, err);
    }
    enum nj_status status =
        nj_derived_file_remove(derived->fs, derived->directory_fd, name, &was_there, err);
    *has_removed = *has_removed || was_there;
    return status;
}

/* The manifest goes last: it is what tells another job's files apart. */
static enum nj_status remove_all_stale(struct nj_derived *derived, struct nj_error *err)
{
    const struct nj_file_system *fs = derived->fs;
    bool has_removed = false;
    enum nj_status status =
        nj_markdown_export_remove(fs, derived->directory_fd, &derived->aside, err);
    for (int file = 0; file < N_FILES && status == NJ_OK; file++) {
        status = remove_stale_file(derived, file, &has_removed, err);
    }
    if (status == NJ_OK && has_removed) {
        status = nj_derived_file_sync(fs, derived->directory_fd, err);
    }
    if (status == NJ_OK) {
        status = nj_derived_file_remove(fs, derived->directory_fd, "manifest.json", NULL, err);
    }
    return status == NJ_OK ? nj_derived_file_sync(fs, derived->directory_fd, err) : status;
}

enum nj_status nj_derived_remove_stale(struct nj_derived *derived, struct nj_error *err)
{
    enum nj_manifest_state state = NJ_MANIFEST_OTHER;
    enum nj_status status =
        nj_manifest_check(&derived->manifest, derived->fs, derived->directory_fd, &state, err);
    if (status != NJ_OK || state != NJ_MANIFEST_OTHER) {
        return status;
    }
    derived->aside = (struct nj_set_aside){.fs = derived->fs};
    status = remove_all_stale(derived, err);
    tell_aside(derived);
    return status;
}
