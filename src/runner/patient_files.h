/* A file system that waits for room: a write that finds the disk full is tried again, as often
 * as its owner says, and whoever wrote knows nothing of it. Syncs are not: what a failed sync
 * lost cannot be known.
 *
 * Threads: those of the table below; waiting blocks the caller.
 */
#ifndef NJ_RUNNER_PATIENT_FILES_H
#define NJ_RUNNER_PATIENT_FILES_H

#include <stdbool.h>

#include "base/file.h"

struct nj_patient_files {
    struct nj_file_system table; /* its context is this struct, which must stay where it is */
    const struct nj_file_system *below;
    bool is_waiting; /* since the last failure for want of room nothing was written */
    void *context;
    /* There is no room. Waits a while; false: do not try again, the call fails with ENOSPC. */
    bool (*wait)(void *context);
    /* There is room again. */
    void (*go_on)(void *context);
};

void nj_patient_files_init(struct nj_patient_files *files, const struct nj_file_system *below);

/* As a write that found the disk full: for those who ask before they write. */
bool nj_patient_files_wait(struct nj_patient_files *files);
void nj_patient_files_go_on(struct nj_patient_files *files);

#endif
