#include "base/machine_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"

/* Of the files read here none is longer, but for /proc/self/cgroup in deep hierarchies, whose
 * memory line is not the last. */
enum { TEXT_BYTES = 16 * 1024 };

struct text {
    char data[TEXT_BYTES];
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
static bool read_text(const struct nj_file_system *fs, const char *path, struct text *text)
{
    size_t length = 0;
    int fd = fs->open_at(fs->context, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
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

/* A field of kibibytes in a file of /proc. */
static bool read_kibibytes(const struct nj_file_system *fs, const char *root, const char *name,
                           const char *label, uint64_t *bytes)
{
    char path[PATH_MAX];
    struct text text;
    int length = snprintf(path, sizeof path, "%s%s", root, name);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(fs, path, &text)) {
        return false;
    }
    const char *field = after_label(text.data, label);
    uint64_t kibibytes = 0;
    return field != NULL && parse_number(field, &kibibytes) &&
           nj_multiply_u64(kibibytes, 1024, bytes);
}

/* --- cgroups --- */

/* One folder of a hierarchy; `length` bytes of its path end in the name. */
static bool read_group_file(const struct nj_file_system *fs, const char *group,
                            const char *name, struct text *text)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", group, name);
    return length > 0 && (size_t)length < sizeof path && read_text(fs, path, text);
}

/* UINT64_MAX when this group limits nothing, or does not exist here. */
static uint64_t left_in_group(const struct nj_file_system *fs,
                              const struct hierarchy *hierarchy, const char *group)
{
    struct text text;
    uint64_t limit = 0;
    uint64_t usage = 0;
    uint64_t droppable = 0;
    if (!read_group_file(fs, group, hierarchy->limit, &text) ||
        !parse_number(text.data, &limit) ||
        !read_group_file(fs, group, hierarchy->usage, &text) ||
        !parse_number(text.data, &usage)) {
        return UINT64_MAX;
    }
    if (read_group_file(fs, group, "memory.stat", &text)) {
        const char *field = after_label(text.data, hierarchy->droppable);
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

/* Writes "<root><mount><path>"; the length of the part that is the mount is returned, 0 when it
 * does not fit. */
static size_t write_group(const char *root, const struct hierarchy *hierarchy, const char *line,
                          char group[PATH_MAX])
{
    const char *path = path_of_line(line);
    int mount = snprintf(group, PATH_MAX, "%s%s", root, hierarchy->mount);
    size_t length = strcspn(path, "\n");
    if (mount < 0 || (size_t)mount + length >= PATH_MAX) {
        return 0;
    }
    memcpy(group + mount, path, length);
    group[(size_t)mount + length] = '\0';
    return (size_t)mount;
}

/* From the process's own group up to the mount. In a container whose paths are those of the
 * host the lower ones do not exist, and the mount itself is its own. */
static uint64_t left_in_groups(const struct nj_file_system *fs, const char *root,
                               const struct hierarchy *hierarchy, const char *line)
{
    char group[PATH_MAX];
    uint64_t left = UINT64_MAX;
    size_t mount = write_group(root, hierarchy, line, group);
    size_t length = mount == 0 ? 0 : strlen(group);
    while (length >= mount && length > 0) {
        group[length] = '\0';
        left = smaller(left, left_in_group(fs, hierarchy, group));
        do {
            length--;
        } while (length > mount && group[length] != '/');
    }
    return left;
}

static uint64_t left_in_hierarchy(const struct nj_file_system *fs, const char *root,
                                  const char *lines, const struct hierarchy *hierarchy)
{
    for (const char *line = lines; *line != '\0';) {
        if (is_line_of(line, hierarchy)) {
            return left_in_groups(fs, root, hierarchy, line);
        }
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return UINT64_MAX;
}

uint64_t nj_machine_memory_left(const struct nj_file_system *fs, const char *root)
{
    char path[PATH_MAX];
    struct text lines;
    uint64_t left = UINT64_MAX;
    if (!read_kibibytes(fs, root, "/proc/meminfo", "MemAvailable:", &left)) {
        left = UINT64_MAX;
    }
    int length = snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    if (length < 0 || (size_t)length >= sizeof path || !read_text(fs, path, &lines)) {
        return left;
    }
    left = smaller(left, left_in_hierarchy(fs, root, lines.data, &version_1));
    return smaller(left, left_in_hierarchy(fs, root, lines.data, &version_2));
}

uint64_t nj_machine_memory_held(const struct nj_file_system *fs, const char *root)
{
    uint64_t bytes = 0;
    return read_kibibytes(fs, root, "/proc/self/status", "VmRSS:", &bytes) ? bytes : 0;
}
