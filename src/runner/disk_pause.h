/* How a run waits while the disk is full: it says so in the journal, to which the ballast gives
 * room, and to everyone; looks again every second; and goes on by itself.
 *
 * Threads: the engine thread, which is the one that waits.
 */
#ifndef NJ_RUNNER_DISK_PAUSE_H
#define NJ_RUNNER_DISK_PAUSE_H

#include <stdbool.h>

#include "base/file.h"
#include "base/log.h"
#include "runner/chronicle.h"
#include "runner/folder.h"
#include "runner/folder_host.h"
#include "runner/patient_files.h"

/* Everything but the files and the flags is borrowed. */
struct nj_disk_pause {
    struct nj_patient_files files;          /* through these a run writes */
    const struct nj_run_observer *observer; /* its `wait` is not NULL */
    const struct nj_log *log;
    const struct nj_chronicle *chronicle;
    const struct nj_run_folder *folder;
    bool is_paused;
    bool is_recording; /* writes down that it is paused, for which the ballast made room */
    bool was_stopped;  /* asked to stop meanwhile */
};

/* The other members are filled in by the caller. The struct must stay where it is. */
void nj_disk_pause_init(struct nj_disk_pause *pause, const struct nj_file_system *below);

#endif
