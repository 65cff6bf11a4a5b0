/* One append-only log of a run on disk: read, recovered, appended to, synced.
 *
 * Reading touches nothing, so that all logs of a folder can be looked at before one is changed.
 * Recovering brings the file into a state that may be appended to
 * (docs/decisions/0003-durable-logs.md): a torn tail is copied to a quarantine file and cut;
 * damage inside is quarantined from the first bad byte on, and what was verified before it
 * stays. Doing it again changes nothing.
 *
 * A log whose write or sync failed is poisoned: it takes nothing more.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_LOG_FILE_H
#define NJ_RUNNER_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "format/record_log.h"

struct nj_log_file {
    const struct nj_file_system *fs;
    const char *name; /* constant text */
    int fd;
    bool is_open;
    bool is_poisoned;
    bool is_dirty; /* appended since the last sync */
    uint64_t length_bytes;
    struct nj_record_cursor cursor;
};

/* Where a log lies and what it must be. */
struct nj_log_file_place {
    const struct nj_file_system *fs;
    int directory_fd;
    const char *name;
    struct nj_record_log_identity identity; /* salt and fingerprint are for a new file */
    const struct nj_log *log;               /* hears of quarantined bytes; may be NULL */
};

/* What a log holds, learned without touching it. */
struct nj_log_found {
    bool exists;
    uint64_t length_bytes;
    struct nj_record_log_scan scan;
};

/* Reads the log in pieces and visits every verified record; touches nothing, and an absent log
 * is an empty one. A record whose visit says NJ_E_STATE verifies and yet cannot be true: it,
 * and what stands behind it, counts as damage. NJ_E_STATE a newer version or another kind;
 * NJ_E_STORAGE (also for what is no file), NJ_E_PERMISSION, NJ_E_IO, NJ_E_MEMORY, or what
 * `visit` returned. */
enum nj_status nj_log_file_read(const struct nj_log_file_place *place, nj_record_visit *visit,
                                void *context, struct nj_log_found *found,
                                struct nj_error *err);

/* Opens or creates the log for appending, recovered from what was found in it. On failure
 * nothing is open. */
enum nj_status nj_log_file_recover(struct nj_log_file *file,
                                   const struct nj_log_file_place *place,
                                   const struct nj_log_found *found, struct nj_error *err);

/* Both, one after the other. */
enum nj_status nj_log_file_open(struct nj_log_file *file, const struct nj_log_file_place *place,
                                nj_record_visit *visit, void *context, struct nj_error *err);
void nj_log_file_close(struct nj_log_file *file);

/* Appends one record; it is durable after the next sync. `*payload_offset` (may be NULL) is
 * where its payload begins in the file. */
enum nj_status nj_log_file_append(struct nj_log_file *file, uint32_t type,
                                  struct nj_bytes payload, uint64_t *payload_offset,
                                  struct nj_error *err);

/* Nothing to do when nothing was appended. A failed sync is never tried again. */
enum nj_status nj_log_file_sync(struct nj_log_file *file, struct nj_error *err);

#endif
