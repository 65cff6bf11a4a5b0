#include "runner/manifest.h"

#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/arena.h"
#include "base/decimal.h"
#include "base/json.h"
#include "nightjar/model.h"
#include "runner/configuration.h"

static void write_unsigned(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_string(struct nj_json_writer *writer, const char *key, const char *value)
{
    nj_json_key(writer, key);
    if (value != NULL) {
        nj_json_write_string(writer, value);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_digest(struct nj_json_writer *writer, const char *key,
                         const struct nj_digest *digest)
{
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(digest, hex);
    write_string(writer, key, hex);
}

/* Of a format that the job asks for, else null. */
static void write_format(const struct nj_manifest *manifest, struct nj_json_writer *writer,
                         const char *key, enum nj_output_format format,
                         const struct nj_digest *digest)
{
    if ((manifest->spec->output_formats & (unsigned)format) != 0) {
        write_digest(writer, key, digest);
    } else {
        write_string(writer, key, NULL);
    }
}

static void write_reproducible(const struct nj_manifest *manifest,
                               struct nj_json_writer *writer)
{
    const struct nj_run_identity *identity = manifest->identity;
    nj_json_key(writer, "reproducible");
    nj_json_begin_object(writer);
    nj_json_key(writer, "name");
    nj_json_write_text(writer, manifest->spec->name);
    write_digest(writer, "job_file_sha256", &identity->spec);
    nj_json_key(writer, "rows_sha256");
    if (manifest->spec->rows.path != NULL) {
        char hex[NJ_DIGEST_HEX_BYTES];
        nj_digest_to_hex(&identity->rows, hex);
        nj_json_write_string(writer, hex);
    } else {
        nj_json_write_null(writer);
    }
    write_digest(writer, "items_sha256", &identity->items);
    write_unsigned(writer, "items", identity->n_items);
    nj_json_key(writer, "job_seed");
    if (identity->uses_job_seed) {
        nj_json_write_unsigned(writer, identity->job_seed);
    } else {
        nj_json_write_null(writer);
    }
    write_digest(writer, "model_fingerprint", &identity->model);
    write_unsigned(writer, "numerics_version", identity->numerics_version);
    nj_json_key(writer, "latent_norm_eps");
    nj_json_write_number(writer, nj_decimal_of_float(identity->latent_norm_eps));
    nj_json_key(writer, "configuration");
    nj_configuration_write(manifest->spec, writer);
    write_unsigned(writer, "items_ok", manifest->ledger->n_ok);
    write_unsigned(writer, "items_failed", manifest->ledger->n_failed);
    write_digest(writer, "results_sha256", &manifest->results);
    write_format(manifest, writer, "csv_sha256", NJ_OUTPUT_CSV, &manifest->csv);
    write_format(manifest, writer, "markdown_sha256", NJ_OUTPUT_MARKDOWN, &manifest->markdown);
    nj_json_end_object(writer);
}

static void write_host(struct nj_json_writer *writer)
{
    struct utsname host;
    bool is_known = uname(&host) == 0;
    write_string(writer, "kernel", is_known ? host.release : NULL);
    write_string(writer, "machine", is_known ? host.machine : NULL);
}

static void write_prefixes(const struct nj_manifest *manifest, struct nj_json_writer *writer)
{
    const struct nj_prefix_counts *counts = &manifest->prefixes;
    nj_json_key(writer, "prefixes");
    nj_json_begin_object(writer);
    write_unsigned(writer, "tokens_read_once", counts->n_read_once);
    write_unsigned(writer, "forks", counts->n_forks);
    write_unsigned(writer, "tokens_spared", counts->n_spared);
    write_unsigned(writer, "tokens_from_cache", counts->n_from_storage);
    nj_json_end_object(writer);
}

/* Of the process that wrote the manifest; none of it changes a byte of the results. */
static void write_engine(const struct nj_manifest *manifest, struct nj_json_writer *writer)
{
    nj_json_key(writer, "engine");
    nj_json_begin_object(writer);
    write_string(writer, "version", NJ_VERSION);
    write_string(writer, "compiler", __VERSION__);
    write_string(writer, "cpu_level", manifest->cpu_level);
    write_unsigned(writer, "threads", manifest->options->n_threads);
    write_unsigned(writer, "batch", manifest->options->batch);
    write_unsigned(writer, "prefill_chunk", manifest->options->prefill_chunk);
    write_unsigned(writer, "memory_bytes", manifest->options->memory_bytes);
    write_prefixes(manifest, writer);
    write_host(writer);
    write_string(writer, "job_file", manifest->spec->source_path);
    write_string(writer, "model_path", manifest->model_path);
    nj_json_end_object(writer);
}

static enum nj_status compose(const struct nj_manifest *manifest, struct nj_json_writer *writer,
                              struct nj_text *text, struct nj_error *err)
{
    nj_json_writer_init(writer);
    nj_json_begin_object(writer);
    write_unsigned(writer, "manifest", 1);
    write_reproducible(manifest, writer);
    write_engine(manifest, writer);
    nj_json_key(writer, "history");
    nj_history_write(manifest->history, writer);
    nj_json_end_object(writer);
    nj_json_write_newline(writer);
    return nj_json_finish(writer, text, err);
}

enum nj_status nj_manifest_write(const struct nj_manifest *manifest,
                                 const struct nj_file_system *fs, int directory_fd,
                                 struct nj_error *err)
{
    struct nj_json_writer writer;
    struct nj_text text;
    enum nj_status status = compose(manifest, &writer, &text, err);
    if (status == NJ_OK) {
        struct nj_bytes bytes = {.data = (const uint8_t *)text.data,
                                 .length_bytes = text.length_bytes};
        status = nj_file_replace(fs, directory_fd, "manifest.json", bytes, err);
    }
    nj_json_writer_deinit(&writer);
    return status;
}

static bool begins_alike(struct nj_text found, struct nj_text wanted, size_t n_bytes)
{
    return found.length_bytes >= n_bytes && memcmp(found.data, wanted.data, n_bytes) == 0;
}

static bool ends_alike(struct nj_text found, struct nj_text wanted, size_t n_bytes)
{
    return found.length_bytes >= n_bytes &&
           memcmp(found.data + found.length_bytes - n_bytes,
                  wanted.data + wanted.length_bytes - n_bytes, n_bytes) == 0;
}

/* Bytes in front of a key of the manifest. A quote inside of a string has a backslash, so no
 * text of the job looks like one. */
static size_t bytes_before(struct nj_text text, const char *key)
{
    const char *found = memmem(text.data, text.length_bytes, key, strlen(key));
    return found != NULL ? (size_t)(found - text.data) : text.length_bytes;
}

/* What stands in the file, against what would be written now. The engine section says which
 * process wrote it, and may be any. */
static enum nj_manifest_state compare(struct nj_text found, struct nj_text wanted)
{
    struct nj_json *document = NULL;
    size_t engine = bytes_before(wanted, ",\"engine\":");
    size_t history = wanted.length_bytes - bytes_before(wanted, ",\"history\":");
    if (!begins_alike(found, wanted, bytes_before(wanted, ",\"items_ok\":"))) {
        return NJ_MANIFEST_OTHER;
    }
    if (!begins_alike(found, wanted, engine) || !ends_alike(found, wanted, history) ||
        nj_json_parse(found, "manifest.json", &document, NULL) != NJ_OK) {
        return NJ_MANIFEST_SAME_RUN;
    }
    nj_json_destroy(document);
    return NJ_MANIFEST_SOUND;
}

enum nj_status nj_manifest_check(const struct nj_manifest *manifest,
                                 const struct nj_file_system *fs, int directory_fd,
                                 enum nj_manifest_state *state, struct nj_error *err)
{
    struct nj_arena arena = {0};
    struct nj_bytes content = {0};
    struct nj_json_writer writer;
    struct nj_text wanted;
    enum nj_status status = compose(manifest, &writer, &wanted, err);
    if (status == NJ_OK) {
        bool is_there =
            nj_file_read_whole(fs, directory_fd, "manifest.json", NJ_MANIFEST_LIMIT_BYTES,
                               &arena, &content, NULL) == NJ_OK;
        struct nj_text found = {(const char *)content.data, content.length_bytes};
        *state = is_there ? compare(found, wanted) : NJ_MANIFEST_OTHER;
    }
    nj_arena_deinit(&arena);
    nj_json_writer_deinit(&writer);
    return status;
}
