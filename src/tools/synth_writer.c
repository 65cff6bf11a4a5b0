#include "tools/synth_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/json.h"
#include "base/pool.h"
#include "format/safetensors.h"
#include "tools/synth_values.h"

/* Direct writes want memory, offset and length at multiples of a block, at most this. */
enum { BUFFER_BYTES = 8 << 20, ALIGNMENT_BYTES = 4096, HEADER_UNIT_BYTES = 8 };

struct buffer {
    uint8_t *data; /* BUFFER_BYTES */
    size_t length_bytes;
};

struct nj_synth_writer {
    const struct nj_file_system *fs;
    struct nj_pool *pool;
    struct nj_synth_values *values;
    struct buffer buffers[2];
};

/* The file being written: what was not put into a buffer yet, and how the two pieces of a round
 * went, each with its own error because they run at once. */
struct round {
    struct nj_synth_writer *writer;
    const char *name;
    int fd;
    struct nj_text header; /* the length in front included; what is left of it */
    const struct nj_synth_tensor *tensors;
    uint32_t n_tensors;
    uint64_t tensor_offset; /* into the first of them */
    struct buffer *full;
    struct buffer *next;
    enum nj_status write_status, fill_status;
    struct nj_error write_error, fill_error;
};

enum nj_status nj_synth_writer_create(const struct nj_file_system *fs, uint32_t seed,
                                      struct nj_synth_writer **writer, struct nj_error *err)
{
    struct nj_synth_writer *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "writer of a model: out of memory");
    }
    made->fs = fs;
    enum nj_status status = nj_pool_create(2, &made->pool, err);
    if (status == NJ_OK) {
        status = nj_synth_values_create(seed, &made->values, err);
    }
    for (int i = 0; i < 2 && status == NJ_OK; i++) {
        made->buffers[i].data = aligned_alloc(ALIGNMENT_BYTES, BUFFER_BYTES);
        if (made->buffers[i].data == NULL) {
            status = nj_fail(err, NJ_E_MEMORY, "buffers of a model: out of memory");
        }
    }
    if (status != NJ_OK) {
        nj_synth_writer_destroy(made);
        return status;
    }
    *writer = made;
    return NJ_OK;
}

void nj_synth_writer_destroy(struct nj_synth_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    nj_pool_destroy(writer->pool);
    nj_synth_values_destroy(writer->values);
    free(writer->buffers[0].data);
    free(writer->buffers[1].data);
    free(writer);
}

static const char *type_name(enum nj_value_type type)
{
    switch (type) {
    case NJ_VALUE_F32:
        return "F32";
    case NJ_VALUE_BF16:
        return "BF16";
    case NJ_VALUE_U8:
    case NJ_VALUE_OTHER:
        break;
    }
    return "U8";
}

static void write_entry(struct nj_json_writer *json, const struct nj_synth_tensor *tensor,
                        uint64_t begin_bytes)
{
    nj_json_key(json, tensor->name);
    nj_json_begin_object(json);
    nj_json_key(json, "dtype");
    nj_json_write_string(json, type_name(tensor->type));
    nj_json_key(json, "shape");
    nj_json_begin_array(json);
    for (uint32_t i = 0; i < tensor->n_dimensions; i++) {
        nj_json_write_unsigned(json, tensor->shape[i]);
    }
    nj_json_end_array(json);
    nj_json_key(json, "data_offsets");
    nj_json_begin_array(json);
    nj_json_write_unsigned(json, begin_bytes);
    nj_json_write_unsigned(json, begin_bytes + tensor->length_bytes);
    nj_json_end_array(json);
    nj_json_end_object(json);
}

/* Length and text in one piece, filled up with blanks as released files are. Caller frees
 * `header->data`. */
static enum nj_status make_header(const struct nj_synth_tensor *tensors, uint32_t n_tensors,
                                  char **header, size_t *length_bytes, struct nj_error *err)
{
    struct nj_json_writer json;
    struct nj_text text;
    uint64_t begin_bytes = 0;
    nj_json_writer_init(&json);
    nj_json_begin_object(&json);
    for (uint32_t i = 0; i < n_tensors; i++) {
        write_entry(&json, &tensors[i], begin_bytes);
        begin_bytes += tensors[i].length_bytes;
    }
    nj_json_end_object(&json);
    enum nj_status status = nj_json_finish(&json, &text, err);
    if (status != NJ_OK) {
        goto out;
    }
    size_t padded =
        (text.length_bytes + HEADER_UNIT_BYTES - 1) / HEADER_UNIT_BYTES * HEADER_UNIT_BYTES;
    char *made = malloc(NJ_SAFETENSORS_PREFIX_BYTES + padded);
    if (made == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "header of a shard: out of memory");
        goto out;
    }
    struct nj_byte_writer prefix;
    nj_byte_writer_init(&prefix, made, NJ_SAFETENSORS_PREFIX_BYTES);
    nj_write_u64(&prefix, padded);
    memset(made + NJ_SAFETENSORS_PREFIX_BYTES, ' ', padded);
    memcpy(made + NJ_SAFETENSORS_PREFIX_BYTES, text.data, text.length_bytes);
    *header = made;
    *length_bytes = NJ_SAFETENSORS_PREFIX_BYTES + padded;
out:
    nj_json_writer_deinit(&json);
    return status;
}

static void fill_from_header(struct round *round)
{
    struct buffer *next = round->next;
    size_t room = BUFFER_BYTES - next->length_bytes;
    size_t take = round->header.length_bytes < room ? round->header.length_bytes : room;
    if (take == 0) {
        return;
    }
    memcpy(next->data + next->length_bytes, round->header.data, take);
    next->length_bytes += take;
    round->header.data += take;
    round->header.length_bytes -= take;
}

static enum nj_status fill_from_tensor(struct round *round)
{
    struct buffer *next = round->next;
    const struct nj_synth_tensor *tensor = round->tensors;
    uint64_t room = BUFFER_BYTES - next->length_bytes;
    uint64_t left = tensor->length_bytes - round->tensor_offset;
    uint64_t take = left < room ? left : room;
    enum nj_status status =
        nj_synth_values_fill(round->writer->values, tensor, round->tensor_offset,
                             next->data + next->length_bytes, take, &round->fill_error);
    next->length_bytes += take;
    round->tensor_offset += take;
    if (round->tensor_offset == tensor->length_bytes) {
        round->tensors += 1;
        round->n_tensors -= 1;
        round->tensor_offset = 0;
    }
    return status;
}

/* Ends with a full buffer, or at the end of the file. */
static void fill(struct round *round)
{
    round->next->length_bytes = 0;
    fill_from_header(round);
    while (round->n_tensors > 0 && round->next->length_bytes < BUFFER_BYTES &&
           round->fill_status == NJ_OK) {
        round->fill_status = fill_from_tensor(round);
    }
}

/* Only the last buffer of a file is not full; it is filled up to a block and cut afterwards. */
static void write_full(struct round *round)
{
    struct buffer *full = round->full;
    size_t blocks = (full->length_bytes + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES;
    size_t length = blocks * ALIGNMENT_BYTES;
    memset(full->data + full->length_bytes, 0, length - full->length_bytes);
    const struct nj_bytes content = {full->data, length};
    round->write_status =
        nj_file_append(round->writer->fs, round->fd, content, round->name, &round->write_error);
}

static void run_piece(void *context, uint32_t piece, uint32_t thread_index)
{
    (void)thread_index;
    if (piece == 0) {
        write_full(context);
    } else {
        fill(context);
    }
}

static enum nj_status write_rounds(struct round *round, uint64_t *length_bytes,
                                   struct nj_error *err)
{
    struct nj_synth_writer *writer = round->writer;
    round->next = &writer->buffers[0];
    round->full = &writer->buffers[1];
    *length_bytes = 0;
    fill(round);
    while (round->next->length_bytes > 0) {
        struct buffer *filled = round->next;
        round->next = round->full;
        round->full = filled;
        *length_bytes += filled->length_bytes;
        nj_pool_run(writer->pool, 2, run_piece, round);
        if (round->write_status != NJ_OK) {
            return nj_fail(err, round->write_status, "%s", round->write_error.text);
        }
        if (round->fill_status != NJ_OK) {
            return nj_fail(err, round->fill_status, "%s", round->fill_error.text);
        }
    }
    return NJ_OK;
}

/* Past the page cache where that is allowed: written once, not read soon, and 20 GB of it would
 * drive everything else out. */
static int open_new(const struct nj_file_system *fs, int directory_fd, const char *name)
{
    int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
    int fd = fs->open_at(fs->context, directory_fd, name, flags | O_DIRECT, 0644);
    if (fd < 0 && errno == EINVAL) {
        /* Some file systems refuse only after they have made the name. */
        flags &= ~O_EXCL;
        fd = fs->open_at(fs->context, directory_fd, name, flags | O_TRUNC, 0644);
    }
    return fd;
}

static enum nj_status cut_and_sync(const struct round *round, uint64_t length_bytes,
                                   struct nj_error *err)
{
    const struct nj_file_system *fs = round->writer->fs;
    if (fs->truncate(fs->context, round->fd, (off_t)length_bytes) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "cut %s to %llu bytes: %s", round->name,
                       (unsigned long long)length_bytes, strerror(errno));
    }
    return nj_file_data_sync(fs, round->fd, round->name, err);
}

enum nj_status nj_synth_writer_shard(struct nj_synth_writer *writer, int directory_fd,
                                     const char *name, const struct nj_synth_tensor *tensors,
                                     uint32_t n_tensors, uint64_t *file_bytes,
                                     struct nj_error *err)
{
    const struct nj_file_system *fs = writer->fs;
    struct round round = {
        .writer = writer, .name = name, .fd = -1, .tensors = tensors, .n_tensors = n_tensors};
    char *header = NULL;
    uint64_t length_bytes = 0;
    enum nj_status status =
        make_header(tensors, n_tensors, &header, &round.header.length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    round.header.data = header;
    round.fd = open_new(fs, directory_fd, name);
    if (round.fd < 0) {
        status = nj_fail(err, nj_status_from_errno(errno, NJ_E_STORAGE), "make %s: %s", name,
                         strerror(errno));
        goto out;
    }
    status = write_rounds(&round, &length_bytes, err);
    if (status == NJ_OK) {
        status = cut_and_sync(&round, length_bytes, err);
    }
    if (fs->close(fs->context, round.fd) != 0 && status == NJ_OK) {
        status = nj_fail(err, NJ_E_STORAGE, "close %s: %s", name, strerror(errno));
    }
    *file_bytes += length_bytes;
out:
    free(header);
    return status;
}
