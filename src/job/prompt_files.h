/* Prompts that stand in files of their own, read when a job's items are opened. */
#ifndef NJ_JOB_PROMPT_FILES_H
#define NJ_JOB_PROMPT_FILES_H

#include "base/arena.h"
#include "base/file.h"
#include "base/status.h"
#include "job/diagnostics.h"
#include "job/spec.h"

/* The spec's prompts, `*prompts` in the arena and as many, with the text of each that names a
 * file. What is wrong with a file is a complaint at the place that names it, or in it;
 * NJ_E_PERMISSION and NJ_E_MEMORY end the call. */
enum nj_status nj_prompt_files_load(const struct nj_job_spec *spec,
                                    const struct nj_file_system *fs, struct nj_arena *arena,
                                    struct nj_diagnostics *diagnostics,
                                    const struct nj_prompt_template **prompts,
                                    struct nj_error *err);

#endif
