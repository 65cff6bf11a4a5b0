/* Segments in the words of the public header (nightjar/snapshot.h). */
#ifndef NJ_RUNNER_SNAPSHOT_ROWS_H
#define NJ_RUNNER_SNAPSHOT_ROWS_H

#include "base/file.h"
#include "nightjar/snapshot.h"
#include "runner/run_states.h"

/* As the public calls, through a given file system. */
enum nj_status nj_snapshot_list_through(const struct nj_file_system *fs, const char *run_folder,
                                        nj_snapshot_visit *visit, void *context,
                                        struct nj_error *err);
enum nj_status nj_snapshot_show_through(const struct nj_file_system *fs, const char *path,
                                        const struct nj_snapshot_choice *choice,
                                        nj_snapshot_details_visit *visit, void *context,
                                        struct nj_error *err);

/* A path to a segment taken apart: the folder that it is in, opened, and its number. NJ_E_INPUT
 * for a name that no segment has; NJ_E_NOT_FOUND, NJ_E_IO. */
enum nj_status nj_segment_path_open(const struct nj_file_system *fs, const char *path,
                                    int *directory_fd, uint64_t *number, struct nj_error *err);

/* `*is_directory` false for a file, and for what is not there. */
bool nj_path_is_directory(const struct nj_file_system *fs, const char *path);

#endif
