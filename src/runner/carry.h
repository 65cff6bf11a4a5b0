/* A run carried to another machine: one file with all that it takes to go on, but the model.
 *
 * The logs are the truth and go whole; states spare the other machine from reading again. What
 * the job reads (rows, prompt files) goes along, laid out so that the paths in the job file
 * lead to it: below inputs/, with the job file where it was among them.
 *
 * Threads: each call uses its arguments only.
 */
#ifndef NJ_RUNNER_CARRY_H
#define NJ_RUNNER_CARRY_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"
#include "nightjar/snapshot.h"
#include "runner/origin.h"

/* As the public calls, through a given file system. */
enum nj_status nj_snapshot_export_through(const struct nj_file_system *fs,
                                          const struct nj_snapshot_export_options *options,
                                          struct nj_snapshot_carried *carried,
                                          struct nj_error *err);
enum nj_status nj_snapshot_import_through(const struct nj_file_system *fs, const char *file,
                                          const char *run_folder,
                                          struct nj_snapshot_carried *carried,
                                          struct nj_error *err);

/* Whether a file begins as an export does. NJ_E_NOT_FOUND, NJ_E_PERMISSION, NJ_E_IO. */
enum nj_status nj_carry_is_export(const struct nj_file_system *fs, const char *path,
                                  bool *is_export, struct nj_error *err);

/* Reads an export from end to end; what is wrong is told as a finding. */
enum nj_status nj_carry_verify(const struct nj_file_system *fs, const char *path,
                               nj_snapshot_finding_visit *visit, void *context,
                               struct nj_snapshot_verification *sum, struct nj_error *err);

/* --- what goes along (carry_inputs.c) --- */

struct nj_carried_input {
    const char *path;   /* absolute */
    const char *inside; /* its name in the export */
};

/* The first is the job file, whose content is that of the run's copy of it. */
struct nj_carried_inputs {
    struct nj_carried_input *items;
    size_t n_items;
};

/* All in `arena`. NJ_E_UNSUPPORTED for absolute paths and files of several jobs; NJ_E_INPUT
 * when the job cannot be read; NJ_E_MEMORY. */
enum nj_status nj_carry_inputs(const struct nj_origin *origin, struct nj_bytes job_file,
                               struct nj_arena *arena, struct nj_carried_inputs *inputs,
                               struct nj_error *err);

#endif
