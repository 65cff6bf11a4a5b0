#include "runner/disk_pause.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runner/ballast.h"

static uint64_t now_ns(const struct nj_disk_pause *pause)
{
    const struct nj_clock *clock = &pause->chronicle->clock;
    return clock->monotonic_ns(clock->context);
}

/* UINT64_MAX when it cannot be told. */
static uint64_t free_bytes(const struct nj_disk_pause *pause)
{
    const struct nj_run_observer *observer = pause->observer;
    return observer->free_bytes != NULL
               ? observer->free_bytes(observer->context,
                                      pause->chronicle->report->output_directory)
               : UINT64_MAX;
}

/* The record that says so is what the ballast was dropped for. */
static uint64_t wanted_bytes(const struct nj_disk_pause *pause, const struct nj_room_need *need)
{
    uint64_t n_others = pause->is_recording ? 0 : NJ_BALLAST_BYTES;
    return need->n_bytes < UINT64_MAX - n_others ? need->n_bytes + n_others : UINT64_MAX;
}

enum { SIZE_BYTES = 32, FIGURE_BYTES = 128 };

/* Rounded up: as much is sure to do. */
static const char *write_size(uint64_t n_bytes, char text[SIZE_BYTES])
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB"};
    static const size_t n_units = sizeof units / sizeof units[0];
    size_t unit = 0;
    while (unit + 1 < n_units && n_bytes >= 10000) {
        n_bytes = n_bytes / 1000 + (n_bytes % 1000 > 0);
        unit++;
    }
    (void)snprintf(text, SIZE_BYTES, "%" PRIu64 " %s", n_bytes, units[unit]);
    return text;
}

/* What people can do: so much more must be free. What is free already is no help to them, the
 * ballast that was dropped being part of it. */
static void write_figure(const struct nj_disk_pause *pause, const struct nj_room_need *need,
                         char figure[FIGURE_BYTES])
{
    char size[SIZE_BYTES];
    char free_size[SIZE_BYTES];
    uint64_t n_free = free_bytes(pause);
    uint64_t n_wanted = wanted_bytes(pause, need);
    if (n_free == UINT64_MAX) {
        (void)snprintf(figure, FIGURE_BYTES, "%s must be free, and how much is cannot be told",
                       write_size(n_wanted, size));
    } else if (n_free < n_wanted) {
        (void)snprintf(figure, FIGURE_BYTES, "%s more must be free",
                       write_size(n_wanted - n_free, size));
    } else {
        (void)snprintf(figure, FIGURE_BYTES, "%s are free, and yet there was no room for %s",
                       write_size(n_free, free_size),
                       need->n_bytes > 0 ? write_size(need->n_bytes, size) : "one more name");
    }
}

static void say(struct nj_disk_pause *pause, const char *beginning,
                const struct nj_room_need *need)
{
    char figure[FIGURE_BYTES];
    write_figure(pause, need, figure);
    pause->said_ns = now_ns(pause);
    nj_log_write(pause->log, NJ_LOG_WARNING,
                 "%s: the disk of %s is full (%s): %s. Make room, and the run goes on by "
                 "itself; stop it, and the same command continues",
                 beginning, pause->chronicle->report->output_directory,
                 strerror(need->error_number), figure);
}

/* Drops the ballast, so that the journal can say it, and says it to everyone. When it is the
 * journal that found no room, its record is half written, and nothing else can be. */
static void begin(struct nj_disk_pause *pause, const struct nj_room_need *need)
{
    const struct nj_chronicle *chronicle = pause->chronicle;
    const struct nj_log_file *journal = chronicle->journal;
    pause->is_paused = true;
    if (pause->folder->is_open) {
        nj_ballast_drop(pause->files.below, pause->folder->directory_fd);
    }
    say(pause, "paused", need);
    nj_chronicle_tell(chronicle, NJ_EVENT_RUN_PAUSED, "disk");
    if (journal->is_open && !journal->is_busy) {
        pause->is_recording = true;
        /* a failure shows at the journal's next use */
        (void)nj_chronicle_write(chronicle, NJ_JOURNAL_PAUSED, NULL);
        pause->is_recording = false;
    }
}

/* Nobody asked to stop, and the folder is where it was. */
static bool may_wait(struct nj_disk_pause *pause)
{
    const struct nj_run_observer *observer = pause->observer;
    if (!pause->was_stopped && observer->poll != NULL) {
        pause->was_stopped = observer->poll(observer->context) == NJ_RUN_DRAIN;
    }
    return !pause->was_stopped &&
           (!pause->folder->is_open || nj_run_folder_check(pause->folder, NULL) == NJ_OK);
}

/* The wait of nj_patient_files. Writing the pause down may come here again, and waits too.
 * Where free bytes are not what is missing (names, a quota), or cannot be told, it is for the
 * caller to try. */
static bool wait_for_room(void *context, const struct nj_room_need *need)
{
    const uint64_t retry_ns = UINT64_C(1000000000);
    const uint64_t say_again_ns = UINT64_C(60000000000);
    struct nj_disk_pause *pause = context;
    const struct nj_run_observer *observer = pause->observer;
    if (!pause->is_paused) {
        begin(pause, need);
    }
    do {
        if (!may_wait(pause)) {
            return false;
        }
        observer->wait(observer->context, retry_ns);
        if (now_ns(pause) - pause->said_ns >= say_again_ns) {
            say(pause, "still paused", need);
        }
    } while (free_bytes(pause) < wanted_bytes(pause, need));
    return true;
}

static void go_on(void *context)
{
    struct nj_disk_pause *pause = context;
    if (pause->is_recording || pause->was_stopped) {
        return;
    }
    pause->is_paused = false;
    nj_log_write(pause->log, NJ_LOG_INFO, "there is room again: the run goes on");
    if (pause->folder->is_open) {
        nj_ballast_take_on(pause->files.below, pause->folder->directory_fd);
    }
}

bool nj_disk_pause_wait(struct nj_disk_pause *pause, uint64_t n_bytes)
{
    const struct nj_room_need need = {.n_bytes = n_bytes, .error_number = ENOSPC};
    return wait_for_room(pause, &need);
}

void nj_disk_pause_end(struct nj_disk_pause *pause)
{
    go_on(pause);
}

void nj_disk_pause_init(struct nj_disk_pause *pause, const struct nj_file_system *below)
{
    nj_patient_files_init(&pause->files, below);
    pause->files.context = pause;
    pause->files.wait = wait_for_room;
    pause->files.go_on = go_on;
}
