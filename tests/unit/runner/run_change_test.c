/* A changed job is refused with the first item that changed, and the field. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash/tiny_run.h"
#include "support/check.h"

#define BEGINNING "nightjar: 1\nname: changing\n"
#define FIRST     "  - {id: a, ids: [1, 2, 3]}\n"
#define SAMPLING  "sampling: {temperature: 0.5, max_tokens: 2, seed: 1}\n"

static const char before[] =
    BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST "  - {id: b, ids: [4, 5]}\n";

static struct nj_run_report report;
static struct nj_error err;

static enum nj_status run(const char *folder, const char *job)
{
    struct tiny_run tiny = {.folder = folder, .job = job};
    return tiny_run(&tiny, &report, &err);
}

/* Stopped before anything was done: there is nothing but the copy of the job to compare with.
 */
static void the_first_changed_item_and_its_field_are_named(void)
{
    static const struct {
        const char *job, *wanted;
    } changes[] = {
        {BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST
                            "  - {id: b, ids: [4, 6]}\n",
         "differ), first at item 1 (b): `ids` differs. --restart"},
        {BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST
                            "  - {id: c, ids: [4, 5]}\n",
         "item 1 (c): `id` was \"b\" and is \"c\""},
        {BEGINNING SAMPLING "vars: {place: Rome}\nprompts:\n" FIRST
                            "  - {id: b, ids: [4, 5]}\n",
         "item 0 (a): `vars.place` was \"Oslo\" and is \"Rome\""},
        {BEGINNING "sampling: {temperature: 0.75, max_tokens: 2, seed: 1}\n"
                   "vars: {place: Oslo}\nprompts:\n" FIRST "  - {id: b, ids: [4, 5]}\n",
         "item 0 (a): `sampling.temperature` was 0.5 and is 0.75"},
        {BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST
                            "  - {id: b, ids: [4, 5], sampling: {max_tokens: 9, stop: [x]}}\n",
         "item 1 (b): `sampling.max_tokens` was 2 and is 9"},
        {BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST
                            "  - {id: b, ids: [4, 5], sampling: {stop_token_ids: [7]}}\n",
         "item 1 (b): `sampling.stop_token_ids` differs"},
        {BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST
                            "  - {id: b, ids: [4, 5], sampling: {seed: 2}}\n",
         "item 1 (b): its seed was 1 and is 2"},
        {BEGINNING SAMPLING "vars: {place: Oslo}\nprompts:\n" FIRST
                            "  - {id: b, ids: [4, 5], sampling: {logprobs: 1}}\n",
         "item 1 (b): `sampling.logprobs` differs"},
    };
    struct tiny_run tiny = {.folder = "changed", .job = before, .stop_after_sweeps = 1};
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        CHECK_EQ(run("changed", changes[i].job), NJ_E_STATE);
        CHECK_CONTAINS(err.text, changes[i].wanted);
        CHECK_CONTAINS(err.text, "--fresh");
    }
    REQUIRE_OK(run("changed", before), &err);
}

static void write_rows(const char *name, const char *text)
{
    FILE *file = fopen(tiny_run_path(name, ""), "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite(text, 1, strlen(text), file), strlen(text));
    CHECK_EQ(fclose(file), 0);
}

/* Rows of earlier runs are not kept: their results tell. */
static void of_changed_rows_the_results_tell(void)
{
    char job[1024];
    (void)snprintf(job, sizeof job,
                   "nightjar: 1\nname: rows\nrows: %s\nid: \"{{name}}\"\nids: [1, 2]\n"
                   "sampling: {temperature: 0, max_tokens: 1}\n",
                   tiny_run_path("rows.csv", ""));
    write_rows("rows.csv", "name,place\nx,Oslo\ny,Rome\nz,Bonn\n");
    REQUIRE_OK(run("rows", job), &err);

    write_rows("rows.csv", "name,place\nx,Oslo\ny,Bern\nz,Bonn\n");
    CHECK_EQ(run("rows", job), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "first at item 1 (y): `vars.place` was \"Rome\" and is \"Bern\"");

    write_rows("rows.csv", "name,place\nx,Oslo\ny,Rome\nnew,Bonn\n");
    CHECK_EQ(run("rows", job), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "first at item 2 (new): `id` was \"z\" and is \"new\"");
}

/* Appended rows begin a generation of their own; the results before it are still this job's,
 * also when the appended row has none. */
static void a_changed_row_is_named_after_rows_were_appended(void)
{
    static const enum nj_status endings[] = {NJ_OK, NJ_E_STOPPED};
    char job[1024];
    (void)snprintf(job, sizeof job,
                   "nightjar: 1\nname: rows\nrows: %s\nid: \"{{name}}\"\nids: [1, 2]\n"
                   "sampling: {temperature: 0, max_tokens: 2}\n",
                   tiny_run_path("appended.csv", ""));
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const char *folder = i == 0 ? "appended" : "appended-open";
        struct tiny_run more = {
            .folder = folder, .job = job, .stop_after_sweeps = endings[i] == NJ_OK ? 0 : 1};
        write_rows("appended.csv", "name,place\nx,Oslo\ny,Rome\n");
        REQUIRE_OK(run(folder, job), &err);
        write_rows("appended.csv", "name,place\nx,Oslo\ny,Rome\nz,Bonn\n");
        CHECK_EQ(tiny_run(&more, &report, &err), endings[i]);

        write_rows("appended.csv", "name,place\nx,Oslo\ny,Bern\nz,Bonn\n");
        CHECK_EQ(run(folder, job), NJ_E_STATE);
        CHECK_CONTAINS(err.text,
                       "first at item 1 (y): `vars.place` was \"Rome\" and is \"Bern\"");
    }
}

/* Somebody removed the copy, and nothing was done: the sentence goes without the item. */
static void a_change_that_cannot_be_placed_is_refused_all_the_same(void)
{
    static const char changed[] =
        BEGINNING SAMPLING "vars: {place: Rome}\nprompts:\n" FIRST "  - {id: b, ids: [4, 5]}\n";
    struct tiny_run tiny = {.folder = "unknown", .job = before, .stop_after_sweeps = 1};
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    CHECK_EQ(unlink(tiny_run_path("unknown", "spec.yaml")), 0);

    CHECK_EQ(run("unknown", changed), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "prompts, ids, variables or sampling differ). --restart");
}

/* The folder went on with another job, whose copy does not tell: what the results of the job
 * before it say is no change of this one. */
static void results_of_an_older_generation_name_no_item(void)
{
#define SECOND(last)                                                                           \
    BEGINNING SAMPLING "prompts:\n  - {id: c, ids: [6, 7]}\n  - {id: " last ", ids: [8, 9]}\n"
    struct tiny_run tiny = {.folder = "generations",
                            .job = SECOND("d"),
                            .mode = NJ_RUN_RESTART,
                            .stop_after_sweeps = 1};
    REQUIRE_OK(run("generations", before), &err);
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    CHECK_EQ(unlink(tiny_run_path("generations", "spec.yaml")), 0);

    CHECK_EQ(run("generations", SECOND("e")), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "prompts, ids, variables or sampling differ). --restart");

    REQUIRE_OK(run("generations", SECOND("d")), &err);
    CHECK_EQ(unlink(tiny_run_path("generations", "spec.yaml")), 0);
    CHECK_EQ(run("generations", SECOND("e")), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "first at item 1 (e): `id` was \"d\" and is \"e\"");
#undef SECOND
}

static void other_changes_are_told_with_both_values(void)
{
    static const char seeded[] = "nightjar: 1\nids: [1]\njob_seed: 5\n"
                                 "sampling: {temperature: 1, max_tokens: 2}\n";
    static const char otherwise[] = "nightjar: 1\nids: [1]\njob_seed: 6\n"
                                    "sampling: {temperature: 1, max_tokens: 2}\n";
    struct tiny_run tiny = {.folder = "values", .job = seeded, .latent_norm_eps = 0.5};
    REQUIRE_OK(run("values", seeded), &err);

    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "another latent_norm_eps, 1e-06 then and 0.5 now");
    CHECK_EQ(run("values", otherwise), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "another job_seed, 5 then and 6 now");
}

int main(void)
{
    RUN(the_first_changed_item_and_its_field_are_named);
    RUN(of_changed_rows_the_results_tell);
    RUN(a_changed_row_is_named_after_rows_were_appended);
    RUN(results_of_an_older_generation_name_no_item);
    RUN(a_change_that_cannot_be_placed_is_refused_all_the_same);
    RUN(other_changes_are_told_with_both_values);
    return test_result();
}
