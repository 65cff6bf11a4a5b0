/* A job file as the command line reads it, its own kind or another tool's, with every complaint
 * about it. */
#ifndef NJ_CLI_JOB_FILE_H
#define NJ_CLI_JOB_FILE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "job/diagnostics.h"
#include "job/spec_yaml.h"

struct nj_job_file {
    struct nj_arena arena;
    struct nj_bytes content;
    struct nj_job_overrides overrides; /* that it was read with: the caller's texts */
    struct nj_job_specs jobs;          /* at least one */
    uint64_t *n_items;                 /* of each job; 0 where it has mistakes */
    struct nj_diagnostics diagnostics; /* warnings too */
};

/* Reads the file, changed by `overrides`, and checks every item of every job. NJ_E_INPUT for
 * mistakes, which are in `diagnostics`, and for a file that is not there. Close it also after a
 * failure. */
enum nj_status nj_job_file_open(struct nj_job_file *file, const char *path,
                                const struct nj_job_overrides *overrides, struct nj_error *err);
void nj_job_file_close(struct nj_job_file *file);

#endif
