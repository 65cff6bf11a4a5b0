#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "support/check.h"
#include "support/faulty_files.h"

static const struct nj_file_system *real(void)
{
    return nj_file_system_real();
}

static struct nj_bytes bytes_of(const char *text)
{
    struct nj_bytes bytes = {(const uint8_t *)text, strlen(text)};
    return bytes;
}

/* A folder of its own for each test. */
static int fresh_directory(void)
{
    static int number;
    char path[PATH_MAX];
    int fd = -1;
    (void)snprintf(path, sizeof path, "%s/%d", test_folder(), ++number);
    CHECK_EQ(nj_file_open_directory(real(), path, true, &fd, NULL), NJ_OK);
    return fd;
}

static void check_content(int directory_fd, const char *name, const char *wanted)
{
    struct nj_arena arena = {0};
    struct nj_bytes content = {NULL, 0};
    struct nj_error error = {NJ_OK, ""};
    enum nj_status status =
        nj_file_read_whole(real(), directory_fd, name, 1 << 20, &arena, &content, &error);
    CHECK_TEXT(error.text, "");
    if (status == NJ_OK) {
        CHECK_EQ(content.length_bytes, strlen(wanted));
        CHECK_TEXT((const char *)content.data, wanted);
    }
    nj_arena_deinit(&arena);
}

static unsigned count_entries(int directory_fd)
{
    unsigned n_entries = 0;
    DIR *directory = fdopendir(openat(directory_fd, ".", O_RDONLY | O_DIRECTORY));
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        n_entries += entry->d_name[0] != '.' || strlen(entry->d_name) > 2 ? 1 : 0;
    }
    (void)closedir(directory);
    return n_entries;
}

static void appended_pieces_are_read_back_whole(void)
{
    int directory = fresh_directory();
    int fd = -1;
    uint64_t length = 99;
    struct nj_error error;
    REQUIRE_OK(nj_file_open_append(real(), directory, "log", &fd, &length, &error), &error);
    CHECK_EQ(length, 0);
    REQUIRE_OK(nj_file_append(real(), fd, bytes_of("one "), "log", &error), &error);
    REQUIRE_OK(nj_file_data_sync(real(), fd, "log", &error), &error);
    (void)close(fd);

    REQUIRE_OK(nj_file_open_append(real(), directory, "log", &fd, &length, &error), &error);
    CHECK_EQ(length, 4);
    REQUIRE_OK(nj_file_append(real(), fd, bytes_of("two"), "log", &error), &error);
    (void)close(fd);

    check_content(directory, "log", "one two");
    (void)close(directory);
}

static void new_name_is_synced_with_its_directory_and_an_old_one_is_not(void)
{
    int directory = fresh_directory();
    int fd = -1;
    uint64_t length = 0;
    struct faulty_files faulty;
    faulty_files_init(&faulty, real());
    CHECK_EQ(nj_file_open_append(&faulty.table, directory, "log", &fd, &length, NULL), NJ_OK);
    (void)close(fd);
    CHECK_EQ(faulty.n_calls[FAULTY_SYNC], 2);

    faulty_files_reset(&faulty);
    CHECK_EQ(nj_file_open_append(&faulty.table, directory, "log", &fd, &length, NULL), NJ_OK);
    (void)close(fd);
    CHECK_EQ(faulty.n_calls[FAULTY_SYNC], 0);
    (void)close(directory);
}

static void files_are_private(void)
{
    int directory = fresh_directory();
    int fd = -1;
    uint64_t length = 0;
    struct stat status;
    CHECK_EQ(nj_file_open_append(real(), directory, "log", &fd, &length, NULL), NJ_OK);
    CHECK_EQ(nj_file_replace(real(), directory, "out", bytes_of("x"), NULL), NJ_OK);

    CHECK_EQ(fstat(fd, &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    CHECK_EQ(fstatat(directory, "out", &status, 0), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    CHECK_EQ(fstat(directory, &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0700);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)close(fd);
    (void)close(directory);
}

static void directories_are_created_along_the_path_and_each_is_synced(void)
{
    char path[PATH_MAX];
    struct faulty_files faulty;
    struct nj_error error;
    int fd = -1;
    faulty_files_init(&faulty, real());
    (void)snprintf(path, sizeof path, "%s/a//b/c/", test_folder());
    CHECK_EQ(nj_file_open_directory(&faulty.table, path, false, &fd, NULL), NJ_E_NOT_FOUND);

    REQUIRE_OK(nj_file_open_directory(&faulty.table, path, true, &fd, &error), &error);
    CHECK_EQ(faulty.n_calls[FAULTY_SYNC], 3);
    (void)close(fd);

    faulty_files_reset(&faulty);
    REQUIRE_OK(nj_file_open_directory(&faulty.table, path, true, &fd, &error), &error);
    CHECK_EQ(faulty.n_calls[FAULTY_MAKE_DIRECTORY], 0);
    (void)close(fd);
}

static void file_in_the_place_of_a_directory_is_refused(void)
{
    char path[PATH_MAX];
    int directory = fresh_directory();
    int fd = -1;
    struct nj_error error;
    (void)snprintf(path, sizeof path, "%s/file/below", test_folder());
    int base = open(test_folder(), O_RDONLY | O_DIRECTORY);
    CHECK_EQ(nj_file_replace(real(), base, "file", bytes_of("x"), NULL), NJ_OK);

    CHECK_EQ(nj_file_open_directory(real(), path, true, &fd, &error), NJ_E_NOT_FOUND);
    CHECK_CONTAINS(error.text, "Not a directory");
    (void)close(base);
    (void)close(directory);
}

static void reading_past_the_end_names_wanted_and_found(void)
{
    int directory = fresh_directory();
    int fd = -1;
    char data[10];
    struct nj_error error;
    CHECK_EQ(nj_file_replace(real(), directory, "short", bytes_of("abcdef"), NULL), NJ_OK);
    CHECK_EQ(nj_file_open_read(real(), directory, "short", &fd, NULL), NJ_OK);

    CHECK_EQ(nj_file_read_exactly(real(), fd, data, 4, 2, "short", &error), NJ_OK);
    CHECK_BYTES(data, "cdef", 4);
    CHECK_EQ(nj_file_read_exactly(real(), fd, data, 10, 2, "short", &error), NJ_E_IO);
    CHECK_TEXT(error.text, "read short at offset 2: wanted 10 bytes, found 4");
    CHECK_EQ(nj_file_read_exactly(real(), fd, data, 1, UINT64_MAX - 5, "short", &error),
             NJ_E_IO);
    CHECK_CONTAINS(error.text, "past what files hold");
    (void)close(fd);
    (void)close(directory);
}

static void whole_file_over_the_limit_is_refused_with_both_sizes(void)
{
    int directory = fresh_directory();
    struct nj_arena arena = {0};
    struct nj_bytes content;
    struct nj_error error;
    CHECK_EQ(nj_file_replace(real(), directory, "file", bytes_of("123456"), NULL), NJ_OK);

    CHECK_EQ(nj_file_read_whole(real(), directory, "file", 6, &arena, &content, &error), NJ_OK);
    CHECK_EQ(nj_file_read_whole(real(), directory, "file", 5, &arena, &content, &error),
             NJ_E_INPUT);
    CHECK_TEXT(error.text, "read file: it has 6 bytes, at most 5 are read");
    CHECK_EQ(nj_file_read_whole(real(), directory, ".", 5, &arena, &content, &error),
             NJ_E_INPUT);
    CHECK_TEXT(error.text, "open .: not a regular file but a directory");
    CHECK_EQ(nj_file_read_whole(real(), directory, "none", 5, &arena, &content, &error),
             NJ_E_NOT_FOUND);
    CHECK_TEXT(error.text, "open none: No such file or directory");
    nj_arena_deinit(&arena);
    (void)close(directory);
}

static void short_and_interrupted_calls_are_continued(void)
{
    int directory = fresh_directory();
    struct faulty_files faulty;
    struct nj_error error;
    int fd = -1;
    uint64_t length = 0;
    char data[11] = "";
    faulty_files_init(&faulty, real());
    CHECK_EQ(nj_file_open_append(&faulty.table, directory, "log", &fd, &length, NULL), NJ_OK);

    faulty_files_cut(&faulty, FAULTY_WRITE, 1);
    REQUIRE_OK(nj_file_append(&faulty.table, fd, bytes_of("hello"), "log", &error), &error);
    CHECK_EQ(faulty.n_calls[FAULTY_WRITE], 2);
    faulty_files_fail(&faulty, FAULTY_WRITE, 1, EINTR);
    REQUIRE_OK(nj_file_append(&faulty.table, fd, bytes_of("world"), "log", &error), &error);
    faulty_files_cut(&faulty, FAULTY_READ, 1);
    REQUIRE_OK(nj_file_read_exactly(&faulty.table, fd, data, 10, 0, "log", &error), &error);
    CHECK_TEXT(data, "helloworld");
    faulty_files_fail(&faulty, FAULTY_READ, 1, EINTR);
    REQUIRE_OK(nj_file_read_exactly(&faulty.table, fd, data, 10, 0, "log", &error), &error);

    CHECK(faulty_files_fired(&faulty));
    (void)close(fd);
    (void)close(directory);
}

static void full_disk_and_read_errors_are_reported_with_the_figures(void)
{
    int directory = fresh_directory();
    struct faulty_files faulty;
    struct nj_error error;
    int fd = -1;
    uint64_t length = 0;
    char data[4];
    faulty_files_init(&faulty, real());
    CHECK_EQ(nj_file_open_append(&faulty.table, directory, "log", &fd, &length, NULL), NJ_OK);

    faulty_files_fail(&faulty, FAULTY_WRITE, 1, ENOSPC);
    CHECK_EQ(nj_file_append(&faulty.table, fd, bytes_of("12345"), "log", &error), NJ_E_STORAGE);
    CHECK_TEXT(error.text, "append to log: No space left on device, 0 of 5 bytes written");
    faulty_files_fail(&faulty, FAULTY_READ, 1, EIO);
    CHECK_EQ(nj_file_read_exactly(&faulty.table, fd, data, 4, 0, "log", &error), NJ_E_IO);
    CHECK_TEXT(error.text, "read log at offset 0: Input/output error");
    (void)close(fd);
    (void)close(directory);
}

struct names {
    unsigned n_seen;
    unsigned refuse_at;
    char joined[200];
};

static enum nj_status see_name(void *context, const char *name, struct nj_error *err)
{
    struct names *names = context;
    if (++names->n_seen == names->refuse_at) {
        return nj_fail(err, NJ_E_STOPPED, "seen enough");
    }
    size_t length = strlen(names->joined);
    (void)snprintf(names->joined + length, sizeof names->joined - length, "%s ", name);
    return NJ_OK;
}

static void listing_visits_every_name_each_time_until_told_to_stop(void)
{
    int directory = fresh_directory();
    struct nj_error error;
    CHECK_EQ(nj_file_replace(real(), directory, "one", bytes_of("1"), NULL), NJ_OK);
    CHECK_EQ(nj_file_replace(real(), directory, ".two", bytes_of("2"), NULL), NJ_OK);
    CHECK_EQ(mkdirat(directory, "three", 0700), 0);
    for (int round = 0; round < 2; round++) {
        struct names names = {0};
        REQUIRE_OK(nj_file_list(real(), directory, see_name, &names, &error), &error);
        CHECK_EQ(names.n_seen, 3);
        CHECK_CONTAINS(names.joined, "one ");
        CHECK_CONTAINS(names.joined, ".two ");
        CHECK_CONTAINS(names.joined, "three ");
    }
    struct names impatient = {.refuse_at = 2};
    CHECK_EQ(nj_file_list(real(), directory, see_name, &impatient, &error), NJ_E_STOPPED);
    CHECK_EQ(impatient.n_seen, 2);
    (void)close(directory);
}

static void what_is_no_directory_cannot_be_listed(void)
{
    struct names names = {0};
    struct nj_error error;
    CHECK_EQ(nj_file_list(real(), -1, see_name, &names, &error), NJ_E_IO);
    CHECK_CONTAINS(error.text, "list a directory: Bad file descriptor");
    CHECK_EQ(names.n_seen, 0);
}

/* The kernel may have dropped what it could not write: a second try would say "ok". */
static void failed_sync_is_not_tried_again(void)
{
    static const int reasons[] = {EIO, ENOSPC, EINTR};
    int directory = fresh_directory();
    struct faulty_files faulty;
    int fd = -1;
    uint64_t length = 0;
    faulty_files_init(&faulty, real());
    CHECK_EQ(nj_file_open_append(&faulty.table, directory, "log", &fd, &length, NULL), NJ_OK);
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 1, reasons[i]);
        CHECK_EQ(nj_file_data_sync(&faulty.table, fd, "log", NULL), NJ_E_STORAGE);
        CHECK_EQ(faulty.n_calls[FAULTY_DATA_SYNC], 1);
    }
    (void)close(fd);
    (void)close(directory);
}

static void replaced_file_has_the_new_content_and_leaves_nothing_behind(void)
{
    int directory = fresh_directory();
    struct nj_error error;
    REQUIRE_OK(nj_file_replace(real(), directory, "out", bytes_of("a longer one"), &error),
               &error);
    REQUIRE_OK(nj_file_replace(real(), directory, "out", bytes_of("second"), &error), &error);

    check_content(directory, "out", "second");
    CHECK_EQ(count_entries(directory), 1);
    (void)close(directory);
}

static void replacing_below_a_folder_syncs_that_folder(void)
{
    int directory = fresh_directory();
    struct nj_error error;
    CHECK_EQ(mkdirat(directory, "items", 0700), 0);
    REQUIRE_OK(nj_file_replace(real(), directory, "items/7.md", bytes_of("seven"), &error),
               &error);
    check_content(directory, "items/7.md", "seven");
    CHECK_EQ(count_entries(directory), 1);
    (void)close(directory);
}

/* Each kind of call that replacing makes, failing at its n-th time. */
static void replace_that_fails_anywhere_leaves_old_or_new_never_a_mix(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_WRITE, FAULTY_SYNC,
                                             FAULTY_CLOSE, FAULTY_RENAME};
    int directory = fresh_directory();
    struct faulty_files faulty;
    unsigned n_failures = 0;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (unsigned long n = 1;; n++) {
            CHECK_EQ(nj_file_replace(real(), directory, "out", bytes_of("old"), NULL), NJ_OK);
            faulty_files_init(&faulty, real());
            faulty_files_fail(&faulty, calls[i], n, ENOSPC);
            enum nj_status status =
                nj_file_replace(&faulty.table, directory, "out", bytes_of("new"), NULL);
            CHECK_EQ(count_entries(directory), 1);
            if (!faulty_files_fired(&faulty)) {
                CHECK_EQ(status, NJ_OK);
                break;
            }
            n_failures++;
            bool renamed = calls[i] != FAULTY_RENAME && faulty.n_calls[FAULTY_RENAME] == 1;
            check_content(directory, "out", renamed ? "new" : "old");
            /* Closing the directory loses nothing; every other failure must be told. */
            bool harmless = calls[i] == FAULTY_CLOSE && renamed;
            CHECK_EQ(status, harmless ? NJ_OK : NJ_E_STORAGE);
        }
    }
    CHECK_EQ(n_failures, 2 + 1 + 2 + 2 + 1);
    (void)close(directory);
}

/* The order is what makes it durable: content, then name. Killed before any of its steps, the
 * name stands for the old content; after the rename for the new. */
static void replace_that_is_killed_leaves_old_or_new_never_a_mix(void)
{
    int directory = fresh_directory();
    for (unsigned long step = 1; step <= 3; step++) {
        CHECK_EQ(nj_file_replace(real(), directory, "out", bytes_of("old"), NULL), NJ_OK);
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            struct faulty_files faulty;
            faulty_files_init(&faulty, real());
            faulty_files_kill_at_step(&faulty, step);
            (void)nj_file_replace(&faulty.table, directory, "out", bytes_of("new"), NULL);
            _exit(0);
        }
        int result = 0;
        CHECK_EQ(waitpid(child, &result, 0), child);
        CHECK(WIFSIGNALED(result));
        check_content(directory, "out", step < 3 ? "old" : "new");
    }
    CHECK_EQ(nj_file_replace(real(), directory, "out", bytes_of("later"), NULL), NJ_OK);
    check_content(directory, "out", "later");
    CHECK_EQ(count_entries(directory), 1);
    (void)close(directory);
}

static void lock_is_refused_while_held_and_free_afterwards(void)
{
    int directory = fresh_directory();
    int first = -1;
    int second = -1;
    struct nj_error error;
    REQUIRE_OK(nj_file_lock(real(), directory, "run.lock", &first, &error), &error);
    CHECK(fcntl(first, F_GETFD) & FD_CLOEXEC);

    CHECK_EQ(nj_file_lock(real(), directory, "run.lock", &second, &error), NJ_E_STATE);
    CHECK_TEXT(error.text, "lock run.lock: another process holds it");
    CHECK_EQ(second, -1);
    (void)close(first);

    REQUIRE_OK(nj_file_lock(real(), directory, "run.lock", &second, &error), &error);
    (void)close(second);
    (void)close(directory);
}

static void lock_of_a_killed_process_is_free(void)
{
    int directory = fresh_directory();
    int pipe_fds[2];
    CHECK_EQ(pipe(pipe_fds), 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        int fd = -1;
        char locked =
            nj_file_lock(real(), directory, "run.lock", &fd, NULL) == NJ_OK ? 'y' : 'n';
        (void)!write(pipe_fds[1], &locked, 1);
        (void)pause();
        _exit(0);
    }
    char answer = '?';
    int fd = -1;
    CHECK_EQ(read(pipe_fds[0], &answer, 1), 1);
    CHECK_EQ(answer, 'y');
    CHECK_EQ(nj_file_lock(real(), directory, "run.lock", &fd, NULL), NJ_E_STATE);

    CHECK_EQ(kill(child, SIGKILL), 0);
    CHECK_EQ(waitpid(child, NULL, 0), child);
    CHECK_EQ(nj_file_lock(real(), directory, "run.lock", &fd, NULL), NJ_OK);
    (void)close(fd);
    (void)close(pipe_fds[0]);
    (void)close(pipe_fds[1]);
    (void)close(directory);
}

static void failure_to_open_for_appending_leaks_no_descriptor(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_STATUS, FAULTY_SYNC};
    int directory = fresh_directory();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (unsigned long n = 1;; n++) {
            struct faulty_files faulty;
            uint64_t length = 0;
            int fd = -1;
            faulty_files_init(&faulty, real());
            faulty_files_fail(&faulty, calls[i], n, EIO);
            int before = dup(0);
            (void)close(before);
            enum nj_status status =
                nj_file_open_append(&faulty.table, directory, "log", &fd, &length, NULL);
            (void)unlinkat(directory, "log", 0);
            if (!faulty_files_fired(&faulty)) {
                CHECK_EQ(status, NJ_OK);
                (void)close(fd);
                break;
            }
            int after = dup(0);
            (void)close(after);
            CHECK_EQ(status == NJ_OK, false);
            CHECK_EQ(after, before);
            CHECK_EQ(fd, -1);
        }
    }
    (void)close(directory);
}

/* A pipe has no writer here: whoever opened it in the usual way would wait for ever. */
static void what_is_no_file_is_refused_at_once(void)
{
    int directory = fresh_directory();
    int fd = -1;
    uint64_t length = 0;
    struct nj_error error;
    CHECK_EQ(mkfifoat(directory, "pipe", 0600), 0);
    CHECK_EQ(mkdirat(directory, "folder", 0700), 0);

    CHECK_EQ(nj_file_open_read(real(), directory, "pipe", &fd, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, "pipe: not a regular file but a pipe");
    CHECK_EQ(nj_file_open_read(real(), directory, "folder", &fd, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, "a directory");
    CHECK_EQ(nj_file_open_append(real(), directory, "pipe", &fd, &length, &error),
             NJ_E_STORAGE);
    CHECK_CONTAINS(error.text, "a pipe");
    CHECK_EQ(nj_file_open_append(real(), directory, "folder", &fd, &length, &error),
             NJ_E_STORAGE);

    (void)close(directory);
}

static void a_link_to_nothing_is_called_what_it_is(void)
{
    int directory = fresh_directory();
    int fd = -1;
    uint64_t length = 0;
    char path[PATH_MAX];
    struct nj_error error;
    CHECK_EQ(symlinkat("/nonexistent/x", directory, "link"), 0);

    CHECK_EQ(nj_file_open_append(real(), directory, "link", &fd, &length, &error),
             NJ_E_STORAGE);
    CHECK_CONTAINS(error.text, "symbolic link to something that does not exist");
    CHECK_EQ(nj_file_lock(real(), directory, "link", &fd, &error), NJ_E_STORAGE);
    (void)snprintf(path, sizeof path, "%s/dangling", test_folder());
    CHECK_EQ(symlink("/nonexistent/x", path), 0);
    CHECK_EQ(nj_file_open_directory(real(), path, true, &fd, &error), NJ_E_STORAGE);
    CHECK_CONTAINS(error.text, "symbolic link");

    (void)close(directory);
}

int main(void)
{
    RUN(what_is_no_file_is_refused_at_once);
    RUN(a_link_to_nothing_is_called_what_it_is);
    RUN(appended_pieces_are_read_back_whole);
    RUN(new_name_is_synced_with_its_directory_and_an_old_one_is_not);
    RUN(files_are_private);
    RUN(directories_are_created_along_the_path_and_each_is_synced);
    RUN(file_in_the_place_of_a_directory_is_refused);
    RUN(reading_past_the_end_names_wanted_and_found);
    RUN(whole_file_over_the_limit_is_refused_with_both_sizes);
    RUN(short_and_interrupted_calls_are_continued);
    RUN(full_disk_and_read_errors_are_reported_with_the_figures);
    RUN(listing_visits_every_name_each_time_until_told_to_stop);
    RUN(what_is_no_directory_cannot_be_listed);
    RUN(failed_sync_is_not_tried_again);
    RUN(replaced_file_has_the_new_content_and_leaves_nothing_behind);
    RUN(replacing_below_a_folder_syncs_that_folder);
    RUN(replace_that_fails_anywhere_leaves_old_or_new_never_a_mix);
    RUN(replace_that_is_killed_leaves_old_or_new_never_a_mix);
    RUN(lock_is_refused_while_held_and_free_afterwards);
    RUN(lock_of_a_killed_process_is_free);
    RUN(failure_to_open_for_appending_leaks_no_descriptor);
    return test_result();
}
