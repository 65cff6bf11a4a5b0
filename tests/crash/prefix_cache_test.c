/* States of prefixes outlive a run: what one job read, another has read already, and not a byte
 * of its results says so, even when what it finds is damaged. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "crash/tiny_run.h"
#include "format/segment.h"
#include "support/check.h"
#include "unit/snapshot/forge.h"

#define COMMON                                                                                 \
    "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"  \
    "33,34,35,36,37,38,39,40,41,42,43,44,45,46,47,48,49,50,1,2,3,4,5,6,7,8,9,10,11,12,13,14,"  \
    "15,16,17,18,19,20"

static const char first_job[] = "nightjar: 1\n"
                                "name: first\n"
                                "sampling: {temperature: 0.8, max_tokens: 4}\n"
                                "prompts:\n"
                                "  - ids: [" COMMON ",60,61,62]\n"
                                "  - ids: [" COMMON ",70,71]\n";

/* One item: by itself it has nobody to share with. */
static const char second_job[] = "nightjar: 1\n"
                                 "name: second\n"
                                 "sampling: {temperature: 0.8, max_tokens: 9}\n"
                                 "prompts:\n"
                                 "  - ids: [" COMMON ",80,81,82,83]\n";

enum { N_COMMON = 70, N_SECOND = 74 };

/* --- what a run says --- */

struct heard {
    char text[2048];
};

static void hear(void *context, enum nj_log_level level, const char *line)
{
    struct heard *heard = context;
    size_t length = strlen(heard->text);
    (void)level;
    (void)snprintf(heard->text + length, sizeof heard->text - length, "%s\n", line);
}

static struct nj_log log_to(struct heard *heard)
{
    heard->text[0] = '\0';
    return (struct nj_log){.context = heard, .level = NJ_LOG_WARNING, .sink = hear};
}

/* --- runs --- */

static struct nj_run_report run_job(const char *folder, const char *job, const char *cache,
                                    struct heard *heard)
{
    struct nj_run_report report = {.n_items = 0};
    struct nj_error err = {.text = ""};
    struct heard ignored;
    const struct nj_log log = log_to(heard != NULL ? heard : &ignored);
    const struct tiny_run run = {.folder = folder,
                                 .job = job,
                                 .share_prefixes = cache != NULL ? 4 : NJ_SHARE_NOTHING,
                                 .prefix_cache = cache,
                                 .log = &log};
    tiny_run_remove(folder);
    CHECK_EQ(tiny_run(&run, &report, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    return report;
}

static bool is_as_without_cache(const char *folder)
{
    (void)run_job("without", second_job, NULL, NULL);
    char *wanted = tiny_run_read("without", "results.jsonl", NULL);
    char *found = tiny_run_read(folder, "results.jsonl", NULL);
    bool is_same = wanted != NULL && found != NULL && strcmp(wanted, found) == 0;
    free(wanted);
    free(found);
    return is_same;
}

static void fill_cache(const char *cache)
{
    tiny_run_remove(cache);
    struct nj_run_report report = run_job("first", first_job, cache, NULL);
    CHECK_EQ(report.n_prefixes_stored, 1);
    CHECK(report.prefix_stored_bytes > 0);
}

/* The one segment in the cache with this ending; false when there is none. */
static bool find_segment(const char *cache, const char *ending, char name[64])
{
    bool is_found = false;
    DIR *directory = opendir(tiny_run_path(cache, ""));
    for (const struct dirent *entry = NULL;
         directory != NULL && (entry = readdir(directory)) != NULL;) {
        const char *dot = strstr(entry->d_name, ".snap");
        if (dot != NULL && strcmp(dot, ending) == 0) {
            (void)snprintf(name, 64, "%.63s", entry->d_name);
            is_found = true;
        }
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return is_found;
}

/* --- tests --- */

static void another_job_takes_up_what_the_first_has_read(void)
{
    fill_cache("cache");

    struct nj_run_report report = run_job("second", second_job, "cache", NULL);

    CHECK_EQ(report.n_prefix_tokens_loaded, N_COMMON);
    CHECK_EQ(report.n_rows, N_SECOND - N_COMMON + 8);
    CHECK_EQ(report.n_prefixes_stored, 0); /* it is there */
    CHECK(is_as_without_cache("second"));
}

static void the_cache_is_private(void)
{
    struct stat status;
    char name[64];
    fill_cache("cache");

    CHECK(stat(tiny_run_path("cache", ""), &status) == 0 && (status.st_mode & 0777) == 0700);
    REQUIRE(find_segment("cache", ".snap", name));
    CHECK(stat(tiny_run_path("cache", name), &status) == 0 && (status.st_mode & 0777) == 0600);
    CHECK(stat(tiny_run_path("cache", "uses"), &status) == 0 &&
          (status.st_mode & 0777) == 0600);
}

/* Each byte would take too long here (snapshot.damage turns each); a byte in every record will
 * do, and a file cut short, and one without content. */
static void damage_is_named_and_put_aside_and_costs_no_byte(void)
{
    for (size_t kind = 0; kind < 6; kind++) {
        char name[64];
        char aside[64];
        struct heard heard;
        size_t n_bytes = 0;
        fill_cache("cache");
        REQUIRE(find_segment("cache", ".snap", name));
        char *bytes = tiny_run_read("cache", name, &n_bytes);
        REQUIRE(bytes != NULL);
        FILE *file = fopen(tiny_run_path("cache", name), "wb");
        REQUIRE(file != NULL);
        if (kind < 4) {
            bytes[NJ_SEGMENT_HEADER_BYTES +
                  (n_bytes - NJ_SEGMENT_HEADER_BYTES - 1) * kind / 4] ^= 1;
        } else {
            n_bytes = kind == 4 ? n_bytes / 2 : NJ_SEGMENT_HEADER_BYTES;
        }
        CHECK_EQ(fwrite(bytes, 1, n_bytes, file), n_bytes);
        CHECK_EQ(fclose(file), 0);
        free(bytes);

        struct nj_run_report report = run_job("second", second_job, "cache", &heard);

        CHECK_EQ(report.n_prefix_tokens_loaded, 0);
        CHECK_EQ(report.n_rows, N_SECOND + 8);
        CHECK(is_as_without_cache("second"));
        CHECK(strstr(heard.text, name) != NULL && strstr(heard.text, "put aside") != NULL);
        CHECK(!find_segment("cache", ".snap", aside));
        CHECK(find_segment("cache", ".snap.bad", aside));
    }
}

/* Negates every value of the recurrent parts. */
static void negate(void *context, struct nj_segment_section *section, uint8_t *raw,
                   size_t n_bytes)
{
    (void)context;
    for (size_t i = 3; section->type == NJ_SEGMENT_RECURRENT && i < n_bytes; i += 4) {
        raw[i] ^= 0x80;
    }
}

/* The state is really used: altered with all checksums right again, it changes the text. */
static void an_altered_state_with_right_checksums_changes_the_text(void)
{
    char name[64];
    size_t n_bytes = 0;
    size_t n_forged = 0;
    uint8_t *forged = NULL;
    const struct forgery forgery = {.change_record = negate};
    fill_cache("cache");
    REQUIRE(find_segment("cache", ".snap", name));
    char *bytes = tiny_run_read("cache", name, &n_bytes);
    forge_segment((struct nj_bytes){(const uint8_t *)bytes, n_bytes}, &forgery, &forged,
                  &n_forged);
    int directory_fd = open(tiny_run_path("cache", ""), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(directory_fd >= 0);
    write_segment(directory_fd, name, forged, n_forged);
    (void)close(directory_fd); /* a folder's */
    free(forged);
    free(bytes);

    struct nj_run_report report = run_job("second", second_job, "cache", NULL);

    CHECK_EQ(report.n_prefix_tokens_loaded, N_COMMON);
    CHECK(!is_as_without_cache("second"));
}

/* Another model or epsilon has other states: they are not looked at, and not put aside. */
static void states_of_another_epsilon_are_left_alone(void)
{
    char name[64];
    struct nj_run_report report;
    struct nj_error err;
    const struct tiny_run run = {.folder = "eps",
                                 .job = second_job,
                                 .share_prefixes = 4,
                                 .prefix_cache = "cache",
                                 .latent_norm_eps = 1e-2};
    fill_cache("cache");
    tiny_run_remove("eps");

    REQUIRE_OK(tiny_run(&run, &report, &err), &err);

    CHECK_EQ(report.n_prefix_tokens_loaded, 0);
    CHECK(find_segment("cache", ".snap", name));
}

/* Whoever writes holds the lock; the other goes on without. */
static void a_run_that_finds_the_cache_locked_stores_nothing(void)
{
    int directory_fd = -1;
    int lock_fd = -1;
    char name[64];
    struct nj_error err;
    tiny_run_remove("cache");
    const struct nj_file_system *fs = nj_file_system_real();
    REQUIRE_OK(
        nj_file_open_directory(fs, tiny_run_path("cache", ""), true, &directory_fd, &err),
        &err);
    REQUIRE_OK(nj_file_lock(fs, directory_fd, "lock", &lock_fd, &err), &err);

    struct nj_run_report report = run_job("first", first_job, "cache", NULL);

    CHECK_EQ(report.n_prefixes_stored, 0);
    CHECK(!find_segment("cache", ".snap", name));
    (void)close(lock_fd); /* nothing was written through it */
    (void)close(directory_fd);
    report = run_job("first", first_job, "cache", NULL);
    CHECK_EQ(report.n_prefixes_stored, 1);
}

/* Larger than the bound: not stored at all. */
static void what_is_larger_than_the_bound_is_not_stored(void)
{
    struct nj_run_report report;
    struct nj_error err;
    struct tiny_run run = {.folder = "first",
                           .job = first_job,
                           .share_prefixes = 4,
                           .prefix_cache = "cache",
                           .prefix_cache_bytes = 10000};
    tiny_run_remove("cache");
    tiny_run_remove("first");

    REQUIRE_OK(tiny_run(&run, &report, &err), &err);

    CHECK(report.n_prefix_forks > 0);
    CHECK_EQ(report.n_prefixes_stored, 0);
}

/* A folder that cannot be had costs a warning. */
static void without_a_folder_the_run_goes_on(void)
{
    struct heard heard;
    FILE *file = fopen(tiny_run_path("no folder", ""), "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fclose(file), 0);

    struct nj_run_report report = run_job("first", first_job, "no folder", &heard);

    CHECK_EQ(report.n_items_ok, 2);
    CHECK_EQ(report.n_prefixes_stored, 0);
    CHECK(strstr(heard.text, "could not be stored") != NULL);
}

int main(void)
{
    RUN(another_job_takes_up_what_the_first_has_read);
    RUN(the_cache_is_private);
    RUN(damage_is_named_and_put_aside_and_costs_no_byte);
    RUN(an_altered_state_with_right_checksums_changes_the_text);
    RUN(states_of_another_epsilon_are_left_alone);
    RUN(a_run_that_finds_the_cache_locked_stores_nothing);
    RUN(what_is_larger_than_the_bound_is_not_stored);
    RUN(without_a_folder_the_run_goes_on);
    return test_result();
}
