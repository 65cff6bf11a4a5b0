#include "runner/set_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
    SPELLED_LIMIT = 5,
    COPIES_LIMIT = 10000,
    NAME_BYTES = 240, /* a name that is as long as it may be is cut for its suffix */
    KEPT_BYTES = NAME_BYTES + 16
};

/* What cannot be told, as when descriptors are short, is no reason to move anything. */
static enum nj_status look_for(const struct nj_file_system *fs, int directory_fd,
                               const char *name, bool *exists, struct nj_error *err)
{
    int fd = fs->open_at(fs->context, directory_fd, name,
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    *exists = fd >= 0 || errno != ENOENT;
    if (fd >= 0) {
        (void)fs->close(fs->context, fd); /* only looked at */
    } else if (errno == EMFILE || errno == ENFILE) {
        return nj_fail(err, NJ_E_IO, "look for %s: %s", name, strerror(errno));
    }
    return NJ_OK;
}

/* The first name that is free. */
static enum nj_status find_name(const struct nj_file_system *fs, int directory_fd,
                                const char *name, char kept[KEPT_BYTES], struct nj_error *err)
{
    bool is_taken = true;
    for (unsigned number = 1; number < COPIES_LIMIT; number++) {
        (void)snprintf(kept, KEPT_BYTES, "%.*s.kept-%u", (int)NAME_BYTES, name, number);
        enum nj_status status = look_for(fs, directory_fd, kept, &is_taken, err);
        if (status != NJ_OK || !is_taken) {
            return status;
        }
    }
    return nj_fail(err, NJ_E_STORAGE, "keep %s: %d of that name are there", name,
                   COPIES_LIMIT - 1);
}

static void note(struct nj_set_aside *aside, const char *folder, const char *name,
                 const char *kept)
{
    size_t length = strlen(aside->list);
    if (++aside->n_files > SPELLED_LIMIT) {
        return; /* counted */
    }
    (void)snprintf(aside->list + length, sizeof aside->list - length, "%s%s%.80s%s%.100s%s",
                   length > 0 ? ", " : "", folder, name, kept != NULL ? " (kept as " : "",
                   kept != NULL ? kept : " (missing)", kept != NULL ? ")" : "");
}

enum nj_status nj_set_aside(struct nj_set_aside *aside, int directory_fd, const char *folder,
                            const char *name, struct nj_error *err)
{
    const struct nj_file_system *fs = aside->fs;
    char kept[KEPT_BYTES];
    bool exists = true;
    enum nj_status status = look_for(fs, directory_fd, name, &exists, err);
    if (status != NJ_OK) {
        return status;
    }
    if (!exists) {
        if (!aside->ignores_missing) {
            note(aside, folder, name, NULL);
        }
        return NJ_OK;
    }
    status = find_name(fs, directory_fd, name, kept, err);
    if (status != NJ_OK) {
        return status;
    }
    if (fs->rename_at(fs->context, directory_fd, name, directory_fd, kept) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "keep %s%s as %s: %s", folder, name, kept,
                       strerror(errno));
    }
    note(aside, folder, name, kept);
    return NJ_OK;
}

void nj_set_aside_tell(const struct nj_set_aside *aside, const struct nj_log *log)
{
    char more[48] = "";
    if (aside->n_files == 0) {
        return;
    }
    if (aside->n_files > SPELLED_LIMIT) {
        (void)snprintf(more, sizeof more, ", and %llu more",
                       (unsigned long long)(aside->n_files - SPELLED_LIMIT));
    }
    nj_log_write(log, NJ_LOG_WARNING,
                 "not what results.log says, and written again from it or put out of the way: "
                 "%s%s",
                 aside->list, more);
}
