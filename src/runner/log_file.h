/* One append-only log of a run on disk: recovered, appended to, synced. (Reading it:
 * runner/log_reader.)
 *
 * Recovering brings the log into a state that may be appended to
 * (docs/decisions/0003-durable-logs.md): a torn tail is copied to a quarantine file and cut;
 * damage inside is quarantined from the first bad byte on, and what was verified before it
 * stays. Doing it again changes nothing.
 *
 * When a write or a sync fails, nothing is known of what was not synced before: it is written
 * once more, into a new segment, and the old one is never touched again. Only when that fails
 * too, the log is poisoned: it takes nothing more.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_LOG_FILE_H
#define NJ_RUNNER_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "format/record_log.h"
#include "runner/held_records.h"
#include "runner/log_reader.h"

/* Zeroed is closed. */
struct nj_log_file {
    struct nj_log_file_place place;
    int fd; /* of the segment that is appended to */
    bool is_open;
    bool is_poisoned;
    bool is_busy;  /* inside of a call: whoever is called meanwhile leaves it alone */
    bool is_dirty; /* appended since the last sync */
    uint32_t segment;
    uint32_t newest;       /* the highest number in use */
    uint64_t length_bytes; /* of the segment */
    struct nj_record_cursor cursor;
    uint64_t durable_bytes; /* of the segment, as of the last sync */
    uint32_t durable_chain;
    struct nj_held_records held; /* since the last sync, or of it */
};

/* Opens or creates the log for appending, recovered from what was found in it. On failure
 * nothing is open. */
enum nj_status nj_log_file_recover(struct nj_log_file *file,
                                   const struct nj_log_file_place *place,
                                   const struct nj_log_found *found, struct nj_error *err);

/* Reads and recovers, one after the other. */
enum nj_status nj_log_file_open(struct nj_log_file *file, const struct nj_log_file_place *place,
                                nj_record_visit *visit, void *context, struct nj_error *err);
void nj_log_file_close(struct nj_log_file *file);

/* Appends one record; it is durable after the next sync. `*ordinal` (may be NULL) counts the
 * records since the last sync, from 0. */
enum nj_status nj_log_file_append(struct nj_log_file *file, uint32_t type,
                                  struct nj_bytes payload, size_t *ordinal,
                                  struct nj_error *err);

/* Nothing to do when nothing was appended. A failed sync is never tried again on the same file.
 */
enum nj_status nj_log_file_sync(struct nj_log_file *file, struct nj_error *err);

/* Where a record that the last sync made durable lies. Until the next append. */
struct nj_log_spot nj_log_file_spot(const struct nj_log_file *file, size_t ordinal);

#endif
