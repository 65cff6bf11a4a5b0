#include "runner/paths.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "nightjar/run.h"

static enum nj_status check_length(int length, size_t path_bytes, struct nj_error *err)
{
    if (length < 0 || (size_t)length >= path_bytes) {
        return nj_fail(err, NJ_E_USAGE, "a path is longer than %zu bytes", path_bytes - 1);
    }
    return NJ_OK;
}

static bool is_directory(const struct nj_file_system *fs, const char *path)
{
    int fd = fs->open_at(fs->context, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd >= 0) {
        (void)fs->close(fs->context, fd); /* only looked at */
    }
    return fd >= 0;
}

/* Bytes of the job file's path up to and including its last slash; 0 when it has none. */
static int directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (int)(slash + 1 - path);
}

enum nj_status nj_path_of_model(const struct nj_file_system *fs, const struct nj_job_spec *spec,
                                const char *model_path, char *path, size_t path_bytes,
                                struct nj_error *err)
{
    if (model_path != NULL) {
        return check_length(snprintf(path, path_bytes, "%s", model_path), path_bytes, err);
    }
    int model_length = (int)spec->model.length_bytes;
    if (model_length == 0) {
        return nj_fail(
            err, NJ_E_INPUT,
            "%s: which model? give --model DIR, or `model: DIR` in a job of nightjar",
            spec->source_path);
    }
    bool is_relative = spec->model.data[0] != '/';
    char beside[NJ_RUN_PATH_BYTES];
    int length = snprintf(beside, sizeof beside, "%.*s%.*s",
                          is_relative ? directory_length(spec->source_path) : 0,
                          spec->source_path, model_length, spec->model.data);
    if (length < 0 || (size_t)length >= sizeof beside) {
        return check_length(length, sizeof beside, err);
    }
    if (is_relative && is_directory(fs, beside)) {
        return check_length(snprintf(path, path_bytes, "%s", beside), path_bytes, err);
    }
    length = snprintf(path, path_bytes, "%.*s", model_length, spec->model.data);
    enum nj_status status = check_length(length, path_bytes, err);
    if (status == NJ_OK && is_relative && strcmp(beside, path) != 0 &&
        !is_directory(fs, path)) {
        return nj_fail(err, NJ_E_NOT_FOUND,
                       "model %s: there is no directory %s beside the job file and no %s in "
                       "the working directory",
                       path, beside, path);
    }
    return status;
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '.' || c == '-' || c == '_';
}

static void write_folder_name(struct nj_text job_name, char *name, size_t name_bytes)
{
    size_t length = 0;
    for (size_t i = 0; i < job_name.length_bytes && length + 1 < name_bytes; i++) {
        char c = job_name.data[i];
        if (!is_plain(c) || (length == 0 && c == '.')) {
            c = '-';
        }
        name[length++] = c;
    }
    name[length] = '\0';
}

enum nj_status nj_path_of_output(const struct nj_job_spec *spec, const char *output_directory,
                                 char *path, size_t path_bytes, struct nj_error *err)
{
    if (output_directory != NULL) {
        return check_length(snprintf(path, path_bytes, "%s", output_directory), path_bytes,
                            err);
    }
    char name[200];
    write_folder_name(spec->name, name, sizeof name);
    const char *parent = spec->output_directory != NULL ? spec->output_directory : "results";
    return check_length(
        snprintf(path, path_bytes, "%s/%s", parent, name[0] != '\0' ? name : "job"), path_bytes,
        err);
}
