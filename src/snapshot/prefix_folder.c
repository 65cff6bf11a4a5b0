#include "snapshot/prefix_folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

static const char uses_name[] = "uses";
static const char uses_title[] = "nightjar prefix uses 1\n";

enum {
    /* Two numbers of up to 20 digits. */
    LINE_BYTES = 2 * 20 + 2,
    USES_LIMIT_BYTES = (NJ_PREFIX_FILES_LIMIT + 1) * LINE_BYTES
};

/* --- reading --- */

struct reading {
    struct nj_prefix_folder *folder;
    const struct nj_file_system *fs;
    int directory_fd;
};

/* The number of a segment under its own name, or 0. */
static uint64_t number_of(const char *name)
{
    char own_name[NJ_SEGMENT_NAME_BYTES];
    uint64_t number = strtoull(name + strlen("segment-"), NULL, 10);
    return strcmp(name, nj_segment_name(number, own_name)) == 0 ? number : 0;
}

/* False for what is gone already, or no file. */
static bool measure(const struct reading *reading, const char *name, uint64_t *n_bytes)
{
    int fd = -1;
    if (nj_file_open_read(reading->fs, reading->directory_fd, name, &fd, NULL) != NJ_OK) {
        return false;
    }
    bool is_known = nj_file_length(reading->fs, fd, n_bytes, NULL) == NJ_OK;
    (void)reading->fs->close(reading->fs->context, fd); /* only looked at */
    return is_known;
}

static enum nj_status visit_name(void *context, const char *name, struct nj_error *err)
{
    const struct reading *reading = context;
    struct nj_prefix_folder *folder = reading->folder;
    struct nj_prefix_file file = {.number = 0};
    if (strncmp(name, "segment-", strlen("segment-")) != 0 ||
        strlen(name) >= sizeof file.name || folder->n_files == NJ_PREFIX_FILES_LIMIT ||
        !measure(reading, name, &file.n_bytes)) {
        return NJ_OK;
    }
    (void)snprintf(file.name, sizeof file.name, "%s", name);
    file.number = number_of(name);
    enum nj_status status = nj_vector_reserve(&folder->files, &folder->capacity,
                                              sizeof *folder->files, folder->n_files + 1, err);
    if (status == NJ_OK) {
        folder->files[folder->n_files++] = file;
        folder->held_bytes += file.n_bytes;
    }
    return status;
}

/* Lines that make no sense, or name what is not there, are passed over. */
static void enter_uses(struct nj_prefix_folder *folder, const char *text)
{
    for (const char *line = text; line != NULL && *line != '\0';) {
        char *end = NULL;
        uint64_t number = strtoull(line, &end, 10);
        uint64_t use = *end == ' ' ? strtoull(end + 1, &end, 10) : 0;
        struct nj_prefix_file *file = nj_prefix_folder_find(folder, number);
        if (file != NULL && *end == '\n' && use < UINT64_MAX / 2) {
            file->use = use;
            folder->last_use = use > folder->last_use ? use : folder->last_use;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

static void read_uses(struct nj_prefix_folder *folder, const struct nj_file_system *fs,
                      int directory_fd)
{
    struct nj_arena arena = {0};
    struct nj_bytes content;
    if (nj_file_read_whole(fs, directory_fd, uses_name, USES_LIMIT_BYTES, &arena, &content,
                           NULL) == NJ_OK &&
        content.length_bytes >= strlen(uses_title) &&
        memcmp(content.data, uses_title, strlen(uses_title)) == 0) {
        enter_uses(folder, (const char *)content.data + strlen(uses_title));
    }
    nj_arena_deinit(&arena);
}

enum nj_status nj_prefix_folder_read(struct nj_prefix_folder *folder,
                                     const struct nj_file_system *fs, int directory_fd,
                                     struct nj_error *err)
{
    struct reading reading = {folder, fs, directory_fd};
    folder->n_files = 0;
    folder->held_bytes = 0;
    folder->last_use = 0;
    enum nj_status status = nj_file_list(fs, directory_fd, visit_name, &reading, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "list the prefix cache");
    }
    read_uses(folder, fs, directory_fd);
    return NJ_OK;
}

void nj_prefix_folder_deinit(struct nj_prefix_folder *folder)
{
    free(folder->files);
    memset(folder, 0, sizeof *folder);
}

struct nj_prefix_file *nj_prefix_folder_find(struct nj_prefix_folder *folder, uint64_t number)
{
    for (size_t i = 0; i < folder->n_files; i++) {
        if (number != 0 && folder->files[i].number == number) {
            return &folder->files[i];
        }
    }
    return NULL;
}

void nj_prefix_folder_use(struct nj_prefix_folder *folder, struct nj_prefix_file *file)
{
    file->use = ++folder->last_use;
}

/* --- bounding --- */

static bool goes_before(const struct nj_prefix_file *a, const struct nj_prefix_file *b)
{
    bool a_is_aside = a->number == 0;
    bool b_is_aside = b->number == 0;
    return a_is_aside != b_is_aside ? a_is_aside : a->use < b->use;
}

static enum nj_status remove_first(struct nj_prefix_folder *folder,
                                   const struct nj_file_system *fs, int directory_fd,
                                   struct nj_error *err)
{
    size_t first = 0;
    for (size_t i = 1; i < folder->n_files; i++) {
        first = goes_before(&folder->files[i], &folder->files[first]) ? i : first;
    }
    struct nj_prefix_file *file = &folder->files[first];
    if (fs->unlink_at(fs->context, directory_fd, file->name) != 0 && errno != ENOENT) {
        return nj_fail(err, NJ_E_STORAGE, "remove %s from the prefix cache: %s", file->name,
                       strerror(errno));
    }
    folder->held_bytes -= file->n_bytes;
    *file = folder->files[--folder->n_files];
    return NJ_OK;
}

enum nj_status nj_prefix_folder_make_room(struct nj_prefix_folder *folder,
                                          const struct nj_file_system *fs, int directory_fd,
                                          uint64_t n_bytes, uint64_t limit_bytes,
                                          struct nj_error *err)
{
    uint64_t most = n_bytes < limit_bytes ? limit_bytes - n_bytes : 0;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && folder->n_files > 0 &&
           (folder->held_bytes > most || folder->n_files >= NJ_PREFIX_FILES_LIMIT)) {
        status = remove_first(folder, fs, directory_fd, err);
    }
    return status;
}

enum nj_status nj_prefix_folder_save_uses(const struct nj_prefix_folder *folder,
                                          const struct nj_file_system *fs, int directory_fd,
                                          struct nj_error *err)
{
    size_t room = strlen(uses_title) + folder->n_files * LINE_BYTES + 1;
    char *text = malloc(room);
    if (text == NULL) {
        return nj_fail(err, NJ_E_MEMORY,
                       "note what was used of the prefix cache: out of memory");
    }
    size_t length = strlen(uses_title);
    memcpy(text, uses_title, length + 1);
    for (size_t i = 0; i < folder->n_files; i++) {
        const struct nj_prefix_file *file = &folder->files[i];
        if (file->number != 0) { /* fits: LINE_BYTES each */
            length += (size_t)snprintf(text + length, room - length,
                                       "%" PRIu64 " %" PRIu64 "\n", file->number, file->use);
        }
    }
    struct nj_bytes content = {.data = (const uint8_t *)text, .length_bytes = length};
    enum nj_status status = nj_file_replace(fs, directory_fd, uses_name, content, err);
    free(text);
    return status;
}
