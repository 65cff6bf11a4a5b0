#include "cli/job_file.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "job/items.h"

/* Mistakes in one job do not hide those of the next; other failures end it at once. */
static enum nj_status check_items(struct nj_job_file *file, const char *path,
                                  struct nj_error *err)
{
    size_t n_jobs = file->jobs.n_items;
    enum nj_status status = NJ_OK;
    file->n_items = nj_arena_take_array(&file->arena, n_jobs, sizeof file->n_items[0]);
    if (file->n_items == NULL) {
        return nj_arena_fail(&file->arena, path, err);
    }
    for (size_t i = 0; i < n_jobs && (status == NJ_OK || status == NJ_E_INPUT); i++) {
        file->n_items[i] = 0;
        struct nj_error why = {0};
        enum nj_status found = nj_items_check(file->jobs.items[i], nj_file_system_real(),
                                              &file->diagnostics, &file->n_items[i], &why);
        if (found != NJ_OK && (status == NJ_OK || found != NJ_E_INPUT)) {
            status = nj_fail(err, found, "%s", why.text);
        }
    }
    return status;
}

enum nj_status nj_job_file_open(struct nj_job_file *file, const char *path,
                                const struct nj_job_overrides *overrides, struct nj_error *err)
{
    memset(file, 0, sizeof *file);
    if (overrides != NULL) {
        file->overrides = *overrides;
    }
    nj_diagnostics_init(&file->diagnostics, &file->arena);
    enum nj_status status =
        nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, NJ_JOB_FILE_LIMIT_BYTES,
                           &file->arena, &file->content, err);
    if (status != NJ_OK) {
        return status == NJ_E_NOT_FOUND ? NJ_E_INPUT : status;
    }
    status = nj_job_specs_read(path, file->content, overrides, &file->arena, &file->diagnostics,
                               &file->jobs, err);
    return status == NJ_OK ? check_items(file, path, err) : status;
}

void nj_job_file_close(struct nj_job_file *file)
{
    nj_diagnostics_deinit(&file->diagnostics);
    nj_arena_deinit(&file->arena);
}
