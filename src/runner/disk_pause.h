/* How a run waits while the disk is full: it says so in the journal, to which the ballast gives
 * room, and to everyone, with how much more must be free; looks again every second; says it
 * again every minute; and goes on by itself.
 *
 * It goes on when there is room for what found none and for the ballast: the room that dropping
 * the ballast made is no reason to, or it would pause again at the next write.
 *
 * Threads: the engine thread, which is the one that waits.
 */
#ifndef NJ_RUNNER_DISK_PAUSE_H
#define NJ_RUNNER_DISK_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

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
    uint64_t said_ns;  /* when that was last said */
    bool is_recording; /* writes down that it is paused, for which the ballast made room */
    bool was_stopped;  /* asked to stop meanwhile */
};

/* As a write of so many bytes that found the disk full, for who asks before it writes: waits,
 * and is true when they have room now. Call nj_disk_pause_end once they have been found to. */
bool nj_disk_pause_wait(struct nj_disk_pause *pause, uint64_t n_bytes);
void nj_disk_pause_end(struct nj_disk_pause *pause);

/* The other members are filled in by the caller. The struct must stay where it is. */
void nj_disk_pause_init(struct nj_disk_pause *pause, const struct nj_file_system *below);

#endif
