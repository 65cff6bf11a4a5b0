/* The real program on the model that ships, killed by SIGKILL at random times until it is done:
 * a sampled job with penalties, stop strings, log-probabilities and two samples an item.
 *
 *     kill_random_test NIGHTJAR N_KILLS [SEED]
 *
 * A run dies several times before it ends; then its results must have the bytes of a run that
 * nothing disturbed, and its token log must hold each id once. Nobody cleans up in between.
 * What each kill hit is told as a histogram, because kills that only hit start and end prove
 * little.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/random.h"
#include "crash/log_census.h"
#include "crash/tiny_run.h"
#include "format/record_log.h"
#include "runner/identity.h"
#include "support/check.h"

enum {
    MIN_MID_ITEM_PERCENT = 80,
    /* Each so many-th kill comes at any time from the start to about the first id. The others
     * come after the first id of a life, within this share of an undisturbed run, so that a run
     * dies several times. */
    KILLS_PER_EARLY = 8,
    LIVES_PER_RUN = 6
};

enum target { BEFORE_FIRST_TOKEN, MID_ITEM, BETWEEN_ITEMS, EXPORT, N_TARGETS };

static const char *const target_names[N_TARGETS] = {
    [BEFORE_FIRST_TOKEN] = "before the first token of this life",
    [MID_ITEM] = "between first and last token of an item",
    [BETWEEN_ITEMS] = "between items",
    [EXPORT] = "after the last token, exporting"};

static const char *nightjar;
static unsigned n_kills_wanted;
static uint64_t seed;

static char *wanted; /* results.jsonl of a run that nothing disturbed */
static struct log_census whole;
static double whole_seconds;
static double first_id_seconds; /* from its start to its first id */

static unsigned n_kills;
static unsigned n_runs;
static unsigned n_kills_at[N_TARGETS];
static uint64_t n_restored;

static double seconds_now(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void become_nightjar(const char *folder)
{
    char job[512];
    char out[512];
    (void)snprintf(job, sizeof job, "%s/tests/crash/kill_random.yaml", test_source_directory());
    (void)snprintf(out, sizeof out, "%s", tiny_run_path(folder, ""));
    int fd = open(tiny_run_path("stderr", ""), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int null_fd = open("/dev/null", O_WRONLY);
    if (fd >= 0 && null_fd >= 0 && dup2(fd, STDERR_FILENO) >= 0 &&
        dup2(null_fd, STDOUT_FILENO) >= 0) {
        (void)execl(nightjar, nightjar, "run", job, "--batch", "4", "--out", out, (char *)NULL);
    }
    _exit(127);
}

static pid_t start(const char *folder)
{
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        become_nightjar(folder);
    }
    if (child < 0) {
        perror("fork");
        exit(1);
    }
    return child;
}

/* The exit status as wait gives it. */
static int wait_for_end(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) != child) {
        if (errno != EINTR) {
            perror("waitpid");
            exit(1);
        }
    }
    return status;
}

static void show_complaint(void)
{
    char *text = tiny_run_read("stderr", "", NULL);
    (void)printf("    %s\n", text != NULL ? text : "no output");
    free(text);
}

static struct log_census census_of(const char *folder)
{
    struct log_census census;
    CHECK(log_census_take(tiny_run_path(folder, ""), &census));
    CHECK_EQ(census.n_ids_twice, 0);
    return census;
}

static enum target target_of(const struct log_census *before, const struct log_census *after)
{
    if (after->n_results == whole.n_results) {
        return EXPORT;
    }
    if (after->n_ids == before->n_ids) {
        return BEFORE_FIRST_TOKEN;
    }
    return after->n_under_way > 0 ? MID_ITEM : BETWEEN_ITEMS;
}

/* What the program says it took up again is what the log before it held. */
static void check_restored(const struct log_census *before, const struct log_census *after)
{
    uint64_t n = after->n_restored - before->n_restored;
    n_restored += n;
    CHECK(n == 0 || n == before->n_ids_at_work);
    CHECK(n > 0 || before->n_ids_at_work == 0 || after->n_ids == before->n_ids);
}

static void check_finished(const char *folder, const struct log_census *census)
{
    char *results = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    CHECK_EQ(census->n_ids, whole.n_ids);
    CHECK_EQ(census->n_results, whole.n_results);
    CHECK_EQ(census->n_finished, 1);
    free(results);
}

static double draw(void)
{
    static uint64_t n_drawn;
    return nj_draw_uniform(seed, 0, n_drawn++, 0);
}

static void sleep_for(double seconds)
{
    struct timespec left = {.tv_sec = (time_t)seconds,
                            .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

static uint64_t token_log_bytes(const char *folder)
{
    struct stat status;
    return stat(tiny_run_path(folder, "tokens.log"), &status) == 0 ? (uint64_t)status.st_size
                                                                   : 0;
}

static bool has_ended(pid_t child)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           info.si_pid == child;
}

/* Until this life has appended an id to the token log, or is over. */
static void wait_for_first_id(pid_t child, const char *folder, uint64_t bytes_before)
{
    uint64_t bytes_of_new_log =
        NJ_RECORD_LOG_HEADER_BYTES + nj_record_encoded_bytes(NJ_RUN_IDENTITY_BYTES);
    uint64_t bytes = bytes_before > bytes_of_new_log ? bytes_before : bytes_of_new_log;
    while (token_log_bytes(folder) <= bytes && !has_ended(child)) {
        sleep_for(0.001);
    }
}

/* The comparison would be blind if the job had no stop strings, samples or stop ids in it. */
static void check_job(void)
{
    CHECK_CONTAINS(wanted, "\"finish_reason\":\"length\"");
    CHECK_CONTAINS(wanted, "\"stop_reason\":\"");
    CHECK_CONTAINS(wanted, "\"sample\":1");
    CHECK_CONTAINS(wanted, "\"top\":[{");
}

static void a_run_that_nothing_disturbs_comes_first(void)
{
    double begin = seconds_now();
    pid_t child = start("undisturbed");
    wait_for_first_id(child, "undisturbed", 0);
    first_id_seconds = seconds_now() - begin;
    int status = wait_for_end(child);
    whole_seconds = seconds_now() - begin;
    if (!CHECK_EQ(status, 0)) {
        show_complaint();
        return;
    }
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
    whole = census_of("undisturbed");
    (void)printf("undisturbed: %.2f s (first id after %.2f), %llu answers, %llu ids\n",
                 whole_seconds, first_id_seconds, (unsigned long long)whole.n_results,
                 (unsigned long long)whole.n_ids);
    CHECK_EQ(whole.n_under_way, 0);
    check_job();
}

static void kill_at_random(pid_t child, const char *folder, uint64_t bytes_before)
{
    if (n_kills % KILLS_PER_EARLY == KILLS_PER_EARLY - 1) {
        sleep_for(draw() * first_id_seconds);
    } else {
        wait_for_first_id(child, folder, bytes_before);
        sleep_for(draw() * whole_seconds / LIVES_PER_RUN);
    }
    (void)kill(child, SIGKILL); /* it may be gone already */
}

/* One life of the run in this folder. True when it came to its end. */
static bool live(const char *folder, bool is_killed)
{
    struct log_census before = census_of(folder);
    uint64_t bytes_before = token_log_bytes(folder);
    pid_t child = start(folder);
    if (is_killed) {
        kill_at_random(child, folder, bytes_before);
    }
    int status = wait_for_end(child);
    struct log_census after = census_of(folder);
    check_restored(&before, &after);
    if (status == 0) {
        check_finished(folder, &after);
        return true;
    }
    if (!CHECK(is_killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)) {
        show_complaint();
    }
    n_kills++;
    n_kills_at[target_of(&before, &after)]++;
    return false;
}

static void killed_at_random_times_runs_end_with_the_same_results(void)
{
    REQUIRE(wanted != NULL);
    unsigned n_runs_allowed = n_kills_wanted; /* a machine on which none is ever killed */
    while (n_kills < n_kills_wanted && n_runs < n_runs_allowed) {
        char folder[32];
        (void)snprintf(folder, sizeof folder, "killed-%u", n_runs++);
        bool is_done = false;
        while (!is_done) {
            is_done = live(folder, n_kills < n_kills_wanted);
        }
        tiny_run_remove(folder);
    }
    CHECK_EQ(n_kills, n_kills_wanted);
    CHECK(n_restored > 0);
}

static void most_kills_hit_items_under_way(void)
{
    (void)printf("%u kills over %u runs (seed %llu), %llu ids taken up again; they hit\n",
                 n_kills, n_runs, (unsigned long long)seed, (unsigned long long)n_restored);
    for (enum target target = 0; target < N_TARGETS; target++) {
        (void)printf("  %4u  %s\n", n_kills_at[target], target_names[target]);
    }
    CHECK(n_kills_at[MID_ITEM] * 100 >= n_kills * MIN_MID_ITEM_PERCENT);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        (void)fprintf(stderr, "usage: kill_random_test NIGHTJAR N_KILLS [SEED]\n");
        return 2;
    }
    (void)test_folder(); /* made here, so that no child makes its own */
    nightjar = argv[1];
    n_kills_wanted = (unsigned)strtoul(argv[2], NULL, 10);
    seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 2;
    RUN(a_run_that_nothing_disturbs_comes_first);
    RUN(killed_at_random_times_runs_end_with_the_same_results);
    RUN(most_kills_hit_items_under_way);
    free(wanted);
    return test_result();
}
