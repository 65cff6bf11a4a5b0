#include "base/machine_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

/* Enough of the files read here to hold the line that is looked for: stacks may be small. */
enum { TEXT_BYTES = 4 * 1024 };

struct text {
    char data[TEXT_BYTES];
};

/* One look around: the only thing here that is large. */
struct look {
    const struct nj_file_system *fs;
    const char *root;
    char path[PATH_MAX];  /* of the file being read */
    char group[PATH_MAX]; /* the folder of a cgroup */
    struct text text;
    struct text groups; /* /proc/self/cgroup */
};

/* Where one version of cgroups keeps things, and under which names. */
struct hierarchy {
    const char *mount;
    const char *limit;
    const char *usage;
    const char *droppable; /* field of memory.stat: page cache that goes first */
};

static const struct hierarchy version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                           "memory.usage_in_bytes", "total_inactive_file "};
static const struct hierarchy version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                           "inactive_file "};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The kernel's files have no length to ask for: read until nothing comes. False when the file
 * is not there or empty. */
static bool read_text(struct look *look, const char *folder, const char *name,
                      struct text *text)
{
    const struct nj_file_system *fs = look->fs;
    size_t length = 0;
    int n_path = snprintf(look->path, sizeof look->path, "%s/%s", folder, name);
    if (n_path < 0 || (size_t)n_path >= sizeof look->path) {
        return false;
    }
    int fd =
        fs->open_at(fs->context, AT_FDCWD, look->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) {
        return false;
    }
    while (length < sizeof text->data - 1) {
        ssize_t n = fs->read_at(fs->context, fd, text->data + length,
                                sizeof text->data - 1 - length, (off_t)length);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        length += (size_t)n;
    }
    (void)fs->close(fs->context, fd); /* nothing was written through it */
    text->data[length] = '\0';
    return length > 0;
}

/* The decimal at the start of `text`, blanks aside. False for anything else ("max"). */
static bool parse_number(const char *text, uint64_t *number)
{
    uint64_t value = 0;
    text += strspn(text, " \t");
    if (*text < '0' || *text > '9') {
        return false;
    }
    for (; *text >= '0' && *text <= '9'; text++) {
        if (!nj_multiply_u64(value, 10, &value) ||
            !nj_add_u64(value, (uint64_t)(*text - '0'), &value)) {
            return false;
        }
    }
    *number = value;
    return true;
}

/* What follows `label` at the start of a line; NULL when no line begins so. */
static const char *after_label(const char *text, const char *label)
{
    size_t length = strlen(label);
    while (text != NULL && strncmp(text, label, length) != 0) {
        const char *end = strchr(text, '\n');
        text = end == NULL ? NULL : end + 1;
    }
    return text == NULL ? NULL : text + length;
}

/* A field of kibibytes in a file below the root. */
static bool read_kibibytes(struct look *look, const char *name, const char *label,
                           uint64_t *bytes)
{
    if (!read_text(look, look->root, name, &look->text)) {
        return false;
    }
    const char *field = after_label(look->text.data, label);
    uint64_t kibibytes = 0;
    return field != NULL && parse_number(field, &kibibytes) &&
           nj_multiply_u64(kibibytes, 1024, bytes);
}

/* --- cgroups --- */

/* UINT64_MAX when the group that is being looked at limits nothing, or does not exist here. */
static uint64_t left_in_group(struct look *look, const struct hierarchy *hierarchy)
{
    const char *text = look->text.data;
    uint64_t limit = 0;
    uint64_t usage = 0;
    uint64_t droppable = 0;
    if (!read_text(look, look->group, hierarchy->limit, &look->text) ||
        !parse_number(text, &limit) ||
        !read_text(look, look->group, hierarchy->usage, &look->text) ||
        !parse_number(text, &usage)) {
        return UINT64_MAX;
    }
    if (read_text(look, look->group, "memory.stat", &look->text)) {
        const char *field = after_label(text, hierarchy->droppable);
        if (field != NULL && !parse_number(field, &droppable)) {
            droppable = 0;
        }
    }
    usage -= smaller(usage, droppable);
    return limit - smaller(limit, usage);
}

/* The path of this process in `/proc/self/cgroup`, whose lines are "number:controllers:path".
 * Version 2 is number 0 without controllers. */
static bool is_line_of(const char *line, const struct hierarchy *hierarchy)
{
    if (hierarchy == &version_2) {
        return strncmp(line, "0::", strlen("0::")) == 0;
    }
    const char *names = strchr(line, ':');
    if (names == NULL) {
        return false;
    }
    names++;
    const char *end = strchr(names, ':');
    while (end != NULL && names < end) {
        size_t length = strcspn(names, ",:");
        if (length == strlen("memory") && strncmp(names, "memory", length) == 0) {
            return true;
        }
        names += length + 1;
    }
    return false;
}

static const char *path_of_line(const char *line)
{
    const char *names = strchr(line, ':');
    const char *path = names == NULL ? NULL : strchr(names + 1, ':');
    return path == NULL ? "" : path + 1;
}

/* Makes "<root><mount><path>" the group; the length of the part that is the mount is returned,
 * 0 when it does not fit. */
static size_t enter_group(struct look *look, const struct hierarchy *hierarchy,
                          const char *line)
{
    const char *path = path_of_line(line);
    int mount = snprintf(look->group, sizeof look->group, "%s%s", look->root, hierarchy->mount);
    size_t length = strcspn(path, "\n");
    if (mount < 0 || (size_t)mount + length >= sizeof look->group) {
        return 0;
    }
    memcpy(look->group + mount, path, length);
    look->group[(size_t)mount + length] = '\0';
    return (size_t)mount;
}

/* From the process's own group up to the mount. In a container whose paths are those of the
 * host the lower ones do not exist, and the mount itself is its own. */
static uint64_t left_in_groups(struct look *look, const struct hierarchy *hierarchy,
                               const char *line)
{
    uint64_t left = UINT64_MAX;
    size_t mount = enter_group(look, hierarchy, line);
    size_t length = mount == 0 ? 0 : strlen(look->group);
    while (length >= mount && length > 0) {
        look->group[length] = '\0';
        left = smaller(left, left_in_group(look, hierarchy));
        do {
            length--;
        } while (length > mount && look->group[length] != '/');
    }
    return left;
}

static uint64_t left_in_hierarchy(struct look *look, const struct hierarchy *hierarchy)
{
    for (const char *line = look->groups.data; *line != '\0';) {
        if (is_line_of(line, hierarchy)) {
            return left_in_groups(look, hierarchy, line);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return UINT64_MAX;
}

static uint64_t look_for_left(struct look *look)
{
    uint64_t left = UINT64_MAX;
    if (!read_kibibytes(look, "proc/meminfo", "MemAvailable:", &left)) {
        left = UINT64_MAX;
    }
    if (!read_text(look, look->root, "proc/self/cgroup", &look->groups)) {
        return left;
    }
    left = smaller(left, left_in_hierarchy(look, &version_1));
    return smaller(left, left_in_hierarchy(look, &version_2));
}

uint64_t nj_machine_memory_left(const struct nj_file_system *fs, const char *root)
{
    struct look look;
    look.fs = fs;
    look.root = root;
    return look_for_left(&look);
}

uint64_t nj_machine_memory_held(const struct nj_file_system *fs, const char *root)
{
    struct look look;
    uint64_t bytes = 0;
    look.fs = fs;
    look.root = root;
    return read_kibibytes(&look, "proc/self/status", "VmRSS:", &bytes) ? bytes : 0;
}
