/* Room set aside in a run folder, so that a full disk can still be told of in the journal.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_BALLAST_H
#define NJ_RUNNER_BALLAST_H

#include "base/file.h"

enum { NJ_BALLAST_BYTES = 256 * 1024 };

/* Without room for it there is none, which is no failure: nothing depends on it but words. */
void nj_ballast_take_on(const struct nj_file_system *fs, int directory_fd);
void nj_ballast_drop(const struct nj_file_system *fs, int directory_fd);

#endif
