/* Any text as the index file of a model of two shards, one of which is absent.
 *
 * The shard is a real file; the index file is handed out from memory through the file table.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/weight_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static const char index_name[] = "model.safetensors.index.json";
static char directory[] = "/tmp/nightjar-fuzz-XXXXXX";

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void write_file(const char *name, const void *content, size_t length_bytes)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    require(file != NULL && fwrite(content, 1, length_bytes, file) == length_bytes);
    require(fclose(file) == 0);
}

static void remove_model(void)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", directory, index_name);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/a.safetensors", directory);
    (void)unlink(path);
    (void)rmdir(directory);
}

static void write_model(void)
{
    static const char header[] =
        "{\"t\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
        "\"u\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}";
    uint8_t shard[sizeof header + 15] = {sizeof header - 1};
    memcpy(shard + 8, header, sizeof header - 1);
    require(mkdtemp(directory) != NULL);
    require(atexit(remove_model) == 0);
    write_file("a.safetensors", shard, sizeof shard);
    write_file(index_name, "", 0);
}

/* The context is the descriptor of the text to hand out. */
static int open_at(void *context, int directory_fd, const char *name, int flags, mode_t mode)
{
    const int *index_fd = context;
    if (strcmp(name, index_name) == 0) {
        return dup(*index_fd);
    }
    return openat(directory_fd, name, flags, mode);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    static bool is_written;
    if (!is_written) {
        write_model();
        is_written = true;
    }
    int index_fd = memfd_create("index", MFD_CLOEXEC);
    require(index_fd >= 0 && write(index_fd, data, length_bytes) == (ssize_t)length_bytes);
    struct nj_file_system fs = *nj_file_system_real();
    fs.context = &index_fd;
    fs.open_at = open_at;

    struct nj_weight_index *index = NULL;
    struct nj_error error;
    if (nj_weight_index_open(&fs, directory, &index, &error) == NJ_OK) {
        require(nj_weight_index_count(index) == 2);
        require(nj_weight_index_missing_shard(index, "t") == NULL);
    } else {
        require(error.status == NJ_E_WEIGHTS && index == NULL);
    }
    nj_weight_index_close(index);
    require(close(index_fd) == 0);
    return 0;
}
