/* Bytes that did not verify, kept beside their log before they are cut off. */
#ifndef NJ_RUNNER_QUARANTINE_H
#define NJ_RUNNER_QUARANTINE_H

#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

enum { NJ_QUARANTINE_NAME_BYTES = 60 };

/* A file's bytes from an offset to its end. */
struct nj_log_tail {
    const struct nj_file_system *fs;
    int directory_fd;
    const char *name;
    uint64_t offset_bytes;
};

/* Copies the tail durably to NAME.bad-OFFSET, or NAME.bad-OFFSET.2, ... where that name has
 * other bytes: nothing earlier is overwritten. Bytes that are there already, because somebody
 * died before they were cut, are not copied again. `copy` receives the name. */
enum nj_status nj_quarantine(const struct nj_log_tail *tail,
                             char copy[NJ_QUARANTINE_NAME_BYTES], struct nj_error *err);

#endif
