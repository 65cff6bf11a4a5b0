/* Several jobs in one file, and keys as other tools spell them. */
#include "unit/job/reading.h"

static void check_jobs(const char *text, const char *wanted)
{
    struct readings readings;
    read_jobs(&readings, text, NULL);
    CHECK_TEXT(readings.reading.complaints, wanted);
    CHECK_EQ(readings.specs.n_items > 0, readings.reading.status == NJ_OK);
    close_reading(&readings.reading);
}

static void each_document_is_a_job(void)
{
    struct readings readings;
    read_jobs(&readings,
              "nightjar: 1\nname: a\nx-s: &s {top_k: 1}\nsampling: *s\nprompt: one\n"
              "---\nnightjar: 1\nname: b\nx-s: &s {top_k: 2}\nsampling: *s\n"
              "prompt: |\n  two {{v}}\nvars: {v: w}\n...\n",
              NULL);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    REQUIRE(readings.specs.n_items == 2);
    CHECK_TEXT(shown(readings.specs.items[0]->name), "a");
    CHECK_EQ(readings.specs.items[0]->prompts[0].sampling.top_k, 1);
    CHECK_TEXT(shown(readings.specs.items[1]->name), "b");
    CHECK_EQ(readings.specs.items[1]->prompts[0].sampling.top_k, 2);
    CHECK_TEXT(shown(readings.specs.items[1]->prompts[0].prompt), "two {{v}}\n");
    close_reading(&readings.reading);
}

static void all_of_them_are_taken_or_none(void)
{
    check_jobs("nightjar: 1\nname: a\nprompt: x\n---\nnightjar: 1\nname: b\nprompt: {{x}}\n",
               "job.yaml:7:9: a value starting with {{ must be quoted, write \"{{name}} ...\"");
    check_jobs("nightjar: 1\nname: a\nprompt: x\nblob: 1\n---\nnightjar: 1\nname: b\n"
               "prompt: \"{{y}}\"\nfoo: 1\n",
               "job.yaml:4:1: unknown key 'blob'\n"
               "job.yaml:8:10: unknown variable 'y', known: _index, _id\n"
               "job.yaml:9:1: unknown key 'foo'");
}

static void their_names_must_differ(void)
{
    check_jobs(
        "nightjar: 1\nprompt: x\n---\nnightjar: 1\nname: job\nprompt: y\n",
        "job.yaml:5:7: a second job is called 'job', give each job of the file its own 'name'");
    check_jobs("nightjar: 1\nname: a b\nprompt: x\n---\nnightjar: 1\nname: a-b\nprompt: y\n",
               "job.yaml:6:7: 'a-b' has the same folder as job 'a b', give each job of the "
               "file its own 'name'");
}

static void a_mistake_in_a_flag_is_told_once_for_all_of_them(void)
{
    static const char *const sets[] = {"sampling.top_k=x", "foo=1"};
    const struct nj_job_overrides overrides = {.sets = sets, .n_sets = 2};
    struct readings readings;
    read_jobs(&readings,
              "nightjar: 1\nname: a\nprompt: x\n---\nnightjar: 1\nname: b\nprompt: y\n",
              &overrides);
    CHECK_TEXT(
        readings.reading.complaints,
        "--set sampling.top_k: 'top_k' must be a number, not 'x', numbers are written as "
        "in JSON, such as 0.7 or 200\n"
        "--set foo: unknown key 'foo'");
    CHECK_EQ(readings.reading.status, NJ_E_INPUT);
    close_reading(&readings.reading);
}

static void a_document_without_a_job_has_a_place(void)
{
    check_jobs("nightjar: 1\nprompt: x\n---\n[a]\n",
               "job.yaml:4:1: a job is a map of keys, not a list, a job begins with "
               "'nightjar: 1'");
    check_jobs(
        "nightjar: 1\nprompt: x\n---\n\"\"\n",
        "job.yaml:4:1: a job is a map of keys, not text, a job begins with 'nightjar: 1'");
}

static void empty_documents_beside_a_job_are_passed_over(void)
{
    static const char *const one_job[] = {
        "nightjar: 1\nprompt: x\n---\n", "nightjar: 1\nprompt: x\n---\n# the end\n...\n",
        "---\nnightjar: 1\nprompt: x\n---\n---\n---\n", "---\n---\nnightjar: 1\nprompt: x\n"};
    for (size_t i = 0; i < sizeof one_job / sizeof one_job[0]; i++) {
        struct readings readings;
        read_jobs(&readings, one_job[i], NULL);
        CHECK_TEXT(readings.reading.complaints, "");
        CHECK_EQ(readings.specs.n_items, 1);
        close_reading(&readings.reading);
    }
    struct reading reading;
    read_text(&reading, one_job[0]);
    REQUIRE_OK(reading.status, &reading.error);
    close_reading(&reading);
}

static void a_file_of_empty_documents_has_no_job(void)
{
    static const char *const without[] = {"", "# nothing\n", "---\n", "---\n---\n# x\n---\n"};
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        check_jobs(without[i], "job.yaml: no job in file, a job begins with 'nightjar: 1'");
    }
    check_jobs("--- ~\n", "job.yaml:1:5: a job is a map of keys, not text, a job begins with "
                          "'nightjar: 1'");
}

static void an_anchor_belongs_to_its_document(void)
{
    check_jobs("nightjar: 1\nname: a\nprompt: &p x\n---\nnightjar: 1\nname: b\nprompt: *p\n",
               "job.yaml:3:9: warning: '&p' is an anchor that nothing uses, and no part of the "
               "text, quote the text if it begins with '&'\n"
               "job.yaml:7:9: alias '*p' has no anchor '&p', define it above, or quote a text "
               "that begins with '*'");
}

static void camel_case_is_read_with_a_notice(void)
{
    struct readings readings;
    read_jobs(&readings,
              "nightjar: 1\nprompt: x\njobSeed: 4\nonDone: [a]\n"
              "sampling: {maxTokens: 7, topP: 0.5, stopSequences: [END], repeatPenalty: 1.5}\n",
              NULL);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    CHECK_TEXT(readings.reading.complaints,
               "job.yaml:3:1: warning: 'jobSeed' is read as 'job_seed'\n"
               "job.yaml:4:1: warning: 'onDone' is read as 'on_done'\n"
               "job.yaml:5:12: warning: 'maxTokens' is read as 'max_tokens'\n"
               "job.yaml:5:26: warning: 'topP' is read as 'top_p'\n"
               "job.yaml:5:37: warning: 'stopSequences' is read as 'stop'\n"
               "job.yaml:5:59: warning: 'repeatPenalty' is read as 'repeat_penalty'");
    const struct nj_sampling *sampling = &readings.reading.spec->prompts[0].sampling;
    CHECK_EQ(sampling->max_tokens, 7);
    CHECK_NEAR(sampling->top_p, 0.5, 0);
    CHECK_EQ(sampling->n_stop, 1);
    CHECK_EQ(readings.reading.spec->job_seed, 4);
    close_reading(&readings.reading);
}

static void both_spellings_at_once_are_a_mistake(void)
{
    check_jobs(
        "nightjar: 1\nprompt: x\nsampling: {maxTokens: 7, max_tokens: 8, temprature: 1}\n",
        "job.yaml:3:12: 'maxTokens' stands beside 'max_tokens', keep one of them\n"
        "job.yaml:3:41: unknown key 'temprature' in sampling, did you mean "
        "'temperature'?");
}

int main(void)
{
    RUN(each_document_is_a_job);
    RUN(all_of_them_are_taken_or_none);
    RUN(their_names_must_differ);
    RUN(a_mistake_in_a_flag_is_told_once_for_all_of_them);
    RUN(a_document_without_a_job_has_a_place);
    RUN(empty_documents_beside_a_job_are_passed_over);
    RUN(a_file_of_empty_documents_has_no_job);
    RUN(an_anchor_belongs_to_its_document);
    RUN(camel_case_is_read_with_a_notice);
    RUN(both_spellings_at_once_are_a_mistake);
    return test_result();
}
