/* How much memory this machine, or the cgroup that this process lives in, has left.
 *
 * A container or a unit with a limit is killed when it takes what the machine as a whole still
 * has, so the smallest of all that apply counts: MemAvailable, and for each cgroup from the
 * process's own up to the root its limit less what is used there and cannot be dropped. Both
 * versions of cgroups are read where they are.
 *
 * Threads: no state.
 */
#ifndef NJ_BASE_MACHINE_MEMORY_H
#define NJ_BASE_MACHINE_MEMORY_H

#include <stdint.h>

#include "base/file.h"

/* What may still be taken without harm, as of now. Files are looked for below `root` ("" for
 * this machine; tests hand in a folder): <root>/proc and <root>/sys/fs/cgroup. UINT64_MAX when
 * nothing there tells. */
uint64_t nj_machine_memory_left(const struct nj_file_system *fs, const char *root);

/* What this process holds in memory, as of now; 0 when <root>/proc/self/status does not tell.
 */
uint64_t nj_machine_memory_held(const struct nj_file_system *fs, const char *root);

#endif
