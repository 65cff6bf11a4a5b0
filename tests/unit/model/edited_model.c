#include "edited_model.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"

enum { PATH_BYTES = 4096, ENTRY_BYTES = 300 };

struct content {
    char path[PATH_BYTES];
    char *data;
    size_t length;
};

static void give_up(const char *what, const char *on)
{
    (void)fprintf(stderr, "edited_model: %s: %s\n", what, on);
    abort();
}

static struct content read_file(const char *directory, const char *name)
{
    struct content content = {.data = NULL};
    (void)snprintf(content.path, sizeof content.path, "%s/%s", directory, name);
    FILE *file = fopen(content.path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        give_up("read", content.path);
    }
    content.length = (size_t)ftell(file);
    content.data = calloc(1, content.length + 1);
    rewind(file);
    if (content.data == NULL || fread(content.data, 1, content.length, file) < content.length) {
        give_up("read", content.path);
    }
    (void)fclose(file); /* only read from */
    return content;
}

static void write_file(struct content *content)
{
    FILE *file = fopen(content->path, "wb");
    if (file == NULL || fwrite(content->data, 1, content->length, file) < content->length ||
        fclose(file) != 0) {
        give_up("write", content->path);
    }
    free(content->data);
}

/* A name for one more folder. */
static const char *next_directory(void)
{
    static char directories[128][PATH_BYTES];
    static unsigned n_directories;
    if (n_directories == 128) {
        give_up("no room for another model", test_folder());
    }
    char *directory = directories[n_directories++];
    (void)snprintf(directory, PATH_BYTES, "%s/%u", test_folder(), n_directories);
    return directory;
}

const char *edited_model(enum tiny_model_kind kind)
{
    const char *directory = next_directory();
    if (tiny_model_write(kind, directory) != 0) {
        give_up("write model", directory);
    }
    char index[PATH_BYTES + 64];
    (void)snprintf(index, sizeof index, "%s/model.safetensors.index.json", directory);
    (void)unlink(index); /* a model without one is just as good */
    return directory;
}

const char *edited_config(enum tiny_model_kind kind)
{
    static const char *originals[TINY_MODEL_COUNT];
    if (originals[kind] == NULL) {
        originals[kind] = edited_model(kind);
    }
    const char *directory = next_directory();
    struct content content = read_file(originals[kind], "config.json");
    if (mkdir(directory, 0700) != 0) {
        give_up("make folder", directory);
    }
    (void)snprintf(content.path, sizeof content.path, "%s/config.json", directory);
    write_file(&content);
    return directory;
}

void edit_config(const char *directory, const char *from, const char *to)
{
    struct content content = read_file(directory, "config.json");
    char *at = strstr(content.data, from);
    if (at == NULL) {
        give_up("config has no", from);
    }
    size_t before = (size_t)(at - content.data);
    size_t length = content.length - strlen(from) + strlen(to);
    char *edited = calloc(1, length + 1);
    if (edited == NULL) {
        give_up("memory", "none left");
    }
    (void)snprintf(edited, length + 1, "%.*s%s%s", (int)before, content.data, to,
                   at + strlen(from));
    free(content.data);
    content.data = edited;
    content.length = length;
    write_file(&content);
}

/* The shard that lists `tensor`; `*entry` is where its header entry begins. */
static struct content find_tensor(const char *directory, const char *tensor, char **entry)
{
    char quoted[ENTRY_BYTES];
    (void)snprintf(quoted, sizeof quoted, "\"%s\":", tensor);
    DIR *listing = opendir(directory);
    for (struct dirent *file = listing == NULL ? NULL : readdir(listing); file != NULL;
         file = readdir(listing)) {
        if (strstr(file->d_name, ".safetensors") == NULL) {
            continue;
        }
        struct content content = read_file(directory, file->d_name);
        *entry = memmem(content.data, content.length, quoted, strlen(quoted));
        if (*entry != NULL) {
            (void)closedir(listing);
            return content;
        }
        free(content.data);
    }
    give_up("no such tensor", tensor);
    return (struct content){.data = NULL};
}

void edit_entry(const char *directory, const char *tensor, const char *from, const char *to)
{
    char *entry = NULL;
    struct content content = find_tensor(directory, tensor, &entry);
    char *at = memmem(entry, ENTRY_BYTES, from, strlen(from));
    if (at == NULL || strlen(from) != strlen(to)) {
        give_up("entry has no, or of another length", from);
    }
    for (size_t i = 0; to[i] != '\0'; i++) {
        at[i] = to[i];
    }
    write_file(&content);
}

void edit_data(const char *directory, const char *tensor, size_t offset, const void *bytes,
               size_t n_bytes)
{
    char *entry = NULL;
    struct content content = find_tensor(directory, tensor, &entry);
    static const char key[] = "\"data_offsets\":[";
    const char *begin = strstr(entry, key);
    if (begin == NULL) {
        give_up("no offsets", tensor);
    }
    uint64_t header_bytes = 0;
    memcpy(&header_bytes, content.data, sizeof header_bytes);
    size_t at = 8 + header_bytes + strtoul(begin + sizeof key - 1, NULL, 10) + offset;
    memcpy(content.data + at, bytes, n_bytes);
    write_file(&content);
}

enum nj_status open_edited(const char *directory, struct nj_model **model, struct nj_error *err)
{
    struct nj_model_options options = {
        .path = directory, .cpu_level = "scalar", .n_threads = 1, .max_rows = 64};
    return nj_model_open(&options, model, err);
}
