/* A job file as the command line reads it, with every complaint about it. */
#ifndef NJ_CLI_JOB_FILE_H
#define NJ_CLI_JOB_FILE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "job/diagnostics.h"
#include "job/spec.h"

struct nj_job_file {
    struct nj_arena arena;
    struct nj_bytes content;
    const struct nj_job_spec *spec;
    uint64_t n_items;
    struct nj_diagnostics diagnostics; /* warnings too */
};

/* Reads the file and checks every item. NJ_E_INPUT for mistakes, which are in `diagnostics`,
 * and for a file that is not there. Close it also after a failure. */
enum nj_status nj_job_file_open(struct nj_job_file *file, const char *path,
                                struct nj_error *err);
void nj_job_file_close(struct nj_job_file *file);

#endif
