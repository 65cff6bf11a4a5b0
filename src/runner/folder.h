/* The run folder: opened, locked for life, the files in it by name.
 *
 * Layout: docs/formats/run-folder.md. Everything is created 0600 in a 0700 folder.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_FOLDER_H
#define NJ_RUNNER_FOLDER_H

#include <stdbool.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"

enum { NJ_FOLDER_PATH_LIMIT_BYTES = 4096 };

struct nj_run_folder {
    const struct nj_file_system *fs;
    char path[NJ_FOLDER_PATH_LIMIT_BYTES];
    int directory_fd;
    int lock_fd;
    bool is_open;
};

bool nj_run_folder_exists(const struct nj_file_system *fs, const char *path);

/* Creates the folder if absent and takes its lock. NJ_E_STATE another process works in it, or
 * it holds files and no run: nothing was written then. The folder that is locked is the one
 * that the path names, also when others move folders meanwhile. */
enum nj_status nj_run_folder_open(struct nj_run_folder *folder, const struct nj_file_system *fs,
                                  const char *path, struct nj_error *err);
void nj_run_folder_close(struct nj_run_folder *folder);

/* NJ_E_STORAGE when the folder was removed, or moved from its path. */
enum nj_status nj_run_folder_check(const struct nj_run_folder *folder, struct nj_error *err);

/* For an error of work in the folder: names of files alone do not say where these are. Puts the
 * folder's path in front, unless the sentence begins with it or the status is not of files.
 * Returns `status`. */
enum nj_status nj_run_folder_name_in(const struct nj_run_folder *folder, enum nj_status status,
                                     struct nj_error *err);

/* Nothing but the lock is in it. */
enum nj_status nj_run_folder_is_empty(const struct nj_run_folder *folder, bool *is_empty,
                                      struct nj_error *err);

/* Moves the folder, which is open, aside to the first free of PATH.1, PATH.2, ..., says so in
 * the log, and opens an empty one in its place. Nothing is deleted. */
enum nj_status nj_run_folder_move_aside(struct nj_run_folder *folder, const struct nj_log *log,
                                        struct nj_error *err);

#endif
