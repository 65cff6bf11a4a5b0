#include "runner/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

static void write_digest(struct nj_byte_writer *writer, const struct nj_digest *digest)
{
    nj_write_span(writer,
                  (struct nj_bytes){.data = digest->bytes, .length_bytes = NJ_DIGEST_BYTES});
}

static void read_digest(struct nj_byte_reader *reader, struct nj_digest *digest)
{
    struct nj_bytes bytes = nj_read_span(reader, NJ_DIGEST_BYTES);
    if (bytes.length_bytes == NJ_DIGEST_BYTES) {
        memcpy(digest->bytes, bytes.data, NJ_DIGEST_BYTES);
    }
}

static void write_identity(struct nj_byte_writer *writer,
                           const struct nj_run_identity *identity)
{
    write_digest(writer, &identity->model);
    nj_write_u32(writer, identity->numerics_version);
    nj_write_f32(writer, identity->latent_norm_eps);
    nj_write_u32(writer, identity->uses_job_seed ? 1 : 0);
    nj_write_u64(writer, identity->job_seed);
    nj_write_u64(writer, identity->n_items);
    write_digest(writer, &identity->items);
    write_digest(writer, &identity->spec);
    write_digest(writer, &identity->rows);
    nj_write_u32(writer, identity->generation);
}

static void read_identity(struct nj_byte_reader *reader, struct nj_run_identity *identity)
{
    read_digest(reader, &identity->model);
    identity->numerics_version = nj_read_u32(reader);
    identity->latent_norm_eps = nj_read_f32(reader);
    identity->uses_job_seed = nj_read_u32(reader) == 1;
    identity->job_seed = nj_read_u64(reader);
    identity->n_items = nj_read_u64(reader);
    read_digest(reader, &identity->items);
    read_digest(reader, &identity->spec);
    read_digest(reader, &identity->rows);
    if (reader->offset < reader->span.length_bytes) {
        identity->generation = nj_read_u32(reader); /* older records end before it */
    }
}

enum nj_status nj_run_identity_append(struct nj_log_file *file, uint32_t record_type,
                                      const struct nj_run_identity *identity,
                                      struct nj_error *err)
{
    uint8_t payload[NJ_RUN_IDENTITY_BYTES];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, payload, sizeof payload);
    write_identity(&writer, identity);
    struct nj_bytes bytes = {.data = payload, .length_bytes = writer.offset};
    return nj_log_file_append(file, record_type, bytes, NULL, err);
}

enum nj_status nj_run_identity_decode(const struct nj_record *record,
                                      struct nj_run_identity *identity, struct nj_error *err)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    *identity = (struct nj_run_identity){0};
    read_identity(&reader, identity);
    if (reader.failed) {
        return nj_fail(
            err, NJ_E_STATE, "identity record %llu at %llu: verifies, but is too short",
            (unsigned long long)record->sequence, (unsigned long long)record->offset_bytes);
    }
    return NJ_OK;
}

static bool digests_equal(const struct nj_digest *a, const struct nj_digest *b)
{
    return memcmp(a->bytes, b->bytes, NJ_DIGEST_BYTES) == 0;
}

/* By their bits: that is what decides results. */
static bool floats_equal(float a, float b)
{
    uint32_t a_bits = 0;
    uint32_t b_bits = 0;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    return a_bits == b_bits;
}

bool nj_run_identity_equal(const struct nj_run_identity *a, const struct nj_run_identity *b)
{
    return digests_equal(&a->model, &b->model) && a->numerics_version == b->numerics_version &&
           floats_equal(a->latent_norm_eps, b->latent_norm_eps) && a->job_seed == b->job_seed &&
           a->uses_job_seed == b->uses_job_seed && a->n_items == b->n_items &&
           digests_equal(&a->items, &b->items) && digests_equal(&a->spec, &b->spec) &&
           digests_equal(&a->rows, &b->rows);
}

enum nj_run_change nj_run_identity_compare(const struct nj_run_identity *earlier,
                                           const struct nj_run_identity *now,
                                           const struct nj_digest *items_before)
{
    if (!digests_equal(&earlier->model, &now->model)) {
        return NJ_CHANGE_MODEL;
    }
    if (earlier->numerics_version != now->numerics_version) {
        return NJ_CHANGE_NUMERICS;
    }
    if (!floats_equal(earlier->latent_norm_eps, now->latent_norm_eps)) {
        return NJ_CHANGE_LATENT_NORM_EPS;
    }
    if (earlier->uses_job_seed && now->uses_job_seed && earlier->job_seed != now->job_seed) {
        return NJ_CHANGE_JOB_SEED;
    }
    if (earlier->n_items > now->n_items) {
        return NJ_CHANGE_FEWER_ITEMS;
    }
    return digests_equal(&earlier->items, items_before) ? NJ_CHANGE_NONE : NJ_CHANGE_ITEMS;
}

/* What changed, from what to what. */
static void describe(enum nj_run_change change, const struct nj_run_identity *earlier,
                     const struct nj_run_identity *now, const char *first_item, char *text,
                     size_t text_bytes)
{
    char before_hex[NJ_DIGEST_HEX_BYTES];
    char now_hex[NJ_DIGEST_HEX_BYTES];
    switch (change) {
    case NJ_CHANGE_MODEL:
        nj_digest_to_hex(&earlier->model, before_hex);
        nj_digest_to_hex(&now->model, now_hex);
        (void)snprintf(text, text_bytes,
                       "model (its fingerprint differs), %.16s... then and %.16s... now",
                       before_hex, now_hex);
        return;
    case NJ_CHANGE_NUMERICS:
        (void)snprintf(
            text, text_bytes,
            "numerics version (nightjar computes other bits now), %u then and %u now",
            earlier->numerics_version, now->numerics_version);
        return;
    case NJ_CHANGE_LATENT_NORM_EPS:
        (void)snprintf(text, text_bytes, "latent_norm_eps, %g then and %g now",
                       nj_decimal_of_float(earlier->latent_norm_eps),
                       nj_decimal_of_float(now->latent_norm_eps));
        return;
    case NJ_CHANGE_JOB_SEED:
        (void)snprintf(text, text_bytes, "job_seed, %llu then and %llu now",
                       (unsigned long long)earlier->job_seed,
                       (unsigned long long)now->job_seed);
        return;
    case NJ_CHANGE_FEWER_ITEMS:
        (void)snprintf(text, text_bytes, "job (it had more items), %llu then and %llu now",
                       (unsigned long long)earlier->n_items, (unsigned long long)now->n_items);
        return;
    case NJ_CHANGE_ITEMS:
    case NJ_CHANGE_NONE:
        break;
    }
    (void)snprintf(text, text_bytes, "job (prompts, ids, variables or sampling differ)%s%s",
                   first_item[0] != '\0' ? ", first at " : "", first_item);
}

enum nj_status nj_run_identity_refuse(enum nj_run_change change,
                                      const struct nj_run_identity *earlier,
                                      const struct nj_run_identity *now, const char *first_item,
                                      const char *folder_path, struct nj_error *err)
{
    char what[600];
    describe(change, earlier, now, first_item, what, sizeof what);
    return nj_fail(
        err, NJ_E_STATE,
        "%s holds a run with another %s. --restart keeps the finished items that are "
        "still the same and does all others anew, --fresh moves the old run aside and "
        "begins again, --out DIR leaves it alone",
        folder_path, what);
}

static enum nj_status add_file(struct nj_digest_stream *stream, const struct nj_file_system *fs,
                               int fd, const char *path, struct nj_error *err)
{
    enum { CHUNK_BYTES = 64 * 1024 };
    uint64_t length_bytes = 0;
    uint8_t *chunk = malloc(CHUNK_BYTES);
    if (chunk == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "digest of %s: out of memory", path);
    }
    enum nj_status status = nj_file_length(fs, fd, &length_bytes, err);
    for (uint64_t offset = 0; offset < length_bytes && status == NJ_OK; offset += CHUNK_BYTES) {
        uint64_t n_left = length_bytes - offset;
        size_t n_bytes = n_left < CHUNK_BYTES ? (size_t)n_left : CHUNK_BYTES;
        status = nj_file_read_exactly(fs, fd, chunk, n_bytes, offset, path, err);
        if (status == NJ_OK) {
            nj_digest_stream_add(stream, chunk, n_bytes);
        }
    }
    free(chunk);
    return status;
}

enum nj_status nj_file_digest(const struct nj_file_system *fs, int directory_fd,
                              const char *name, struct nj_digest *digest, struct nj_error *err)
{
    int fd = -1;
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_file_open_read(fs, directory_fd, name, &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_digest_stream_create(&stream, err);
    if (status == NJ_OK) {
        status = add_file(stream, fs, fd, name, err);
    }
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(stream, digest, err);
    }
    nj_digest_stream_destroy(stream);
    (void)fs->close(fs->context, fd); /* only read from */
    return status;
}
