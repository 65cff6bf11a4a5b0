/* Files of the results that somebody changed, and files of others that stand where results go:
 * they make way, and nobody's work is lost. NAME becomes NAME.kept-1, NAME.kept-2, ..., the
 * first that is free.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_SET_ASIDE_H
#define NJ_RUNNER_SET_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"

enum { NJ_SET_ASIDE_LIST_BYTES = 1024 };

/* What was found. Zeroed with `fs` filled in is nothing yet. */
struct nj_set_aside {
    const struct nj_file_system *fs;
    bool ignores_missing; /* what is not there was not written before: nobody lost it */
    uint64_t n_files;     /* kept or missing */
    char list[NJ_SET_ASIDE_LIST_BYTES]; /* the first of them */
};

/* Makes room for `name`, which is in the folder that people see as `folder` ("" or "items/"). A
 * file that is missing is noted as such, unless that is to be ignored. The caller syncs the
 * folder. NJ_E_STORAGE, NJ_E_IO; then nothing was moved. */
enum nj_status nj_set_aside(struct nj_set_aside *aside, int directory_fd, const char *folder,
                            const char *name, struct nj_error *err);

/* Says what was found, if anything was. */
void nj_set_aside_tell(const struct nj_set_aside *aside, const struct nj_log *log);

#endif
