#include <string.h>

#include "job/spec_yaml.h"
#include "runner/carry.h"

/* Bytes of a path up to and with its last slash. */
static size_t directory_bytes(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Takes "." and ".." out of an absolute path, in place. */
static void normalize(char *path)
{
    size_t length = 0;
    const char *rest = path;
    while (*rest != '\0') {
        rest += strspn(rest, "/");
        size_t n = strcspn(rest, "/");
        if (n == 2 && memcmp(rest, "..", 2) == 0) {
            while (length > 0 && path[--length] != '/') {
            }
        } else if (n > 0 && !(n == 1 && rest[0] == '.')) {
            path[length++] = '/';
            memmove(path + length, rest, n);
            length += n;
        }
        rest += n;
    }
    path[length] = '\0';
}

/* What the job file calls `written`, as an absolute path; NULL without memory. */
static char *resolve(const char *job_path, const char *written, struct nj_arena *arena)
{
    size_t n_directory = directory_bytes(job_path);
    size_t n_written = strlen(written);
    char *path = nj_arena_take(arena, n_directory + n_written + 1);
    if (path != NULL) {
        memcpy(path, job_path, n_directory);
        memcpy(path + n_directory, written, n_written + 1);
        normalize(path);
    }
    return path;
}

static enum nj_status add(const char *job_path, const char *written, struct nj_arena *arena,
                          struct nj_carried_inputs *inputs, struct nj_error *err)
{
    if (written[0] == '/') {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "the job names %s by an absolute path, which leads nowhere on another "
                       "machine: write it relative to the job file, run once more (it is the "
                       "same job), and export then",
                       written);
    }
    char *path = resolve(job_path, written, arena);
    if (path == NULL) {
        return nj_arena_fail(arena, "list the job's inputs", err);
    }
    for (size_t i = 0; i < inputs->n_items; i++) {
        if (strcmp(inputs->items[i].path, path) == 0) {
            return NJ_OK; /* several prompts may read one file */
        }
    }
    inputs->items[inputs->n_items++].path = path;
    return NJ_OK;
}

static enum nj_status add_all(const struct nj_job_spec *spec, const char *job_path,
                              struct nj_arena *arena, struct nj_carried_inputs *inputs,
                              struct nj_error *err)
{
    inputs->items = nj_arena_take_array(arena, spec->n_prompts + 2, sizeof *inputs->items);
    if (inputs->items == NULL) {
        return nj_arena_fail(arena, "list the job's inputs", err);
    }
    inputs->items[0].path = job_path;
    inputs->n_items = 1;
    enum nj_status status =
        spec->rows.path == NULL ? NJ_OK : add(job_path, spec->rows.path, arena, inputs, err);
    for (size_t i = 0; i < spec->n_prompts && status == NJ_OK; i++) {
        if (spec->prompts[i].prompt_path != NULL) {
            status = add(job_path, spec->prompts[i].prompt_path, arena, inputs, err);
        }
    }
    return status;
}

/* Bytes of the folder that holds all of them. */
static size_t ancestor_bytes(const struct nj_carried_inputs *inputs)
{
    const char *job_path = inputs->items[0].path;
    size_t n = directory_bytes(job_path);
    for (size_t i = 1; i < inputs->n_items; i++) {
        while (strncmp(inputs->items[i].path, job_path, n) != 0) {
            do {
                n--; /* to the slash before; the first byte is one */
            } while (job_path[n - 1] != '/');
        }
    }
    return n;
}

static enum nj_status name_all(struct nj_carried_inputs *inputs, struct nj_arena *arena,
                               struct nj_error *err)
{
    static const char folder[] = "inputs/";
    size_t n_ancestor = ancestor_bytes(inputs);
    for (size_t i = 0; i < inputs->n_items; i++) {
        const char *rest = inputs->items[i].path + n_ancestor;
        size_t n_rest = strlen(rest) + 1;
        char *inside = nj_arena_take(arena, sizeof folder + n_rest);
        if (inside == NULL) {
            return nj_arena_fail(arena, "list the job's inputs", err);
        }
        memcpy(inside, folder, sizeof folder - 1);
        memcpy(inside + sizeof folder - 1, rest, n_rest);
        inputs->items[i].inside = inside;
    }
    return NJ_OK;
}

enum nj_status nj_carry_inputs(const struct nj_origin *origin, struct nj_bytes job_file,
                               struct nj_arena *arena, struct nj_carried_inputs *inputs,
                               struct nj_error *err)
{
    struct nj_job_specs specs = {0};
    struct nj_diagnostics diagnostics;
    if (origin->n_jobs != 1) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "%s holds %llu jobs: only runs of a file with one job can be exported",
                       origin->job_path, (unsigned long long)origin->n_jobs);
    }
    /* By its bare name, so that paths come out as they are written. */
    const char *base = origin->job_path + directory_bytes(origin->job_path);
    nj_diagnostics_init(&diagnostics, arena);
    enum nj_status status =
        nj_job_specs_read(base, job_file, &origin->overrides, arena, &diagnostics, &specs, err);
    nj_diagnostics_deinit(&diagnostics);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "read spec.yaml, the run's copy of %s", origin->job_path);
    }
    status = add_all(specs.items[0], origin->job_path, arena, inputs, err);
    return status == NJ_OK ? name_all(inputs, arena, err) : status;
}
