/* Whether a run folder belongs to this job, model and numerics version, and what differs if
 * not.
 */
#ifndef NJ_RUNNER_IDENTITY_H
#define NJ_RUNNER_IDENTITY_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "runner/journal.h"

bool nj_run_identity_equal(const struct nj_run_identity *a, const struct nj_run_identity *b);

/* NJ_E_STATE naming the field that changed and the flags that go on anyway. `items_before` is
 * the chain over as many of today's items as the earlier run had: items that were only appended
 * are the same job. */
enum nj_status nj_run_identity_check(const struct nj_run_identity *earlier,
                                     const struct nj_run_identity *now,
                                     const struct nj_digest *items_before,
                                     const char *folder_path, struct nj_error *err);

/* SHA-256 of a file of any size. */
enum nj_status nj_file_digest(const struct nj_file_system *fs, const char *path,
                              struct nj_digest *digest, struct nj_error *err);

#endif
