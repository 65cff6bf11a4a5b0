/* A file that follows from the logs: written whole by one rename, or compared with what it
 * would be if it were written now.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_DERIVED_FILE_H
#define NJ_RUNNER_DERIVED_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "runner/pending_file.h"

/* Where content goes: into a file in the making, or only into a digest. */
struct nj_sink {
    struct nj_pending_file *file;    /* NULL: none */
    struct nj_digest_stream *digest; /* used without a file, which has its own */
};

enum nj_status nj_sink_give(const struct nj_sink *sink, struct nj_text text,
                            struct nj_error *err);
enum nj_status nj_sink_give_string(const struct nj_sink *sink, const char *text,
                                   struct nj_error *err);

/* Gives the whole content, the same bytes every time. */
typedef enum nj_status nj_derived_content(void *context, const struct nj_sink *sink,
                                          struct nj_error *err);

struct nj_derived_file {
    const struct nj_file_system *fs;
    int directory_fd;
    const char *name; /* at most 80 bytes */
    nj_derived_content *content;
    void *context;
};

/* The name is durable after a sync of the folder, which is the caller's. `sha256` may be NULL.
 */
enum nj_status nj_derived_file_write(const struct nj_derived_file *file,
                                     struct nj_digest *sha256, struct nj_error *err);

/* Whether the file is what would be written; changes nothing. `*sha256` is what it has, or
 * should have. */
enum nj_status nj_derived_file_check(const struct nj_derived_file *file,
                                     struct nj_digest *sha256, bool *is_sound,
                                     struct nj_error *err);

/* Removes a file; an absent one is fine, and `*was_there` (may be NULL) then false. */
enum nj_status nj_derived_file_remove(const struct nj_file_system *fs, int directory_fd,
                                      const char *name, bool *was_there, struct nj_error *err);

/* Makes names that came or went durable. */
enum nj_status nj_derived_file_sync(const struct nj_file_system *fs, int directory_fd,
                                    struct nj_error *err);

#endif
