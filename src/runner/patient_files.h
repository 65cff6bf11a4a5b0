/* A file system that waits for room: a write that finds the disk full is tried again, as often
 * as its owner says, and whoever wrote knows nothing of it. Syncs are not: what a failed sync
 * lost cannot be known.
 *
 * A wait belongs to the call that found no room: others that succeed meanwhile do not end it.
 *
 * Threads: those of the table below; waiting blocks the caller.
 */
#ifndef NJ_RUNNER_PATIENT_FILES_H
#define NJ_RUNNER_PATIENT_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"

/* What there is no room for. */
struct nj_room_need {
    uint64_t n_bytes; /* 0: a name in a folder */
    int error_number; /* ENOSPC or EDQUOT */
};

struct nj_patient_files {
    struct nj_file_system table; /* its context is this struct, which must stay where it is */
    const struct nj_file_system *below;
    void *context;
    /* There is no room. Waits until there may be; false: do not try again, the call fails as it
     * did. */
    bool (*wait)(void *context, const struct nj_room_need *need);
    /* The call that waited has succeeded, or failed for another reason. */
    void (*go_on)(void *context);
};

void nj_patient_files_init(struct nj_patient_files *files, const struct nj_file_system *below);

#endif
