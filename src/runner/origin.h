/* origin.json: where the job file of a run lies, and what the command line changed in it.
 *
 * spec.yaml is a copy of the job file, but the paths in it are relative to where the file was,
 * and flags are not in it. Who carries a run to another machine needs both.
 *
 * File: docs/formats/run-folder.md. Threads: one owner.
 */
#ifndef NJ_RUNNER_ORIGIN_H
#define NJ_RUNNER_ORIGIN_H

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/status.h"
#include "job/overrides.h"

/* Borrowed, or living in the arena that it was read into. */
struct nj_origin {
    const char *job_path; /* absolute */
    struct nj_job_overrides overrides;
    uint64_t n_jobs;        /* in the job file */
    double latent_norm_eps; /* of the command line; 0: not given */
};

/* The absolute path of a file that may be relative to the working directory, without links in
 * its directory; NULL, for want of a directory or of memory, when there is none. Caller frees.
 */
char *nj_absolute_path(const char *path);

/* Writes the file unless it says the same already. NJ_E_STORAGE, NJ_E_MEMORY. */
enum nj_status nj_origin_write(const struct nj_origin *origin, const struct nj_file_system *fs,
                               int directory_fd, struct nj_error *err);

/* NJ_E_NOT_FOUND when there is none; NJ_E_STATE when it is not what was written. */
enum nj_status nj_origin_read(const struct nj_file_system *fs, int directory_fd,
                              struct nj_arena *arena, struct nj_origin *origin,
                              struct nj_error *err);

#endif
