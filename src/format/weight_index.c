#include "format/weight_index.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/vector.h"
#include "format/json_scanner.h"
#include "format/name_table.h"

static const char shard_suffix[] = ".safetensors";
static const char index_name[] = "model.safetensors.index.json";

enum {
    /* Half a million tensors make 60 MB; ten times that is no index any more. */
    INDEX_LIMIT_BYTES = 600 * 1000 * 1000
};

/* A tensor that only the index file knows, because its shard is not there. Names begin both
 * structs that are found by name (format/name_table.h). */
struct missing_weight {
    const char *name;
    const char *shard;
};

/* Invariant: `weights` is ordered by (file, offset) and `files` by name. */
struct nj_weight_index {
    struct nj_arena names;
    struct nj_weight_file *files;
    size_t n_files;
    size_t files_capacity;
    struct nj_weight *weights;
    size_t n_weights;
    size_t weights_capacity;
    struct nj_name_table weights_by_name;
    struct missing_weight *missing;
    size_t n_missing;
    size_t missing_capacity;
    struct nj_name_table missing_by_name;
};

static struct nj_named_items weights_of(const struct nj_weight_index *index)
{
    struct nj_named_items items = {index->weights, sizeof *index->weights, index->n_weights};
    return items;
}

static struct nj_named_items missing_of(const struct nj_weight_index *index)
{
    struct nj_named_items items = {index->missing, sizeof *index->missing, index->n_missing};
    return items;
}

/* A model file that cannot be read is a fault of the model, whatever the system calls it. */
static enum nj_status as_weights(enum nj_status status, struct nj_error *err)
{
    if (status == NJ_OK || status == NJ_E_MEMORY || status == NJ_E_INTERNAL) {
        return status;
    }
    if (err != NULL) {
        err->status = NJ_E_WEIGHTS;
    }
    return NJ_E_WEIGHTS;
}

/* --- which files there are --- */

static bool is_shard_name(const char *name)
{
    size_t length = strlen(name);
    size_t suffix = sizeof shard_suffix - 1;
    return name[0] != '.' && length > suffix &&
           strcmp(name + length - suffix, shard_suffix) == 0;
}

struct listing {
    struct nj_weight_index *index;
    bool has_index_file;
};

static enum nj_status list_name(void *context, const char *name, struct nj_error *err)
{
    struct listing *listing = context;
    struct nj_weight_index *index = listing->index;
    if (strcmp(name, index_name) == 0) {
        listing->has_index_file = true;
    }
    if (!is_shard_name(name)) {
        return NJ_OK;
    }
    enum nj_status status = nj_vector_reserve(&index->files, &index->files_capacity,
                                              sizeof *index->files, index->n_files + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    char *copy = nj_arena_copy_text(&index->names, name, strlen(name));
    if (copy == NULL) {
        return nj_arena_fail(&index->names, "list the shards", err);
    }
    index->files[index->n_files++] = (struct nj_weight_file){.name = copy};
    return NJ_OK;
}

static int compare_files(const void *a, const void *b)
{
    const struct nj_weight_file *left = a;
    const struct nj_weight_file *right = b;
    return strcmp(left->name, right->name);
}

static enum nj_status list_shards(struct listing *listing, const struct nj_file_system *fs,
                                  int directory_fd, struct nj_error *err)
{
    struct nj_weight_index *index = listing->index;
    enum nj_status status = nj_file_list(fs, directory_fd, list_name, listing, err);
    if (status != NJ_OK) {
        return status;
    }
    if (index->n_files == 0) {
        return nj_fail(err, NJ_E_NOT_FOUND, "no *%s file in it", shard_suffix);
    }
    qsort(index->files, index->n_files, sizeof *index->files, compare_files);
    return NJ_OK;
}

/* --- headers of the shards --- */

/* One buffer for all headers, as large as the largest. */
struct header_buffer {
    uint8_t *data;
    size_t capacity_bytes;
};

struct shard_reading {
    struct nj_weight_index *index;
    uint32_t file;
    uint64_t data_offset;
};

static enum nj_status add_weight(void *context, const struct nj_tensor_entry *entry,
                                 struct nj_error *err)
{
    const struct shard_reading *reading = context;
    struct nj_weight_index *index = reading->index;
    enum nj_status status =
        nj_vector_reserve(&index->weights, &index->weights_capacity, sizeof *index->weights,
                          index->n_weights + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    char *name = nj_arena_copy_text(&index->names, entry->name.data, entry->name.length_bytes);
    if (name == NULL) {
        return nj_arena_fail(&index->names, "index the tensors", err);
    }
    struct nj_weight *weight = &index->weights[index->n_weights++];
    *weight = (struct nj_weight){
        .name = name,
        .type = entry->type,
        .n_dimensions = entry->n_dimensions,
        .file = reading->file,
        .offset_bytes = reading->data_offset + entry->begin_bytes,
        .length_bytes = entry->end_bytes - entry->begin_bytes,
    };
    memcpy(weight->shape, entry->shape, sizeof weight->shape);
    return NJ_OK;
}

/* Empty tensors share their place with others; the name makes the order total. */
static int compare_weights(const void *a, const void *b)
{
    const struct nj_weight *left = a;
    const struct nj_weight *right = b;
    if (left->offset_bytes != right->offset_bytes) {
        return left->offset_bytes < right->offset_bytes ? -1 : 1;
    }
    if (left->length_bytes != right->length_bytes) {
        return left->length_bytes < right->length_bytes ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

static enum nj_status read_header(const struct nj_file_system *fs, int fd,
                                  struct nj_weight_file *file, struct header_buffer *buffer,
                                  struct nj_error *err)
{
    uint8_t prefix[NJ_SAFETENSORS_PREFIX_BYTES] = {0};
    enum nj_status status = nj_file_length(fs, fd, &file->length_bytes, err);
    if (status == NJ_OK && file->length_bytes >= sizeof prefix) {
        status = nj_file_read_exactly(fs, fd, prefix, sizeof prefix, 0, file->name, err);
    }
    if (status == NJ_OK) {
        status =
            nj_safetensors_header_length(prefix, file->length_bytes, &file->header_bytes, err);
    }
    if (status == NJ_OK) {
        status = nj_vector_reserve(&buffer->data, &buffer->capacity_bytes, 1,
                                   (size_t)file->header_bytes, err);
    }
    if (status == NJ_OK) {
        status = nj_file_read_exactly(fs, fd, buffer->data, (size_t)file->header_bytes,
                                      sizeof prefix, file->name, err);
    }
    return status;
}

static enum nj_status index_header(struct nj_weight_index *index, uint32_t file,
                                   struct nj_bytes header, struct nj_error *err)
{
    struct nj_weight_file *entry = &index->files[file];
    struct nj_digest digest;
    enum nj_status status = nj_digest_of(header, &digest, err);
    if (status != NJ_OK) {
        return status;
    }
    memcpy(entry->header_sha256, digest.bytes, sizeof entry->header_sha256);

    struct shard_reading reading = {
        .index = index,
        .file = file,
        .data_offset = NJ_SAFETENSORS_PREFIX_BYTES + header.length_bytes,
    };
    size_t first = index->n_weights;
    status = nj_safetensors_scan(header, entry->length_bytes, add_weight, &reading, err);
    if (status == NJ_OK && index->n_weights > first) {
        qsort(index->weights + first, index->n_weights - first, sizeof *index->weights,
              compare_weights);
    }
    return status;
}

static enum nj_status read_shard(struct nj_weight_index *index, const struct nj_file_system *fs,
                                 int directory_fd, uint32_t file, struct header_buffer *buffer,
                                 struct nj_error *err)
{
    struct nj_weight_file *entry = &index->files[file];
    int fd = -1;
    enum nj_status status = nj_file_open_read(fs, directory_fd, entry->name, &fd, err);
    if (status != NJ_OK) {
        return as_weights(status, err);
    }
    status = read_header(fs, fd, entry, buffer, err);
    (void)fs->close(fs->context, fd); /* nothing was written through it */
    if (status == NJ_OK) {
        struct nj_bytes header = {buffer->data, (size_t)entry->header_bytes};
        status = index_header(index, file, header, err);
    }
    return status == NJ_OK ? NJ_OK : nj_prefix(err, as_weights(status, err), "%s", entry->name);
}

static enum nj_status read_shards(struct nj_weight_index *index,
                                  const struct nj_file_system *fs, int directory_fd,
                                  struct nj_error *err)
{
    struct header_buffer buffer = {NULL, 0};
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < index->n_files && status == NJ_OK; i++) {
        status = read_shard(index, fs, directory_fd, (uint32_t)i, &buffer, err);
    }
    free(buffer.data);
    return status;
}

/* The hash's seed comes from all headers, names included: whoever writes the names cannot aim
 * them at one slot. */
static uint64_t seed_from_headers(const struct nj_weight_index *index)
{
    uint64_t seed = 0;
    for (size_t i = 0; i < index->n_files; i++) {
        uint64_t word = 0;
        memcpy(&word, index->files[i].header_sha256, sizeof word);
        seed = seed * 31 + word;
    }
    return seed;
}

static enum nj_status find_weights_by_name(struct nj_weight_index *index, struct nj_error *err)
{
    uint32_t duplicate = NJ_NAME_ABSENT;
    enum nj_status status = nj_name_table_init(&index->weights_by_name, weights_of(index),
                                               seed_from_headers(index), &duplicate, err);
    if (status == NJ_OK && duplicate != NJ_NAME_ABSENT) {
        const struct nj_weight *weight = &index->weights[duplicate];
        status = nj_fail(err, NJ_E_WEIGHTS,
                         "tensor \"%.200s\" is in %s and in another shard before it",
                         weight->name, index->files[weight->file].name);
    }
    return status;
}

/* --- the index file --- */

struct index_reading {
    struct nj_weight_index *index;
    struct nj_json_scanner scanner;
    struct nj_arena unescaped; /* names with escapes, for as long as the file is read */
    uint8_t *is_listed;        /* one flag per weight */
    bool has_map;
};

static enum nj_status add_missing(struct nj_weight_index *index, struct nj_text name,
                                  struct nj_text shard, struct nj_error *err)
{
    enum nj_status status =
        nj_vector_reserve(&index->missing, &index->missing_capacity, sizeof *index->missing,
                          index->n_missing + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    const char *name_copy = nj_arena_copy_text(&index->names, name.data, name.length_bytes);
    const char *shard_copy = NULL;
    if (index->n_missing > 0 &&
        nj_text_equals(shard, index->missing[index->n_missing - 1].shard)) {
        shard_copy = index->missing[index->n_missing - 1].shard; /* they come in runs */
    } else {
        shard_copy = nj_arena_copy_text(&index->names, shard.data, shard.length_bytes);
    }
    if (name_copy == NULL || shard_copy == NULL) {
        return nj_arena_fail(&index->names, "index the tensors", err);
    }
    index->missing[index->n_missing++] = (struct missing_weight){name_copy, shard_copy};
    return NJ_OK;
}

static bool has_shard(const struct nj_weight_index *index, struct nj_text shard)
{
    for (size_t i = 0; i < index->n_files; i++) {
        if (nj_text_equals(shard, index->files[i].name)) {
            return true;
        }
    }
    return false;
}

/* The index file says that tensor `name` lies in `shard`: is that so? */
static enum nj_status check_listed(struct index_reading *reading, struct nj_text name,
                                   struct nj_text shard, struct nj_error *err)
{
    struct nj_weight_index *index = reading->index;
    uint32_t number = nj_name_table_find(&index->weights_by_name, weights_of(index), name);
    int name_bytes = name.length_bytes < 200 ? (int)name.length_bytes : 200;
    int shard_bytes = shard.length_bytes < 200 ? (int)shard.length_bytes : 200;
    if (number == NJ_NAME_ABSENT && !has_shard(index, shard)) {
        return add_missing(index, name, shard, err);
    }
    if (number == NJ_NAME_ABSENT) {
        return nj_fail(err, NJ_E_WEIGHTS, "lists tensor \"%.*s\" in %.*s, which lacks it",
                       name_bytes, name.data, shard_bytes, shard.data);
    }
    const char *found = index->files[index->weights[number].file].name;
    if (!nj_text_equals(shard, found)) {
        return nj_fail(err, NJ_E_WEIGHTS, "lists tensor \"%.*s\" in %.*s, but it is in %s",
                       name_bytes, name.data, shard_bytes, shard.data, found);
    }
    if (reading->is_listed[number] != 0) {
        return nj_fail(err, NJ_E_WEIGHTS, "lists tensor \"%.*s\" twice", name_bytes, name.data);
    }
    reading->is_listed[number] = 1;
    return NJ_OK;
}

static enum nj_status read_map_entry(struct index_reading *reading,
                                     const struct nj_json_raw_string *key, struct nj_error *err)
{
    struct nj_json_raw_string value;
    struct nj_text name;
    struct nj_text shard;
    enum nj_status status = nj_json_scan_string(&reading->scanner, &value, err);
    if (status == NJ_OK) {
        status = nj_json_unescape(key, &reading->unescaped, &name, err);
    }
    if (status == NJ_OK) {
        status = nj_json_unescape(&value, &reading->unescaped, &shard, err);
    }
    return status == NJ_OK ? check_listed(reading, name, shard, err) : status;
}

static enum nj_status read_map(struct index_reading *reading, struct nj_error *err)
{
    struct nj_json_walk walk;
    struct nj_json_raw_string key;
    if (reading->has_map) {
        return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": a second weight_map",
                       nj_json_scan_position(&reading->scanner));
    }
    reading->has_map = true;
    enum nj_status status = nj_json_scan_open_object(&reading->scanner, &walk, err);
    while (status == NJ_OK) {
        status = nj_json_scan_member(&reading->scanner, &walk, &key, err);
        if (status != NJ_OK || walk.is_done) {
            break;
        }
        status = read_map_entry(reading, &key, err);
    }
    return status;
}

static enum nj_status read_index_members(struct index_reading *reading, struct nj_error *err)
{
    struct nj_json_walk walk;
    struct nj_json_raw_string key;
    enum nj_status status = nj_json_scan_open_object(&reading->scanner, &walk, err);
    while (status == NJ_OK) {
        status = nj_json_scan_member(&reading->scanner, &walk, &key, err);
        if (status != NJ_OK || walk.is_done) {
            break;
        }
        status = nj_json_raw_equals(&key, "weight_map")
                     ? read_map(reading, err)
                     : nj_json_scan_skip(&reading->scanner, err);
    }
    if (status == NJ_OK) {
        status = nj_json_scan_end(&reading->scanner, err);
    }
    if (status == NJ_OK && !reading->has_map) {
        status = nj_fail(err, NJ_E_WEIGHTS, "has no weight_map");
    }
    return status;
}

static enum nj_status check_all_listed(const struct index_reading *reading,
                                       struct nj_error *err)
{
    const struct nj_weight_index *index = reading->index;
    for (size_t i = 0; i < index->n_weights; i++) {
        if (reading->is_listed[i] == 0) {
            return nj_fail(err, NJ_E_WEIGHTS, "does not list tensor \"%.200s\" of %s",
                           index->weights[i].name, index->files[index->weights[i].file].name);
        }
    }
    return NJ_OK;
}

static enum nj_status find_missing_by_name(struct nj_weight_index *index, struct nj_error *err)
{
    uint32_t duplicate = NJ_NAME_ABSENT;
    enum nj_status status = nj_name_table_init(&index->missing_by_name, missing_of(index),
                                               seed_from_headers(index), &duplicate, err);
    if (status == NJ_OK && duplicate != NJ_NAME_ABSENT) {
        status = nj_fail(err, NJ_E_WEIGHTS, "lists tensor \"%.200s\" twice",
                         index->missing[duplicate].name);
    }
    return status;
}

static enum nj_status compare_with_index_text(struct nj_weight_index *index,
                                              struct nj_bytes content, struct nj_error *err)
{
    struct index_reading reading = {.index = index};
    struct nj_text text = {(const char *)content.data, content.length_bytes};
    nj_json_scanner_init(&reading.scanner, text, 0);
    reading.is_listed = calloc(index->n_weights + 1, 1);
    if (reading.is_listed == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "compare with the shards: out of memory");
    }
    enum nj_status status = read_index_members(&reading, err);
    if (status == NJ_OK) {
        status = check_all_listed(&reading, err);
    }
    if (status == NJ_OK) {
        status = find_missing_by_name(index, err);
    }
    free(reading.is_listed);
    nj_arena_deinit(&reading.unescaped);
    return status;
}

static enum nj_status read_index_file(struct nj_weight_index *index,
                                      const struct nj_file_system *fs, int directory_fd,
                                      struct nj_error *err)
{
    struct nj_arena arena = {0};
    struct nj_bytes content;
    enum nj_status status = nj_file_read_whole(fs, directory_fd, index_name, INDEX_LIMIT_BYTES,
                                               &arena, &content, err);
    if (status == NJ_OK) {
        status = compare_with_index_text(index, content, err);
        if (status != NJ_OK) {
            status = nj_prefix(err, status, "%s", index_name);
        }
    }
    nj_arena_deinit(&arena);
    return as_weights(status, err);
}

/* --- calls --- */

static enum nj_status fill(struct nj_weight_index *index, const struct nj_file_system *fs,
                           int directory_fd, struct nj_error *err)
{
    struct listing listing = {.index = index};
    enum nj_status status = list_shards(&listing, fs, directory_fd, err);
    if (status == NJ_OK) {
        status = read_shards(index, fs, directory_fd, err);
    }
    if (status == NJ_OK) {
        status = find_weights_by_name(index, err);
    }
    if (status == NJ_OK && listing.has_index_file) {
        status = read_index_file(index, fs, directory_fd, err);
    }
    return status;
}

enum nj_status nj_weight_index_open(const struct nj_file_system *fs, const char *directory,
                                    struct nj_weight_index **index, struct nj_error *err)
{
    int directory_fd = -1;
    enum nj_status status = nj_file_open_directory(fs, directory, false, &directory_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_weight_index *created = calloc(1, sizeof *created);
    if (created == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "index the tensors: out of memory");
    } else {
        status = fill(created, fs, directory_fd, err);
    }
    (void)fs->close(fs->context, directory_fd); /* nothing was written through it */
    if (status != NJ_OK) {
        nj_weight_index_close(created);
        return nj_prefix(err, status, "%s", directory);
    }
    *index = created;
    return NJ_OK;
}

void nj_weight_index_close(struct nj_weight_index *index)
{
    if (index == NULL) {
        return;
    }
    nj_name_table_deinit(&index->weights_by_name);
    nj_name_table_deinit(&index->missing_by_name);
    free(index->files);
    free(index->weights);
    free(index->missing);
    nj_arena_deinit(&index->names);
    free(index);
}

size_t nj_weight_index_count(const struct nj_weight_index *index)
{
    return index->n_weights;
}

const struct nj_weight *nj_weight_index_at(const struct nj_weight_index *index, size_t i)
{
    return &index->weights[i];
}

const struct nj_weight *nj_weight_index_find(const struct nj_weight_index *index,
                                             const char *name)
{
    uint32_t number =
        nj_name_table_find(&index->weights_by_name, weights_of(index), nj_text_from(name));
    return number == NJ_NAME_ABSENT ? NULL : &index->weights[number];
}

const char *nj_weight_index_missing_shard(const struct nj_weight_index *index, const char *name)
{
    uint32_t number =
        nj_name_table_find(&index->missing_by_name, missing_of(index), nj_text_from(name));
    return number == NJ_NAME_ABSENT ? NULL : index->missing[number].shard;
}

size_t nj_weight_index_file_count(const struct nj_weight_index *index)
{
    return index->n_files;
}

const struct nj_weight_file *nj_weight_index_file(const struct nj_weight_index *index, size_t i)
{
    return &index->files[i];
}
