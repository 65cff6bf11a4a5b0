#include "model/resident_vectors.h"

#include <stdlib.h>
#include <string.h>

#include "quant/bf16.h"

/* Files opened once each while vectors are read. */
struct vector_reader {
    const struct nj_file_system *fs;
    const struct nj_weight_index *index;
    int directory_fd;
    int fd; /* of `file`; -1: none open */
    uint32_t file;
    uint8_t *bytes; /* of the widest vector */
};

static void close_file(struct vector_reader *reader)
{
    if (reader->fd >= 0) {
        (void)reader->fs->close(reader->fs->context, reader->fd); /* only read from */
        reader->fd = -1;
    }
}

static enum nj_status read_bytes(struct vector_reader *reader, const struct nj_weight *source,
                                 struct nj_error *err)
{
    const char *name = nj_weight_index_file(reader->index, source->file)->name;
    if (reader->fd < 0 || reader->file != source->file) {
        close_file(reader);
        enum nj_status status =
            nj_file_open_read(reader->fs, reader->directory_fd, name, &reader->fd, err);
        if (status != NJ_OK) {
            return status;
        }
        reader->file = source->file;
    }
    return nj_file_read_exactly(reader->fs, reader->fd, reader->bytes, source->length_bytes,
                                source->offset_bytes, name, err);
}

/* Value `i` of little-endian bytes. */
static float value_at(const uint8_t *bytes, enum nj_value_type type, uint64_t i)
{
    if (type == NJ_VALUE_BF16) {
        return nj_bf16_widen((uint16_t)(bytes[2 * i] | bytes[2 * i + 1] << 8));
    }
    uint32_t bits = (uint32_t)bytes[4 * i] | (uint32_t)bytes[4 * i + 1] << 8 |
                    (uint32_t)bytes[4 * i + 2] << 16 | (uint32_t)bytes[4 * i + 3] << 24;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static enum nj_status load_vector(struct vector_reader *reader,
                                  const struct nj_vector_extent *vector, struct nj_error *err)
{
    const struct nj_weight *source = vector->source;
    enum nj_status status = read_bytes(reader, source, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "read %s", source->name);
    }
    uint64_t n_in_file = source->length_bytes / (source->type == NJ_VALUE_BF16 ? 2 : 4);
    for (uint32_t i = 0; i < vector->n_values; i++) {
        vector->values[i] = value_at(reader->bytes, source->type, i);
    }
    for (uint64_t i = vector->n_values; i < n_in_file; i++) {
        if (value_at(reader->bytes, source->type, i) != 0.0F) {
            return nj_fail(err, NJ_E_WEIGHTS,
                           "%s: entry %llu is %g, but only the first %u are used and the rest "
                           "must be 0",
                           source->name, (unsigned long long)i,
                           (double)value_at(reader->bytes, source->type, i), vector->n_values);
        }
    }
    return NJ_OK;
}

static uint64_t widest_vector_bytes(const struct nj_weights *weights)
{
    uint64_t widest = 1;
    for (size_t i = 0; i < weights->n_vectors; i++) {
        uint64_t bytes = weights->vectors[i].source->length_bytes;
        widest = widest < bytes ? bytes : widest;
    }
    return widest;
}

enum nj_status nj_resident_vectors_load(const struct nj_weights *weights,
                                        const struct nj_weight_index *index,
                                        const struct nj_file_system *fs, const char *directory,
                                        struct nj_error *err)
{
    struct vector_reader reader = {.fs = fs, .index = index, .directory_fd = -1, .fd = -1};
    enum nj_status status =
        nj_file_open_directory(fs, directory, false, &reader.directory_fd, err);
    if (status != NJ_OK) {
        goto out;
    }
    reader.bytes = malloc(widest_vector_bytes(weights));
    if (reader.bytes == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "load weight vectors: out of memory");
        goto out;
    }
    for (size_t i = 0; i < weights->n_vectors && status == NJ_OK; i++) {
        status = load_vector(&reader, &weights->vectors[i], err);
    }
out:
    close_file(&reader);
    if (reader.directory_fd >= 0) {
        (void)fs->close(fs->context, reader.directory_fd); /* nothing was written */
    }
    free(reader.bytes);
    return status;
}
