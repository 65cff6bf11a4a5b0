/* `output.formats` and `output.filename`: files for spreadsheets and readers, which follow the
 * results log as results.jsonl does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"

#define ITEMS                                                                                  \
    "name: formats\n"                                                                          \
    "sampling: {temperature: 0, max_tokens: 2}\n"                                              \
    "vars: {place: \"Norway, north\", mood: 'say \"calm\"'}\n"                                 \
    "id: \"{{place}}\"\n"                                                                      \
    "prompts:\n"                                                                               \
    "  - {ids: [1, 2, 3]}\n"                                                                   \
    "  - {ids: [4, 5], vars: {extra: \"two\\nlines\", place: Oslo}, sampling: {n: 2}}\n"

static const char all_formats[] =
    "nightjar: 1\n" ITEMS "output: {formats: [jsonl, markdown, csv]}\n";
static const char named[] =
    "nightjar: 1\n" ITEMS "output: {formats: [markdown], filename: \"in {{place}}\"}\n";
static const char only_lines[] = "nightjar: 1\n" ITEMS;

static struct nj_run_report report;
static struct nj_error err;

static enum nj_status run(const char *folder, const char *job)
{
    struct tiny_run tiny = {.folder = folder, .job = job};
    return tiny_run(&tiny, &report, &err);
}

static void check_file(const char *folder, const char *name, const char *wanted)
{
    char *found = tiny_run_read(folder, name, NULL);
    REQUIRE(found != NULL);
    CHECK_TEXT(found, wanted);
    free(found);
}

static void a_csv_row_has_the_variables_and_the_answer(void)
{
    REQUIRE_OK(run("csv", all_formats), &err);
    char *csv = tiny_run_read("csv", "results.csv", NULL);
    REQUIRE(csv != NULL);

    char *second = strstr(csv, "\r\n");
    REQUIRE(second != NULL);
    *second = '\0';
    second += 2;
    CHECK_TEXT(csv, "index,id,sample,status,vars.extra,vars.mood,vars.place,reasoning,response,"
                    "ids,finish_reason,stop_reason,seed,prompt_tokens,completion_tokens,"
                    "reasoning_tokens,error_code,error_message");
    CHECK_EQ(strncmp(second,
                     "0,\"Norway, north\",0,ok,,\"say \"\"calm\"\"\",\"Norway, north\",,,\"[",
                     58),
             0);
    CHECK_CONTAINS(second, ",length,,,3,2,0,,\r\n");
    CHECK_CONTAINS(second, "1,Oslo,1,ok,\"two\nlines\",\"say \"\"calm\"\"\",Oslo,,,");
    free(csv);
}

static void a_markdown_file_has_front_matter_prompt_and_answer(void)
{
    static const char before[] = "---\njob: \"formats\"\nindex: 0\nid: \"Norway, north\"\n"
                                 "sample: 0\nstatus: \"ok\"\nmodel: \"";
    static const char behind[] = "\"\nseed: null\nfinish_reason: \"length\"\nprompt_tokens: 3\n"
                                 "completion_tokens: 2\n---\n\n## Prompt, as ids\n\n1 2 3\n\n"
                                 "## Response, as ids\n\n";
    REQUIRE_OK(run("markdown", all_formats), &err);
    char *text = tiny_run_read("markdown", "items/0000-Norway-north.md", NULL);
    REQUIRE(text != NULL);

    CHECK_EQ(strncmp(text, before, strlen(before)), 0);
    CHECK_CONTAINS(text, behind);
    size_t length = strlen(text);
    CHECK(text[length - 1] == '\n' && text[length - 2] != '\n');
    CHECK(tiny_run_has("markdown", "items/0001-Oslo.md"));
    CHECK(tiny_run_has("markdown", "items/0001-Oslo-2.md")); /* its second sample */
    free(text);
}

static void files_can_be_named_by_the_job(void)
{
    REQUIRE_OK(run("named", named), &err);
    CHECK(tiny_run_has("named", "items/in-Norway-north.md"));
    CHECK(tiny_run_has("named", "items/in-Oslo.md"));
    CHECK(tiny_run_has("named", "items/in-Oslo-2.md"));
    CHECK(tiny_run_has("named", "results.jsonl"));
    CHECK(!tiny_run_has("named", "results.csv"));
}

static void files_of_all_formats_are_private(void)
{
    struct stat status;
    REQUIRE_OK(run("modes", all_formats), &err);
    CHECK_EQ(stat(tiny_run_path("modes", "items"), &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0700);
    CHECK_EQ(stat(tiny_run_path("modes", "items/0001-Oslo.md"), &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
    CHECK_EQ(stat(tiny_run_path("modes", "results.csv"), &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0600);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    FILE *file = fopen(tiny_run_path(folder, name), "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite(text, 1, strlen(text), file), strlen(text));
    CHECK_EQ(fclose(file), 0);
}

static void what_is_lost_or_changed_comes_back_and_strangers_go(void)
{
    static const char *const files[] = {"results.csv", "items/0000-Norway-north.md",
                                        "items/0001-Oslo-2.md"};
    REQUIRE_OK(run("mended", all_formats), &err);
    char *manifest = tiny_run_read("mended", "manifest.json", NULL);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *before = tiny_run_read("mended", files[i], NULL);
        write_file("mended", files[i], "changed\n");
        REQUIRE_OK(run("mended", all_formats), &err);
        check_file("mended", files[i], before);
        CHECK_EQ(unlink(tiny_run_path("mended", files[i])), 0);
        REQUIRE_OK(run("mended", all_formats), &err);
        check_file("mended", files[i], before);
        free(before);
    }
    write_file("mended", "items/0009-of-another-job.md", "old\n");
    write_file("mended", "items/notes.txt", "mine\n");
    REQUIRE_OK(run("mended", all_formats), &err);
    CHECK(!tiny_run_has("mended", "items/0009-of-another-job.md"));
    CHECK(tiny_run_has("mended", "items/notes.txt"));
    CHECK_EQ(report.n_sweeps, 0);
    char *mended = tiny_run_read("mended", "manifest.json", NULL);
    REQUIRE(manifest != NULL && mended != NULL);
    CHECK_BYTES(mended, manifest, (size_t)(strstr(manifest, "\"engine\"") - manifest));
    free(manifest);
    free(mended);
}

/* The formats say how results are shown and not what they are: nothing is computed again. */
static void another_choice_of_formats_is_the_same_job(void)
{
    REQUIRE_OK(run("choice", all_formats), &err);

    REQUIRE_OK(run("choice", only_lines), &err);
    CHECK_EQ(report.n_items_kept, 3);
    CHECK_EQ(report.n_sweeps, 0);
    CHECK(!tiny_run_has("choice", "results.csv"));
    CHECK(!tiny_run_has("choice", "items/0001-Oslo.md"));

    REQUIRE_OK(run("choice", named), &err);
    CHECK_EQ(report.n_sweeps, 0);
    CHECK(tiny_run_has("choice", "items/in-Oslo.md"));
}

static void a_run_that_was_stopped_has_the_same_files(void)
{
    static const char *const files[] = {"results.csv", "items/0000-Norway-north.md",
                                        "items/0001-Oslo.md", "items/0001-Oslo-2.md"};
    struct tiny_run tiny = {
        .folder = "stopped", .job = all_formats, .batch = 1, .stop_after_sweeps = 3};
    REQUIRE_OK(run("whole", all_formats), &err);
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        CHECK(!tiny_run_has("stopped", files[i]));
    }
    REQUIRE_OK(run("stopped", all_formats), &err);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *wanted = tiny_run_read("whole", files[i], NULL);
        check_file("stopped", files[i], wanted);
        free(wanted);
    }
}

static void files_of_another_job_do_not_stay_while_this_one_is_under_way(void)
{
    static const char changed[] = "nightjar: 1\nname: formats\nids: [7, 7]\n"
                                  "sampling: {temperature: 0, max_tokens: 2}\n";
    struct tiny_run tiny = {
        .folder = "stale", .job = changed, .mode = NJ_RUN_RESTART, .stop_after_sweeps = 1};
    REQUIRE_OK(run("stale", all_formats), &err);

    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);

    CHECK(!tiny_run_has("stale", "results.csv"));
    CHECK(!tiny_run_has("stale", "items/0001-Oslo.md"));
}

int main(void)
{
    RUN(a_csv_row_has_the_variables_and_the_answer);
    RUN(a_markdown_file_has_front_matter_prompt_and_answer);
    RUN(files_can_be_named_by_the_job);
    RUN(files_of_all_formats_are_private);
    RUN(what_is_lost_or_changed_comes_back_and_strangers_go);
    RUN(another_choice_of_formats_is_the_same_job);
    RUN(a_run_that_was_stopped_has_the_same_files);
    RUN(files_of_another_job_do_not_stay_while_this_one_is_under_way);
    return test_result();
}
