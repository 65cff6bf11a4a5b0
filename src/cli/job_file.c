#include "cli/job_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/clean_text.h"
#include "job/diagnostics.h"
#include "job/items.h"
#include "job/spec_yaml.h"

static void print_diagnostics(const struct nj_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        char text[2048];
        (void)nj_diagnostic_format(&diagnostics->items[i], text, sizeof text);
        nj_clean_print(stderr, nj_text_from(text));
        (void)fputc('\n', stderr);
    }
}

static enum nj_status read_spec(struct nj_job_file *file, const char *path,
                                struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    const struct nj_file_system *fs = nj_file_system_real();
    enum nj_status status =
        nj_job_spec_read(path, file->content, &file->arena, diagnostics, &file->spec, err);
    if (status == NJ_OK) {
        status = nj_items_check(file->spec, fs, diagnostics, &file->n_items, err);
    }
    print_diagnostics(diagnostics);
    if (status == NJ_E_INPUT && diagnostics->n_errors > 0 && err != NULL) {
        err->text[0] = '\0'; /* it has been said, with all the others */
    }
    return status;
}

enum nj_status nj_job_file_open(struct nj_job_file *file, const char *path,
                                struct nj_error *err)
{
    struct nj_diagnostics diagnostics;
    memset(file, 0, sizeof *file);
    enum nj_status status =
        nj_file_read_whole(nj_file_system_real(), AT_FDCWD, path, NJ_JOB_FILE_LIMIT_BYTES,
                           &file->arena, &file->content, err);
    if (status != NJ_OK) {
        return status == NJ_E_NOT_FOUND ? NJ_E_INPUT : status;
    }
    nj_diagnostics_init(&diagnostics, &file->arena);
    status = read_spec(file, path, &diagnostics, err);
    nj_diagnostics_deinit(&diagnostics);
    return status;
}

void nj_job_file_close(struct nj_job_file *file)
{
    nj_arena_deinit(&file->arena);
}
