/* The host of a run in the foreground: a plain folder whose journal plays the part of the
 * daemon's database. Items are claimed in input order, so those that were under way come first.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_RUNNER_FOLDER_HOST_H
#define NJ_RUNNER_FOLDER_HOST_H

#include <stdint.h>

#include "base/status.h"
#include "runner/folder.h"
#include "runner/host.h"
#include "runner/ledger.h"
#include "runner/log_file.h"

struct nj_chronicle;
struct nj_disk_pause;

/* Who watches a run and may stop it; every member may be NULL. */
struct nj_run_observer {
    void *context;
    void (*event)(void *context, const struct nj_event *event);
    enum nj_run_control (*poll)(void *context);
    /* Bytes that the folder's file system still has; UINT64_MAX when it cannot be told. */
    uint64_t (*free_bytes)(void *context, const char *path);
    /* Lets this time pass. NULL: a run does not wait for room on a full disk, it ends. */
    void (*wait)(void *context, uint64_t duration_ns);
};

/* Everything is borrowed. */
struct nj_folder_host {
    struct nj_log_file *journal;
    const struct nj_ledger *ledger;
    const struct nj_run_folder *place;
    struct nj_disk_pause *pause;    /* NULL: does not wait for room */
    struct nj_chronicle *chronicle; /* gives signs of life */
    const struct nj_run_observer *observer;
    uint64_t next_index;
};

/* The table over `folder`, which must outlive it. */
struct nj_run_host nj_folder_host_table(struct nj_folder_host *folder);

#endif
