/* What becomes of a run when the drive fails under it: what passes is not noticed, what stays
 * ends the sweep with a sentence, and once it is repaired every item gives the bytes that it
 * would have given.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stream_proof/proof.h"
#include "support/check.h"
#include "tools/synth.h"

enum { N_ITEMS = 12, BATCH = 8, N_TOKENS = 5, N_GOOD_STEPS = 2, SHARD = 2, PATH_BYTES = 320 };

static const enum proof_reader readers[] = {PROOF_RING, PROOF_THREADS};
enum { N_READERS = sizeof readers / sizeof readers[0] };

static char model_path[PATH_BYTES];
static struct proof_transcript wanted[N_ITEMS];
static struct proof_bench bench;
static struct proof_run run;

static struct proof_setting setting_of(enum proof_reader reader, double share)
{
    return (struct proof_setting){.path = model_path,
                                  .share = share,
                                  .batch = BATCH,
                                  .reader = reader,
                                  .n_tokens = N_TOKENS};
}

static void make_model_and_wanted(void)
{
    const struct proof_setting setting = setting_of(PROOF_THREADS, 1.0);
    const struct nj_synth_options options = {.n_layers = 4, .n_experts = 16, .seed = 1};
    struct nj_error err = {0};
    (void)snprintf(model_path, sizeof model_path, "%s/model", test_folder());
    REQUIRE_OK(nj_synth_write(nj_file_system_real(), &options, model_path, NULL, &err), &err);
    REQUIRE_OK(proof_transcribe(&setting, N_ITEMS, wanted, &err), &err);
}

static void shard_path(char path[PATH_BYTES])
{
    (void)snprintf(path, PATH_BYTES, "%.280s/model-%05u-of-000005.safetensors", model_path,
                   SHARD + 1);
}

/* At the floor, so that every sweep reads the trunk anew, and some sweeps in. */
static enum nj_status begin(enum proof_reader reader, struct nj_error *err)
{
    const struct proof_setting setting = setting_of(reader, 0.0);
    bool is_done = false;
    enum nj_status status = proof_open(&bench, &setting, err);
    if (status == NJ_OK) {
        status = proof_run_begin(&run, &bench, N_ITEMS, err);
    }
    for (int i = 0; i < N_GOOD_STEPS && status == NJ_OK; i++) {
        status = proof_run_step(&run, &is_done, err);
    }
    return status;
}

static enum nj_status finish(struct nj_error *err)
{
    bool is_done = false;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && !is_done) {
        status = proof_run_step(&run, &is_done, err);
    }
    return status;
}

static void end(const char *what)
{
    proof_compare(run.transcripts, wanted, N_ITEMS, what);
    proof_run_end(&run);
    proof_close(&bench);
}

static struct slow_reader_fault fault_of(uint32_t n_times, int error_number)
{
    return (struct slow_reader_fault){.n_times = n_times,
                                      .file = SHARD,
                                      .to_bytes = UINT64_MAX,
                                      .error_number = error_number};
}

static void a_read_that_fails_once_is_not_noticed(void)
{
    for (size_t i = 0; i < N_READERS; i++) {
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        bench.slow.fault = fault_of(1, EIO);
        REQUIRE_OK(finish(&err), &err);
        CHECK_EQ(bench.slow.n_spoilt, 1);
        end("failed once");
    }
}

static void a_read_that_is_short_once_is_not_noticed(void)
{
    for (size_t i = 0; i < N_READERS; i++) {
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        bench.slow.fault = fault_of(1, 0);
        REQUIRE_OK(finish(&err), &err);
        CHECK_EQ(bench.slow.n_spoilt, 1);
        end("short once");
    }
}

/* The sweep ends with a sentence that names tensor and file. The states that it broke are built
 * anew when it is possible again. */
static void a_read_that_fails_for_ever_ends_the_sweep_until_it_is_repaired(void)
{
    for (size_t i = 0; i < N_READERS; i++) {
        bool is_done = false;
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        bench.slow.fault = fault_of(UINT32_MAX, EIO);
        CHECK_EQ(proof_run_step(&run, &is_done, &err), NJ_E_WEIGHTS);
        CHECK_CONTAINS(err.text, "layer 2");
        CHECK_CONTAINS(err.text, "model-00003-of-000005.safetensors");
        CHECK_CONTAINS(err.text, strerror(EIO));
        CHECK_EQ(proof_run_step(&run, &is_done, &err), NJ_E_WEIGHTS);

        bench.slow.fault.n_times = 0;
        REQUIRE_OK(finish(&err), &err);
        end("failed for a while");
    }
}

/* Of the copy that is held in memory. */
static void write_back(const char *path, const char *data, size_t length)
{
    FILE *file = fopen(path, "r+b"); /* the same file: descriptors of it are open */
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite(data, 1, length, file), length);
    CHECK_EQ(fclose(file), 0);
}

static char *read_shard(const char *path, size_t *length)
{
    struct stat status;
    FILE *file = fopen(path, "rb");
    if (file == NULL || stat(path, &status) != 0) {
        return NULL;
    }
    *length = (size_t)status.st_size;
    char *data = malloc(*length);
    if (data != NULL && fread(data, 1, *length, file) != *length) {
        free(data);
        data = NULL;
    }
    (void)fclose(file);
    return data;
}

static void a_shard_cut_while_running_ends_the_sweep_until_it_is_whole_again(void)
{
    char path[PATH_BYTES];
    size_t length = 0;
    shard_path(path);
    char *data = read_shard(path, &length);
    REQUIRE(data != NULL);
    for (size_t i = 0; i < N_READERS; i++) {
        bool is_done = false;
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        CHECK_EQ(truncate(path, (off_t)(length / 4)), 0);
        CHECK_EQ(proof_run_step(&run, &is_done, &err), NJ_E_WEIGHTS);
        CHECK_CONTAINS(err.text, "model-00003-of-000005.safetensors");
        CHECK_CONTAINS(err.text, "wanted");
        CHECK_CONTAINS(err.text, "found");

        write_back(path, data, length);
        REQUIRE_OK(finish(&err), &err);
        end("cut for a while");
    }
    free(data);
}

/* Its bytes are there as long as it is open. */
static void a_shard_unlinked_or_forbidden_while_running_is_not_noticed(void)
{
    char path[PATH_BYTES];
    char aside[PATH_BYTES + 8];
    shard_path(path);
    (void)snprintf(aside, sizeof aside, "%s.aside", path);
    for (size_t i = 0; i < N_READERS; i++) {
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        CHECK_EQ(link(path, aside), 0);
        CHECK_EQ(unlink(path), 0);
        CHECK_EQ(chmod(aside, 0), 0);
        REQUIRE_OK(finish(&err), &err);
        end("unlinked");
        CHECK_EQ(chmod(aside, 0600), 0);
        CHECK_EQ(rename(aside, path), 0);
    }
}

/* Other bytes of the same length in the middle of the shard, and the time of modification as it
 * was, as careful tools leave it. */
static void overwrite(const char *path, const char *data, size_t length)
{
    struct stat before;
    REQUIRE(stat(path, &before) == 0);
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    char *other = malloc(length);
    REQUIRE(other != NULL);
    memcpy(other, data, length);
    for (size_t i = length / 2; i < length / 2 + 64; i++) {
        other[i] = (char)(other[i] ^ 1);
    }
    write_back(path, other, length);
    free(other);
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

static uint32_t n_tokens_of_all(void)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < N_ITEMS; i++) {
        n += run.transcripts[i].n_tokens;
    }
    return n;
}

/* One step, which must fail and give nothing. */
static void check_step_is_refused(const char *why)
{
    bool is_done = false;
    struct nj_error err = {0};
    uint32_t n_before = n_tokens_of_all();
    CHECK_EQ(proof_run_step(&run, &is_done, &err), NJ_E_WEIGHTS);
    CHECK_CONTAINS(err.text, why);
    CHECK_EQ(n_tokens_of_all(), n_before);
}

/* Its header and length are what they were, so that nothing else would show it. */
static void a_shard_overwritten_while_running_ends_the_sweep_until_its_bytes_are_back(void)
{
    char path[PATH_BYTES];
    size_t length = 0;
    shard_path(path);
    char *data = read_shard(path, &length);
    REQUIRE(data != NULL);
    for (size_t i = 0; i < N_READERS; i++) {
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        overwrite(path, data, length);
        check_step_is_refused("model-00003-of-000005.safetensors was written to");
        check_step_is_refused("is not the model that was opened");

        write_back(path, data, length);
        REQUIRE_OK(finish(&err), &err);
        end("overwritten for a while");
    }
    free(data);
}

static void a_shard_replaced_while_running_ends_the_sweep(void)
{
    char path[PATH_BYTES];
    char other[PATH_BYTES + 8];
    char aside[PATH_BYTES + 8];
    shard_path(path);
    (void)snprintf(other, sizeof other, "%s.other", path);
    (void)snprintf(aside, sizeof aside, "%s.aside", path);
    for (size_t i = 0; i < N_READERS; i++) {
        struct nj_error err = {0};
        FILE *file = fopen(other, "wb");
        REQUIRE(file != NULL);
        CHECK_EQ(fclose(file), 0);
        REQUIRE_OK(begin(readers[i], &err), &err);
        CHECK_EQ(link(path, aside), 0);
        CHECK_EQ(rename(other, path), 0);
        check_step_is_refused("model-00003-of-000005.safetensors was replaced");

        CHECK_EQ(rename(aside, path), 0);
        REQUIRE_OK(finish(&err), &err);
        end("replaced for a while");
    }
}

/* As on a drive of 20 MB/s. */
static void a_slow_drive_changes_nothing_but_the_time(void)
{
    for (size_t i = 0; i < N_READERS; i++) {
        struct nj_error err = {0};
        REQUIRE_OK(begin(readers[i], &err), &err);
        bench.slow.bytes_per_second = UINT64_C(20000000);
        REQUIRE_OK(finish(&err), &err);
        end("slow");
    }
}

int main(void)
{
    RUN(make_model_and_wanted);
    RUN(a_read_that_fails_once_is_not_noticed);
    RUN(a_read_that_is_short_once_is_not_noticed);
    RUN(a_read_that_fails_for_ever_ends_the_sweep_until_it_is_repaired);
    RUN(a_shard_cut_while_running_ends_the_sweep_until_it_is_whole_again);
    RUN(a_shard_unlinked_or_forbidden_while_running_is_not_noticed);
    RUN(a_shard_overwritten_while_running_ends_the_sweep_until_its_bytes_are_back);
    RUN(a_shard_replaced_while_running_ends_the_sweep);
    RUN(a_slow_drive_changes_nothing_but_the_time);
    return test_result();
}
