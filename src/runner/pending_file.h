/* A file that appears whole or not at all, written piece by piece: for exports that are too
 * large to hold in memory.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_PENDING_FILE_H
#define NJ_RUNNER_PENDING_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"

enum { NJ_PENDING_BUFFER_BYTES = 64 * 1024 };

struct nj_pending_file {
    const struct nj_file_system *fs;
    int directory_fd;
    const char *name; /* as long as the file is pending; at most 80 bytes */
    char pending_name[88];
    int fd;
    struct nj_digest_stream *digest; /* of what was appended */
    uint8_t *buffer;
    size_t n_buffered;
};

/* On failure there is nothing to abandon. */
enum nj_status nj_pending_file_begin(struct nj_pending_file *file,
                                     const struct nj_file_system *fs, int directory_fd,
                                     const char *name, struct nj_error *err);
enum nj_status nj_pending_file_append(struct nj_pending_file *file, struct nj_bytes bytes,
                                      struct nj_error *err);

/* Sync and rename: whole or not at all, but the name is durable only after a sync of the
 * directory. For many files that share one. Releases the file as commit does. */
enum nj_status nj_pending_file_publish(struct nj_pending_file *file, struct nj_digest *sha256,
                                       struct nj_error *err);

/* Sync, rename, sync of the directory. Releases the file also on failure; the old content, if
 * any, is then untouched. `sha256` (may be NULL) receives the digest of the content. */
enum nj_status nj_pending_file_commit(struct nj_pending_file *file, struct nj_digest *sha256,
                                      struct nj_error *err);

/* After commit it does nothing. */
void nj_pending_file_abandon(struct nj_pending_file *file);

#endif
