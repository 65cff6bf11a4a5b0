/* What is done to a run folder behind a run's back: logs lost, damaged and forged, folders that
 * appear and move. Texts never change, and what is refused is not touched. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "format/record_log.h"
#include "runner/folder.h"
#include "runner/journal.h"
#include "runner/result_log.h"
#include "runner/token_log.h"
#include "support/check.h"

/* Items that draw with a seed derived from the job's, which is not given. */
static const char job[] = "nightjar: 1\n"
                          "name: drawn\n"
                          "sampling: {temperature: 0.9, max_tokens: 6}\n"
                          "prompts:\n"
                          "  - {id: a, ids: [1, 2, 3], sampling: {max_tokens: 2}}\n"
                          "  - {id: b, ids: [4, 5, 6]}\n"
                          "  - {id: c, ids: [7, 8, 9]}\n";

enum { FIRST_ENTROPY = 1 << 25, LATER_ENTROPY = 1 << 26 };

static struct nj_run_report report;
static struct nj_error err;
static char *wanted; /* of the job with the first entropy */

static void begin(const char *folder, uint32_t n_sweeps)
{
    struct tiny_run run = {.folder = folder,
                           .job = job,
                           .batch = 2,
                           .entropy = FIRST_ENTROPY,
                           .stop_after_sweeps = n_sweeps};
    enum nj_status status = tiny_run(&run, &report, &err);
    REQUIRE_OK((enum nj_status)(status != (n_sweeps > 0 ? NJ_E_STOPPED : NJ_OK)), &err);
}

static enum nj_status go_on(const char *folder)
{
    struct tiny_run run = {.folder = folder, .job = job, .batch = 2, .entropy = LATER_ENTROPY};
    return tiny_run(&run, &report, &err);
}

static void check_results(const char *folder)
{
    char *results = tiny_run_read(folder, "results.jsonl", NULL);
    CHECK_TEXT(results, wanted);
    free(results);
}

static void write_file(const char *folder, const char *name, const char *bytes, size_t n_bytes)
{
    FILE *file = fopen(tiny_run_path(folder, name), "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite(bytes, 1, n_bytes, file), n_bytes);
    CHECK_EQ(fclose(file), 0);
}

static void prepare(void)
{
    begin("undisturbed", 0);
    wanted = tiny_run_read("undisturbed", "results.jsonl", NULL);
    REQUIRE(wanted != NULL);
}

static void any_one_log_may_be_lost_and_texts_stay(void)
{
    static const char *const names[] = {"journal.log", "results.log", "tokens.log"};
    for (size_t i = 0; i < 3; i++) {
        for (uint32_t n_sweeps = 0; n_sweeps < 5; n_sweeps += 2) {
            tiny_run_remove("lost");
            begin("lost", n_sweeps);
            CHECK_EQ(unlink(tiny_run_path("lost", names[i])), 0);
            REQUIRE_OK(go_on("lost"), &err);
            check_results("lost");
        }
    }
}

static void two_logs_may_be_lost_and_texts_stay(void)
{
    begin("two lost", 4);
    CHECK_EQ(unlink(tiny_run_path("two lost", "journal.log")), 0);
    CHECK_EQ(unlink(tiny_run_path("two lost", "tokens.log")), 0);
    REQUIRE_OK(go_on("two lost"), &err);
    CHECK_EQ(report.n_items_kept, 1);
    check_results("two lost");

    CHECK_EQ(unlink(tiny_run_path("two lost", "journal.log")), 0);
    CHECK_EQ(unlink(tiny_run_path("two lost", "results.log")), 0);
    REQUIRE_OK(go_on("two lost"), &err);
    check_results("two lost");
}

/* Also emptied, and filled with rubbish. */
static void the_journal_may_be_damaged_anywhere_and_texts_stay(void)
{
    size_t length_bytes = 0;
    begin("damaged", 4);
    char *journal = tiny_run_read("damaged", "journal.log", &length_bytes);
    REQUIRE(journal != NULL);
    free(journal);
    for (size_t at = 0; at < length_bytes; at += 5) {
        tiny_run_remove("damaged");
        begin("damaged", 4);
        journal = tiny_run_read("damaged", "journal.log", NULL);
        journal[at] ^= 0x20;
        write_file("damaged", "journal.log", journal, at % 2 == 0 ? length_bytes : at);
        free(journal);
        REQUIRE_OK(go_on("damaged"), &err);
        CHECK_EQ(report.n_items_kept, 1);
        check_results("damaged");
    }
}

/* Copies a log without its identity records, as an older nightjar wrote it; or with ids that
 * the model does not have. */
struct rewriter {
    FILE *file;
    struct nj_record_cursor cursor;
    uint32_t left_out;
    bool forges_ids;
};

static enum nj_status rewrite(void *context, const struct nj_record *record,
                              struct nj_error *error)
{
    enum { TOKEN_OFFSET = 24 }; /* docs/formats/token-log.md */
    struct rewriter *rewriter = context;
    uint8_t payload[4096];
    uint8_t encoded[4200];
    (void)error;
    if (record->type == rewriter->left_out) {
        return NJ_OK;
    }
    size_t length_bytes = record->payload.length_bytes;
    if (length_bytes > sizeof payload) {
        return NJ_E_INTERNAL;
    }
    memcpy(payload, record->payload.data, length_bytes);
    if (rewriter->forges_ids && record->type == NJ_TOKEN_RECORD_SWEEP && record->sequence > 2) {
        payload[TOKEN_OFFSET + 2] = 0x7f;
    }
    nj_record_encode(&rewriter->cursor, record->type,
                     (struct nj_bytes){.data = payload, .length_bytes = length_bytes}, encoded);
    size_t n_bytes = nj_record_encoded_bytes(length_bytes);
    CHECK_EQ(fwrite(encoded, 1, n_bytes, rewriter->file), n_bytes);
    return NJ_OK;
}

static void rewrite_log(const char *folder, const char *name, uint32_t left_out,
                        bool forges_ids)
{
    size_t length_bytes = 0;
    struct rewriter rewriter = {.left_out = left_out, .forges_ids = forges_ids};
    struct nj_record_log_scan scan;
    uint8_t header[NJ_RECORD_LOG_HEADER_BYTES];
    char *log = tiny_run_read(folder, name, &length_bytes);
    REQUIRE(log != NULL);
    struct nj_bytes head = {.data = (const uint8_t *)log, .length_bytes = sizeof header};
    struct nj_bytes whole = {.data = (const uint8_t *)log, .length_bytes = length_bytes};
    CHECK_EQ(nj_record_log_scan(head, 1, rewrite, NULL, &scan, NULL), NJ_OK);
    rewriter.file = fopen(tiny_run_path(folder, name), "wb");
    REQUIRE(rewriter.file != NULL);
    nj_record_log_encode_header(&scan.identity, header, &rewriter.cursor);
    CHECK_EQ(fwrite(header, 1, sizeof header, rewriter.file), sizeof header);
    CHECK_EQ(nj_record_log_scan(whole, 1, rewrite, &rewriter, &scan, NULL), NJ_OK);
    CHECK_EQ(fclose(rewriter.file), 0);
    free(log);
}

static void a_seed_that_nobody_knows_is_not_drawn_anew(void)
{
    begin("unknown", 4);
    rewrite_log("unknown", "results.log", NJ_RESULT_RECORD_IDENTITY, false);
    rewrite_log("unknown", "tokens.log", NJ_TOKEN_RECORD_IDENTITY, false);
    char *journal = tiny_run_read("unknown", "journal.log", NULL);
    CHECK_EQ(unlink(tiny_run_path("unknown", "journal.log")), 0);

    CHECK_EQ(go_on("unknown"), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "job_seed");
    CHECK_CONTAINS(err.text, "--restart");
    CHECK(!tiny_run_has("unknown", "journal.log"));
    free(journal);
}

/* A folder of an older nightjar: only its journal knows, and from then on all logs do. */
static void an_older_folder_gets_its_identity_everywhere(void)
{
    begin("older", 2);
    rewrite_log("older", "results.log", NJ_RESULT_RECORD_IDENTITY, false);
    rewrite_log("older", "tokens.log", NJ_TOKEN_RECORD_IDENTITY, false);
    struct tiny_run run = {.folder = "older", .job = job, .batch = 2, .stop_after_sweeps = 1};
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
    CHECK_EQ(unlink(tiny_run_path("older", "journal.log")), 0);

    REQUIRE_OK(go_on("older"), &err);

    check_results("older");
}

static void an_id_that_the_model_does_not_have_is_chosen_again(void)
{
    begin("forged", 5);
    rewrite_log("forged", "tokens.log", 99, true);

    REQUIRE_OK(go_on("forged"), &err);

    check_results("forged");
    CHECK(report.n_tokens_generated > 6);
}

/* One log of three is newer: the two others, which could be recovered, stay as they are. */
static void beside_a_newer_log_nothing_is_touched(void)
{
    enum nj_run_mode modes[] = {NJ_RUN_CONTINUE, NJ_RUN_RESTART};
    struct nj_record_log_identity newer = {.kind = NJ_TOKEN_LOG_KIND, .format_version = 2};
    struct nj_record_cursor cursor;
    uint8_t header[NJ_RECORD_LOG_HEADER_BYTES];
    nj_record_log_encode_header(&newer, header, &cursor);
    begin("newer", 3);
    write_file("newer", "tokens.log", (const char *)header, sizeof header);
    write_file("newer", "results.log", "torn", 4);
    size_t before_bytes = 0;
    char *before = tiny_run_read("newer", "journal.log", &before_bytes);
    for (size_t i = 0; i < 2; i++) {
        struct tiny_run run = {.folder = "newer", .job = job, .mode = modes[i]};
        size_t length_bytes = 0;

        CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STATE);

        CHECK_CONTAINS(err.text, "tokens.log has format version 2");
        char *journal = tiny_run_read("newer", "journal.log", &length_bytes);
        CHECK_EQ(length_bytes, before_bytes);
        CHECK_BYTES(journal, before, before_bytes);
        free(journal);
        char *results = tiny_run_read("newer", "results.log", &length_bytes);
        CHECK_EQ(length_bytes, 4);
        free(results);
        CHECK(!tiny_run_has("newer", "results.log.bad-0"));
    }
    free(before);
}

static void options_that_the_model_refuses_leave_everything_alone(void)
{
    struct tiny_run run = {.folder = "refused", .job = job, .cpu_level = "abacus"};
    CHECK(tiny_run(&run, &report, &err) != NJ_OK);
    CHECK(!tiny_run_has("refused", ""));

    begin("refused", 2);
    char *before = tiny_run_read("refused", "spec.yaml", NULL);
    size_t before_bytes = 0;
    free(tiny_run_read("refused", "journal.log", &before_bytes));
    run.job = tiny_run_job;
    run.mode = NJ_RUN_RESTART;
    CHECK(tiny_run(&run, &report, &err) != NJ_OK);
    run.mode = NJ_RUN_FRESH;
    CHECK(tiny_run(&run, &report, &err) != NJ_OK);

    size_t length_bytes = 0;
    char *spec = tiny_run_read("refused", "spec.yaml", NULL);
    free(tiny_run_read("refused", "journal.log", &length_bytes));
    CHECK_TEXT(spec, before);
    CHECK_EQ(length_bytes, before_bytes);
    CHECK(!tiny_run_has("refused.1", ""));
    free(spec);
    free(before);
}

static void an_epsilon_is_in_one_range_wherever_it_is_given(void)
{
    static const double refused[] = {1e-300, 1e-40, -1e-6, 1.5};
    static const char tiny_in_job[] = "nightjar: 1\nids: [1]\nlatent_norm_eps: 1e-300\n";
    static const char one_in_job[] =
        "nightjar: 1\nids: [1]\nlatent_norm_eps: 1\nsampling: {max_tokens: 1}\n";
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct tiny_run run = {.folder = "eps", .job = job, .latent_norm_eps = refused[i]};
        CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_USAGE);
        CHECK_CONTAINS(err.text, "latent_norm_eps");
    }
    struct tiny_run run = {.folder = "eps", .job = tiny_in_job};
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_INPUT);
    CHECK(!tiny_run_has("eps", ""));
    run.job = one_in_job;
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
}

/* The real file system, in which somebody else does something at the first opening of a name.
 */
struct meddler {
    struct nj_file_system table;
    const struct nj_file_system *below;
    const char *at; /* what the opened path ends in */
    void (*meddle)(void);
    bool says_absent; /* and it was not there a moment before */
    bool has_meddled;
};

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path);
    size_t end_length = strlen(end);
    return length >= end_length && strcmp(path + length - end_length, end) == 0;
}

static int meddle_open(void *context, int directory_fd, const char *name, int flags,
                       mode_t mode)
{
    struct meddler *meddler = context;
    const struct nj_file_system *below = meddler->below;
    if (!meddler->has_meddled && ends_in(name, meddler->at)) {
        meddler->has_meddled = true;
        meddler->meddle();
        if (meddler->says_absent) {
            errno = ENOENT;
            return -1;
        }
    }
    return below->open_at(below->context, directory_fd, name, flags, mode);
}

static void set_meddler(struct meddler *meddler, const char *at, void (*meddle)(void),
                        bool says_absent)
{
    *meddler = (struct meddler){.table = *tiny_run_files(),
                                .below = tiny_run_files(),
                                .at = at,
                                .meddle = meddle,
                                .says_absent = says_absent};
    meddler->table.context = meddler;
    meddler->table.open_at = meddle_open;
}

static void another_run_is_faster(void)
{
    struct tiny_run run = {.folder = "race", .job = job, .batch = 2, .entropy = FIRST_ENTROPY};
    struct nj_run_report other;
    struct nj_error error;
    REQUIRE_OK(tiny_run(&run, &other, &error), &error);
}

static void a_folder_that_appears_meanwhile_is_continued_and_never_moved(void)
{
    struct meddler meddler;
    set_meddler(&meddler, "/race", another_run_is_faster, true);
    struct tiny_run run = {
        .folder = "race", .job = job, .entropy = LATER_ENTROPY, .fs = &meddler.table};

    REQUIRE_OK(tiny_run(&run, &report, &err), &err);

    CHECK(meddler.has_meddled);
    CHECK_EQ(report.n_items_kept, 3);
    CHECK_EQ(report.n_sweeps, 0);
    CHECK(!tiny_run_has("race.1", ""));
    check_results("race");
}

static void another_job_is_faster(void)
{
    struct tiny_run run = {.folder = "other race", .job = tiny_run_job};
    struct nj_run_report other;
    struct nj_error error;
    REQUIRE_OK(tiny_run(&run, &other, &error), &error);
}

static void a_folder_of_another_job_that_appears_meanwhile_is_refused(void)
{
    struct meddler meddler;
    set_meddler(&meddler, "/other race", another_job_is_faster, true);
    struct tiny_run run = {.folder = "other race", .job = job, .fs = &meddler.table};

    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "--restart");
    CHECK(!tiny_run_has("other race.1", ""));
}

static void move_it_aside(void)
{
    char from[512];
    (void)snprintf(from, sizeof from, "%s", tiny_run_path("moving", ""));
    CHECK_EQ(rename(from, tiny_run_path("moving.1", "")), 0);
}

/* The other --fresh moved the folder between our opening and our locking it. */
static void what_is_locked_is_what_the_path_names(void)
{
    struct meddler meddler;
    struct nj_run_folder folder;
    struct stat opened;
    struct stat named;
    begin("moving", 1);
    set_meddler(&meddler, "run.lock", move_it_aside, false);

    REQUIRE_OK(nj_run_folder_open(&folder, &meddler.table, tiny_run_path("moving", ""), &err),
               &err);

    CHECK(meddler.has_meddled);
    CHECK_EQ(fstat(folder.directory_fd, &opened), 0);
    CHECK_EQ(stat(tiny_run_path("moving", ""), &named), 0);
    CHECK_EQ(opened.st_ino, named.st_ino);
    CHECK(!tiny_run_has("moving", "journal.log"));
    CHECK(tiny_run_has("moving.1", "journal.log"));
    nj_run_folder_close(&folder);
}

static void remove_it(void)
{
    tiny_run_remove("vanished");
}

static void move_it_away(void)
{
    char from[512];
    (void)snprintf(from, sizeof from, "%s", tiny_run_path("vanished", ""));
    CHECK_EQ(rename(from, tiny_run_path("vanished elsewhere", "")), 0);
}

/* The ballast is written when everything is ready for the first sweep. */
static void a_run_whose_folder_vanishes_ends_at_the_next_sweep(void)
{
    void (*const ways[])(void) = {remove_it, move_it_away};
    for (size_t i = 0; i < 2; i++) {
        struct meddler meddler;
        set_meddler(&meddler, "disk.ballast", ways[i], false);
        struct tiny_run run = {.folder = "vanished", .job = job, .fs = &meddler.table};

        CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STORAGE);

        CHECK(meddler.has_meddled);
        CHECK(report.n_sweeps <= 1);
        CHECK(!tiny_run_has("vanished", ""));
    }
}

static void fresh_does_not_move_an_empty_folder(void)
{
    struct tiny_run run = {.folder = "empty", .job = job, .mode = NJ_RUN_FRESH};
    CHECK_EQ(mkdir(tiny_run_path("empty", ""), 0700), 0);
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    CHECK(!tiny_run_has("empty.1", ""));
}

int main(void)
{
    RUN(prepare);
    RUN(any_one_log_may_be_lost_and_texts_stay);
    RUN(two_logs_may_be_lost_and_texts_stay);
    RUN(the_journal_may_be_damaged_anywhere_and_texts_stay);
    RUN(a_seed_that_nobody_knows_is_not_drawn_anew);
    RUN(an_older_folder_gets_its_identity_everywhere);
    RUN(an_id_that_the_model_does_not_have_is_chosen_again);
    RUN(beside_a_newer_log_nothing_is_touched);
    RUN(options_that_the_model_refuses_leave_everything_alone);
    RUN(an_epsilon_is_in_one_range_wherever_it_is_given);
    RUN(a_folder_that_appears_meanwhile_is_continued_and_never_moved);
    RUN(a_folder_of_another_job_that_appears_meanwhile_is_refused);
    RUN(what_is_locked_is_what_the_path_names);
    RUN(a_run_whose_folder_vanishes_ends_at_the_next_sweep);
    RUN(fresh_does_not_move_an_empty_folder);
    free(wanted);
    return test_result();
}
