#include "runner/disk_pause.h"

#include "runner/ballast.h"

/* Drops the ballast, so that the journal can say it, and says it to everyone. When it is the
 * journal that found no room, its record is half written, and nothing else can be. */
static void begin(struct nj_disk_pause *pause)
{
    const struct nj_chronicle *chronicle = pause->chronicle;
    const struct nj_log_file *journal = chronicle->journal;
    pause->is_paused = true;
    nj_log_write(pause->log, NJ_LOG_WARNING,
                 "paused: the disk of %s is full. Make room, and the run goes on by itself; "
                 "stop it, and the same command continues",
                 chronicle->report->output_directory);
    nj_chronicle_tell(chronicle, NJ_EVENT_RUN_PAUSED, "disk");
    if (pause->folder->is_open) {
        nj_ballast_drop(pause->files.below, pause->folder->directory_fd);
    }
    if (journal->is_open && !journal->is_busy) {
        pause->is_recording = true;
        /* a failure shows at the journal's next use */
        (void)nj_chronicle_write(chronicle, NJ_JOURNAL_PAUSED, NULL);
        pause->is_recording = false;
    }
}

/* The wait of nj_patient_files. Writing the pause down may come here again, and waits too. */
static bool wait_for_room(void *context)
{
    enum { RETRY_NS = 1000000000 };
    struct nj_disk_pause *pause = context;
    const struct nj_run_observer *observer = pause->observer;
    if (!pause->is_paused) {
        begin(pause);
    }
    if (!pause->was_stopped && observer->poll != NULL) {
        pause->was_stopped = observer->poll(observer->context) == NJ_RUN_DRAIN;
    }
    if (pause->was_stopped) {
        return false;
    }
    if (pause->folder->is_open && nj_run_folder_check(pause->folder, NULL) != NJ_OK) {
        return false;
    }
    observer->wait(observer->context, RETRY_NS);
    return true;
}

static void go_on(void *context)
{
    struct nj_disk_pause *pause = context;
    if (pause->is_recording) {
        return;
    }
    pause->is_paused = false;
    nj_log_write(pause->log, NJ_LOG_INFO, "there is room again: the run goes on");
    if (pause->folder->is_open) {
        nj_ballast_take_on(pause->files.below, pause->folder->directory_fd);
    }
}

void nj_disk_pause_init(struct nj_disk_pause *pause, const struct nj_file_system *below)
{
    nj_patient_files_init(&pause->files, below);
    pause->files.context = pause;
    pause->files.wait = wait_for_room;
    pause->files.go_on = go_on;
}
