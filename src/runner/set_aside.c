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

static bool exists(const struct nj_file_system *fs, int directory_fd, const char *name)
{
    int fd = fs->open_at(fs->context, directory_fd, name,
                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0);
    if (fd >= 0) {
        (void)fs->close(fs->context, fd); /* only looked at */
        return true;
    }
    return errno != ENOENT;
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
    unsigned number = 1;
    if (!exists(fs, directory_fd, name)) {
        if (!aside->ignores_missing) {
            note(aside, folder, name, NULL);
        }
        return NJ_OK;
    }
    do {
        (void)snprintf(kept, sizeof kept, "%.*s.kept-%u", (int)NAME_BYTES, name, number);
    } while (exists(fs, directory_fd, kept) && ++number < COPIES_LIMIT);
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
