/* A job of 100,000 rows: it starts in seconds, takes memory for what is under way and a few
 * words a row, and its results are all there, in order; also when it is stopped on the way. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"

enum {
    N_ROWS = 100000,
    N_FEW_ROWS = 1000,
    BATCH = 500,
    MAX_START_SECONDS = 10, /* of processor time: the machine may be busy */
    /* docs: an item done takes 48 bytes in the ledger; vectors double as they grow, and the
     * journal's marks are a byte each. */
    MAX_BYTES_PER_ROW = 200
};

static char job[1024];

static void write_rows(const char *name, unsigned n_rows)
{
    FILE *file = fopen(tiny_run_path(name, ""), "w");
    REQUIRE(file != NULL);
    (void)fprintf(file, "number,words\n");
    for (unsigned i = 0; i < n_rows; i++) {
        (void)fprintf(file, "%u,\"row, as it is written\"\n", i);
    }
    CHECK_EQ(fclose(file), 0);
}

/* Without snapshots: one comes a minute into a run, and on a slow machine its buffer would be
 * counted as memory for rows. */
static void write_job(const char *rows)
{
    (void)snprintf(job, sizeof job,
                   "nightjar: 1\n"
                   "name: many\n"
                   "rows: %s\n"
                   "id: \"row {{number}}\"\n"
                   "ids: [5]\n"
                   "sampling: {max_tokens: 1, seed: 3}\n"
                   "snapshot: {every: 1000000 sweeps}\n",
                   tiny_run_path(rows, ""));
}

struct cost {
    double processor_seconds;
    uint64_t peak_bytes;
};

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

/* In a process of its own, whose peak of memory is that of the run. */
static struct cost run_apart(const char *folder, uint32_t stop_after_sweeps,
                             enum nj_status wanted)
{
    int status = 0;
    struct rusage usage = {0};
    tiny_run_model("model");
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct nj_run_report report = {0};
        struct nj_error err = {0};
        struct tiny_run run = {.folder = folder,
                               .job = job,
                               .batch = BATCH,
                               .stop_after_sweeps = stop_after_sweeps};
        enum nj_status result = tiny_run(&run, &report, &err);
        if (result != wanted) {
            (void)fprintf(stderr, "child: %s\n", err.text);
        }
        _exit(result == wanted ? 0 : 1);
    }
    CHECK(child > 0 && wait4(child, &status, 0, &usage) == child);
    CHECK_EQ(status, 0);
    return (struct cost){.processor_seconds =
                             seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime),
                         .peak_bytes = (uint64_t)usage.ru_maxrss * 1024};
}

static void a_job_of_many_rows_starts_within_seconds(void)
{
    write_rows("many.csv", N_ROWS);
    write_job("many.csv");

    struct cost cost = run_apart("many", 4, NJ_E_STOPPED);

    (void)printf("four sweeps of %d rows: %.2f s of processor time\n", N_ROWS,
                 cost.processor_seconds);
    CHECK(cost.processor_seconds < MAX_START_SECONDS);
}

/* The few first bytes of every line say which it is. */
static void check_results(const char *folder, unsigned n_rows)
{
    char line[4096];
    unsigned n_lines = 0;
    FILE *file = fopen(tiny_run_path(folder, "results.jsonl"), "r");
    REQUIRE(file != NULL);
    while (fgets(line, sizeof line, file) != NULL) {
        char begin[128];
        (void)snprintf(begin, sizeof begin,
                       "{\"index\":%u,\"id\":\"row %u\",\"sample\":0,\"status\":\"ok\",",
                       n_lines, n_lines);
        if (strncmp(line, begin, strlen(begin)) != 0) {
            test_fail(__FILE__, __LINE__, "line %u is %.100s", n_lines, line);
            break;
        }
        n_lines++;
    }
    CHECK_EQ(n_lines, n_rows);
    CHECK_EQ(fclose(file), 0);
}

static void it_goes_on_to_all_results_in_order_and_bounded_memory(void)
{
    struct cost many = run_apart("many", 0, NJ_OK);
    check_results("many", N_ROWS);

    write_rows("few.csv", N_FEW_ROWS);
    write_job("few.csv");
    struct cost few = run_apart("few", 0, NJ_OK);
    check_results("few", N_FEW_ROWS);

    (void)printf("%d rows: %.2f s of processor time, %.1f MiB; %d rows: %.1f MiB\n", N_ROWS,
                 many.processor_seconds, (double)many.peak_bytes / 1048576, N_FEW_ROWS,
                 (double)few.peak_bytes / 1048576);
    CHECK(many.peak_bytes <
          few.peak_bytes + (uint64_t)(N_ROWS - N_FEW_ROWS) * MAX_BYTES_PER_ROW);
}

int main(void)
{
    RUN(a_job_of_many_rows_starts_within_seconds);
    RUN(it_goes_on_to_all_results_in_order_and_bounded_memory);
    return test_result();
}
