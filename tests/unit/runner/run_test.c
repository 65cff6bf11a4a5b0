/* What a person sees of a run folder: refusals, restarts, appended items, the files in it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "crash/tiny_run.h"
#include "support/check.h"

static const char two_items[] = "nightjar: 1\n"
                                "name: pair\n"
                                "sampling: {temperature: 0.9, max_tokens: 4, seed: 1}\n"
                                "prompts:\n"
                                "  - {id: a, ids: [1, 2, 3]}\n"
                                "  - {id: b, ids: [4, 5, 6]}\n";

static const char three_items[] = "nightjar: 1\n"
                                  "name: pair\n"
                                  "sampling: {temperature: 0.9, max_tokens: 4, seed: 1}\n"
                                  "prompts:\n"
                                  "  - {id: a, ids: [1, 2, 3]}\n"
                                  "  - {id: b, ids: [4, 5, 6]}\n"
                                  "  - {id: c, ids: [7, 8, 9]}\n";

static const char changed_item[] = "nightjar: 1\n"
                                   "name: pair\n"
                                   "sampling: {temperature: 0.9, max_tokens: 4, seed: 1}\n"
                                   "prompts:\n"
                                   "  - {id: a, ids: [1, 2, 3]}\n"
                                   "  - {id: b, ids: [4, 5, 66]}\n";

static struct nj_run_report report;
static struct nj_error err;

static enum nj_status run(const char *folder, const char *job)
{
    struct tiny_run tiny = {.folder = folder, .job = job};
    return tiny_run(&tiny, &report, &err);
}

static void a_finished_run_is_reported_and_not_touched(void)
{
    REQUIRE_OK(run("finished", two_items), &err);
    char *before = tiny_run_read("finished", "journal.log", NULL);

    REQUIRE_OK(run("finished", two_items), &err);

    CHECK_EQ(report.n_items_kept, 2);
    CHECK_EQ(report.n_sweeps, 0);
    size_t length_bytes = 0;
    char *after = tiny_run_read("finished", "journal.log", &length_bytes);
    CHECK_BYTES(after, before, length_bytes);
    free(before);
    free(after);
}

static void a_changed_job_is_refused_with_what_changed_and_the_flags(void)
{
    REQUIRE_OK(run("changed", two_items), &err);

    CHECK_EQ(run("changed", changed_item), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "prompts, ids, variables or sampling");
    CHECK_CONTAINS(err.text, "--restart");
    CHECK_CONTAINS(err.text, "--fresh");
}

static void a_job_with_fewer_items_is_refused(void)
{
    REQUIRE_OK(run("fewer", three_items), &err);
    CHECK_EQ(run("fewer", two_items), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "more items");
}

static void another_epsilon_is_refused_by_its_name(void)
{
    struct tiny_run tiny = {.folder = "epsilon", .job = two_items, .latent_norm_eps = 1e-3};
    REQUIRE_OK(run("epsilon", two_items), &err);
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STATE);
    CHECK_CONTAINS(err.text, "latent_norm_eps");
}

static void another_model_is_refused_by_its_name(void)
{
    struct tiny_run tiny = {.folder = "other model", .job = two_items, .model = "other"};
    REQUIRE_OK(run("other model", two_items), &err);
    tiny_run_model("other");
    int fd = open(tiny_run_path("other", "model-00006-of-000006.safetensors"), O_RDWR);
    REQUIRE(fd >= 0);
    struct stat status;
    CHECK_EQ(fstat(fd, &status), 0);
    CHECK_EQ(pwrite(fd, "\x12", 1, status.st_size - 2), 1);
    (void)close(fd);

    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "model");
    CHECK_CONTAINS(err.text, "fingerprint");
}

static void restart_keeps_what_is_the_same_and_does_the_rest_anew(void)
{
    struct tiny_run tiny = {.folder = "restart", .job = changed_item, .mode = NJ_RUN_RESTART};
    REQUIRE_OK(run("restart", two_items), &err);

    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    CHECK_EQ(report.n_items_kept, 1);
    CHECK_EQ(report.n_tokens_generated, 4);
    REQUIRE_OK(run("new", changed_item), &err);
    char *restarted = tiny_run_read("restart", "results.jsonl", NULL);
    char *wanted = tiny_run_read("new", "results.jsonl", NULL);
    CHECK_TEXT(restarted, wanted);
    free(restarted);
    free(wanted);
    REQUIRE_OK(run("restart", changed_item), &err);
    CHECK_EQ(report.n_items_kept, 2);
}

static void fresh_moves_the_old_run_aside(void)
{
    struct tiny_run tiny = {.folder = "fresh", .job = changed_item, .mode = NJ_RUN_FRESH};
    REQUIRE_OK(run("fresh", two_items), &err);
    char *before = tiny_run_read("fresh", "results.jsonl", NULL);

    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);
    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    CHECK_EQ(report.n_items_kept, 0);
    char *aside = tiny_run_read("fresh.1", "results.jsonl", NULL);
    CHECK_TEXT(aside, before);
    CHECK(tiny_run_has("fresh.2", "results.jsonl"));
    free(before);
    free(aside);
}

static void appended_items_are_the_same_job(void)
{
    REQUIRE_OK(run("appended", two_items), &err);

    REQUIRE_OK(run("appended", three_items), &err);

    CHECK_EQ(report.n_items_kept, 2);
    CHECK_EQ(report.n_items_ok, 3);
    CHECK_EQ(report.n_tokens_generated, 4);
}

static void a_folder_in_use_is_refused(void)
{
    REQUIRE_OK(run("busy", two_items), &err);
    int fd = open(tiny_run_path("busy", "run.lock"), O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && flock(fd, LOCK_EX) == 0);

    CHECK_EQ(run("busy", two_items), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "another nightjar");
    (void)close(fd);
}

static void a_job_that_cannot_run_leaves_no_folder(void)
{
    static const char foreign_id[] = "nightjar: 1\nids: [1, 70000]\n";
    static const char too_long[] = "nightjar: 1\nids: [1]\nsampling: {max_tokens: 100000}\n";
    static const char text[] = "nightjar: 1\nprompt: hello\n";
    static const char foreign_stop[] = "nightjar: 1\nids: [1]\n"
                                       "sampling: {stop_token_ids: [70000, 3]}\n";
    static const char foreign_bias[] = "nightjar: 1\nids: [1]\n"
                                       "sampling: {logit_bias: {70001: -1}}\n";
    static const char short_context[] = "nightjar: 1\nids: [1]\ncontext: 9\n"
                                        "sampling: {max_tokens: 9}\n";

    CHECK_EQ(run("impossible", foreign_id), NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "id 1 is 70000");
    CHECK_EQ(run("impossible", too_long), NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "100001 positions");
    CHECK_EQ(run("impossible", text), NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "no tokenizer files");
    CHECK_EQ(run("impossible", foreign_stop), NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "`sampling.stop_token_ids` names id 70000");
    CHECK_EQ(run("impossible", foreign_bias), NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "`sampling.logit_bias` names id 70001");
    CHECK_EQ(run("impossible", short_context), NJ_E_INPUT);
    CHECK_CONTAINS(err.text, "the job's `context` is 9");

    CHECK(!tiny_run_has("impossible", ""));
}

/* Everything that changes what is chosen; each item differs from the first in one key. */
static void sampling_keys_are_obeyed(void)
{
    static const char *const keys[] = {"",
                                       ", min_p: 1",
                                       ", presence_penalty: 2",
                                       ", frequency_penalty: 2",
                                       ", repeat_penalty: 3",
                                       ", logit_bias: {9: 100}",
                                       ", logit_bias: {9: 100}, stop_token_ids: [9]"};
    enum { N_KEYS = sizeof keys / sizeof keys[0] };
    char *results[N_KEYS];
    for (size_t i = 0; i < N_KEYS; i++) {
        char job[512];
        (void)snprintf(job, sizeof job,
                       "nightjar: 1\nids: [1, 2, 3]\n"
                       "sampling: {temperature: 1, top_k: 3, max_tokens: 40, seed: 2%s}\n",
                       keys[i]);
        struct tiny_run fresh = {.folder = "keys", .job = job, .mode = NJ_RUN_FRESH};
        REQUIRE_OK(tiny_run(&fresh, &report, &err), &err);
        results[i] = tiny_run_read("keys", "results.jsonl", NULL);
        REQUIRE(results[i] != NULL);
        if (i > 0 && strcmp(results[i], results[0]) == 0) {
            test_fail(__FILE__, __LINE__, "\"%s\" changes nothing", keys[i]);
        }
    }
    CHECK_CONTAINS(results[5], "\"ids\":[9,9,9,9,");
    CHECK_CONTAINS(results[6], "\"ids\":[9],\"finish_reason\":\"stop\",\"stop_reason\":9");
    for (size_t i = 0; i < N_KEYS; i++) {
        free(results[i]);
    }
}

static void log_probabilities_stand_in_the_result_line(void)
{
    static const char top[] = "nightjar: 1\nids: [1, 2, 3]\n"
                              "sampling: {temperature: 0, max_tokens: 2, logprobs: 3}\n";
    static const char chosen[] = "nightjar: 1\nids: [1, 2, 3]\n"
                                 "sampling: {temperature: 0, max_tokens: 2, logprobs: 0}\n";
    REQUIRE_OK(run("top", top), &err);
    REQUIRE_OK(run("chosen", chosen), &err);
    char *line = tiny_run_read("top", "results.jsonl", NULL);
    struct nj_json *document = NULL;
    REQUIRE_OK(nj_json_parse(nj_text_from(line), "results.jsonl", &document, &err), &err);
    const struct nj_json_value *root = nj_json_root(document);
    const struct nj_json_value *logprobs = nj_json_get(root, "logprobs");
    REQUIRE(nj_json_count(logprobs) == 2);
    for (size_t i = 0; i < 2; i++) {
        const struct nj_json_value *token = nj_json_at(logprobs, i);
        const struct nj_json_value *alternatives = nj_json_get(token, "top");
        const struct nj_json_value *first = nj_json_at(alternatives, 0);
        int64_t id = -1;
        int64_t chosen_id = -2;
        int64_t first_id = -3;
        double values[4] = {1.0, 1.0, 1.0, 1.0};
        CHECK(nj_json_as_integer(nj_json_at(nj_json_get(root, "ids"), i), &id));
        CHECK(nj_json_as_integer(nj_json_get(token, "id"), &chosen_id));
        CHECK(nj_json_as_integer(nj_json_get(first, "id"), &first_id));
        CHECK_EQ(chosen_id, id);
        CHECK_EQ(first_id, id); /* greedy */
        CHECK_EQ(nj_json_type_of(nj_json_get(token, "token")), NJ_JSON_NULL);
        CHECK_EQ(nj_json_count(alternatives), 3);
        CHECK(nj_json_as_number(nj_json_get(token, "logprob"), &values[0]));
        for (size_t k = 0; k < 3; k++) {
            CHECK(nj_json_as_number(nj_json_get(nj_json_at(alternatives, k), "logprob"),
                                    &values[1 + k]));
        }
        CHECK(values[0] < 0.0 && values[0] == values[1]);
        CHECK(values[1] >= values[2] && values[2] >= values[3]);
    }
    nj_json_destroy(document);
    free(line);
    line = tiny_run_read("chosen", "results.jsonl", NULL);
    CHECK_CONTAINS(line, ",\"top\":[]}");
    free(line);
}

/* A run stopped at any sweep counts again what was said before. */
static void penalties_and_log_probabilities_survive_a_stop_at_any_token(void)
{
    static const char job[] =
        "nightjar: 1\nname: penalties\nids: [1, 2, 3]\n"
        "sampling: {temperature: 2, max_tokens: 8, seed: 2, logprobs: 5,\n"
        "  repeat_penalty: 1.5, presence_penalty: 0.5,\n"
        "  frequency_penalty: 0.5, min_p: 0.01}\n";
    REQUIRE_OK(run("penalized", job), &err);
    char *wanted = tiny_run_read("penalized", "results.jsonl", NULL);
    for (uint32_t n_sweeps = 1; n_sweeps < 8; n_sweeps++) {
        struct tiny_run tiny = {.folder = "penalized",
                                .job = job,
                                .mode = NJ_RUN_FRESH,
                                .stop_after_sweeps = n_sweeps};
        CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
        REQUIRE_OK(run("penalized", job), &err);
        CHECK_EQ(report.n_tokens_restored, n_sweeps);
        char *results = tiny_run_read("penalized", "results.jsonl", NULL);
        CHECK_TEXT(results, wanted);
        free(results);
    }
    free(wanted);
}

/* A job of two items, of which the first wants `n` answers. */
static const char *sampled_job(char job[512], unsigned n)
{
    (void)snprintf(job, 512,
                   "nightjar: 1\nname: samples\n"
                   "sampling: {temperature: 2, max_tokens: 5, seed: 3, repeat_penalty: 1.2}\n"
                   "prompts:\n"
                   "  - {id: many, ids: [1, 2, 3], sampling: {n: %u, logprobs: 2}}\n"
                   "  - {id: one, ids: [4, 5]}\n",
                   n);
    return job;
}

/* The number of lines that begin with the same bytes in both texts. */
static unsigned n_equal_lines(const char *a, const char *b)
{
    unsigned n = 0;
    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++) {
        n += a[i] == '\n';
    }
    return n;
}

static void samples_are_results_of_their_own_and_do_not_depend_on_each_other(void)
{
    static const char *const beginnings[] = {"{\"index\":0,\"id\":\"many\",\"sample\":0,",
                                             "{\"index\":0,\"id\":\"many\",\"sample\":1,",
                                             "{\"index\":0,\"id\":\"many\",\"sample\":2,",
                                             "{\"index\":1,\"id\":\"one\",\"sample\":0,"};
    char job[512];
    REQUIRE_OK(run("single", sampled_job(job, 1)), &err);
    REQUIRE_OK(run("twice", sampled_job(job, 2)), &err);
    REQUIRE_OK(run("thrice", sampled_job(job, 3)), &err);
    CHECK_EQ(report.n_items_ok, 4);
    char *single = tiny_run_read("single", "results.jsonl", NULL);
    char *twice = tiny_run_read("twice", "results.jsonl", NULL);
    char *thrice = tiny_run_read("thrice", "results.jsonl", NULL);

    const char *line = thrice;
    const char *ids[4] = {NULL};
    for (size_t i = 0; i < 4; i++) {
        CHECK_EQ(strncmp(line, beginnings[i], strlen(beginnings[i])), 0);
        ids[i] = strstr(line, "\"ids\":");
        line = strchr(line, '\n') + 1;
    }
    CHECK_TEXT(line, "");
    CHECK(strncmp(ids[0], ids[1], 16) != 0);
    CHECK(strncmp(ids[1], ids[2], 16) != 0);
    CHECK_EQ(n_equal_lines(single, thrice), 1);
    CHECK_EQ(n_equal_lines(twice, thrice), 2);
    CHECK_TEXT(strstr(thrice, beginnings[3]), strstr(single, beginnings[3]));
    free(single);
    free(twice);
    free(thrice);
}

static void samples_survive_a_stop_at_any_sweep(void)
{
    char job[512];
    REQUIRE_OK(run("samples", sampled_job(job, 3)), &err);
    char *wanted = tiny_run_read("samples", "results.jsonl", NULL);
    for (uint32_t n_sweeps = 1; n_sweeps < 10; n_sweeps++) {
        struct tiny_run tiny = {.folder = "samples",
                                .job = job,
                                .mode = NJ_RUN_FRESH,
                                .batch = 2,
                                .stop_after_sweeps = n_sweeps};
        CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
        REQUIRE_OK(run("samples", job), &err);
        char *results = tiny_run_read("samples", "results.jsonl", NULL);
        CHECK_TEXT(results, wanted);
        free(results);
    }
    free(wanted);
}

static void a_drawn_job_seed_is_kept_for_the_whole_run(void)
{
    struct tiny_run tiny = {.folder = "seeded", .stop_after_sweeps = 4, .entropy = 1 << 25};
    REQUIRE_OK((enum nj_status)(tiny_run(&tiny, &report, &err) != NJ_E_STOPPED), &err);
    tiny.stop_after_sweeps = 0;
    tiny.entropy = 1 << 26;
    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);
    tiny.folder = "seeded at once";
    tiny.entropy = 1 << 25;
    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    char *continued = tiny_run_read("seeded", "results.jsonl", NULL);
    char *at_once = tiny_run_read("seeded at once", "results.jsonl", NULL);
    CHECK_TEXT(continued, at_once);
    free(continued);
    free(at_once);
}

static void files_are_private_and_complete(void)
{
    static const char *const names[] = {"run.lock",   "spec.yaml",    "journal.log",
                                        "tokens.log", "results.log",  "results.jsonl",
                                        "live.jsonl", "manifest.json"};
    struct stat status;
    REQUIRE_OK(run("private", two_items), &err);
    CHECK_EQ(stat(tiny_run_path("private", ""), &status), 0);
    CHECK_EQ(status.st_mode & 0777, 0700);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_EQ(stat(tiny_run_path("private", names[i]), &status), 0);
        CHECK_EQ(status.st_mode & 0777, 0600);
    }
    CHECK(!tiny_run_has("private", "errors.jsonl"));
    char *spec = tiny_run_read("private", "spec.yaml", NULL);
    CHECK_TEXT(spec, two_items);
    free(spec);
}

/* The `reproducible` section of a manifest, as text. Caller frees. */
static char *reproducible(const char *folder)
{
    char *text = tiny_run_read(folder, "manifest.json", NULL);
    struct nj_json *document = NULL;
    struct nj_json_writer writer;
    struct nj_text section = {0};
    nj_json_writer_init(&writer);
    CHECK_EQ(nj_json_parse(nj_text_from(text), "manifest.json", &document, &err), NJ_OK);
    const struct nj_json_value *value = nj_json_get(nj_json_root(document), "reproducible");
    CHECK_EQ(nj_json_type_of(value), NJ_JSON_OBJECT);
    nj_json_write_value(&writer, value);
    CHECK_EQ(nj_json_finish(&writer, &section, &err), NJ_OK);
    char *copy = calloc(section.length_bytes + 1, 1);
    if (copy != NULL) {
        memcpy(copy, section.data, section.length_bytes);
    }
    nj_json_writer_deinit(&writer);
    nj_json_destroy(document);
    free(text);
    return copy;
}

static void identical_inputs_have_an_identical_reproducible_section(void)
{
    struct tiny_run tiny = {
        .folder = "second", .job = two_items, .batch = 1, .stop_after_sweeps = 2};
    struct tiny_run other = {.folder = "first", .job = two_items, .entropy = 1 << 28};
    REQUIRE_OK(tiny_run(&other, &report, &err), &err);
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    tiny.stop_after_sweeps = 0;
    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    char *first = reproducible("first");
    char *second = reproducible("second");
    CHECK_TEXT(second, first);
    CHECK_CONTAINS(first, "\"results_sha256\"");
    CHECK(strstr(first, test_folder()) == NULL); /* no paths */
    free(first);
    free(second);
    char *manifest = tiny_run_read("second", "manifest.json", NULL);
    CHECK_CONTAINS(manifest, "\"stopped\"");
    CHECK_CONTAINS(manifest, "\"tokens_restored\":2");
    free(manifest);
}

static void live_results_are_the_same_lines_in_completion_order(void)
{
    struct tiny_run tiny = {.folder = "live", .stop_after_sweeps = 5};
    CHECK_EQ(tiny_run(&tiny, &report, &err), NJ_E_STOPPED);
    char *live = tiny_run_read("live", "live.jsonl", NULL);
    REQUIRE(live != NULL);
    CHECK(strstr(live, "\"id\":\"single\"") < strstr(live, "\"id\":\"short\""));
    CHECK(!tiny_run_has("live", "results.jsonl"));
    free(live);
    int fd = open(tiny_run_path("live", "live.jsonl"), O_WRONLY | O_APPEND);
    REQUIRE(fd >= 0);
    CHECK_EQ(write(fd, "{\"torn", 6), 6);
    (void)close(fd);
    tiny.stop_after_sweeps = 0;

    REQUIRE_OK(tiny_run(&tiny, &report, &err), &err);

    live = tiny_run_read("live", "live.jsonl", NULL);
    char *results = tiny_run_read("live", "results.jsonl", NULL);
    CHECK_EQ(strlen(live), strlen(results));
    CHECK(strstr(live, "{\"torn") == NULL);
    free(live);
    free(results);
}

/* R8: whoever dies between the results log and the done mark has a result all the same. */
static void a_result_without_a_mark_is_adopted(void)
{
    REQUIRE_OK(run("adopted", two_items), &err);
    CHECK_EQ(unlink(tiny_run_path("adopted", "journal.log")), 0);
    CHECK_EQ(unlink(tiny_run_path("adopted", "results.jsonl")), 0);

    REQUIRE_OK(run("adopted", two_items), &err);

    CHECK_EQ(report.n_items_kept, 2);
    CHECK_EQ(report.n_tokens_generated, 0);
    CHECK(tiny_run_has("adopted", "results.jsonl"));
}

static void a_mark_without_a_result_is_done_again(void)
{
    REQUIRE_OK(run("unproven", two_items), &err);
    char *wanted = tiny_run_read("unproven", "results.jsonl", NULL);
    CHECK_EQ(unlink(tiny_run_path("unproven", "results.log")), 0);

    REQUIRE_OK(run("unproven", two_items), &err);

    char *results = tiny_run_read("unproven", "results.jsonl", NULL);
    CHECK_EQ(report.n_tokens_restored, 8);
    CHECK_EQ(report.n_tokens_generated, 0);
    CHECK_TEXT(results, wanted);
    free(results);
    free(wanted);
}

int main(void)
{
    RUN(a_finished_run_is_reported_and_not_touched);
    RUN(a_changed_job_is_refused_with_what_changed_and_the_flags);
    RUN(a_job_with_fewer_items_is_refused);
    RUN(another_epsilon_is_refused_by_its_name);
    RUN(another_model_is_refused_by_its_name);
    RUN(restart_keeps_what_is_the_same_and_does_the_rest_anew);
    RUN(fresh_moves_the_old_run_aside);
    RUN(appended_items_are_the_same_job);
    RUN(a_folder_in_use_is_refused);
    RUN(a_job_that_cannot_run_leaves_no_folder);
    RUN(sampling_keys_are_obeyed);
    RUN(log_probabilities_stand_in_the_result_line);
    RUN(penalties_and_log_probabilities_survive_a_stop_at_any_token);
    RUN(samples_are_results_of_their_own_and_do_not_depend_on_each_other);
    RUN(samples_survive_a_stop_at_any_sweep);
    RUN(a_drawn_job_seed_is_kept_for_the_whole_run);
    RUN(files_are_private_and_complete);
    RUN(identical_inputs_have_an_identical_reproducible_section);
    RUN(live_results_are_the_same_lines_in_completion_order);
    RUN(a_result_without_a_mark_is_adopted);
    RUN(a_mark_without_a_result_is_done_again);
    return test_result();
}
