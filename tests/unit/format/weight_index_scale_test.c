/* The index of a model as large as Kimi K3: 497,220 tensors in 96 shards with an index file.
 *
 * The shards hold headers only, the data behind them is a hole. Time and memory are printed,
 * not judged: machines differ.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "format/weight_index.h"
#include "support/check.h"

enum {
    N_SHARDS = 96,
    N_TENSORS = 497220,
    N_EXPERTS = 896,
    HEADER_CAPACITY_BYTES = 2 * 1024 * 1024
};

static FILE *create(const char *name)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return fopen(path, "wb");
}

static void shard_name(unsigned shard, char name[64])
{
    (void)snprintf(name, 64, "model-%05u-of-%06u.safetensors", shard + 1, (unsigned)N_SHARDS);
}

/* Six tensors an expert, as the released files name them; what is left over goes last. */
static void tensor_name(unsigned shard, unsigned number, char name[128])
{
    static const char *const parts[6] = {"w1.weight_packed", "w1.weight_scale",
                                         "w2.weight_packed", "w2.weight_scale",
                                         "w3.weight_packed", "w3.weight_scale"};
    (void)snprintf(name, 128, "language_model.model.layers.%u.block_sparse_moe.experts.%u.%s",
                   shard, number / 6, parts[number % 6]);
}

static unsigned tensors_in_shard(unsigned shard)
{
    unsigned share = N_TENSORS / N_SHARDS;
    return shard < N_TENSORS % N_SHARDS ? share + 1 : share;
}

/* Writes one shard and its lines of the index file; false when the system has no room. */
static bool write_shard(unsigned shard, FILE *index, char *header)
{
    char name[64];
    char tensor[128];
    size_t length = 0;
    uint64_t offset = 0;
    shard_name(shard, name);
    header[length++] = '{';
    for (unsigned i = 0; i < tensors_in_shard(shard); i++) {
        bool is_packed = i % 2 == 0;
        uint64_t columns = is_packed ? 1792 : 112;
        uint64_t end = offset + 3072 * columns;
        tensor_name(shard, i, tensor);
        length += (size_t)snprintf(header + length, HEADER_CAPACITY_BYTES - length,
                                   "%s\"%s\":{\"dtype\":\"U8\",\"shape\":[3072,%" PRIu64
                                   "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}",
                                   i == 0 ? "" : ",", tensor, columns, offset, end);
        (void)fprintf(index, "%s\n    \"%s\": \"%s\"", shard + i == 0 ? "" : ",", tensor, name);
        offset = end;
    }
    header[length++] = '}';
    while (length % 8 != 0) {
        header[length++] = ' ';
    }
    FILE *file = create(name);
    if (file == NULL) {
        return false;
    }
    uint64_t prefix = length; /* this machine is little-endian, as all that we build for */
    bool is_written = fwrite(&prefix, sizeof prefix, 1, file) == 1 &&
                      fwrite(header, 1, length, file) == length && fflush(file) == 0 &&
                      ftruncate(fileno(file), (off_t)(8 + length + offset)) == 0;
    return fclose(file) == 0 && is_written;
}

static bool write_model(void)
{
    char *header = malloc(HEADER_CAPACITY_BYTES);
    FILE *index = create("model.safetensors.index.json");
    bool is_written = header != NULL && index != NULL;
    if (is_written) {
        (void)fprintf(index, "{\n  \"metadata\": {\n    \"total_size\": 1\n  },\n"
                             "  \"weight_map\": {");
    }
    for (unsigned shard = 0; shard < N_SHARDS && is_written; shard++) {
        is_written = write_shard(shard, index, header);
    }
    if (index != NULL) {
        (void)fprintf(index, "\n  }\n}\n");
        is_written = fclose(index) == 0 && is_written;
    }
    free(header);
    return is_written;
}

static double seconds_now(void)
{
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double cpu_seconds(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

static long peak_kib(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

static void half_a_million_tensors_are_indexed_and_found(void)
{
    struct nj_weight_index *index = NULL;
    struct nj_error error;
    long peak_before = peak_kib();
    double cpu_begin = cpu_seconds();
    double begin = seconds_now();
    REQUIRE_OK(nj_weight_index_open(nj_file_system_real(), test_folder(), &index, &error),
               &error);
    double opened = seconds_now();
    double cpu_opened = cpu_seconds();
    long peak_after = peak_kib();

    CHECK_EQ(nj_weight_index_count(index), N_TENSORS);
    CHECK_EQ(nj_weight_index_file_count(index), N_SHARDS);
    for (unsigned shard = 0; shard < N_SHARDS; shard++) {
        for (unsigned i = 0; i < tensors_in_shard(shard); i++) {
            char name[128];
            tensor_name(shard, i, name);
            const struct nj_weight *weight = nj_weight_index_find(index, name);
            if (weight == NULL || weight->file != shard) {
                CHECK_TEXT(name, "a tensor that is found in its shard");
                break;
            }
        }
    }
    double found = seconds_now();
    uint64_t header_bytes = 0;
    for (unsigned shard = 0; shard < N_SHARDS; shard++) {
        header_bytes += nj_weight_index_file(index, shard)->header_bytes;
    }
    nj_weight_index_close(index);
    (void)printf("     %d tensors, %d shards, %.1f MB of headers: opened in %.2f s (%.2f s of "
                 "processor), each found once in %.2f s, peak %ld MiB (%ld before)\n",
                 (int)N_TENSORS, (int)N_SHARDS, (double)header_bytes / 1e6, opened - begin,
                 cpu_opened - cpu_begin, found - opened, peak_after / 1024, peak_before / 1024);
}

int main(void)
{
    if (!write_model()) {
        char reason[128];
        (void)snprintf(reason, sizeof reason, "no room for the model's headers: %s",
                       strerror(errno));
        test_skip(reason);
    }
    RUN(half_a_million_tensors_are_indexed_and_found);
    return test_result();
}
