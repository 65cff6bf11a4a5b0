/* A job file as the command line reads it: every complaint is printed with its place. */
#ifndef NJ_CLI_JOB_FILE_H
#define NJ_CLI_JOB_FILE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "job/spec.h"

struct nj_job_file {
    struct nj_arena arena;
    struct nj_bytes content;
    const struct nj_job_spec *spec;
    uint64_t n_items;
};

/* Reads the file, checks every item and prints all complaints on stderr. NJ_E_INPUT, with an
 * empty error text, when they were printed; with a text for a file that cannot be read. Close
 * it also after a failure. */
enum nj_status nj_job_file_open(struct nj_job_file *file, const char *path,
                                struct nj_error *err);
void nj_job_file_close(struct nj_job_file *file);

#endif
