/* Files, opened, read, appended and replaced durably, through a table that tests can make fail.
 *
 * Every byte that the program reads from or writes to disk goes through one `struct
 * nj_file_system`: the real one calls the C library; a test hands in one that writes short,
 * returns ENOSPC or EIO at the n-th call, or drops what was not synced.
 *
 * Durability (docs/decisions/0003-durable-logs.md): a failed sync is never retried on the same
 * data.
 *
 * Threads: the table is constant and may be shared; a descriptor belongs to one thread.
 */
#ifndef NJ_BASE_FILE_H
#define NJ_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"

/* Each member behaves like its POSIX namesake: -1 and errno on failure. */
struct nj_file_system {
    void *context;
    int (*open_at)(void *context, int directory_fd, const char *name, int flags, mode_t mode);
    int (*close)(void *context, int fd);
    ssize_t (*read_at)(void *context, int fd, void *data, size_t length_bytes, off_t offset);
    ssize_t (*write)(void *context, int fd, const void *data, size_t length_bytes);
    ssize_t (*write_at)(void *context, int fd, const void *data, size_t length_bytes,
                        off_t offset);
    int (*data_sync)(void *context, int fd);
    int (*sync)(void *context, int fd);
    int (*truncate)(void *context, int fd, off_t length_bytes);
    /* The file is so long, and its blocks are taken: a write inside finds room. Where the file
     * system cannot promise that, the file is only made so long. */
    int (*reserve)(void *context, int fd, off_t length_bytes);
    int (*rename_at)(void *context, int from_directory_fd, const char *from,
                     int to_directory_fd, const char *to);
    int (*unlink_at)(void *context, int directory_fd, const char *name);
    int (*make_directory_at)(void *context, int directory_fd, const char *name, mode_t mode);
    int (*remove_directory_at)(void *context, int directory_fd, const char *name);
    int (*status)(void *context, int fd, struct stat *status);
};

/* The C library. */
const struct nj_file_system *nj_file_system_real(void);

/* Opens a regular file for reading; never waits for a pipe. NJ_E_INPUT for anything else,
 * NJ_E_NOT_FOUND, NJ_E_PERMISSION or NJ_E_IO. */
enum nj_status nj_file_open_read(const struct nj_file_system *fs, int directory_fd,
                                 const char *name, int *fd, struct nj_error *err);

/* Opens (creating 0600 if absent) for appending; a newly created name is made durable too.
 * NJ_E_STORAGE for what is not a regular file. */
enum nj_status nj_file_open_append(const struct nj_file_system *fs, int directory_fd,
                                   const char *name, int *fd, uint64_t *length_bytes,
                                   struct nj_error *err);

/* Opens a directory, creating it 0700 (and its parents) if absent. */
enum nj_status nj_file_open_directory(const struct nj_file_system *fs, const char *path,
                                      bool create, int *directory_fd, struct nj_error *err);

typedef enum nj_status nj_file_name_visit(void *context, const char *name,
                                          struct nj_error *err);

/* Visits each name in the directory but "." and "..", in no particular order. A status from
 * `visit` ends it. */
enum nj_status nj_file_list(const struct nj_file_system *fs, int directory_fd,
                            nj_file_name_visit *visit, void *context, struct nj_error *err);

enum nj_status nj_file_length(const struct nj_file_system *fs, int fd, uint64_t *length_bytes,
                              struct nj_error *err);

/* Reads exactly `length_bytes` at `offset`; a short file is NJ_E_IO naming wanted and found. */
enum nj_status nj_file_read_exactly(const struct nj_file_system *fs, int fd, void *data,
                                    size_t length_bytes, uint64_t offset, const char *name,
                                    struct nj_error *err);

/* Reads a whole file of at most `limit_bytes` into the arena, with a NUL behind it that is not
 * counted. A larger file is NJ_E_INPUT naming both sizes. */
enum nj_status nj_file_read_whole(const struct nj_file_system *fs, int directory_fd,
                                  const char *name, uint64_t limit_bytes,
                                  struct nj_arena *arena, struct nj_bytes *content,
                                  struct nj_error *err);

/* Appends all of it at the descriptor's end, looping over short writes. NJ_E_STORAGE. */
enum nj_status nj_file_append(const struct nj_file_system *fs, int fd, struct nj_bytes content,
                              const char *name, struct nj_error *err);

/* Writes all of it at `offset`, looping over short writes. NJ_E_STORAGE. */
enum nj_status nj_file_write_exactly(const struct nj_file_system *fs, int fd,
                                     struct nj_bytes content, uint64_t offset, const char *name,
                                     struct nj_error *err);

/* fdatasync. NJ_E_STORAGE; the descriptor must not be used for more data afterwards. */
enum nj_status nj_file_data_sync(const struct nj_file_system *fs, int fd, const char *name,
                                 struct nj_error *err);

/* Replaces `name` atomically: pending file, fsync, rename, directory fsync. Mode 0600. On
 * failure the old content stays and the pending file is gone or ignored. */
enum nj_status nj_file_replace(const struct nj_file_system *fs, int directory_fd,
                               const char *name, struct nj_bytes content, struct nj_error *err);

/* Takes an exclusive flock on `name` (created 0600, never removed); the lock ends with the
 * descriptor or the process. NJ_E_STATE when another process holds it. */
enum nj_status nj_file_lock(const struct nj_file_system *fs, int directory_fd, const char *name,
                            int *lock_fd, struct nj_error *err);

#endif
