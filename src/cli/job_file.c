#include "cli/job_file.h"

#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "job/items.h"
#include "job/spec_yaml.h"

static enum nj_status read_spec(struct nj_job_file *file, const char *path,
                                struct nj_error *err)
{
    enum nj_status status = nj_job_spec_read(path, file->content, &file->arena,
                                             &file->diagnostics, &file->spec, err);
    if (status == NJ_OK) {
        status = nj_items_check(file->spec, nj_file_system_real(), &file->diagnostics,
                                &file->n_items, err);
    }
    return status;
}

enum nj_status nj_job_file_open(struct nj_job_file *file, const char *path,
                                struct nj_error *err)
{
    memset(file, 0, sizeof *file);
    nj_diagnostics_init(&file->diagnostics, &file->arena);
    enum nj_status status =
        nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, NJ_JOB_FILE_LIMIT_BYTES,
                           &file->arena, &file->content, err);
    if (status != NJ_OK) {
        return status == NJ_E_NOT_FOUND ? NJ_E_INPUT : status;
    }
    return read_spec(file, path, err);
}

void nj_job_file_close(struct nj_job_file *file)
{
    nj_diagnostics_deinit(&file->diagnostics);
    nj_arena_deinit(&file->arena);
}
