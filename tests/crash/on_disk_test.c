/* A run whose states live on disk: killed anywhere, continued there or in memory, it has the
 * results of one that nothing disturbed, and reads no more again than the sweep it died in. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/tiny_run.h"
#include "support/check.h"
#include "support/faulty_files.h"

/* More items than places, of different lengths, so that somebody begins or ends in most sweeps;
 * penalties, several samples, and one that ends with its first id. */
static const char job[] =
    "nightjar: 1\n"
    "name: places\n"
    "sampling: {temperature: 0.8, max_tokens: 8, n: 2, seed: 5, repeat_penalty: 1.1}\n"
    "prompts:\n"
    "  - ids: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n"
    "  - {ids: [9, 8, 7], sampling: {temperature: 0, n: 1, max_tokens: 3}}\n"
    "  - {ids: [40, 41, 42], sampling: {n: 1, max_tokens: 1, logprobs: 2}}\n"
    "snapshot: {every: 2 sweeps}\n";

enum { BATCH = 3, CHUNK = 4 };

static char *wanted;

static struct tiny_run run_of(const char *folder, enum nj_states_place states)
{
    return (struct tiny_run){
        .folder = folder, .job = job, .batch = BATCH, .prefill_chunk = CHUNK, .states = states};
}

/* Files in a run's folder whose names end so. */
static size_t n_files(const char *folder, const char *ending)
{
    size_t n = 0;
    DIR *directory = opendir(tiny_run_path(folder, ""));
    for (struct dirent *entry = NULL;
         directory != NULL && (entry = readdir(directory)) != NULL;) {
        size_t length = strlen(entry->d_name);
        n += length > strlen(ending) &&
             strcmp(entry->d_name + length - strlen(ending), ending) == 0;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return n;
}

static void end_well(struct tiny_run run, struct nj_run_report *report)
{
    struct nj_error err = {.text = ""};
    run.stop_after_sweeps = 0;
    CHECK_EQ(tiny_run(&run, report, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    char *found = tiny_run_read(run.folder, "results.jsonl", NULL);
    CHECK_TEXT(found, wanted);
    free(found);
    CHECK_EQ(n_files(run.folder, ".slots"), 0);
}

static void results_are_those_of_a_run_in_memory(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run memory = run_of("straight", NJ_STATES_MEMORY);
    REQUIRE_OK(tiny_run(&memory, &report, &err), &err);
    CHECK(!report.has_states_on_disk);
    wanted = tiny_run_read("straight", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);

    end_well(run_of("disk", NJ_STATES_DISK), &report);

    CHECK(report.has_states_on_disk);
    CHECK(report.state_bytes_written > 0);
    CHECK_EQ(report.n_snapshots, 0); /* nothing is written twice */
}

/* Continued in every place in turn; a life on disk loses the sweep that it dies in at most. */
static void killed_after_any_sweep_it_goes_on_on_disk_and_in_memory(void)
{
    static const enum nj_states_place next[] = {NJ_STATES_DISK, NJ_STATES_MEMORY};
    uint64_t n_positions = 0;
    for (uint32_t n_sweeps = 1; n_sweeps <= 10; n_sweeps++) {
        struct nj_run_report report;
        struct tiny_run run = run_of("killed", NJ_STATES_DISK);
        tiny_run_remove("killed");
        run.stop_after_sweeps = n_sweeps;
        run.is_killed = true;
        CHECK(tiny_run_in_child(&run) != 0);
        CHECK_EQ(n_files("killed", ".slots"), 1);

        run.states = next[n_sweeps % 2];
        run.batch = 1 + n_sweeps % 4;
        end_well(run, &report);

        n_positions += report.n_positions_restored;
        CHECK(n_sweeps < 3 || report.n_positions_restored > 0);
    }
    CHECK(n_positions > 100);
}

/* Segments of a run in memory are taken up on disk, and what lay there in memory again. */
static void stopped_again_and_again_it_moves_between_memory_and_disk(void)
{
    static const enum nj_states_place first[] = {NJ_STATES_MEMORY, NJ_STATES_DISK};
    for (size_t i = 0; i < 2; i++) {
        struct nj_run_report report;
        struct nj_error err;
        uint64_t n_rows = 0;
        tiny_run_remove("moving");
        for (uint32_t life = 0; life < 3; life++) {
            struct tiny_run run = run_of("moving", first[(i + life) % 2]);
            run.stop_after_sweeps = 3;
            CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
            CHECK(life == 0 || report.n_positions_restored > 0);
            n_rows += report.n_rows;
        }
        end_well(run_of("moving", first[i]), &report);
        CHECK(report.n_positions_restored > 0);
        n_rows += report.n_rows;

        struct nj_run_report straight;
        tiny_run_remove("once");
        end_well(run_of("once", NJ_STATES_MEMORY), &straight);
        CHECK_EQ(n_rows, straight.n_rows); /* no row was read twice */
    }
}

/* --- every step --- */

enum where { AT_STEP, IN_WRITE };

static bool run_and_kill(const char *folder, enum where where, unsigned long n)
{
    static struct faulty_files faulty;
    struct tiny_run run = run_of(folder, NJ_STATES_DISK);
    run.fs = &faulty.table;
    faulty_files_init(&faulty, tiny_run_files());
    if (where == AT_STEP) {
        faulty_files_kill_at_step(&faulty, n);
    } else {
        faulty.only_suffix = ".slots";
        faulty_files_kill_at_call(&faulty, FAULTY_WRITE, n);
    }
    int status = tiny_run_in_child(&run);
    bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK(was_killed || status == 0);
    return was_killed;
}

/* The names of all durable steps of a run. */
struct names {
    char text[16384];
    size_t length_bytes;
};

static void hear(void *context, const char *name)
{
    struct names *names = context;
    size_t room = sizeof names->text - names->length_bytes;
    int n = snprintf(names->text + names->length_bytes, room, "[%s]", name);
    names->length_bytes += n > 0 && (size_t)n < room ? (size_t)n : 0;
}

static void the_steps_of_a_sweep_are_ids_slots_table_and_journal(void)
{
    static struct faulty_files faulty;
    static struct names names;
    struct nj_run_report report;
    struct tiny_run run = run_of("steps", NJ_STATES_DISK);
    run.fs = &faulty.table;
    run.batch = 1; /* one step after the other */
    faulty_files_init(&faulty, tiny_run_files());
    faulty.hear_step = hear;
    faulty.hear_context = &names;

    end_well(run, &report);

    CHECK_CONTAINS(names.text, "[tokens.log][states-000001.slots][states-000001.slots]");
    (void)printf("steps: %.400s ...\n", names.text);
}

static uint64_t kill_at_every(enum where where, unsigned long stride)
{
    uint64_t n_restored = 0;
    unsigned long n = 1;
    for (bool was_killed = true; was_killed; n += stride) {
        struct nj_run_report report;
        tiny_run_remove("stepped");
        was_killed = run_and_kill("stepped", where, n);
        end_well(run_of("stepped", n % 3 == 0 ? NJ_STATES_MEMORY : NJ_STATES_DISK), &report);
        n_restored += report.n_positions_restored;
    }
    CHECK(n > 10 * stride);
    return n_restored;
}

static void killed_at_every_durable_step_a_run_ends_with_the_same_results(void)
{
    CHECK(kill_at_every(AT_STEP, 2) > 50);
}

static void killed_inside_writes_of_slots_a_run_ends_with_the_same_results(void)
{
    CHECK(kill_at_every(IN_WRITE, 9) > 20);
}

/* The second kill comes at every step of taking up what the first one left. */
static void killed_again_while_it_recovers_a_run_ends_with_the_same_results(void)
{
    for (unsigned long n = 1; n <= 16; n += 2) {
        struct nj_run_report report;
        tiny_run_remove("twice");
        CHECK(run_and_kill("twice", AT_STEP, 40));
        CHECK(run_and_kill("twice", AT_STEP, n));
        end_well(run_of("twice", n % 4 == 1 ? NJ_STATES_MEMORY : NJ_STATES_DISK), &report);
        CHECK(report.n_positions_restored > 0);
    }
}

int main(void)
{
    tiny_run_model("model");
    RUN(results_are_those_of_a_run_in_memory);
    RUN(killed_after_any_sweep_it_goes_on_on_disk_and_in_memory);
    RUN(stopped_again_and_again_it_moves_between_memory_and_disk);
    RUN(the_steps_of_a_sweep_are_ids_slots_table_and_journal);
    RUN(killed_at_every_durable_step_a_run_ends_with_the_same_results);
    RUN(killed_inside_writes_of_slots_a_run_ends_with_the_same_results);
    RUN(killed_again_while_it_recovers_a_run_ends_with_the_same_results);
    free(wanted);
    return test_result();
}
