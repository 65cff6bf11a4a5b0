/* A full disk is one pause, however long it lasts and whatever is written meanwhile, and people
 * are told how much room it takes. */
#include "runner/disk_pause.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runner/ballast.h"
#include "support/check.h"
#include "support/faulty_files.h"

/* A disk that others fill and empty, seen by a run whose folder is on it. */
static struct {
    struct nj_disk_pause pause;
    struct nj_chronicle chronicle;
    struct nj_run_report report;
    struct nj_ledger ledger;
    struct nj_loop_counts counts;
    struct nj_history history;
    struct nj_log_file journal;
    struct nj_run_folder folder;
    struct nj_run_observer observer;
    struct nj_log log;
    struct faulty_files files;
    uint64_t now_ns;
    unsigned n_waits;
    unsigned waits_until_room;
    uint64_t others_free; /* besides the ballast */
    uint64_t free_then;
    int other_fd; /* written to in every wait; -1: nothing is */
    unsigned n_paused;
    unsigned n_still_paused;
    unsigned n_gone_on;
    char first_line[512];
} disk;

static uint64_t clock_ns(void *context)
{
    (void)context;
    return disk.now_ns;
}

static int64_t clock_ms(void *context)
{
    (void)context;
    return 0;
}

static uint64_t look(void *context, const char *path)
{
    (void)context;
    CHECK_TEXT(path, disk.folder.path);
    char ballast[256];
    (void)snprintf(ballast, sizeof ballast, "%s/disk.ballast", path);
    return disk.others_free + (access(ballast, F_OK) == 0 ? 0 : NJ_BALLAST_BYTES);
}

static void wait(void *context, uint64_t duration_ns)
{
    (void)context;
    disk.now_ns += duration_ns;
    if (++disk.n_waits == disk.waits_until_room) {
        disk.files.rules[FAULTY_WRITE] = (struct faulty_rule){.effect = FAULTY_NONE};
        disk.others_free = disk.free_then;
    }
    if (disk.other_fd >= 0) {
        const struct nj_file_system *fs = &disk.pause.files.table;
        CHECK_EQ(fs->write(fs->context, disk.other_fd, "x", 1), 1);
    }
}

static void listen(void *context, enum nj_log_level level, const char *line)
{
    (void)context;
    (void)level;
    if (disk.n_paused + disk.n_still_paused + disk.n_gone_on == 0) {
        (void)snprintf(disk.first_line, sizeof disk.first_line, "%s", line);
    }
    disk.n_paused += strncmp(line, "paused: ", 8) == 0;
    disk.n_still_paused += strncmp(line, "still paused: ", 14) == 0;
    disk.n_gone_on += strstr(line, "there is room again") != NULL;
}

static void prepare(void)
{
    memset(&disk, 0, sizeof disk);
    disk.other_fd = -1;
    disk.waits_until_room = 3;
    disk.free_then = 1000000000;
    faulty_files_init(&disk.files, nj_file_system_real());
    struct nj_error err;
    REQUIRE_OK(nj_run_folder_open(&disk.folder, &disk.files.table, test_folder(), &err), &err);
    (void)snprintf(disk.report.output_directory, sizeof disk.report.output_directory, "%s",
                   disk.folder.path);
    nj_ballast_take_on(nj_file_system_real(), disk.folder.directory_fd);
    disk.log = (struct nj_log){.level = NJ_LOG_INFO, .sink = listen};
    disk.observer = (struct nj_run_observer){.free_bytes = look, .wait = wait};
    disk.chronicle =
        (struct nj_chronicle){.clock = {.monotonic_ns = clock_ns, .unix_ms = clock_ms},
                              .report = &disk.report,
                              .ledger = &disk.ledger,
                              .counts = &disk.counts,
                              .history = &disk.history,
                              .journal = &disk.journal};
    disk.pause = (struct nj_disk_pause){.observer = &disk.observer,
                                        .log = &disk.log,
                                        .chronicle = &disk.chronicle,
                                        .folder = &disk.folder};
    nj_disk_pause_init(&disk.pause, &disk.files.table);
}

static int open_file(const char *name)
{
    const struct nj_file_system *fs = &disk.pause.files.table;
    int fd = fs->open_at(fs->context, disk.folder.directory_fd, name,
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

/* Ends what `prepare` began. */
static void finish(int fd)
{
    const struct nj_file_system *fs = &disk.pause.files.table;
    CHECK_EQ(fs->close(fs->context, fd), 0);
    nj_run_folder_close(&disk.folder);
}

static void a_pause_is_said_once_and_again_each_minute_and_once_when_it_is_over(void)
{
    prepare();
    int fd = open_file("tokens.log");
    const struct nj_file_system *fs = &disk.pause.files.table;
    disk.waits_until_room = 150;
    faulty_files_fail_for_ever(&disk.files, FAULTY_WRITE, 1, ENOSPC);

    CHECK_EQ(fs->write(fs->context, fd, "0123456789", 10), 10);

    CHECK_EQ(disk.n_waits, 150);
    CHECK_EQ(disk.n_paused, 1);
    CHECK_EQ(disk.n_still_paused, 2);
    CHECK_EQ(disk.n_gone_on, 1);
    finish(fd);
}

static void it_says_where_and_why_and_when_free_room_is_not_what_is_missing(void)
{
    prepare();
    int fd = open_file("tokens.log");
    const struct nj_file_system *fs = &disk.pause.files.table;
    disk.others_free = 1000;
    faulty_files_fail_for_ever(&disk.files, FAULTY_WRITE, 1, EDQUOT);

    CHECK_EQ(fs->write(fs->context, fd, "0123456789", 10), 10);

    CHECK_CONTAINS(disk.first_line, disk.folder.path);
    CHECK_CONTAINS(disk.first_line, "Disk quota exceeded");
    CHECK_CONTAINS(disk.first_line, "264 kB are free, and yet there was no room for 10 bytes");
    finish(fd);
}

/* The ballast is no part of it: it was dropped, and is taken on again. */
static void it_says_how_much_more_must_be_free(void)
{
    static const struct {
        uint64_t n_bytes;
        uint64_t others_free;
        const char *wanted;
    } cases[] = {{256, 0, "): 256 bytes more must be free. Make room"},
                 {9999, 0, "): 9999 bytes more must be free. "},
                 {300001, 0, "): 301 kB more must be free. "},
                 {300001, 100000, "): 201 kB more must be free. "},
                 {UINT64_C(20000000001), 0, "): 21 GB more must be free. "}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        prepare();
        int fd = open_file("tokens.log");
        disk.others_free = cases[i].others_free;
        disk.free_then = UINT64_C(30000000000);
        CHECK(nj_disk_pause_wait(&disk.pause, cases[i].n_bytes));
        nj_disk_pause_end(&disk.pause);
        CHECK_CONTAINS(disk.first_line, cases[i].wanted);
        finish(fd);
    }
}

/* Else it goes on, takes the ballast on again, and pauses at the next item: once a second. */
static void the_room_of_the_ballast_does_not_end_a_pause(void)
{
    prepare();
    int fd = open_file("tokens.log");
    disk.others_free = 100000;
    disk.free_then = 300000;
    disk.waits_until_room = 5;

    CHECK(nj_disk_pause_wait(&disk.pause, 300000));
    nj_disk_pause_end(&disk.pause);

    CHECK_EQ(disk.n_waits, 5);
    CHECK_EQ(disk.n_paused, 1);
    CHECK_EQ(disk.n_gone_on, 1);
    CHECK_EQ(look(NULL, disk.folder.path), 300000); /* it is on board again */
    finish(fd);
}

static void what_else_is_written_meanwhile_does_not_end_it(void)
{
    prepare();
    int fd = open_file("tokens.log");
    const struct nj_file_system *fs = &disk.pause.files.table;
    disk.other_fd = open_file("results.log");
    disk.waits_until_room = 10;
    disk.files.only_suffix = "tokens.log";
    faulty_files_fail_for_ever(&disk.files, FAULTY_WRITE, 1, ENOSPC);

    CHECK_EQ(fs->write(fs->context, fd, "0123456789", 10), 10);

    CHECK_EQ(disk.n_waits, 10);
    CHECK_EQ(disk.n_paused, 1);
    CHECK_EQ(disk.n_gone_on, 1);
    CHECK_EQ(fs->close(fs->context, disk.other_fd), 0);
    finish(fd);
}

/* Free bytes say nothing of a quota: only trying does. */
static void a_disk_that_only_seems_to_have_room_is_one_pause(void)
{
    prepare();
    int fd = open_file("tokens.log");
    const struct nj_file_system *fs = &disk.pause.files.table;
    disk.others_free = 1000000000;
    disk.waits_until_room = 10;
    faulty_files_fail_for_ever(&disk.files, FAULTY_WRITE, 1, EDQUOT);

    CHECK_EQ(fs->write(fs->context, fd, "0123456789", 10), 10);

    CHECK_EQ(disk.n_waits, 10);
    CHECK_EQ(disk.n_paused, 1);
    CHECK_EQ(disk.n_gone_on, 1);
    finish(fd);
}

int main(void)
{
    RUN(a_pause_is_said_once_and_again_each_minute_and_once_when_it_is_over);
    RUN(it_says_where_and_why_and_when_free_room_is_not_what_is_missing);
    RUN(it_says_how_much_more_must_be_free);
    RUN(the_room_of_the_ballast_does_not_end_a_pause);
    RUN(what_else_is_written_meanwhile_does_not_end_it);
    RUN(a_disk_that_only_seems_to_have_room_is_one_pause);
    return test_result();
}
