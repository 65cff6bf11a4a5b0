/* States looked at from outside, and a run carried to another place: what is told is what a
 * resume finds, damage is named, and what was carried ends with the same bytes. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "nightjar/snapshot.h"
#include "runner/carry.h"
#include "support/check.h"
#include "support/faulty_files.h"

static const char job[] =
    "nightjar: 1\n"
    "name: carried\n"
    "sampling: {temperature: 0.8, max_tokens: 14, n: 2, seed: 5, repeat_penalty: 1.1}\n"
    "prompts:\n"
    "  - ids: [5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]\n"
    "  - {ids: [9, 8, 7], sampling: {temperature: 0, n: 1}}\n"
    "snapshot: {every: 2 sweeps}\n";

enum { BATCH = 3, CHUNK = 4, SWEEPS = 9 };

static char *wanted; /* results.jsonl of a run that nothing disturbed */

static struct tiny_run run_of(const char *folder)
{
    return (struct tiny_run){
        .folder = folder, .job = job, .batch = BATCH, .prefill_chunk = CHUNK};
}

static void prepare(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of("undisturbed");
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
}

/* A run that was stopped, or killed, in the middle of all its items. */
static void half_done(const char *folder, bool is_killed)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of(folder);
    tiny_run_remove(folder);
    run.stop_after_sweeps = SWEEPS;
    run.is_killed = is_killed;
    if (is_killed) {
        CHECK(WIFSIGNALED(tiny_run_in_child(&run)));
    } else {
        CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    }
}

static char *path_of(const char *folder, const char *name)
{
    char *path = strdup(tiny_run_path(folder, name));
    if (path == NULL) {
        perror("strdup");
        exit(1);
    }
    return path;
}

/* --- ls --- */

struct seen {
    struct nj_snapshot_info rows[64];
    size_t n_rows;
    uint64_t n_current_positions;
};

static enum nj_status see(void *context, const struct nj_snapshot_info *info,
                          struct nj_error *err)
{
    struct seen *seen = context;
    (void)err;
    if (seen->n_rows < 64) {
        seen->rows[seen->n_rows++] = *info;
    }
    seen->n_current_positions += info->use == NJ_SNAPSHOT_CURRENT ? info->n_positions : 0;
    return NJ_OK;
}

static struct seen seen_in(const char *folder)
{
    static struct seen seen;
    struct nj_error err = {.text = ""};
    seen.n_rows = 0;
    seen.n_current_positions = 0;
    CHECK_EQ(nj_snapshot_list(tiny_run_path(folder, ""), see, &seen, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    return seen;
}

static void the_current_states_are_those_that_a_resume_takes(void)
{
    struct nj_run_report report;
    struct nj_error err;
    half_done("listed", true);
    struct seen seen = seen_in("listed");
    size_t n_current = 0;
    for (size_t i = 0; i < seen.n_rows; i++) {
        const struct nj_snapshot_info *row = &seen.rows[i];
        n_current += row->use == NJ_SNAPSHOT_CURRENT ? 1 : 0;
        CHECK(row->use != NJ_SNAPSHOT_UNUSABLE);
        CHECK(row->generation > 0 && row->n_tokens > row->n_positions - 1);
        CHECK(row->file_bytes > row->stored_bytes && row->raw_bytes >= row->stored_bytes);
        CHECK(row->written_unix_ms > 0);
    }
    CHECK_EQ(n_current, BATCH);

    struct tiny_run run = run_of("listed");
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);

    CHECK_EQ(report.n_positions_restored, seen.n_current_positions);
    CHECK_EQ(seen_in("listed").n_rows, 0);
}

/* --- verify --- */

struct findings {
    char text[1024];
};

static enum nj_status note(void *context, const struct nj_snapshot_finding *finding,
                           struct nj_error *err)
{
    struct findings *findings = context;
    size_t n = strlen(findings->text);
    (void)err;
    (void)snprintf(
        findings->text + n, sizeof findings->text - n, "%s %llu %llu %s\n", finding->file,
        finding->has_place ? (unsigned long long)finding->record : 0ULL,
        finding->has_place ? (unsigned long long)finding->offset_bytes : 0ULL, finding->text);
    return NJ_OK;
}

static struct nj_snapshot_verification verify(const char *path, const char *model,
                                              struct findings *findings)
{
    struct nj_snapshot_verification sum = {0};
    struct nj_error err = {.text = ""};
    findings->text[0] = '\0';
    CHECK_EQ(nj_snapshot_verify(path, model, note, findings, &sum, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    return sum;
}

static void a_sound_folder_verifies_also_against_its_model(void)
{
    struct findings findings;
    half_done("sound", false);
    char *path = path_of("sound", "");

    struct nj_snapshot_verification sum = verify(path, tiny_run_path("model", ""), &findings);

    CHECK_TEXT(findings.text, "");
    CHECK_EQ(sum.n_restorable, 2 * BATCH);
    CHECK(sum.n_files >= 2 * BATCH && sum.n_records > sum.n_files);
    free(path);
}

static void another_model_is_found_out(void)
{
    struct findings findings;
    char other[512];
    half_done("foreign", false);
    char *path = path_of("foreign", "");
    (void)snprintf(other, sizeof other, "%s/examples/fledgling", test_source_directory());

    struct nj_snapshot_verification sum = verify(path, other, &findings);

    CHECK_CONTAINS(findings.text, "it was written with another model");
    CHECK_EQ(sum.n_restorable, 0);
    free(path);
}

static void flip(const char *path, long offset)
{
    FILE *file = fopen(path, "r+b");
    REQUIRE(file != NULL);
    CHECK_EQ(fseek(file, offset, SEEK_SET), 0);
    int byte = fgetc(file);
    CHECK_EQ(fseek(file, offset, SEEK_SET), 0);
    CHECK(fputc(byte ^ 4, file) != EOF);
    CHECK_EQ(fclose(file), 0);
}

static void a_flipped_byte_is_named_with_file_and_place(void)
{
    struct findings findings;
    char place[160];
    half_done("flipped", false);
    struct seen seen = seen_in("flipped");
    const struct nj_snapshot_info *row = &seen.rows[seen.n_rows - 1];
    char *path = path_of("flipped", "");
    flip(tiny_run_path("flipped", row->file), 1000);

    struct nj_snapshot_verification sum = verify(path, NULL, &findings);

    CHECK_EQ(sum.n_findings, 1);
    /* The shape's record ends before, so the byte is in the second one. */
    (void)snprintf(place, sizeof place, "%s 1 ", row->file);
    CHECK_CONTAINS(findings.text, place);
    CHECK_CONTAINS(findings.text, "it is damaged");
    free(path);
}

static void what_the_journal_names_and_is_gone_is_a_finding(void)
{
    struct findings findings;
    half_done("gone", false);
    struct seen seen = seen_in("gone");
    char *path = path_of("gone", "");
    for (size_t i = 0; i < seen.n_rows; i++) {
        if (seen.rows[i].is_in_journal && seen.rows[i].item_index == 1) {
            CHECK_EQ(unlink(tiny_run_path("gone", seen.rows[i].file)), 0);
        }
    }

    struct nj_snapshot_verification sum = verify(path, NULL, &findings);

    CHECK_EQ(sum.n_findings, 1);
    CHECK_CONTAINS(findings.text, "the journal names it as current, and it is missing");
    free(path);
}

static void states_swapped_between_items_are_findings(void)
{
    struct findings findings;
    half_done("swapped", false);
    char *first = path_of("swapped", "items/0");
    char *second = path_of("swapped", "items/1");
    char *aside = path_of("swapped", "aside");
    char *path = path_of("swapped", "");
    CHECK(rename(first, aside) == 0 && rename(second, first) == 0 &&
          rename(aside, second) == 0);

    struct nj_snapshot_verification sum = verify(path, NULL, &findings);

    CHECK(sum.n_findings >= 4);
    CHECK_EQ(sum.n_restorable, 2); /* of the third item */
    CHECK_CONTAINS(findings.text, "it is of item 1");
    free(first);
    free(second);
    free(aside);
    free(path);
}

/* --- export and import --- */

static enum nj_status carry_out(const struct nj_file_system *fs, const char *folder,
                                const char *file, struct nj_error *err)
{
    struct nj_snapshot_carried carried;
    char *path = path_of(folder, "");
    char *to = path_of(file, "");
    struct nj_snapshot_export_options options = {.run_folder = path, .file = to};
    enum nj_status status = nj_snapshot_export_through(fs, &options, &carried, err);
    free(path);
    free(to);
    return status;
}

static enum nj_status carry_in(const struct nj_file_system *fs, const char *file,
                               const char *folder, struct nj_error *err)
{
    struct nj_snapshot_carried carried;
    char *path = path_of(folder, "");
    char *from = path_of(file, "");
    enum nj_status status = nj_snapshot_import_through(fs, from, path, &carried, err);
    free(path);
    free(from);
    return status;
}

/* With the job file that came along, and a model at another place. */
static void go_on(const char *folder, uint64_t *n_positions)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = run_of(folder);
    char *text = tiny_run_read(folder, "inputs/tiny.yaml", NULL);
    REQUIRE(text != NULL);
    CHECK_TEXT(text, job);
    tiny_run_model("model elsewhere");
    run.job = text;
    run.model = "model elsewhere";
    run.prefill_chunk = 0;

    REQUIRE_OK(tiny_run(&run, &report, &err), &err);

    char *results = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    *n_positions = report.n_positions_restored;
    free(results);
    free(text);
}

static void check_sound(const char *folder)
{
    struct findings findings;
    char *path = path_of(folder, "");
    (void)verify(path, NULL, &findings);
    CHECK_TEXT(findings.text, "");
    free(path);
}

static void a_run_that_was_carried_ends_with_the_same_bytes(void)
{
    for (int is_killed = 0; is_killed < 2; is_killed++) {
        struct nj_error err = {.text = ""};
        uint64_t n_positions = 0;
        half_done("left", is_killed != 0);
        struct seen seen = seen_in("left");
        tiny_run_remove("arrived");
        CHECK_EQ(carry_out(tiny_run_files(), "left", "run.export", &err), NJ_OK);
        tiny_run_remove("left");
        CHECK_EQ(carry_in(tiny_run_files(), "run.export", "arrived", &err), NJ_OK);
        CHECK_TEXT(err.text, "");
        check_sound("arrived");

        go_on("arrived", &n_positions);

        CHECK_EQ(n_positions, seen.n_current_positions);
    }
}

/* From where it arrived it can be carried on. */
static void what_arrived_can_leave_again(void)
{
    struct nj_error err = {.text = ""};
    uint64_t n_positions = 0;
    half_done("left", false);
    tiny_run_remove("arrived");
    tiny_run_remove("arrived twice");
    CHECK_EQ(carry_out(tiny_run_files(), "left", "run.export", &err), NJ_OK);
    CHECK_EQ(carry_in(tiny_run_files(), "run.export", "arrived", &err), NJ_OK);
    CHECK_EQ(carry_out(tiny_run_files(), "arrived", "again.export", &err), NJ_OK);
    CHECK_EQ(carry_in(tiny_run_files(), "again.export", "arrived twice", &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    go_on("arrived twice", &n_positions);
    CHECK(n_positions > 0);
}

static void one_item_s_states_can_go_alone(void)
{
    struct nj_error err = {.text = ""};
    struct nj_snapshot_carried carried;
    uint64_t n_positions = 0;
    half_done("left", false);
    tiny_run_remove("arrived");
    char *path = path_of("left", "");
    char *to = path_of("run.export", "");
    struct nj_snapshot_export_options options = {
        .run_folder = path, .file = to, .has_item = true, .item_index = 1};
    CHECK_EQ(nj_snapshot_export(&options, &carried, &err), NJ_OK);
    CHECK_EQ(carry_in(tiny_run_files(), "run.export", "arrived", &err), NJ_OK);

    struct seen seen = seen_in("arrived");
    CHECK(seen.n_rows > 0 && seen.n_rows == carried.n_segments);
    CHECK_EQ(seen.rows[0].item_index, 1);
    CHECK_EQ(seen.rows[seen.n_rows - 1].item_index, 1);
    go_on("arrived", &n_positions);

    CHECK_EQ(n_positions, seen.n_current_positions);
    options.item_index = 77;
    CHECK_EQ(nj_snapshot_export(&options, &carried, &err), NJ_E_NOT_FOUND);
    free(path);
    free(to);
}

static void an_import_writes_into_no_folder_with_files(void)
{
    struct nj_error err;
    half_done("left", false);
    CHECK_EQ(carry_out(tiny_run_files(), "left", "run.export", &err), NJ_OK);
    CHECK_EQ(carry_in(tiny_run_files(), "run.export", "left", &err), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "holds files already");
}

/* --- what goes wrong --- */

/* Every call fails once: no half export, no half folder. */
static unsigned fail_every(enum faulty_call call, bool is_import)
{
    unsigned n_failed = 0;
    for (unsigned long n = 1;; n++) {
        static struct faulty_files faulty;
        struct nj_error err = {.text = ""};
        tiny_run_remove("arrived");
        (void)unlink(tiny_run_path("new.export", ""));
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_fail(&faulty, call, n, ENOSPC);
        enum nj_status status = is_import
                                    ? carry_in(&faulty.table, "run.export", "arrived", &err)
                                    : carry_out(&faulty.table, "left", "new.export", &err);
        if (!faulty_files_fired(&faulty)) {
            CHECK_EQ(status, NJ_OK);
            return n_failed;
        }
        n_failed++;
        if (status == NJ_OK) {
            continue; /* what a close says behind a sync is of no interest */
        }
        CHECK(err.text[0] != '\0');
        CHECK(is_import ? !tiny_run_has("arrived", "journal.log") ||
                              tiny_run_has("arrived", "origin.json")
                        : true);
    }
}

static void a_call_that_fails_leaves_no_half_of_anything(void)
{
    struct nj_error err;
    half_done("left", false);
    CHECK_EQ(carry_out(tiny_run_files(), "left", "run.export", &err), NJ_OK);
    CHECK(fail_every(FAULTY_WRITE, false) > 0);
    CHECK(fail_every(FAULTY_SYNC, false) > 0);
    CHECK(fail_every(FAULTY_RENAME, false) == 1);
    CHECK(fail_every(FAULTY_WRITE, true) > 5);
    CHECK(fail_every(FAULTY_SYNC, true) > 5);
    CHECK(fail_every(FAULTY_MAKE_DIRECTORY, true) > 2);
}

/* True when the child was killed. */
static bool kill_at(unsigned long step, bool is_import)
{
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        static struct faulty_files faulty;
        struct nj_error err;
        faulty_files_init(&faulty, tiny_run_files());
        faulty_files_kill_at_step(&faulty, step);
        enum nj_status result = is_import
                                    ? carry_in(&faulty.table, "run.export", "arrived", &err)
                                    : carry_out(&faulty.table, "left", "run.export", &err);
        _exit(result == NJ_OK ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

/* Nobody cleans up: the same command, given again, does it. */
static void killed_at_every_durable_step_the_same_command_does_it(void)
{
    uint64_t n_positions = 0;
    unsigned n_kills = 0;
    half_done("left", false);
    (void)unlink(tiny_run_path("run.export", ""));
    unsigned long step = 1;
    while (kill_at(step, false)) {
        n_kills++;
        step++;
    }
    tiny_run_remove("arrived");
    step = 1;
    while (kill_at(step, true)) {
        bool is_there = tiny_run_has("arrived", "journal.log");
        n_kills++;
        step++;
        if (is_there) { /* killed behind the rename: nothing was left to do */
            tiny_run_remove("arrived");
        }
    }
    CHECK(n_kills > 20);
    go_on("arrived", &n_positions);
    CHECK(n_positions > 0);
}

/* Cut anywhere, or with a byte flipped anywhere, it is refused and nothing is written. */
static void a_damaged_export_is_refused_before_anything_is_written(void)
{
    struct nj_error err;
    struct findings findings;
    size_t n_bytes = 0;
    half_done("left", false);
    CHECK_EQ(carry_out(tiny_run_files(), "left", "run.export", &err), NJ_OK);
    char *bytes = tiny_run_read("run.export", "", &n_bytes);
    char *path = path_of("run.export", "");
    REQUIRE(bytes != NULL && n_bytes > 4096);
    struct nj_snapshot_verification sum = verify(path, NULL, &findings);
    CHECK_TEXT(findings.text, "");
    CHECK_EQ(sum.n_bytes, n_bytes);
    for (size_t place = 0; place < n_bytes; place += place < 2048 ? 61 : n_bytes / 23) {
        tiny_run_remove("arrived");
        CHECK_EQ(truncate(path, (off_t)place), 0);
        CHECK(carry_in(tiny_run_files(), "run.export", "arrived", &err) == NJ_E_STATE);
        CHECK(!tiny_run_has("arrived", ""));
        FILE *file = fopen(path, "wb");
        REQUIRE(file != NULL);
        CHECK_EQ(fwrite(bytes, 1, n_bytes, file), n_bytes);
        CHECK_EQ(fclose(file), 0);
        flip(path, (long)place);
        CHECK(carry_in(tiny_run_files(), "run.export", "arrived", &err) == NJ_E_STATE);
        CHECK(!tiny_run_has("arrived", ""));
        (void)verify(path, NULL, &findings);
        CHECK(findings.text[0] != '\0' || place < 64);
        flip(path, (long)place);
    }
    free(bytes);
    free(path);
}

int main(void)
{
    RUN(prepare);
    RUN(the_current_states_are_those_that_a_resume_takes);
    RUN(a_sound_folder_verifies_also_against_its_model);
    RUN(another_model_is_found_out);
    RUN(a_flipped_byte_is_named_with_file_and_place);
    RUN(what_the_journal_names_and_is_gone_is_a_finding);
    RUN(states_swapped_between_items_are_findings);
    RUN(a_run_that_was_carried_ends_with_the_same_bytes);
    RUN(what_arrived_can_leave_again);
    RUN(one_item_s_states_can_go_alone);
    RUN(an_import_writes_into_no_folder_with_files);
    RUN(a_call_that_fails_leaves_no_half_of_anything);
    RUN(killed_at_every_durable_step_the_same_command_does_it);
    RUN(a_damaged_export_is_refused_before_anything_is_written);
    free(wanted);
    return test_result();
}
