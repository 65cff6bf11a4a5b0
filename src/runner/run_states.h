/* The states in a run folder, seen from outside: read, never changed, without its lock.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_RUN_STATES_H
#define NJ_RUNNER_RUN_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "nightjar/snapshot.h"
#include "runner/findings.h"
#include "runner/history.h"
#include "runner/resume.h"
#include "snapshot/inspect.h"

/* The journal names this segment as current. */
struct nj_journal_segment {
    uint64_t item_index;
    uint64_t number;
};

/* Zeroed is closed. */
struct nj_run_states {
    const struct nj_file_system *fs;
    int directory_fd;
    bool is_open;
    struct nj_history history;
    struct nj_run_logs logs;             /* read only: what is found in them */
    struct nj_journal_segment *segments; /* by item index, each item once */
    size_t n_segments;
    size_t segments_capacity;
};

/* Reads the logs. NJ_E_NOT_FOUND; NJ_E_STATE no run folder, or of a newer nightjar; as reading
 * logs. */
enum nj_status nj_run_states_open(struct nj_run_states *states, const struct nj_file_system *fs,
                                  const char *path, struct nj_error *err);
void nj_run_states_close(struct nj_run_states *states);

/* The segments of one item, rising by number. Zeroed is empty. */
struct nj_item_states {
    uint64_t item_index;
    struct nj_inspection *inspections;
    enum nj_snapshot_use *uses; /* of each */
    size_t n_segments;
};

/* Looks at all segments in a folder and says what each is to its item. Files that vanish
 * meanwhile are left out. `item_index` is for messages. */
enum nj_status nj_item_states_read(struct nj_item_states *states,
                                   const struct nj_file_system *fs, int directory_fd,
                                   uint64_t item_index, bool unpacks, struct nj_error *err);
void nj_item_states_deinit(struct nj_item_states *states);

/* The index of the segment of this number; `n_segments` when there is none. */
size_t nj_item_states_find(const struct nj_item_states *states, uint64_t number);
/* The index of the current one; `n_segments` when none can be restored. */
size_t nj_item_states_current(const struct nj_item_states *states);

typedef enum nj_status nj_item_states_visit(void *context, const struct nj_item_states *states,
                                            struct nj_error *err);

/* Visits every item that has a folder with segments, by item index. */
enum nj_status nj_run_states_visit(const struct nj_run_states *states, bool unpacks,
                                   nj_item_states_visit *visit, void *context,
                                   struct nj_error *err);

/* What the journal names as the item's current one; 0: nothing. */
uint64_t nj_run_states_journal_number(const struct nj_run_states *states, uint64_t item_index);

/* The ids of an item under way as the token log has them; NULL: none. */
const struct nj_restored *nj_run_states_ids(const struct nj_run_states *states,
                                            const struct nj_digest *item_digest,
                                            uint64_t item_index);

/* It has a result. */
bool nj_run_states_is_done(const struct nj_run_states *states,
                           const struct nj_digest *item_digest, uint64_t item_index);

#endif
