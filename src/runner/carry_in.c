#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "runner/carry.h"
#include "runner/export_format.h"
#include "runner/folder.h"
#include "runner/log_window.h"
#include "snapshot/folder.h"

/* --- reading --- */

/* An export as far as it verified. */
struct reading {
    struct nj_export_reader reader;
    struct nj_record_log_scan scan;
    uint64_t length_bytes;
    char complaint[NJ_SNAPSHOT_TEXT_BYTES]; /* empty: it is whole */
};

static void complain(struct reading *reading, const char *text)
{
    (void)snprintf(reading->complaint, sizeof reading->complaint, "%.200s", text);
}

static void judge(struct reading *reading)
{
    const struct nj_record_log_scan *scan = &reading->scan;
    if (scan->end == NJ_LOG_END_NEWER) {
        complain(reading, "it was written by a newer nightjar");
    } else if (scan->end != NJ_LOG_END_CLEAN) {
        complain(reading, scan->complaint);
    } else if (scan->identity.kind != NJ_EXPORT_KIND) {
        complain(reading, "it is no export");
    } else if (!reading->reader.has_end) {
        complain(reading, "it is cut off: its end is missing");
    } else if (scan->valid_bytes != reading->length_bytes) {
        complain(reading, "something stands behind its end");
    }
}

/* Reads it from end to end. What is wrong with the file is in `reading`; NJ_OK then too. */
static enum nj_status read_export(const struct nj_file_system *fs, const char *path,
                                  struct reading *reading, struct nj_error *err)
{
    struct nj_log_window window;
    struct nj_error why;
    bool exists = false;
    enum nj_status status = nj_log_window_open(&window, fs, AT_FDCWD, path, &exists, err);
    if (status != NJ_OK || !exists) {
        return status != NJ_OK ? status : nj_fail(err, NJ_E_NOT_FOUND, "there is no %s", path);
    }
    struct nj_record_source source = {
        .context = &window, .length_bytes = window.length_bytes, .view = nj_log_window_view};
    reading->length_bytes = window.length_bytes;
    status = nj_record_log_scan_source(&source, NJ_EXPORT_VERSION, nj_export_take,
                                       &reading->reader, &reading->scan, &why);
    nj_log_window_close(&window);
    nj_export_reader_deinit(&reading->reader);
    if (status == NJ_E_STATE) {
        complain(reading, why.text);
    } else if (status != NJ_OK) {
        return nj_fail(err, status, "%s", why.text);
    } else {
        judge(reading);
    }
    return NJ_OK;
}

enum nj_status nj_carry_is_export(const struct nj_file_system *fs, const char *path,
                                  bool *is_export, struct nj_error *err)
{
    static const uint8_t wanted[4] = {'E', 'X', 'P', 'O'};
    enum { KIND_OFFSET = 8 };
    uint8_t kind[sizeof wanted];
    int fd = -1;
    uint64_t n_bytes = 0;
    enum nj_status status = nj_file_open_read(fs, AT_FDCWD, path, &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    *is_export = false;
    status = nj_file_length(fs, fd, &n_bytes, err);
    if (status == NJ_OK && n_bytes >= NJ_RECORD_LOG_HEADER_BYTES) {
        status = nj_file_read_exactly(fs, fd, kind, sizeof kind, KIND_OFFSET, path, err);
        *is_export = status == NJ_OK && memcmp(kind, wanted, sizeof kind) == 0;
    }
    (void)fs->close(fs->context, fd); /* only read from */
    return status;
}

enum nj_status nj_carry_verify(const struct nj_file_system *fs, const char *path,
                               nj_snapshot_finding_visit *visit, void *context,
                               struct nj_snapshot_verification *sum, struct nj_error *err)
{
    struct reading reading = {.complaint = ""};
    enum nj_status status = read_export(fs, path, &reading, err);
    sum->n_files += 1;
    sum->n_records += reading.scan.n_records;
    sum->n_bytes += reading.length_bytes;
    if (status != NJ_OK || reading.complaint[0] == '\0') {
        return status;
    }
    const struct nj_snapshot_finding finding = {.file = path,
                                                .has_place = true,
                                                .record = reading.scan.n_records,
                                                .offset_bytes = reading.scan.valid_bytes,
                                                .text = reading.complaint};
    sum->n_findings += 1;
    return visit(context, &finding, err);
}

/* --- laying out --- */

/* One import under way. */
struct unpacking {
    const struct nj_file_system *fs;
    int staging_fd; /* the folder in the making */
    int fd;         /* of the file in the making; -1 */
    char name[NJ_EXPORT_NAME_LIMIT_BYTES + 1];
    struct nj_arena arena;
    struct nj_json *head;
    struct nj_snapshot_carried sum;
};

static enum nj_status keep_head(void *context, struct nj_text json, struct nj_error *err)
{
    struct unpacking *unpacking = context;
    return nj_json_parse(json, "head of the export", &unpacking->head, err);
}

/* Makes the folders that lead to a file, and returns the last one's descriptor. */
static enum nj_status open_parent(const struct unpacking *unpacking, const char *name,
                                  int *parent_fd, struct nj_error *err)
{
    const struct nj_file_system *fs = unpacking->fs;
    char part[NJ_EXPORT_NAME_LIMIT_BYTES + 1];
    const char *slash = NULL;
    int fd = fs->open_at(fs->context, unpacking->staging_fd, ".",
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    for (; fd >= 0 && (slash = strchr(name, '/')) != NULL; name = slash + 1) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        bool is_there = fs->make_directory_at(fs->context, fd, part, 0700) == 0
                            ? fs->sync(fs->context, fd) == 0
                            : errno == EEXIST;
        int next = !is_there ? -1
                             : fs->open_at(fs->context, fd, part,
                                           O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        int error_number = errno;
        (void)fs->close(fs->context, fd); /* synced where it was changed */
        errno = error_number;
        fd = next;
    }
    if (fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "make the folder of %s: %s", unpacking->name,
                       strerror(errno));
    }
    *parent_fd = fd;
    return NJ_OK;
}

static enum nj_status begin_file(void *context, const char *name, uint64_t n_bytes,
                                 struct nj_error *err)
{
    struct unpacking *unpacking = context;
    const struct nj_file_system *fs = unpacking->fs;
    const char *slash = strrchr(name, '/');
    const char *base = slash == NULL ? name : slash + 1;
    uint64_t number = 0;
    int parent_fd = -1;
    (void)n_bytes;
    (void)snprintf(unpacking->name, sizeof unpacking->name, "%s", name);
    enum nj_status status = open_parent(unpacking, name, &parent_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    unpacking->fd = fs->open_at(fs->context, parent_fd, base,
                                O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (unpacking->fd < 0) {
        status = nj_fail(err, NJ_E_STORAGE, "create %s: %s", name, strerror(errno));
    } else if (fs->sync(fs->context, parent_fd) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "sync the folder of %s: %s", name, strerror(errno));
    }
    (void)fs->close(fs->context, parent_fd); /* synced above */
    unpacking->sum.n_files += 1;
    unpacking->sum.n_segments += nj_segment_name_read(base, &number) ? 1 : 0;
    return status;
}

static enum nj_status write_bytes(void *context, struct nj_bytes bytes, struct nj_error *err)
{
    struct unpacking *unpacking = context;
    unpacking->sum.n_bytes += bytes.length_bytes;
    return nj_file_append(unpacking->fs, unpacking->fd, bytes, unpacking->name, err);
}

static enum nj_status end_file(void *context, struct nj_error *err)
{
    struct unpacking *unpacking = context;
    const struct nj_file_system *fs = unpacking->fs;
    enum nj_status status = NJ_OK;
    if (fs->sync(fs->context, unpacking->fd) != 0) {
        status = nj_fail(err, NJ_E_STORAGE, "sync %s: %s", unpacking->name, strerror(errno));
    }
    (void)fs->close(fs->context, unpacking->fd); /* the sync has reported what it could */
    unpacking->fd = -1;
    return status;
}

static enum nj_status unpack(struct unpacking *unpacking, const char *file,
                             struct nj_error *err)
{
    struct reading reading = {.reader.visitor = {.context = unpacking,
                                                 .head = keep_head,
                                                 .begin_file = begin_file,
                                                 .bytes = write_bytes,
                                                 .end_file = end_file}};
    enum nj_status status = read_export(unpacking->fs, file, &reading, err);
    if (unpacking->fd >= 0) {
        (void)unpacking->fs->close(unpacking->fs->context, unpacking->fd); /* given up */
        unpacking->fd = -1;
    }
    if (status == NJ_OK && reading.complaint[0] != '\0') {
        status = nj_fail(err, NJ_E_STATE, "%s changed while it was read: %s", file,
                         reading.complaint);
    }
    return status;
}

/* --- how to go on --- */

/* `text` as one word of a shell, behind what is there already. */
static void add_word(char *line, size_t line_bytes, struct nj_text text)
{
    size_t n = strlen(line);
    (void)snprintf(line + n, line_bytes - n, "%s'", n > 0 ? " " : "");
    for (size_t i = 0; i < text.length_bytes && strlen(line) + 6 < line_bytes; i++) {
        n = strlen(line);
        (void)snprintf(line + n, line_bytes - n, text.data[i] == '\'' ? "'\\''" : "%c",
                       text.data[i]);
    }
    n = strlen(line);
    (void)snprintf(line + n, line_bytes - n, "'");
}

/* The flags of the head as overrides of an origin. False when they are none that we wrote. */
static bool read_flags(const struct nj_json_value *flags, struct nj_arena *arena,
                       struct nj_origin *origin)
{
    size_t n = nj_json_count(flags);
    const char **sets = nj_arena_take_array(arena, n + 1, sizeof *sets);
    const char **vars = nj_arena_take_array(arena, n + 1, sizeof *vars);
    struct nj_job_overrides *overrides = &origin->overrides;
    if (sets == NULL || vars == NULL || n % 2 != 0) {
        return false;
    }
    overrides->sets = (const char *const *)sets;
    overrides->vars = (const char *const *)vars;
    for (size_t i = 0; i < n; i += 2) {
        struct nj_text flag = {0};
        struct nj_text text = {0};
        if (!nj_json_as_text(nj_json_at(flags, i), &flag) ||
            !nj_json_as_text(nj_json_at(flags, i + 1), &text)) {
            return false;
        }
        const char *value = nj_arena_copy_text(arena, text.data, text.length_bytes);
        if (value == NULL) {
            return false;
        }
        if (nj_text_equal(flag, nj_text_from("--set"))) {
            sets[overrides->n_sets++] = value;
        } else if (nj_text_equal(flag, nj_text_from("--var"))) {
            vars[overrides->n_vars++] = value;
        } else if (nj_text_equal(flag, nj_text_from("--limit"))) {
            overrides->limit = strtoull(value, NULL, 10);
        } else if (nj_text_equal(flag, nj_text_from("--latent-norm-eps"))) {
            origin->latent_norm_eps = strtod(value, NULL);
        } else {
            return false;
        }
    }
    return true;
}

static enum nj_status tell_how_to_go_on(struct unpacking *unpacking, const char *run_folder,
                                        struct nj_text job_file, struct nj_error *err)
{
    struct nj_snapshot_carried *sum = &unpacking->sum;
    const struct nj_json_value *flags = nj_json_get(nj_json_root(unpacking->head), "flags");
    int length = snprintf(sum->job_file, sizeof sum->job_file, "%s/%.*s", run_folder,
                          (int)job_file.length_bytes, job_file.data);
    if (length < 0 || (size_t)length >= sizeof sum->job_file) {
        return nj_fail(err, NJ_E_USAGE, "the run folder's path is too long");
    }
    for (size_t i = 0; i < nj_json_count(flags); i++) {
        struct nj_text word = {0};
        (void)nj_json_as_text(nj_json_at(flags, i), &word); /* looked at before */
        add_word(sum->flags, sizeof sum->flags, word);
    }
    return NJ_OK;
}

/* The new folder's own origin, so that it can be carried on from there. */
static enum nj_status write_origin(struct unpacking *unpacking, const char *run_folder,
                                   struct nj_error *err)
{
    const struct nj_json_value *root = nj_json_root(unpacking->head);
    struct nj_origin origin = {.n_jobs = 1};
    struct nj_text job_file = {0};
    char path[NJ_FOLDER_PATH_LIMIT_BYTES + NJ_EXPORT_NAME_LIMIT_BYTES];
    if (!nj_json_as_text(nj_json_get(root, "job_file"), &job_file) ||
        !nj_export_name_is_safe(job_file) ||
        !read_flags(nj_json_get(root, "flags"), &unpacking->arena, &origin)) {
        return nj_fail(err, NJ_E_STATE, "the head of the export is not what nightjar writes");
    }
    char *folder = nj_absolute_path(run_folder);
    if (folder == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "find the path of %s", run_folder);
    }
    (void)snprintf(path, sizeof path, "%s/%.*s", folder, (int)job_file.length_bytes,
                   job_file.data);
    free(folder);
    origin.job_path = path;
    enum nj_status status = tell_how_to_go_on(unpacking, run_folder, job_file, err);
    return status == NJ_OK ? nj_origin_write(&origin, unpacking->fs, unpacking->staging_fd, err)
                           : status;
}

/* --- the folder --- */

static enum nj_status note_any(void *context, const char *name, struct nj_error *err)
{
    bool *is_empty = context;
    (void)name;
    (void)err;
    *is_empty = false;
    return NJ_OK;
}

static enum nj_status check_place(const struct nj_file_system *fs, const char *run_folder,
                                  struct nj_error *err)
{
    int fd = -1;
    bool is_empty = true;
    if (!nj_run_folder_exists(fs, run_folder)) {
        return NJ_OK;
    }
    enum nj_status status = nj_file_open_directory(fs, run_folder, false, &fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_file_list(fs, fd, note_any, &is_empty, err);
    (void)fs->close(fs->context, fd); /* only read from */
    if (status == NJ_OK && !is_empty) {
        return nj_fail(err, NJ_E_STATE,
                       "%s holds files already; give a new or an empty folder with --out DIR",
                       run_folder);
    }
    return status;
}

/* Renames the finished folder into place. It had the export's name while it was made, so who
 * imports the same file again after a kill writes the same bytes over what is left. */
static enum nj_status move_into_place(struct unpacking *unpacking, int parent_fd,
                                      const char *staging, const char *name,
                                      struct nj_error *err)
{
    const struct nj_file_system *fs = unpacking->fs;
    if (fs->sync(fs->context, unpacking->staging_fd) != 0 ||
        fs->rename_at(fs->context, parent_fd, staging, parent_fd, name) != 0 ||
        fs->sync(fs->context, parent_fd) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "move the folder into place as %s: %s", name,
                       strerror(errno));
    }
    return NJ_OK;
}

static enum nj_status fill(struct unpacking *unpacking, int parent_fd, const char *staging,
                           const char *file, const char *run_folder, const char *name,
                           struct nj_error *err)
{
    const struct nj_file_system *fs = unpacking->fs;
    if (fs->make_directory_at(fs->context, parent_fd, staging, 0700) != 0 && errno != EEXIST) {
        return nj_fail(err, NJ_E_STORAGE, "make %s: %s", staging, strerror(errno));
    }
    unpacking->staging_fd = fs->open_at(fs->context, parent_fd, staging,
                                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
    if (unpacking->staging_fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "open %s: %s", staging, strerror(errno));
    }
    enum nj_status status = unpack(unpacking, file, err);
    if (status == NJ_OK) {
        status = write_origin(unpacking, run_folder, err);
    }
    if (status == NJ_OK) {
        status = move_into_place(unpacking, parent_fd, staging, name, err);
    }
    (void)fs->close(fs->context, unpacking->staging_fd); /* synced above */
    return status;
}

static enum nj_status import(struct unpacking *unpacking, const char *file,
                             const char *run_folder, uint64_t salt, struct nj_error *err)
{
    const struct nj_file_system *fs = unpacking->fs;
    char path[NJ_FOLDER_PATH_LIMIT_BYTES];
    char staging[NJ_EXPORT_NAME_LIMIT_BYTES];
    size_t length = strlen(run_folder);
    int parent_fd = -1;
    while (length > 1 && run_folder[length - 1] == '/') {
        length--;
    }
    if (length == 0 || length >= sizeof path) {
        return nj_fail(err, NJ_E_USAGE, "the run folder's path is empty or too long");
    }
    (void)snprintf(path, sizeof path, "%.*s", (int)length, run_folder);
    char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    if (strlen(name) > 200 || name[0] == '\0') {
        return nj_fail(err, NJ_E_USAGE, "%s cannot be the name of a run folder", run_folder);
    }
    (void)snprintf(staging, sizeof staging, ".%s.import-%016" PRIx64, name, salt);
    char *parent =
        slash == NULL ? nj_arena_copy_text(&unpacking->arena, ".", 1)
                      : nj_arena_copy_text(&unpacking->arena, path, (size_t)(slash - path) + 1);
    if (parent == NULL) {
        return nj_arena_fail(&unpacking->arena, "import a run", err);
    }
    enum nj_status status = nj_file_open_directory(fs, parent, true, &parent_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    status = fill(unpacking, parent_fd, staging, file, path, name, err);
    (void)fs->close(fs->context, parent_fd); /* synced when the folder was moved */
    return status;
}

/* All of it is verified before anything is written. */
static enum nj_status verify_first(const struct nj_file_system *fs, const char *file,
                                   uint64_t *salt, struct nj_error *err)
{
    struct reading reading = {.complaint = ""};
    enum nj_status status = read_export(fs, file, &reading, err);
    if (status == NJ_OK && reading.complaint[0] != '\0') {
        return nj_fail(err, NJ_E_STATE, "%s, record %" PRIu64 " at byte %" PRIu64 ": %s", file,
                       reading.scan.n_records, reading.scan.valid_bytes, reading.complaint);
    }
    *salt = reading.scan.identity.salt;
    return status;
}

enum nj_status nj_snapshot_import_through(const struct nj_file_system *fs, const char *file,
                                          const char *run_folder,
                                          struct nj_snapshot_carried *carried,
                                          struct nj_error *err)
{
    uint64_t salt = 0;
    enum nj_status status = verify_first(fs, file, &salt, err);
    if (status == NJ_OK) {
        status = check_place(fs, run_folder, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    struct unpacking *unpacking = calloc(1, sizeof *unpacking);
    if (unpacking == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "import a run: out of memory");
    }
    unpacking->fs = fs;
    unpacking->fd = -1;
    status = import(unpacking, file, run_folder, salt, err);
    if (status == NJ_OK) {
        *carried = unpacking->sum;
    }
    nj_json_destroy(unpacking->head);
    nj_arena_deinit(&unpacking->arena);
    free(unpacking);
    return status;
}

enum nj_status nj_snapshot_import(const char *file, const char *run_folder,
                                  struct nj_snapshot_carried *carried, struct nj_error *err)
{
    return nj_snapshot_import_through(nj_file_system_real(), file, run_folder, carried, err);
}
