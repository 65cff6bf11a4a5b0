#include "snapshot/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "segment-";
static const char suffix[] = ".snap";

enum { MAX_DIGITS = 19, MAX_ASIDE = 1000, FOLDER_NAME_BYTES = 32 };

static const char *folder_name(uint64_t item_index, char name[FOLDER_NAME_BYTES])
{
    (void)snprintf(name, FOLDER_NAME_BYTES, "%" PRIu64, item_index);
    return name;
}

const char *nj_segment_name(uint64_t number, char name[NJ_SEGMENT_NAME_BYTES])
{
    (void)snprintf(name, NJ_SEGMENT_NAME_BYTES, "%s%06" PRIu64 "%s", prefix, number, suffix);
    return name;
}

/* What names of segments that were put aside have behind ".snap". */
static bool is_aside(const char *rest)
{
    return strcmp(rest, ".bad") == 0 || strncmp(rest, ".bad-", 5) == 0;
}

/* The number in a segment's name; what follows ".snap" goes to `*rest`. False for names that
 * are not ours. */
static bool number_of(const char *name, uint64_t *number, const char **rest)
{
    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        return false;
    }
    const char *digits = name + strlen(prefix);
    size_t n_digits = strspn(digits, "0123456789");
    if (n_digits < 6 || n_digits > MAX_DIGITS ||
        strncmp(digits + n_digits, suffix, strlen(suffix)) != 0) {
        return false;
    }
    *number = strtoull(digits, NULL, 10);
    *rest = digits + n_digits + strlen(suffix);
    return *number > 0 && (**rest == '\0' || is_aside(*rest));
}

bool nj_segment_name_read(const char *name, uint64_t *number)
{
    char own_name[NJ_SEGMENT_NAME_BYTES];
    const char *rest = NULL;
    return number_of(name, number, &rest) &&
           strcmp(name, nj_segment_name(*number, own_name)) == 0;
}

static enum nj_status visit_name(void *context, const char *name, struct nj_error *err)
{
    struct nj_segment_listing *listing = context;
    const char *rest = NULL;
    uint64_t number = 0;
    if (!number_of(name, &number, &rest)) {
        return NJ_OK;
    }
    if (number > listing->highest_number) {
        listing->highest_number = number;
    }
    char own_name[NJ_SEGMENT_NAME_BYTES];
    if (strcmp(name, nj_segment_name(number, own_name)) != 0) {
        return NJ_OK; /* put aside, or a number with zeros too many */
    }
    return nj_number_list_add(&listing->list, number, err);
}

enum nj_status nj_segment_list(const struct nj_file_system *fs, int directory_fd,
                               struct nj_segment_listing *listing, struct nj_error *err)
{
    listing->list.n_numbers = 0;
    listing->highest_number = 0;
    enum nj_status status = nj_file_list(fs, directory_fd, visit_name, listing, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "list the segments of an item");
    }
    nj_number_list_sort(&listing->list);
    return NJ_OK;
}

void nj_segment_listing_deinit(struct nj_segment_listing *listing)
{
    nj_number_list_deinit(&listing->list);
    listing->highest_number = 0;
}

/* Makes a folder in a folder; the new name is durable. */
static enum nj_status make_folder(const struct nj_file_system *fs, int parent_fd,
                                  const char *name, struct nj_error *err)
{
    if (fs->make_directory_at(fs->context, parent_fd, name, 0700) == 0) {
        return nj_segment_folder_sync(fs, parent_fd, err);
    }
    return errno == EEXIST
               ? NJ_OK
               : nj_fail(err, NJ_E_STORAGE, "create folder %s: %s", name, strerror(errno));
}

/* `*fd` is -1 when there is none and none is wanted. */
static enum nj_status open_folder(const struct nj_file_system *fs, int parent_fd,
                                  const char *name, bool create, int *fd, struct nj_error *err)
{
    *fd = -1;
    enum nj_status status = create ? make_folder(fs, parent_fd, name, err) : NJ_OK;
    if (status != NJ_OK) {
        return status;
    }
    int opened =
        fs->open_at(fs->context, parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (opened < 0 && !(errno == ENOENT && !create)) {
        return nj_fail(err, NJ_E_STORAGE, "open folder %s: %s", name, strerror(errno));
    }
    *fd = opened;
    return NJ_OK;
}

enum nj_status nj_segment_folder_open(const struct nj_file_system *fs, int run_directory_fd,
                                      uint64_t item_index, bool create, int *directory_fd,
                                      struct nj_error *err)
{
    char name[FOLDER_NAME_BYTES];
    int items_fd = -1;
    *directory_fd = -1;
    folder_name(item_index, name);
    enum nj_status status = open_folder(fs, run_directory_fd, "items", create, &items_fd, err);
    if (status != NJ_OK || items_fd < 0) {
        return status;
    }
    status = open_folder(fs, items_fd, name, create, directory_fd, err);
    (void)fs->close(fs->context, items_fd); /* nothing was written through it */
    return status;
}

enum nj_status nj_segment_folder_remove(const struct nj_file_system *fs, int directory_fd,
                                        uint64_t item_index, struct nj_error *err)
{
    char name[FOLDER_NAME_BYTES];
    int items_fd =
        fs->open_at(fs->context, directory_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (items_fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "open the folder of all items: %s", strerror(errno));
    }
    folder_name(item_index, name);
    enum nj_status status = NJ_OK;
    bool is_gone = fs->remove_directory_at(fs->context, items_fd, name) == 0 ||
                   errno == ENOENT || errno == ENOTEMPTY || errno == EEXIST;
    if (!is_gone) {
        status = nj_fail(err, NJ_E_STORAGE, "remove items/%s: %s", name, strerror(errno));
    }
    (void)fs->close(fs->context, items_fd); /* nothing was written through it */
    return status;
}

struct folder_walk {
    nj_segment_folder_visit *visit;
    void *context;
};

/* A number as it is written for an item's folder: no sign, no zeros in front. */
static enum nj_status visit_folder(void *context, const char *name, struct nj_error *err)
{
    const struct folder_walk *walk = context;
    char own_name[FOLDER_NAME_BYTES];
    size_t n_digits = strspn(name, "0123456789");
    if (n_digits == 0 || n_digits > MAX_DIGITS || name[n_digits] != '\0') {
        return NJ_OK;
    }
    uint64_t item_index = strtoull(name, NULL, 10);
    if (strcmp(name, folder_name(item_index, own_name)) != 0) {
        return NJ_OK;
    }
    return walk->visit(walk->context, item_index, err);
}

enum nj_status nj_segment_folders(const struct nj_file_system *fs, int run_directory_fd,
                                  nj_segment_folder_visit *visit, void *context,
                                  struct nj_error *err)
{
    int items_fd = -1;
    struct folder_walk walk = {.visit = visit, .context = context};
    enum nj_status status = open_folder(fs, run_directory_fd, "items", false, &items_fd, err);
    if (status != NJ_OK || items_fd < 0) {
        return status;
    }
    status = nj_file_list(fs, items_fd, visit_folder, &walk, err);
    (void)fs->close(fs->context, items_fd); /* nothing was written through it */
    return status;
}

struct wanted_name {
    const char *name;
    bool is_taken;
};

static enum nj_status look_for_name(void *context, const char *name, struct nj_error *err)
{
    struct wanted_name *wanted = context;
    (void)err;
    wanted->is_taken = wanted->is_taken || strcmp(name, wanted->name) == 0;
    return NJ_OK;
}

static enum nj_status free_name(const struct nj_file_system *fs, int directory_fd,
                                const char *name, char aside[NJ_SEGMENT_NAME_BYTES],
                                struct nj_error *err)
{
    for (unsigned n = 1; n < MAX_ASIDE; n++) {
        if (n == 1) {
            (void)snprintf(aside, NJ_SEGMENT_NAME_BYTES, "%.36s.bad", name);
        } else {
            (void)snprintf(aside, NJ_SEGMENT_NAME_BYTES, "%.36s.bad-%u", name, n);
        }
        struct wanted_name wanted = {.name = aside};
        enum nj_status status = nj_file_list(fs, directory_fd, look_for_name, &wanted, err);
        if (status != NJ_OK || !wanted.is_taken) {
            return status;
        }
    }
    return nj_fail(err, NJ_E_STORAGE, "put %s aside: %d of that name are there", name,
                   MAX_ASIDE);
}

enum nj_status nj_segment_folder_sync(const struct nj_file_system *fs, int directory_fd,
                                      struct nj_error *err)
{
    if (fs->sync(fs->context, directory_fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "sync the folder of an item's segments: %s",
                       strerror(errno));
    }
    return NJ_OK;
}

enum nj_status nj_segment_put_aside(const struct nj_file_system *fs, int directory_fd,
                                    uint64_t number, char aside[NJ_SEGMENT_NAME_BYTES],
                                    struct nj_error *err)
{
    char name[NJ_SEGMENT_NAME_BYTES];
    char free_one[NJ_SEGMENT_NAME_BYTES];
    nj_segment_name(number, name);
    enum nj_status status = free_name(fs, directory_fd, name, free_one, err);
    if (status != NJ_OK) {
        return status;
    }
    if (fs->rename_at(fs->context, directory_fd, name, directory_fd, free_one) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "put %s aside as %s: %s", name, free_one,
                       strerror(errno));
    }
    if (aside != NULL) {
        memcpy(aside, free_one, sizeof free_one);
    }
    return nj_segment_folder_sync(fs, directory_fd, err);
}

static enum nj_status unlink_name(const struct nj_file_system *fs, int directory_fd,
                                  const char *name, struct nj_error *err)
{
    if (fs->unlink_at(fs->context, directory_fd, name) != 0 && errno != ENOENT) {
        return nj_fail(err, NJ_E_STORAGE, "remove %s: %s", name, strerror(errno));
    }
    return NJ_OK;
}

enum nj_status nj_segment_remove(const struct nj_file_system *fs, int directory_fd,
                                 uint64_t number, struct nj_error *err)
{
    char name[NJ_SEGMENT_NAME_BYTES];
    return unlink_name(fs, directory_fd, nj_segment_name(number, name), err);
}

struct aside_walk {
    const struct nj_file_system *fs;
    int directory_fd;
    bool any_removed;
};

static enum nj_status remove_if_aside(void *context, const char *name, struct nj_error *err)
{
    struct aside_walk *walk = context;
    const char *rest = NULL;
    uint64_t number = 0;
    if (!number_of(name, &number, &rest) || *rest == '\0') {
        return NJ_OK;
    }
    walk->any_removed = true;
    return unlink_name(walk->fs, walk->directory_fd, name, err);
}

enum nj_status nj_segment_remove_aside(const struct nj_file_system *fs, int directory_fd,
                                       bool *any_removed, struct nj_error *err)
{
    struct aside_walk walk = {.fs = fs, .directory_fd = directory_fd};
    enum nj_status status = nj_file_list(fs, directory_fd, remove_if_aside, &walk, err);
    *any_removed = walk.any_removed;
    return status;
}
