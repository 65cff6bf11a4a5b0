#include "snapshot/slot_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/folder.h"

enum { MAX_DIGITS = 19 };

const char *nj_slot_name(uint64_t number, char name[NJ_SLOT_NAME_BYTES])
{
    (void)snprintf(name, NJ_SLOT_NAME_BYTES, "states-%06" PRIu64 ".slots", number);
    return name;
}

/* 0 for names that are not ours, numbers with zeros too many among them. */
static uint64_t number_of(const char *name)
{
    static const char prefix[] = "states-";
    char own_name[NJ_SLOT_NAME_BYTES];
    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        return 0;
    }
    const char *digits = name + strlen(prefix);
    size_t n_digits = strspn(digits, "0123456789");
    if (n_digits == 0 || n_digits > MAX_DIGITS) {
        return 0;
    }
    uint64_t number = strtoull(digits, NULL, 10);
    return strcmp(name, nj_slot_name(number, own_name)) == 0 ? number : 0;
}

static enum nj_status visit_name(void *context, const char *name, struct nj_error *err)
{
    uint64_t number = number_of(name);
    return number == 0 ? NJ_OK : nj_number_list_add(context, number, err);
}

enum nj_status nj_slot_list(const struct nj_file_system *fs, int directory_fd,
                            struct nj_number_list *listing, struct nj_error *err)
{
    listing->n_numbers = 0;
    enum nj_status status = nj_file_list(fs, directory_fd, visit_name, listing, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "list the states on disk");
    }
    nj_number_list_sort(listing);
    return NJ_OK;
}

enum nj_status nj_slot_remove(const struct nj_file_system *fs, int directory_fd,
                              uint64_t number, struct nj_error *err)
{
    char name[NJ_SLOT_NAME_BYTES];
    if (fs->unlink_at(fs->context, directory_fd, nj_slot_name(number, name)) != 0 &&
        errno != ENOENT) {
        return nj_fail(err, NJ_E_STORAGE, "remove %s: %s", name, strerror(errno));
    }
    return nj_segment_folder_sync(fs, directory_fd, err);
}
