/* Removes segments that nothing needs: all but the two newest snapshots and what they chain to.
 */
#ifndef NJ_SNAPSHOT_RETENTION_H
#define NJ_SNAPSHOT_RETENTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"

/* One segment of a folder and the one that it names. */
struct nj_segment_link_entry {
    uint64_t number;
    uint64_t previous_number; /* 0: a base */
    bool is_needed;           /* out */
};

/* Marks `current`, `previous` (0: none) and everything that these chain to. Segments above
 * `current` are needed too: somebody else's business. */
void nj_retention_mark(struct nj_segment_link_entry *entries, size_t n_entries,
                       uint64_t current, uint64_t previous);

/* Unlinks the others and syncs the folder, after the journal says that `current` is current. A
 * segment whose header cannot be read is left for the loader to judge. With `current` 0 the
 * item is finished: every segment goes, and so does what was put aside. NJ_E_STORAGE, NJ_E_IO,
 * NJ_E_MEMORY. */
enum nj_status nj_retention_prune(const struct nj_file_system *fs, int directory_fd,
                                  uint64_t current, uint64_t previous, struct nj_error *err);

#endif
