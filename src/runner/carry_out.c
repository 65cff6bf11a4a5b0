#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "runner/carry.h"
#include "runner/export_format.h"
#include "runner/folder.h"
#include "runner/pending_file.h"
#include "runner/run.h"
#include "runner/run_states.h"
#include "snapshot/folder.h"

enum { ENCODED_LIMIT_BYTES = NJ_EXPORT_PIECE_BYTES + 64 };

/* A segment that goes along. */
struct carried_segment {
    uint64_t item_index;
    uint64_t number;
    uint32_t n_positions;
    bool is_current;
};

/* One export under way. Zeroed is released. */
struct packing {
    const struct nj_file_system *fs;
    const struct nj_snapshot_export_options *options;
    struct nj_run_folder folder; /* locked: nobody changes what is copied */
    struct nj_run_states states;
    struct nj_arena arena;
    struct nj_origin origin;
    struct nj_bytes job_file;
    struct nj_carried_inputs inputs;
    struct carried_segment *segments;
    size_t n_segments;
    size_t segments_capacity;

    struct nj_pending_file file;
    struct nj_record_cursor cursor;
    struct nj_digest_stream *digest;
    uint8_t *piece;   /* (NJ_EXPORT_PIECE_BYTES) */
    uint8_t *encoded; /* (ENCODED_LIMIT_BYTES) */
    struct nj_snapshot_carried sum;
};

/* --- what goes along --- */

static bool is_wanted(const struct packing *packing, const struct nj_item_states *item)
{
    const struct nj_snapshot_export_options *options = packing->options;
    size_t current = nj_item_states_current(item);
    if ((options->has_item && options->item_index != item->item_index) ||
        current == item->n_segments) {
        return false;
    }
    const struct nj_digest *digest = &item->inspections[current].scan.header.item;
    return !nj_run_states_is_done(&packing->states, digest, item->item_index);
}

static enum nj_status list_item(void *context, const struct nj_item_states *item,
                                struct nj_error *err)
{
    struct packing *packing = context;
    for (size_t i = 0; is_wanted(packing, item) && i < item->n_segments; i++) {
        enum nj_snapshot_use use = item->uses[i];
        if (use == NJ_SNAPSHOT_SPARE || use == NJ_SNAPSHOT_UNUSABLE) {
            continue;
        }
        enum nj_status status =
            nj_vector_reserve(&packing->segments, &packing->segments_capacity,
                              sizeof *packing->segments, packing->n_segments + 1, err);
        if (status != NJ_OK) {
            return status;
        }
        packing->segments[packing->n_segments++] =
            (struct carried_segment){.item_index = item->item_index,
                                     .number = item->inspections[i].scan.header.number,
                                     .n_positions = item->inspections[i].shape.n_positions,
                                     .is_current = use == NJ_SNAPSHOT_CURRENT};
    }
    return NJ_OK;
}

static enum nj_status list_segments(struct packing *packing, struct nj_error *err)
{
    const struct nj_snapshot_export_options *options = packing->options;
    enum nj_status status =
        nj_run_states_visit(&packing->states, true, list_item, packing, err);
    if (status == NJ_OK && options->has_item && packing->n_segments == 0) {
        return nj_fail(err, NJ_E_NOT_FOUND, "%s has no state of item %" PRIu64,
                       options->run_folder, options->item_index);
    }
    return status;
}

/* Rows are as they were when the run began; prompt files are looked at by the next run, like
 * every other change. */
static enum nj_status check_rows(const struct packing *packing, struct nj_error *err)
{
    static const struct nj_digest none;
    struct nj_digest found;
    const struct nj_digest *wanted = &packing->states.history.identity.rows;
    if (memcmp(wanted->bytes, none.bytes, NJ_DIGEST_BYTES) == 0 ||
        packing->inputs.n_items < 2) {
        return NJ_OK;
    }
    const char *path = packing->inputs.items[1].path;
    enum nj_status status = nj_file_digest(packing->fs, AT_FDCWD, path, &found, err);
    if (status == NJ_OK && memcmp(found.bytes, wanted->bytes, NJ_DIGEST_BYTES) != 0) {
        return nj_fail(err, NJ_E_STATE,
                       "%s changed since the run began: put it back as it was, or run the job "
                       "once more, and export then",
                       path);
    }
    return status;
}

static enum nj_status look_at_job(struct packing *packing, struct nj_error *err)
{
    const struct nj_file_system *fs = packing->fs;
    int directory_fd = packing->states.directory_fd;
    const char *path = packing->options->run_folder;
    enum nj_status status =
        nj_origin_read(fs, directory_fd, &packing->arena, &packing->origin, err);
    if (status == NJ_E_NOT_FOUND) {
        return nj_fail(err, NJ_E_STATE,
                       "%s was begun by an older nightjar, which did not note where its job "
                       "file is: run it once with this one, stop it, and export then",
                       path);
    }
    if (status == NJ_OK) {
        status = nj_file_read_whole(fs, directory_fd, "spec.yaml", NJ_EXPORT_HEAD_LIMIT_BYTES,
                                    &packing->arena, &packing->job_file, err);
    }
    if (status == NJ_OK) {
        status = nj_carry_inputs(&packing->origin, packing->job_file, &packing->arena,
                                 &packing->inputs, err);
    }
    return status == NJ_OK ? check_rows(packing, err) : status;
}

static enum nj_status look(struct packing *packing, struct nj_error *err)
{
    const char *path = packing->options->run_folder;
    /* First whether it is a run folder at all: taking the lock would make it one. */
    enum nj_status status = nj_run_states_open(&packing->states, packing->fs, path, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_run_states_close(&packing->states);
    status = nj_run_folder_open(&packing->folder, packing->fs, path, err);
    if (status == NJ_OK) {
        status = nj_run_states_open(&packing->states, packing->fs, path, err);
    }
    if (status == NJ_OK) {
        status = look_at_job(packing, err);
    }
    return status == NJ_OK ? list_segments(packing, err) : status;
}

/* --- the file --- */

static enum nj_status add_record(struct packing *packing, enum nj_export_record type,
                                 struct nj_bytes payload, struct nj_error *err)
{
    size_t n_bytes = nj_record_encoded_bytes(payload.length_bytes);
    uint8_t *encoded = n_bytes <= ENCODED_LIMIT_BYTES ? packing->encoded : malloc(n_bytes);
    if (encoded == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write an export: out of memory");
    }
    nj_record_encode(&packing->cursor, type, payload, encoded);
    if (packing->digest != NULL) {
        nj_digest_stream_add(packing->digest, payload.data, payload.length_bytes);
    }
    enum nj_status status =
        nj_pending_file_append(&packing->file, (struct nj_bytes){encoded, n_bytes}, err);
    if (encoded != packing->encoded) {
        free(encoded);
    }
    return status;
}

static enum nj_status begin_file(struct packing *packing, const char *name, uint64_t n_bytes,
                                 struct nj_error *err)
{
    uint8_t payload[8 + NJ_EXPORT_NAME_LIMIT_BYTES];
    struct nj_byte_writer writer;
    size_t n_name = strlen(name);
    if (!nj_export_name_is_safe((struct nj_text){name, n_name})) {
        return nj_fail(err, NJ_E_UNSUPPORTED, "%s cannot be exported under that name", name);
    }
    nj_byte_writer_init(&writer, payload, sizeof payload);
    nj_write_u64(&writer, n_bytes);
    nj_write_span(&writer, (struct nj_bytes){(const uint8_t *)name, n_name});
    packing->sum.n_files += 1;
    packing->sum.n_bytes += n_bytes;
    return add_record(packing, NJ_EXPORT_FILE, (struct nj_bytes){payload, writer.offset}, err);
}

static enum nj_status add_bytes(struct packing *packing, struct nj_bytes bytes,
                                struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t done = 0; done < bytes.length_bytes && status == NJ_OK;) {
        size_t left = bytes.length_bytes - done;
        size_t n = left < NJ_EXPORT_PIECE_BYTES ? left : NJ_EXPORT_PIECE_BYTES;
        status =
            add_record(packing, NJ_EXPORT_BYTES, (struct nj_bytes){bytes.data + done, n}, err);
        done += n;
    }
    return status;
}

static enum nj_status copy_open(struct packing *packing, int fd, const char *name,
                                struct nj_error *err)
{
    const struct nj_file_system *fs = packing->fs;
    uint64_t n_bytes = 0;
    enum nj_status status = nj_file_length(fs, fd, &n_bytes, err);
    if (status == NJ_OK) {
        status = begin_file(packing, name, n_bytes, err);
    }
    for (uint64_t done = 0; done < n_bytes && status == NJ_OK;) {
        uint64_t left = n_bytes - done;
        size_t n = left < NJ_EXPORT_PIECE_BYTES ? (size_t)left : NJ_EXPORT_PIECE_BYTES;
        status = nj_file_read_exactly(fs, fd, packing->piece, n, done, name, err);
        if (status == NJ_OK) {
            status = add_bytes(packing, (struct nj_bytes){packing->piece, n}, err);
        }
        done += n;
    }
    return status;
}

static enum nj_status copy_file(struct packing *packing, int directory_fd, const char *path,
                                const char *name, struct nj_error *err)
{
    int fd = -1;
    enum nj_status status = nj_file_open_read(packing->fs, directory_fd, path, &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = copy_open(packing, fd, name, err);
    (void)packing->fs->close(packing->fs->context, fd); /* only read from */
    return status;
}

static enum nj_status copy_inputs(struct packing *packing, struct nj_error *err)
{
    const struct nj_carried_inputs *inputs = &packing->inputs;
    enum nj_status status =
        begin_file(packing, inputs->items[0].inside, packing->job_file.length_bytes, err);
    if (status == NJ_OK) {
        status = add_bytes(packing, packing->job_file, err);
    }
    if (status == NJ_OK) {
        status =
            copy_file(packing, packing->states.directory_fd, "spec.yaml", "spec.yaml", err);
    }
    for (size_t i = 1; i < inputs->n_items && status == NJ_OK; i++) {
        status =
            copy_file(packing, AT_FDCWD, inputs->items[i].path, inputs->items[i].inside, err);
    }
    return status;
}

static enum nj_status copy_segments(struct packing *packing, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < packing->n_segments && status == NJ_OK; i++) {
        char base[NJ_SEGMENT_NAME_BYTES];
        char name[NJ_SNAPSHOT_FILE_BYTES];
        nj_segment_name(packing->segments[i].number, base);
        (void)snprintf(name, sizeof name, "items/%" PRIu64 "/%s",
                       packing->segments[i].item_index, base);
        status = copy_file(packing, packing->states.directory_fd, name, name, err);
        packing->sum.n_segments += 1;
    }
    return status;
}

/* Every segment of every log; what was quarantined proves nothing and stays. */
static enum nj_status copy_logs(struct packing *packing, struct nj_error *err)
{
    static const char *const names[NJ_N_RUN_LOGS] = {[NJ_LOG_JOURNAL] = "journal.log",
                                                     [NJ_LOG_RESULTS] = "results.log",
                                                     [NJ_LOG_TOKENS] = "tokens.log"};
    enum nj_status status = NJ_OK;
    for (enum nj_run_log log = 0; log < NJ_N_RUN_LOGS; log++) {
        uint32_t newest = packing->states.logs.found[log].newest;
        for (uint32_t segment = 1; segment <= newest && status == NJ_OK; segment++) {
            char name[NJ_LOG_NAME_BYTES];
            nj_log_segment_name(names[log], segment, name);
            status = copy_file(packing, packing->states.directory_fd, name, name, err);
            if (status == NJ_E_NOT_FOUND) {
                status = NJ_OK; /* a hole in the numbers: somebody removed it */
            }
        }
    }
    return status;
}

static void write_flag(struct nj_json_writer *writer, const char *flag, const char *value)
{
    nj_json_write_string(writer, flag);
    nj_json_write_string(writer, value);
}

/* The flags of `run` that belong to the job. */
static void write_flags(const struct nj_origin *origin, struct nj_json_writer *writer)
{
    char number[40];
    const struct nj_job_overrides *overrides = &origin->overrides;
    nj_json_key(writer, "flags");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < overrides->n_sets; i++) {
        write_flag(writer, "--set", overrides->sets[i]);
    }
    for (size_t i = 0; i < overrides->n_vars; i++) {
        write_flag(writer, "--var", overrides->vars[i]);
    }
    if (overrides->limit > 0) {
        (void)snprintf(number, sizeof number, "%" PRIu64, overrides->limit);
        write_flag(writer, "--limit", number);
    }
    if (origin->latent_norm_eps > 0.0) {
        (void)snprintf(number, sizeof number, "%.17g", origin->latent_norm_eps);
        write_flag(writer, "--latent-norm-eps", number);
    }
    nj_json_end_array(writer);
}

static void write_states(const struct packing *packing, struct nj_json_writer *writer)
{
    nj_json_key(writer, "states");
    nj_json_begin_array(writer);
    for (size_t i = 0; i < packing->n_segments; i++) {
        const struct carried_segment *segment = &packing->segments[i];
        if (segment->is_current) {
            nj_json_begin_object(writer);
            nj_json_key(writer, "item_index");
            nj_json_write_unsigned(writer, segment->item_index);
            nj_json_key(writer, "generation");
            nj_json_write_unsigned(writer, segment->number);
            nj_json_key(writer, "positions");
            nj_json_write_unsigned(writer, segment->n_positions);
            nj_json_end_object(writer);
        }
    }
    nj_json_end_array(writer);
}

static enum nj_status add_head(struct packing *packing, struct nj_error *err)
{
    struct nj_json_writer writer;
    struct nj_text text;
    struct nj_clock clock = nj_clock_system();
    nj_json_writer_init(&writer);
    nj_json_begin_object(&writer);
    nj_json_key(&writer, "export");
    nj_json_write_unsigned(&writer, NJ_EXPORT_VERSION);
    nj_json_key(&writer, "nightjar");
    nj_json_write_string(&writer, NJ_VERSION);
    nj_json_key(&writer, "time_unix_ms");
    nj_json_write_integer(&writer, clock.unix_ms(clock.context));
    nj_json_key(&writer, "job_file");
    nj_json_write_string(&writer, packing->inputs.items[0].inside);
    write_flags(&packing->origin, &writer);
    write_states(packing, &writer);
    nj_json_end_object(&writer);
    enum nj_status status = nj_json_finish(&writer, &text, err);
    if (status == NJ_OK) {
        struct nj_bytes payload = {(const uint8_t *)text.data, text.length_bytes};
        status = add_record(packing, NJ_EXPORT_HEAD, payload, err);
    }
    nj_json_writer_deinit(&writer);
    return status;
}

static enum nj_status add_end(struct packing *packing, struct nj_error *err)
{
    uint8_t payload[NJ_EXPORT_END_BYTES];
    struct nj_digest digest;
    enum nj_status status = nj_digest_stream_finish(packing->digest, &digest, err);
    nj_digest_stream_destroy(packing->digest);
    packing->digest = NULL;
    if (status != NJ_OK) {
        return status;
    }
    nj_export_end_encode(packing->sum.n_files, packing->sum.n_bytes, &digest, payload);
    return add_record(packing, NJ_EXPORT_END, (struct nj_bytes){payload, sizeof payload}, err);
}

/* Logs last: without them nobody takes what is there for a run. */
static enum nj_status add_all(struct packing *packing, struct nj_error *err)
{
    uint8_t header[NJ_RECORD_LOG_HEADER_BYTES];
    struct nj_record_log_identity identity = {.kind = NJ_EXPORT_KIND,
                                              .format_version = NJ_EXPORT_VERSION};
    memcpy(identity.fingerprint, packing->states.history.identity.model.bytes, NJ_DIGEST_BYTES);
    enum nj_status status = nj_run_entropy(&identity.salt, err);
    if (status == NJ_OK) {
        nj_record_log_encode_header(&identity, header, &packing->cursor);
        status = nj_pending_file_append(&packing->file,
                                        (struct nj_bytes){header, sizeof header}, err);
    }
    if (status == NJ_OK) {
        status = add_head(packing, err);
    }
    if (status == NJ_OK) {
        status = copy_inputs(packing, err);
    }
    if (status == NJ_OK) {
        status = copy_segments(packing, err);
    }
    if (status == NJ_OK) {
        status = copy_logs(packing, err);
    }
    return status == NJ_OK ? add_end(packing, err) : status;
}

static enum nj_status take_memory(struct packing *packing, struct nj_error *err)
{
    packing->piece = malloc(NJ_EXPORT_PIECE_BYTES);
    packing->encoded = malloc(ENCODED_LIMIT_BYTES);
    if (packing->piece == NULL || packing->encoded == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write an export: out of memory");
    }
    return nj_digest_stream_create(&packing->digest, err);
}

static enum nj_status write_in(struct packing *packing, int directory_fd, const char *name,
                               struct nj_error *err)
{
    enum nj_status status =
        nj_pending_file_begin(&packing->file, packing->fs, directory_fd, name, err);
    if (status != NJ_OK) {
        return status;
    }
    status = add_all(packing, err);
    if (status != NJ_OK) {
        nj_pending_file_abandon(&packing->file);
        return status;
    }
    return nj_pending_file_commit(&packing->file, NULL, err);
}

static enum nj_status write_file(struct packing *packing, struct nj_error *err)
{
    const char *path = packing->options->file;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    int directory_fd = -1;
    char *directory =
        slash == NULL ? nj_arena_copy_text(&packing->arena, ".", 1)
                      : nj_arena_copy_text(&packing->arena, path, (size_t)(slash - path) + 1);
    if (directory == NULL) {
        return nj_arena_fail(&packing->arena, "write an export", err);
    }
    if (name[0] == '\0' || strlen(name) > 80) {
        return nj_fail(err, NJ_E_USAGE, "%s: an export's file name has 1 to 80 bytes", path);
    }
    enum nj_status status =
        nj_file_open_directory(packing->fs, directory, false, &directory_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = write_in(packing, directory_fd, name, err);
    (void)packing->fs->close(packing->fs->context, directory_fd); /* synced by the commit */
    return status;
}

static void release(struct packing *packing)
{
    nj_digest_stream_destroy(packing->digest);
    free(packing->piece);
    free(packing->encoded);
    free(packing->segments);
    nj_run_states_close(&packing->states);
    nj_run_folder_close(&packing->folder);
    nj_arena_deinit(&packing->arena);
}

enum nj_status nj_snapshot_export_through(const struct nj_file_system *fs,
                                          const struct nj_snapshot_export_options *options,
                                          struct nj_snapshot_carried *carried,
                                          struct nj_error *err)
{
    struct packing *packing = calloc(1, sizeof *packing);
    if (packing == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write an export: out of memory");
    }
    packing->fs = fs;
    packing->options = options;
    enum nj_status status = take_memory(packing, err);
    if (status == NJ_OK) {
        status = look(packing, err);
    }
    if (status == NJ_OK) {
        status = write_file(packing, err);
    }
    if (status == NJ_OK) {
        *carried = packing->sum;
    }
    release(packing);
    free(packing);
    return status;
}

enum nj_status nj_snapshot_export(const struct nj_snapshot_export_options *options,
                                  struct nj_snapshot_carried *carried, struct nj_error *err)
{
    return nj_snapshot_export_through(nj_file_system_real(), options, carried, err);
}
