#include "identity/wide_model.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "identity/subject.h"
#include "support/check.h"

enum {
    SEED = 73,
    N_EXPERTS = 896,
    TENSORS_LIMIT = 6 * N_EXPERTS + 64,
    SMALL_VALUES = 4 * 12288, /* the widest convolution: up to here data is in the file */
    PATH_BYTES = 4096,
    HALVES = 1 << 16
};

static const char *const type_names[] = {"BF16", "F32", "U8"};
static const uint32_t type_bytes[] = {2, 4, 1};

/* ---- the recipe */

static uint64_t n_values(const struct wide_tensor *tensor)
{
    uint64_t n = 1;
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        n *= tensor->shape[i];
    }
    return n;
}

static bool read_type(const char *word, enum wide_type *type)
{
    for (int i = WIDE_BF16; i <= WIDE_U8; i++) {
        if (strcmp(word, type_names[i]) == 0) {
            *type = (enum wide_type)i;
            return true;
        }
    }
    return false;
}

static bool read_line(const char *line, struct wide_tensor *tensor)
{
    char type[8];
    char shape[32];
    uint32_t shard = 0;
    if (sscanf(line, "%u %111s %7s %31s %lf %lf", &shard, tensor->name, type, shape,
               &tensor->base, &tensor->step) != 6 ||
        shard < 1 || shard > WIDE_SHARDS || !read_type(type, &tensor->type)) {
        return false;
    }
    int n = sscanf(shape, "%ux%ux%u", &tensor->shape[0], &tensor->shape[1], &tensor->shape[2]);
    if (n < 1) {
        return false;
    }
    tensor->n_dims = (uint32_t)n;
    tensor->shard = shard - 1;
    tensor->length_bytes = n_values(tensor) * type_bytes[tensor->type];
    return true;
}

static void add(struct wide_model *model, const struct wide_tensor *tensor)
{
    if (model->n_tensors == TENSORS_LIMIT) {
        subject_die("wide model", "more tensors than there is room for");
    }
    model->tensors[model->n_tensors++] = *tensor;
}

/* The six lines of an expert stand for each of them, expert after expert, as in a released
 * shard. */
static void add_experts(struct wide_model *model, const struct wide_tensor *templates,
                        uint32_t n)
{
    for (uint32_t expert = 0; expert < N_EXPERTS && n > 0; expert++) {
        for (uint32_t i = 0; i < n; i++) {
            struct wide_tensor tensor = templates[i];
            const char *star = strchr(templates[i].name, '*');
            (void)snprintf(tensor.name, sizeof tensor.name, "%.*s%u%s",
                           (int)(star - templates[i].name), templates[i].name, expert,
                           star + 1);
            add(model, &tensor);
        }
    }
}

static void read_recipe(struct wide_model *model)
{
    char path[PATH_BYTES];
    char line[512];
    struct wide_tensor templates[6];
    uint32_t n_templates = 0;
    (void)snprintf(path, sizeof path, "%s/tests/oracle/wide_model.txt",
                   test_source_directory());
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        subject_die(path, "cannot be opened");
    }
    while (fgets(line, sizeof line, file) != NULL) {
        struct wide_tensor tensor = {0};
        if (line[0] == '#') {
            continue;
        }
        if (!read_line(line, &tensor)) {
            subject_die(path, line);
        }
        bool is_template = strchr(tensor.name, '*') != NULL;
        if (is_template && n_templates < 6) {
            templates[n_templates++] = tensor;
        } else {
            add_experts(model, templates, n_templates);
            n_templates = 0;
            add(model, &tensor);
        }
    }
    (void)fclose(file); /* only read from */
}

/* ---- values */

/* CRC-32 as in zlib: the tensor's number in the generator's counter. */
static uint32_t name_number(const char *name)
{
    uint32_t crc = 0xffffffffU;
    for (; *name != '\0'; name++) {
        crc ^= (uint8_t)*name;
        for (int bit = 0; bit < 8; bit++) {
            crc = (crc >> 1) ^ (0xedb88320U & (0U - (crc & 1U)));
        }
    }
    return ~crc;
}

static void draw_block(uint32_t stream, uint64_t block, uint32_t words[4])
{
    const uint32_t counter[4] = {(uint32_t)block, stream, 0, 0};
    const uint32_t key[2] = {SEED, 0};
    nj_philox4x32_10(counter, key, words);
}

static uint32_t value_bits(const struct wide_tensor *tensor, uint32_t half)
{
    double centred = 2.0 * (double)half - 65535.0;
    float value = (float)(tensor->base + centred * tensor->step);
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return tensor->type == WIDE_F32 ? bits : (bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16;
}

/* Every value that the tensor can have, by half. Caller frees. */
static uint32_t *list_values(const struct wide_tensor *tensor)
{
    uint32_t *table = malloc(HALVES * sizeof *table);
    if (table == NULL) {
        subject_die("memory", "none left");
    }
    for (uint32_t half = 0; half < HALVES; half++) {
        table[half] = value_bits(tensor, half);
    }
    return table;
}

static void put_little_endian(uint8_t *out, uint64_t value, uint32_t n_bytes)
{
    for (uint32_t i = 0; i < n_bytes; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static void draw_bf16(const uint32_t *table, uint32_t stream, uint64_t block, uint8_t *out)
{
    uint32_t words[4];
    draw_block(stream, block, words);
    for (uint32_t i = 0; i < 4; i++) {
        put_little_endian(out + 4 * i, table[words[i] & 0xffffU], 2);
        put_little_endian(out + 4 * i + 2, table[words[i] >> 16], 2);
    }
}

static void draw_f32(const uint32_t *table, uint32_t stream, uint64_t block, uint8_t *out)
{
    uint32_t words[4];
    draw_block(stream, block, words);
    for (uint32_t i = 0; i < 4; i++) {
        put_little_endian(out + 8 * i, table[words[i] & 0xffffU], 4);
        put_little_endian(out + 8 * i + 4, table[words[i] >> 16], 4);
    }
}

static void draw_numbers(const struct wide_tensor *tensor, uint64_t first_block,
                         uint64_t n_blocks, uint8_t *out)
{
    uint32_t stream = name_number(tensor->name);
    uint32_t *table = list_values(tensor);
    for (uint64_t i = 0; i < n_blocks; i++) {
        if (tensor->type == WIDE_BF16) {
            draw_bf16(table, stream, first_block + i, out + 16 * i);
        } else {
            draw_f32(table, stream, first_block + i, out + 32 * i);
        }
    }
    free(table);
}

static void draw_bytes(const struct wide_tensor *tensor, uint64_t first_block,
                       uint64_t n_blocks, uint8_t *out)
{
    uint32_t stream = name_number(tensor->name);
    uint32_t base = (uint32_t)tensor->base;
    uint32_t step = (uint32_t)tensor->step;
    uint32_t words[4];
    for (uint64_t i = 0; i < 16 * n_blocks; i++) {
        if (i % 16 == 0) {
            draw_block(stream, first_block + i / 16, words);
        }
        uint32_t byte = (words[i % 16 / 4] >> (8 * (i % 4))) & 0xffU;
        out[i] = (uint8_t)(step == 1 ? byte : base + byte % step);
    }
}

/* Eight numbers or sixteen bytes. */
static uint32_t block_bytes(enum wide_type type)
{
    return type == WIDE_U8 ? 16 : 8 * type_bytes[type];
}

void wide_tensor_draw(const struct wide_tensor *tensor, uint64_t first_byte, uint64_t n_bytes,
                      uint8_t *out)
{
    uint32_t size = block_bytes(tensor->type);
    if (first_byte % size != 0 || n_bytes % size != 0) {
        subject_die(tensor->name, "a record cuts a block of the generator");
    }
    if (tensor->type == WIDE_U8) {
        draw_bytes(tensor, first_byte / size, n_bytes / size, out);
    } else {
        draw_numbers(tensor, first_byte / size, n_bytes / size, out);
    }
}

/* ---- files */

static FILE *create(const char *directory, const char *name)
{
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL) {
        subject_die(path, "cannot be created");
    }
    return file;
}

static void finish(FILE *file, const char *name)
{
    bool is_bad = ferror(file) != 0;
    if (fclose(file) != 0 || is_bad) {
        subject_die(name, "cannot be written");
    }
}

static void shard_name(char out[40], uint32_t shard)
{
    (void)snprintf(out, 40, "model-%05u-of-%06d.safetensors", shard + 1, WIDE_SHARDS);
}

static void write_entry(FILE *file, const struct wide_tensor *tensor, uint64_t begin_bytes)
{
    (void)fprintf(file, "\"%s\":{\"dtype\":\"%s\",\"shape\":[", tensor->name,
                  type_names[tensor->type]);
    for (uint32_t i = 0; i < tensor->n_dims; i++) {
        (void)fprintf(file, "%s%u", i == 0 ? "" : ",", tensor->shape[i]);
    }
    (void)fprintf(file, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)begin_bytes,
                  (unsigned long long)(begin_bytes + tensor->length_bytes));
}

/* The header behind room for its length, blanks to a multiple of eight; then places are known.
 */
static void write_header(struct wide_model *model, uint32_t shard, FILE *file)
{
    uint8_t length[8] = {0};
    uint64_t data_bytes = 0;
    char separator = '{';
    (void)fwrite(length, 1, sizeof length, file);
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        struct wide_tensor *tensor = &model->tensors[i];
        if (tensor->shard == shard) {
            (void)fputc(separator, file);
            write_entry(file, tensor, data_bytes);
            tensor->begin_bytes = data_bytes;
            data_bytes += tensor->length_bytes;
            separator = ',';
        }
    }
    (void)fputc('}', file);
    while (ftell(file) % 8 != 0) {
        (void)fputc(' ', file);
    }
    uint64_t data_begins = (uint64_t)ftell(file);
    put_little_endian(length, data_begins - sizeof length, sizeof length);
    rewind(file);
    (void)fwrite(length, 1, sizeof length, file);
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        model->tensors[i].begin_bytes += model->tensors[i].shard == shard ? data_begins : 0;
    }
    model->file_bytes[shard] = data_begins + data_bytes;
}

static void write_small(const struct wide_tensor *tensor, FILE *file)
{
    uint8_t *bytes = malloc(tensor->length_bytes);
    if (bytes == NULL) {
        subject_die("memory", "none left");
    }
    wide_tensor_draw(tensor, 0, tensor->length_bytes, bytes);
    (void)fseek(file, (long)tensor->begin_bytes, SEEK_SET); /* finish() asks the stream */
    (void)fwrite(bytes, 1, tensor->length_bytes, file);
    free(bytes);
}

static void write_shard(struct wide_model *model, uint32_t shard, const char *directory)
{
    char name[40];
    shard_name(name, shard);
    FILE *file = create(directory, name);
    write_header(model, shard, file);
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        const struct wide_tensor *tensor = &model->tensors[i];
        if (tensor->shard == shard && n_values(tensor) <= SMALL_VALUES) {
            write_small(tensor, file);
        }
    }
    if (fflush(file) != 0 || ftruncate(fileno(file), (off_t)model->file_bytes[shard]) != 0) {
        subject_die(name, "cannot be given its length");
    }
    finish(file, name);
}

static void write_index(const struct wide_model *model, const char *directory)
{
    static const char name[] = "model.safetensors.index.json";
    FILE *file = create(directory, name);
    uint64_t total_bytes = 0;
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        total_bytes += model->tensors[i].length_bytes;
    }
    (void)fprintf(file, "{\"metadata\":{\"total_size\":%llu},\"weight_map\":{",
                  (unsigned long long)total_bytes);
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        char shard[40];
        shard_name(shard, model->tensors[i].shard);
        (void)fprintf(file, "%s\n\"%s\":\"%s\"", i == 0 ? "" : ",", model->tensors[i].name,
                      shard);
    }
    (void)fprintf(file, "\n}}\n");
    finish(file, name);
}

static void copy_config(const char *directory)
{
    char path[PATH_BYTES];
    char line[4096];
    (void)snprintf(path, sizeof path, "%s/tests/oracle/wide_config.json",
                   test_source_directory());
    FILE *from = fopen(path, "r");
    if (from == NULL) {
        subject_die(path, "cannot be opened");
    }
    FILE *to = create(directory, "config.json");
    while (fgets(line, sizeof line, from) != NULL) {
        (void)fputs(line, to);
    }
    (void)fclose(from); /* only read from */
    finish(to, "config.json");
}

void wide_model_create(struct wide_model *model, const char *directory)
{
    *model = (struct wide_model){.tensors = calloc(TENSORS_LIMIT, sizeof *model->tensors)};
    if (model->tensors == NULL) {
        subject_die("memory", "none left");
    }
    read_recipe(model);
    copy_config(directory);
    for (uint32_t shard = 0; shard < WIDE_SHARDS; shard++) {
        write_shard(model, shard, directory);
    }
    write_index(model, directory);
}

void wide_model_destroy(struct wide_model *model)
{
    free(model->tensors);
    model->tensors = NULL;
}

const struct wide_tensor *wide_model_find(const struct wide_model *model, uint32_t shard,
                                          uint64_t offset_bytes)
{
    for (uint32_t i = 0; i < model->n_tensors; i++) {
        const struct wide_tensor *tensor = &model->tensors[i];
        if (tensor->shard == shard && offset_bytes >= tensor->begin_bytes &&
            offset_bytes - tensor->begin_bytes < tensor->length_bytes) {
            return tensor;
        }
    }
    return NULL;
}
