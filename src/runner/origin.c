#include "runner/origin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGIN_VERSION = 1, LIMIT_BYTES = 16 << 20 };

static const char name[] = "origin.json";

char *nj_absolute_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    size_t n_directory = slash == NULL ? 0 : (size_t)(slash - path);
    char *written = n_directory > 0 ? strndup(path, n_directory) : strdup(slash ? "/" : ".");
    char *directory = written == NULL ? NULL : realpath(written, NULL);
    char *absolute = NULL;
    if (directory != NULL) {
        size_t n_bytes = strlen(directory) + strlen(base) + 2;
        absolute = malloc(n_bytes);
        if (absolute != NULL) {
            bool is_root = strcmp(directory, "/") == 0;
            (void)snprintf(absolute, n_bytes, "%s/%s", is_root ? "" : directory, base);
        }
    }
    free(written);
    free(directory);
    return absolute;
}

/* --- writing --- */

static void write_list(struct nj_json_writer *writer, const char *key, const char *const *items,
                       size_t n_items)
{
    nj_json_key(writer, key);
    nj_json_begin_array(writer);
    for (size_t i = 0; i < n_items; i++) {
        nj_json_write_string(writer, items[i]);
    }
    nj_json_end_array(writer);
}

static enum nj_status compose(const struct nj_origin *origin, struct nj_json_writer *writer,
                              struct nj_text *text, struct nj_error *err)
{
    const struct nj_job_overrides *overrides = &origin->overrides;
    nj_json_writer_init(writer);
    nj_json_begin_object(writer);
    nj_json_key(writer, "origin");
    nj_json_write_unsigned(writer, ORIGIN_VERSION);
    nj_json_key(writer, "job_file");
    nj_json_write_string(writer, origin->job_path);
    nj_json_key(writer, "jobs");
    nj_json_write_unsigned(writer, origin->n_jobs);
    write_list(writer, "set", overrides->sets, overrides->n_sets);
    write_list(writer, "var", overrides->vars, overrides->n_vars);
    nj_json_key(writer, "limit");
    nj_json_write_unsigned(writer, overrides->limit);
    nj_json_key(writer, "latent_norm_eps");
    nj_json_write_number(writer, origin->latent_norm_eps);
    nj_json_end_object(writer);
    nj_json_write_newline(writer);
    return nj_json_finish(writer, text, err);
}

static bool is_written(const struct nj_file_system *fs, int directory_fd, struct nj_text text)
{
    struct nj_arena arena = {0};
    struct nj_bytes found = {.length_bytes = 0};
    bool is_same = nj_file_read_whole(fs, directory_fd, name, LIMIT_BYTES, &arena, &found,
                                      NULL) == NJ_OK &&
                   found.length_bytes == text.length_bytes &&
                   memcmp(found.data, text.data, text.length_bytes) == 0;
    nj_arena_deinit(&arena);
    return is_same;
}

enum nj_status nj_origin_write(const struct nj_origin *origin, const struct nj_file_system *fs,
                               int directory_fd, struct nj_error *err)
{
    struct nj_json_writer writer;
    struct nj_text text;
    enum nj_status status = compose(origin, &writer, &text, err);
    if (status == NJ_OK && !is_written(fs, directory_fd, text)) {
        struct nj_bytes bytes = {.data = (const uint8_t *)text.data,
                                 .length_bytes = text.length_bytes};
        status = nj_file_replace(fs, directory_fd, name, bytes, err);
        if (status == NJ_E_STORAGE) { /* asked once more, with a new file */
            status = nj_file_replace(fs, directory_fd, name, bytes, err);
        }
    }
    nj_json_writer_deinit(&writer);
    return status;
}

/* --- reading --- */

static const char *copy_text(const struct nj_json_value *value, struct nj_arena *arena)
{
    struct nj_text text;
    return nj_json_as_text(value, &text)
               ? nj_arena_copy_text(arena, text.data, text.length_bytes)
               : NULL;
}

/* NULL when it is not what was written, or memory is out. */
static const char *const *copy_list(const struct nj_json_value *value, struct nj_arena *arena,
                                    size_t *n_items)
{
    *n_items = nj_json_count(value);
    const char **items = nj_arena_take_array(arena, *n_items + 1, sizeof *items);
    for (size_t i = 0; items != NULL && i < *n_items; i++) {
        items[i] = copy_text(nj_json_at(value, i), arena);
        if (items[i] == NULL) {
            return NULL;
        }
    }
    return (const char *const *)items;
}

static bool decode(const struct nj_json_value *root, struct nj_arena *arena,
                   struct nj_origin *origin)
{
    int64_t n_jobs = 0;
    int64_t limit = 0;
    struct nj_job_overrides *overrides = &origin->overrides;
    origin->job_path = copy_text(nj_json_get(root, "job_file"), arena);
    overrides->sets = copy_list(nj_json_get(root, "set"), arena, &overrides->n_sets);
    overrides->vars = copy_list(nj_json_get(root, "var"), arena, &overrides->n_vars);
    bool is_whole =
        nj_json_as_integer(nj_json_get(root, "jobs"), &n_jobs) && n_jobs > 0 &&
        nj_json_as_integer(nj_json_get(root, "limit"), &limit) && limit >= 0 &&
        nj_json_as_number(nj_json_get(root, "latent_norm_eps"), &origin->latent_norm_eps);
    origin->n_jobs = (uint64_t)n_jobs;
    overrides->limit = (uint64_t)limit;
    return is_whole && origin->job_path != NULL && origin->job_path[0] == '/' &&
           overrides->sets != NULL && overrides->vars != NULL;
}

enum nj_status nj_origin_read(const struct nj_file_system *fs, int directory_fd,
                              struct nj_arena *arena, struct nj_origin *origin,
                              struct nj_error *err)
{
    struct nj_bytes content;
    struct nj_json *document = NULL;
    enum nj_status status =
        nj_file_read_whole(fs, directory_fd, name, LIMIT_BYTES, arena, &content, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    *origin = (struct nj_origin){.job_path = NULL};
    bool is_whole = nj_json_parse(text, name, &document, NULL) == NJ_OK &&
                    decode(nj_json_root(document), arena, origin);
    nj_json_destroy(document);
    return is_whole ? NJ_OK
                    : nj_fail(err, NJ_E_STATE, "%s is not what nightjar wrote into it", name);
}
