/* A continued run goes on from the ids in the token log and from nothing else: with its last id
 * altered, and every checksum made right again, the result is another one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "crash/tiny_run.h"
#include "format/record_log.h"
#include "runner/token_log.h"
#include "support/check.h"

static const char job[] = "nightjar: 1\n"
                          "name: one\n"
                          "ids: [5, 6, 7, 8]\n"
                          "sampling: {temperature: 0, max_tokens: 16}\n";

/* Rewrites the log record by record, the last one with another id. */
struct rewriter {
    FILE *file;
    struct nj_record_cursor cursor;
    uint64_t last_sequence;
};

static enum nj_status count(void *context, const struct nj_record *record, struct nj_error *err)
{
    struct rewriter *rewriter = context;
    (void)err;
    rewriter->last_sequence = record->sequence;
    return NJ_OK;
}

static enum nj_status copy_altered(void *context, const struct nj_record *record,
                                   struct nj_error *err)
{
    enum { TOKEN_OFFSET = 24 }; /* of the id in an entry: docs/formats/token-log.md */
    struct rewriter *rewriter = context;
    uint8_t payload[4096];
    uint8_t encoded[4608];
    size_t length_bytes = record->payload.length_bytes;
    (void)err;
    if (length_bytes > sizeof payload) {
        return NJ_E_INTERNAL;
    }
    memcpy(payload, record->payload.data, length_bytes);
    if (record->sequence == rewriter->last_sequence) {
        payload[TOKEN_OFFSET] ^= 1;
    }
    struct nj_bytes bytes = {.data = payload, .length_bytes = length_bytes};
    size_t n_bytes = nj_record_encoded_bytes(length_bytes);
    nj_record_encode(&rewriter->cursor, record->type, bytes, encoded);
    return fwrite(encoded, 1, n_bytes, rewriter->file) == n_bytes ? NJ_OK : NJ_E_STORAGE;
}

static void alter_last_id(const char *folder)
{
    size_t length_bytes = 0;
    char *log = tiny_run_read(folder, "tokens.log", &length_bytes);
    REQUIRE(log != NULL);
    struct nj_bytes bytes = {.data = (const uint8_t *)log, .length_bytes = length_bytes};
    struct rewriter rewriter = {0};
    struct nj_record_log_scan scan;
    uint8_t header[NJ_RECORD_LOG_HEADER_BYTES];
    CHECK_EQ(nj_record_log_scan(bytes, NJ_TOKEN_LOG_VERSION, count, &rewriter, &scan, NULL),
             NJ_OK);
    CHECK_EQ(scan.end, NJ_LOG_END_CLEAN);
    rewriter.file = fopen(tiny_run_path(folder, "tokens.log"), "wb");
    REQUIRE(rewriter.file != NULL);
    nj_record_log_encode_header(&scan.identity, header, &rewriter.cursor);
    CHECK_EQ(fwrite(header, 1, sizeof header, rewriter.file), sizeof header);
    CHECK_EQ(
        nj_record_log_scan(bytes, NJ_TOKEN_LOG_VERSION, copy_altered, &rewriter, &scan, NULL),
        NJ_OK);
    CHECK_EQ(fclose(rewriter.file), 0);
    free(log);
}

static void run_to_the_end(const char *folder, uint64_t n_restored)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = folder, .job = job};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);
    CHECK_EQ(report.n_tokens_restored, n_restored);
    CHECK_EQ(report.n_tokens_restored + report.n_tokens_generated, 16);
}

static void stop_after(const char *folder, uint32_t n_sweeps)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = folder, .job = job, .stop_after_sweeps = n_sweeps};
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_E_STOPPED);
}

/* Both went on from the same log, but for its last id; only one has the undisturbed results. */
static void compare(const char *straight_folder, const char *faithful_folder,
                    const char *altered_folder)
{
    char *straight = tiny_run_read(straight_folder, "results.jsonl", NULL);
    char *faithful = tiny_run_read(faithful_folder, "results.jsonl", NULL);
    char *altered = tiny_run_read(altered_folder, "results.jsonl", NULL);
    CHECK_TEXT(faithful, straight);
    CHECK(altered != NULL && straight != NULL && strcmp(altered, straight) != 0);
    free(straight);
    free(faithful);
    free(altered);
}

static void an_altered_last_id_changes_the_result(void)
{
    stop_after("faithful", 6);
    stop_after("altered", 6);
    alter_last_id("altered");

    run_to_the_end("faithful", 6);
    run_to_the_end("altered", 6);

    run_to_the_end("straight", 0);
    compare("straight", "faithful", "altered");
}

/* A text file of the repository, or NULL. Caller frees. */
static char *read_source(const char *name)
{
    char path[512];
    enum { LIMIT_BYTES = 65536 };
    char *text = calloc(1, LIMIT_BYTES);
    (void)snprintf(path, sizeof path, "%s/%s", test_source_directory(), name);
    FILE *file = fopen(path, "r");
    bool is_read = text != NULL && file != NULL && fread(text, 1, LIMIT_BYTES - 1, file) > 0;
    if (file != NULL) {
        (void)fclose(file); /* only read from */
    }
    if (!is_read) {
        free(text);
        return NULL;
    }
    return text;
}

/* The job that is killed at random, on the model that ships. */
static void run_killed_job(const char *folder, uint32_t kill_after_sweeps)
{
    char model_path[512];
    (void)snprintf(model_path, sizeof model_path, "%s/examples/fledgling",
                   test_source_directory());
    char *text = read_source("tests/crash/kill_random.yaml");
    REQUIRE(text != NULL);
    struct tiny_run run = {.folder = folder,
                           .job = text,
                           .model_path = model_path,
                           .batch = 4,
                           .stop_after_sweeps = kill_after_sweeps,
                           .is_killed = true};
    int status = tiny_run_in_child(&run);
    CHECK_EQ(WIFSIGNALED(status), kill_after_sweeps > 0);
    CHECK(kill_after_sweeps > 0 || status == 0);
    free(text);
}

static void killed_with_penalties_stops_and_samples_it_changes_the_result_too(void)
{
    run_killed_job("killed faithful", 40);
    run_killed_job("killed altered", 40);
    alter_last_id("killed altered");

    run_killed_job("killed faithful", 0);
    run_killed_job("killed altered", 0);

    run_killed_job("killed straight", 0);
    compare("killed straight", "killed faithful", "killed altered");
}

/* What is damaged is not believed: the run goes back to the last id that verifies. */
static void a_flipped_bit_in_the_token_log_costs_time_and_no_text(void)
{
    size_t length_bytes = 0;
    stop_after("flipped", 8);
    char *log = tiny_run_read("flipped", "tokens.log", &length_bytes);
    REQUIRE(log != NULL);
    log[length_bytes / 2] ^= 0x10;
    FILE *file = fopen(tiny_run_path("flipped", "tokens.log"), "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite(log, 1, length_bytes, file), length_bytes);
    CHECK_EQ(fclose(file), 0);

    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "flipped", .job = job};
    REQUIRE_OK(tiny_run(&run, &report, &err), &err);

    char *straight = tiny_run_read("straight", "results.jsonl", NULL);
    char *flipped = tiny_run_read("flipped", "results.jsonl", NULL);
    CHECK(report.n_tokens_restored < 8);
    CHECK_TEXT(flipped, straight);
    free(straight);
    free(flipped);
    free(log);
}

int main(void)
{
    RUN(an_altered_last_id_changes_the_result);
    RUN(killed_with_penalties_stops_and_samples_it_changes_the_result_too);
    RUN(a_flipped_bit_in_the_token_log_costs_time_and_no_text);
    return test_result();
}
