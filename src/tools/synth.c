#include "tools/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/json.h"
#include "model/dims.h"
#include "tools/synth_config.h"
#include "tools/synth_dims.h"
#include "tools/synth_tensors.h"
#include "tools/synth_writer.h"

static const char config_name[] = "config.json";
static const char index_name[] = "model.safetensors.index.json";

enum { SHARD_NAME_BYTES = 64, TAIL_BYTES = 4096, PATH_LIMIT_BYTES = 4096 };

/* More than a tensor takes in header and index together (released: 285 bytes). */
enum { ENTRY_BYTES = 400 };

/* One checkpoint under way. */
struct maker {
    const struct nj_file_system *fs;
    const struct nj_synth_options *options;
    struct nj_dims dims;
    struct nj_json_writer config;
    struct nj_synth_report report; /* planned, then counted */
    struct nj_synth_list list;     /* of one layer */
    struct nj_synth_writer *writer;
    int directory_fd;
    int index_fd;
    uint32_t n_written; /* shards; the last may be a torn one */
};

typedef enum nj_status visit_shard(struct maker *maker, const struct nj_synth_tensor *tensors,
                                   uint32_t n_tensors, struct nj_error *err);

/* How many of the tensors make the next shard: at least one unit, an expert or another tensor,
 * and no part of one. */
static uint32_t shard_end(const struct maker *maker, const struct nj_synth_tensor *tensors,
                          uint32_t n_tensors)
{
    uint64_t limit =
        maker->options->shard_bytes == 0 ? UINT64_MAX : maker->options->shard_bytes;
    uint64_t total = 0;
    uint32_t end = 0;
    for (uint32_t i = 0; i < n_tensors; i++) {
        if (tensors[i].may_begin_shard) {
            end = i;
        }
        total += tensors[i].length_bytes;
        if (total > limit && end > 0) {
            return end;
        }
    }
    return n_tensors;
}

/* Layer by layer, what belongs to none at the end; no shard holds parts of two layers. */
static enum nj_status each_shard(struct maker *maker, visit_shard *visit, struct nj_error *err)
{
    for (uint32_t layer = 0; layer <= maker->dims.n_layers; layer++) {
        enum nj_status status = nj_synth_list_layer(&maker->list, &maker->dims,
                                                    maker->options->is_skewed, layer, err);
        uint32_t begin = 0;
        while (status == NJ_OK && begin < maker->list.n_tensors) {
            const struct nj_synth_tensor *first = maker->list.tensors + begin;
            uint32_t n = shard_end(maker, first, maker->list.n_tensors - begin);
            status = visit(maker, first, n, err);
            begin += n;
        }
        if (status != NJ_OK) {
            return status;
        }
    }
    return NJ_OK;
}

static enum nj_status count_shard(struct maker *maker, const struct nj_synth_tensor *tensors,
                                  uint32_t n_tensors, struct nj_error *err)
{
    (void)err;
    maker->report.n_shards += 1;
    maker->report.n_tensors += n_tensors;
    for (uint32_t i = 0; i < n_tensors; i++) {
        maker->report.tensor_bytes += tensors[i].length_bytes;
    }
    return NJ_OK;
}

/* The sizes, the text of config.json, and whether anybody could open a model of them. */
static enum nj_status plan(struct maker *maker, struct nj_error *err)
{
    struct nj_text text;
    struct nj_dims read;
    enum nj_status status = nj_synth_dims_choose(maker->options, &maker->dims, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_synth_config_write(&maker->config, &maker->dims);
    status = nj_json_finish(&maker->config, &text, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_dims_parse(text, &read, err);
    if (status != NJ_OK) {
        if (status == NJ_E_WEIGHTS && err != NULL) {
            err->status = NJ_E_USAGE; /* nothing is damaged: it was asked for */
        }
        return status == NJ_E_WEIGHTS ? NJ_E_USAGE : status;
    }
    maker->report.n_layers = maker->dims.n_layers;
    maker->report.n_experts = maker->dims.n_experts;
    return each_shard(maker, count_shard, err);
}

/* Of the folder if it exists, else of the one it will be made in; 0: not known. */
static uint64_t free_bytes_at(const char *directory)
{
    char path[PATH_LIMIT_BYTES];
    struct statvfs status;
    if (snprintf(path, sizeof path, "%s", directory) >= (int)sizeof path) {
        return 0;
    }
    while (statvfs(path, &status) != 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL || errno != ENOENT) {
            return slash == NULL && statvfs(".", &status) == 0
                       ? (uint64_t)status.f_bavail * status.f_frsize
                       : 0;
        }
        slash[slash == path ? 1 : 0] = '\0';
    }
    return (uint64_t)status.f_bavail * status.f_frsize;
}

static enum nj_status check_room(const struct maker *maker, const char *directory,
                                 struct nj_error *err)
{
    const struct nj_synth_report *report = &maker->report;
    uint64_t needed = report->tensor_bytes + report->n_tensors * ENTRY_BYTES +
                      ((uint64_t)report->n_shards + 2) * TAIL_BYTES;
    uint64_t free_bytes =
        maker->options->free_bytes != 0 ? maker->options->free_bytes : free_bytes_at(directory);
    if (free_bytes != 0 && needed > free_bytes) {
        return nj_fail(err, NJ_E_BUDGET,
                       "a model in %s needs %" PRIu64 " bytes, and %" PRIu64 " are free there",
                       directory, needed, free_bytes);
    }
    return NJ_OK;
}

static enum nj_status refuse_name(void *context, const char *name, struct nj_error *err)
{
    return nj_fail(err, NJ_E_STATE, "%s is not empty (%s); a model is made in a new folder",
                   (const char *)context, name);
}

static void name_shard(const struct maker *maker, uint32_t shard, char name[SHARD_NAME_BYTES])
{
    (void)snprintf(name, SHARD_NAME_BYTES, "model-%05u-of-%06u.safetensors", shard + 1,
                   maker->report.n_shards);
}

static enum nj_status append_text(struct maker *maker, const char *text, size_t length_bytes,
                                  struct nj_error *err)
{
    const struct nj_bytes bytes = {(const uint8_t *)text, length_bytes};
    maker->report.file_bytes += length_bytes;
    return nj_file_append(maker->fs, maker->index_fd, bytes, index_name, err);
}

/* The lines of one shard, in one write. */
static enum nj_status index_shard(struct maker *maker, const char *shard,
                                  const struct nj_synth_tensor *tensors, uint32_t n_tensors,
                                  struct nj_error *err)
{
    char *text = NULL;
    size_t length_bytes = 0;
    FILE *out = open_memstream(&text, &length_bytes);
    if (out == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "index of a model: out of memory");
    }
    for (uint32_t i = 0; i < n_tensors; i++) {
        bool is_first = maker->n_written == 1 && i == 0;
        (void)fprintf(out, "%s\"%s\":\"%s\"", is_first ? "" : ",\n", tensors[i].name, shard);
    }
    if (fclose(out) != 0) {
        free(text);
        return nj_fail(err, NJ_E_MEMORY, "index of a model: out of memory");
    }
    enum nj_status status = append_text(maker, text, length_bytes, err);
    free(text);
    return status;
}

static enum nj_status write_shard(struct maker *maker, const struct nj_synth_tensor *tensors,
                                  uint32_t n_tensors, struct nj_error *err)
{
    char name[SHARD_NAME_BYTES];
    name_shard(maker, maker->n_written, name);
    maker->n_written += 1; /* before: a torn one is removed as well */
    enum nj_status status =
        nj_synth_writer_shard(maker->writer, maker->directory_fd, name, tensors, n_tensors,
                              &maker->report.file_bytes, err);
    return status == NJ_OK ? index_shard(maker, name, tensors, n_tensors, err) : status;
}

static enum nj_status write_shards(struct maker *maker, struct nj_error *err)
{
    static const char end[] = "\n}}\n";
    char begin[128];
    int length = snprintf(begin, sizeof begin,
                          "{\"metadata\":{\"total_size\":%" PRIu64 "},\"weight_map\":{\n",
                          maker->report.tensor_bytes);
    enum nj_status status = append_text(maker, begin, (size_t)length, err);
    if (status == NJ_OK) {
        status = each_shard(maker, write_shard, err);
    }
    if (status == NJ_OK) {
        status = append_text(maker, end, sizeof end - 1, err);
    }
    return status == NJ_OK ? nj_file_data_sync(maker->fs, maker->index_fd, index_name, err)
                           : status;
}

static enum nj_status make_file(const struct maker *maker, const char *name, int *fd,
                                struct nj_error *err)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC;
    *fd = maker->fs->open_at(maker->fs->context, maker->directory_fd, name, flags, 0644);
    return *fd >= 0 ? NJ_OK
                    : nj_fail(err, nj_status_from_errno(errno, NJ_E_STORAGE), "make %s: %s",
                              name, strerror(errno));
}

/* Last: a folder without it is no model to anyone. */
static enum nj_status write_config(struct maker *maker, struct nj_text text,
                                   struct nj_error *err)
{
    int fd = -1;
    const struct nj_bytes bytes = {(const uint8_t *)text.data, text.length_bytes};
    enum nj_status status = make_file(maker, config_name, &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    maker->report.file_bytes += text.length_bytes;
    status = nj_file_append(maker->fs, fd, bytes, config_name, err);
    if (status == NJ_OK) {
        status = nj_file_data_sync(maker->fs, fd, config_name, err);
    }
    (void)maker->fs->close(maker->fs->context, fd); /* synced, or failed before */
    return status;
}

static enum nj_status sync_folder(const struct maker *maker, const char *directory,
                                  struct nj_error *err)
{
    return maker->fs->sync(maker->fs->context, maker->directory_fd) == 0
               ? NJ_OK
               : nj_fail(err, NJ_E_STORAGE, "sync %s: %s", directory, strerror(errno));
}

static enum nj_status write_all(struct maker *maker, const char *directory,
                                struct nj_error *err)
{
    struct nj_text config;
    enum nj_status status = nj_json_finish(&maker->config, &config, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_synth_writer_create(maker->fs, maker->options->seed, &maker->writer, err);
    if (status != NJ_OK) {
        return status;
    }
    status = make_file(maker, index_name, &maker->index_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = write_shards(maker, err);
    if (status != NJ_OK) {
        return status;
    }
    status = write_config(maker, config, err);
    return status == NJ_OK ? sync_folder(maker, directory, err) : status;
}

/* The folder was empty, so everything in it is ours. What cannot be removed stays. */
static void remove_all(const struct maker *maker)
{
    const struct nj_file_system *fs = maker->fs;
    for (uint32_t i = 0; i < maker->n_written; i++) {
        char name[SHARD_NAME_BYTES];
        name_shard(maker, i, name);
        (void)fs->unlink_at(fs->context, maker->directory_fd, name);
    }
    (void)fs->unlink_at(fs->context, maker->directory_fd, index_name);
    (void)fs->unlink_at(fs->context, maker->directory_fd, config_name);
}

static enum nj_status write_into(struct maker *maker, const char *directory,
                                 struct nj_error *err)
{
    char name[PATH_LIMIT_BYTES];
    const struct nj_file_system *fs = maker->fs;
    enum nj_status status =
        nj_file_open_directory(fs, directory, true, &maker->directory_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    (void)snprintf(name, sizeof name, "%s", directory); /* for the visit, which has no const */
    status = nj_file_list(fs, maker->directory_fd, refuse_name, name, err);
    if (status == NJ_OK) {
        status = write_all(maker, directory, err);
        if (status != NJ_OK) {
            remove_all(maker);
        }
    }
    if (maker->index_fd >= 0) {
        (void)fs->close(fs->context, maker->index_fd); /* synced before, or removed */
    }
    (void)fs->close(fs->context, maker->directory_fd); /* nothing was written to it */
    return status;
}

enum nj_status nj_synth_write(const struct nj_file_system *fs,
                              const struct nj_synth_options *options, const char *directory,
                              struct nj_synth_report *report, struct nj_error *err)
{
    struct maker maker = {.fs = fs, .options = options, .directory_fd = -1, .index_fd = -1};
    nj_json_writer_init(&maker.config);
    enum nj_status status = plan(&maker, err);
    if (status == NJ_OK) {
        status = check_room(&maker, directory, err);
    }
    if (status == NJ_OK) {
        status = write_into(&maker, directory, err);
    }
    nj_synth_writer_destroy(maker.writer);
    nj_synth_list_deinit(&maker.list);
    nj_json_writer_deinit(&maker.config);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "make a model");
    }
    if (report != NULL) {
        *report = maker.report;
    }
    return NJ_OK;
}
