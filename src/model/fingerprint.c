#include "model/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

static const char domain[] = "nightjar model fingerprint 1";
static const char *const small_files[] = {"config.json", "tiktoken.model",
                                          "tokenizer_config.json"};

static const uint64_t whole_limit_bytes = 1ULL << 30;
enum {
    SAMPLED_TENSORS = 4096,
    SAMPLE_BYTES = 4096,
    CHUNK_BYTES = 1 << 20,
    SMALL_FILE_LIMIT_BYTES = 64 << 20
};

/* One fingerprint under way. */
struct maker {
    const struct nj_file_system *fs;
    const struct nj_weight_index *index;
    struct nj_digest_stream *digest;
    int directory_fd;
    int fd; /* of shard `file`; -1: none open */
    uint32_t file;
    uint8_t *chunk; /* CHUNK_BYTES */
};

/* Absent files count by not being there, and then leave no complaint either. */
static enum nj_status add_small_file(struct maker *maker, const char *name,
                                     struct nj_error *err)
{
    struct nj_arena arena;
    struct nj_bytes content = {NULL, 0};
    struct nj_error trouble;
    nj_arena_init(&arena, 0);
    enum nj_status status =
        nj_file_read_whole(maker->fs, maker->directory_fd, name, SMALL_FILE_LIMIT_BYTES, &arena,
                           &content, &trouble);
    if (status == NJ_OK) {
        nj_digest_stream_add_field(maker->digest, name, content.data, content.length_bytes);
    } else if (status == NJ_E_NOT_FOUND) {
        status = NJ_OK;
    } else {
        (void)nj_fail(err, status, "%s", trouble.text); /* the same status again */
    }
    nj_arena_deinit(&arena);
    return status;
}

static void add_number(struct maker *maker, const char *name, uint64_t value)
{
    uint8_t bytes[8];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, bytes, sizeof bytes);
    nj_write_u64(&writer, value);
    nj_digest_stream_add_field(maker->digest, name, bytes, sizeof bytes);
}

static void add_shards(struct maker *maker)
{
    for (size_t i = 0; i < nj_weight_index_file_count(maker->index); i++) {
        const struct nj_weight_file *file = nj_weight_index_file(maker->index, i);
        nj_digest_stream_add_field(maker->digest, "shard", file->name, strlen(file->name));
        add_number(maker, "length", file->length_bytes);
        nj_digest_stream_add_field(maker->digest, "header", file->header_sha256,
                                   sizeof file->header_sha256);
    }
}

static void close_shard(struct maker *maker)
{
    if (maker->fd >= 0) {
        (void)maker->fs->close(maker->fs->context, maker->fd); /* only read from */
        maker->fd = -1;
    }
}

static enum nj_status open_shard(struct maker *maker, uint32_t file, struct nj_error *err)
{
    if (maker->fd >= 0 && maker->file == file) {
        return NJ_OK;
    }
    close_shard(maker);
    maker->file = file;
    return nj_file_open_read(maker->fs, maker->directory_fd,
                             nj_weight_index_file(maker->index, file)->name, &maker->fd, err);
}

static enum nj_status add_tensor(struct maker *maker, const struct nj_weight *weight,
                                 uint64_t length_bytes, struct nj_error *err)
{
    const char *file_name = nj_weight_index_file(maker->index, weight->file)->name;
    enum nj_status status = open_shard(maker, weight->file, err);
    nj_digest_stream_add_field(maker->digest, "tensor", weight->name, strlen(weight->name));
    add_number(maker, "bytes", length_bytes);
    for (uint64_t done = 0; done < length_bytes && status == NJ_OK; done += CHUNK_BYTES) {
        uint64_t left = length_bytes - done;
        size_t take = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
        status = nj_file_read_exactly(maker->fs, maker->fd, maker->chunk, take,
                                      weight->offset_bytes + done, file_name, err);
        if (status == NJ_OK) {
            nj_digest_stream_add(maker->digest, maker->chunk, take);
        }
    }
    return status;
}

static uint64_t all_tensor_bytes(const struct nj_weight_index *index)
{
    uint64_t total = 0;
    for (size_t i = 0; i < nj_weight_index_count(index); i++) {
        total += nj_weight_index_at(index, i)->length_bytes;
    }
    return total;
}

/* Tensors are in (shard, offset) order, so that every n-th one touches all shards. */
static enum nj_status add_tensors(struct maker *maker, struct nj_error *err)
{
    size_t n_tensors = nj_weight_index_count(maker->index);
    bool is_whole = all_tensor_bytes(maker->index) <= whole_limit_bytes;
    size_t n_read = is_whole || n_tensors < SAMPLED_TENSORS ? n_tensors : SAMPLED_TENSORS;
    for (size_t i = 0; i < n_read; i++) {
        size_t which = (size_t)((uint64_t)i * n_tensors / n_read);
        const struct nj_weight *weight = nj_weight_index_at(maker->index, which);
        uint64_t length = weight->length_bytes;
        if (!is_whole && length > SAMPLE_BYTES) {
            length = SAMPLE_BYTES;
        }
        enum nj_status status = add_tensor(maker, weight, length, err);
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

static enum nj_status add_all(struct maker *maker, struct nj_error *err)
{
    nj_digest_stream_add(maker->digest, domain, sizeof domain - 1);
    for (size_t i = 0; i < sizeof small_files / sizeof small_files[0]; i++) {
        enum nj_status status = add_small_file(maker, small_files[i], err);
        if (status != NJ_OK) {
            return status;
        }
    }
    add_shards(maker);
    return add_tensors(maker, err);
}

enum nj_status nj_fingerprint_make(const struct nj_file_system *fs, const char *directory,
                                   const struct nj_weight_index *index,
                                   struct nj_digest *fingerprint, struct nj_error *err)
{
    struct maker maker = {.fs = fs, .index = index, .directory_fd = -1, .fd = -1};
    enum nj_status status =
        nj_file_open_directory(fs, directory, false, &maker.directory_fd, err);
    if (status != NJ_OK) {
        goto out;
    }
    maker.chunk = malloc(CHUNK_BYTES);
    if (maker.chunk == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "out of memory");
        goto out;
    }
    status = nj_digest_stream_create(&maker.digest, err);
    if (status != NJ_OK) {
        goto out;
    }
    status = add_all(&maker, err);
    if (status == NJ_OK) {
        status = nj_digest_stream_finish(maker.digest, fingerprint, err);
    }
out:
    close_shard(&maker);
    nj_digest_stream_destroy(maker.digest);
    free(maker.chunk);
    if (maker.directory_fd >= 0) {
        (void)fs->close(fs->context, maker.directory_fd); /* nothing was written */
    }
    return status == NJ_OK ? NJ_OK : nj_prefix(err, status, "fingerprint %s", directory);
}
