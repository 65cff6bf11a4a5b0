#include "job/overrides.h"

#include "support/failing_malloc.h"
#include "unit/job/reading.h"

#define JOB                                                                                    \
    "nightjar: 1\nvars: {who: file}\nsampling: {top_k: 3, top_p: 0.5}\nx-a: &a {prompt: p}\n"  \
    "prompts: [*a, *a, \"{{who}}\"]\n"

static void read_with(struct readings *readings, const char *text, const char *const *sets,
                      size_t n_sets)
{
    const struct nj_job_overrides overrides = {.sets = sets, .n_sets = n_sets};
    read_jobs(readings, text, &overrides);
}

static void settings_replace_what_the_file_says_and_leave_the_rest(void)
{
    static const char *const sets[] = {
        "sampling.top_k=9", "sampling.stop=[END, \"\\n\"]", "prompts.1.sampling.temperature=0",
        "name=other",       "budget.max_items=2",           "prompts.0.prompt=a=b"};
    struct readings readings;
    read_with(&readings, JOB, sets, sizeof sets / sizeof sets[0]);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    const struct nj_job_spec *spec = readings.reading.spec;
    CHECK_TEXT(shown(spec->name), "other");
    CHECK_EQ(spec->item_limit, 2);
    CHECK_TEXT(shown(spec->prompts[0].prompt), "a=b");
    CHECK_TEXT(shown(spec->prompts[1].prompt), "p");
    CHECK_EQ(spec->prompts[0].sampling.top_k, 9);
    CHECK_NEAR(spec->prompts[0].sampling.top_p, 0.5, 0);
    CHECK_NEAR(spec->prompts[0].sampling.temperature, 1, 0);
    CHECK_NEAR(spec->prompts[1].sampling.temperature, 0, 0);
    CHECK_EQ(spec->prompts[2].sampling.n_stop, 2);
    close_reading(&readings.reading);
}

static void names_with_points_are_one_name_in_the_matrix(void)
{
    static const char *const sets[] = {"matrix.sampling.top_p=[0.1, 0.2]",
                                       "matrix.sampling.top_k=[1]"};
    struct readings readings;
    read_with(&readings, "nightjar: 1\nprompt: x\nmatrix: {sampling.top_p: [1]}\n", sets, 2);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    CHECK_EQ(readings.reading.spec->matrix.n_axes, 2);
    CHECK_EQ(readings.reading.spec->matrix.n_cells, 2);
    close_reading(&readings.reading);
}

static void settings_are_checked_and_named_like_the_file(void)
{
    static const struct {
        const char *set, *complaint;
    } cases[] = {
        {"sampling.temperature=hot", "--set sampling.temperature: 'temperature' must be a "
                                     "number, not 'hot', numbers are written as in JSON, such "
                                     "as 0.7 or 200"},
        {"sampling.temprature=1", "--set sampling.temprature: unknown key 'temprature' in "
                                  "sampling, did you mean 'temperature'?"},
        {"prompts.0.prompt=\"{{x}}\"", "--set prompts.0.prompt: unknown variable 'x', known: "
                                       "who, _index, _id"},
        {"prompts.3.prompt=x", "--set prompts.3.prompt: '3' is no index of a list of 3"},
        {"prompts.2.prompt=x", "--set prompts.2.prompt: there is text in the place of what "
                               "'prompt' would be in"},
        {"sampling.top_k=",
         "--set sampling.top_k: there is no value behind '=', write \"\" for "
         "an empty text"},
        {"sampling.stop=[a", "--set sampling.stop:2:1: the '[' of line 1 is not closed before "
                             "this, close it with ], or quote the text"},
        {"top_k", "--set: 'top_k' must be a name, '=' and a value"},
        {"=1", "--set: '=1' must be a name, '=' and a value"},
        {"name=\xE9", "--set: what follows 'name=' is not UTF-8 text"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct readings readings;
        read_with(&readings, JOB, &cases[i].set, 1);
        CHECK_TEXT(readings.reading.complaints, cases[i].complaint);
        CHECK_EQ(readings.reading.status, NJ_E_INPUT);
        close_reading(&readings.reading);
    }
}

static void a_key_is_set_in_whatever_spelling_the_file_has_it(void)
{
    static const char *const sets[] = {"sampling.max_tokens=3", "sampling.stopSequences=[b]",
                                       "vars.maxTokens=y"};
    struct readings readings;
    read_with(&readings,
              "nightjar: 1\nprompt: x\nvars: {max_tokens: x}\n"
              "sampling: {maxTokens: 7, stop: a}\n",
              sets, sizeof sets / sizeof sets[0]);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    const struct nj_job_spec *spec = readings.reading.spec;
    CHECK_EQ(spec->prompts[0].sampling.max_tokens, 3);
    REQUIRE(spec->prompts[0].sampling.n_stop == 1);
    CHECK_TEXT(shown(spec->prompts[0].sampling.stop[0]), "b");
    CHECK_EQ(spec->n_vars, 2);
    CHECK_TEXT(readings.reading.complaints,
               "job.yaml:4:12: warning: 'maxTokens' is read as 'max_tokens'");
    close_reading(&readings.reading);
}

static void a_batch_keeps_its_own_prompts(void)
{
    static const char batch[] =
        "{\"custom_id\":\"a\",\"method\":\"POST\",\"url\":\"/v1/completions\","
        "\"body\":{\"prompt\":\"x\"}}\n";
    static const char *const sets[] = {"prompt=y", "sampling.top_k=2"};
    const struct nj_job_overrides overrides = {.sets = sets, .n_sets = 2};
    struct readings readings;
    read_jobs_of("batch.jsonl", &readings, batch, &overrides);
    CHECK_TEXT(readings.reading.complaints,
               "--set prompt: 'prompt' stands beside the prompts of the batch");
    close_reading(&readings.reading);
    const struct nj_job_overrides sampling = {.sets = &sets[1], .n_sets = 1};
    read_jobs_of("batch.jsonl", &readings, batch, &sampling);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    CHECK_EQ(readings.reading.spec->prompts[0].sampling.top_k, 2);
    close_reading(&readings.reading);
}

static void variables_are_texts_as_they_are(void)
{
    static const char *const vars[] = {"who=[{{x}}] # no: comment", "new.name=", "a=b=c"};
    const struct nj_job_overrides overrides = {.vars = vars, .n_vars = 3};
    struct readings readings;
    read_jobs(&readings, JOB, &overrides);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    const struct nj_job_spec *spec = readings.reading.spec;
    REQUIRE(spec->n_vars == 3);
    CHECK_TEXT(shown(spec->vars[0].value), "b=c");
    CHECK_TEXT(shown(spec->vars[1].name), "new.name");
    CHECK_TEXT(shown(spec->vars[1].value), "");
    CHECK_TEXT(shown(spec->vars[2].value), "[{{x}}] # no: comment");
    close_reading(&readings.reading);

    read_jobs(&readings, "nightjar: 1\nprompt: \"{{a}}{{who}}{{new.name}}\"\n", &overrides);
    CHECK_TEXT(readings.reading.complaints, "");
    close_reading(&readings.reading);
}

static void the_smaller_limit_of_items_holds(void)
{
    static const struct {
        const char *text;
        uint64_t given, wanted;
    } cases[] = {{"nightjar: 1\nprompt: x\n", 0, 0},
                 {"nightjar: 1\nprompt: x\n", 5, 5},
                 {"nightjar: 1\nprompt: x\nbudget: {max_items: 3}\n", 5, 3},
                 {"nightjar: 1\nprompt: x\nbudget: {max_items: 7}\n", 5, 5},
                 {"nightjar: 1\nprompt: x\nbudget: {max_items: 7}\n", 0, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct nj_job_overrides overrides = {.limit = cases[i].given};
        struct readings readings;
        read_jobs(&readings, cases[i].text, &overrides);
        REQUIRE_OK(readings.reading.status, &readings.reading.error);
        CHECK_EQ(readings.reading.spec->item_limit, cases[i].wanted);
        close_reading(&readings.reading);
    }
}

static void every_job_of_a_file_is_changed(void)
{
    static const char *const sets[] = {"sampling.top_k=9"};
    struct readings readings;
    read_with(&readings,
              "nightjar: 1\nname: a\nprompt: x\n---\nnightjar: 1\nname: b\nprompt: y\n", sets,
              1);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    REQUIRE(readings.specs.n_items == 2);
    CHECK_EQ(readings.specs.items[0]->prompts[0].sampling.top_k, 9);
    CHECK_EQ(readings.specs.items[1]->prompts[0].sampling.top_k, 9);
    close_reading(&readings.reading);
}

static void a_text_before_braces_must_be_quoted_whole(void)
{
    static const char *const sets[] = {"prompt=Answer: {{x}}"};
    static const char *const quoted[] = {"prompt=\"Answer: {{x}}\""};
    struct readings readings;
    read_with(&readings, "nightjar: 1\nprompt: a\nvars: {x: 1}\n", sets, 1);
    CHECK_TEXT(readings.reading.complaints,
               "--set prompt: a ': ' before {{ makes a map of the text, quote all of it, as in "
               "prompt='\"Answer: {{name}}\"'");
    close_reading(&readings.reading);
    read_with(&readings, "nightjar: 1\nprompt: a\nvars: {x: 1}\n", quoted, 1);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    CHECK_TEXT(shown(readings.reading.spec->prompts[0].prompt), "Answer: {{x}}");
    close_reading(&readings.reading);
}

static void running_out_of_memory_anywhere_is_reported(void)
{
    static const char *const sets[] = {"sampling.stop=[a, {b: c}]", "prompts.0.prompt=y"};
    static const char *const vars[] = {"a=b"};
    const struct nj_job_overrides overrides = {
        .sets = sets, .n_sets = 2, .vars = vars, .n_vars = 1, .limit = 1};
    bool failed = true;
    for (unsigned long n = 1; failed; n++) {
        struct nj_arena arena = {0};
        struct nj_diagnostics diagnostics;
        struct nj_job_specs specs = {0};
        struct nj_bytes bytes = {(const uint8_t *)JOB, sizeof JOB - 1};
        nj_diagnostics_init(&diagnostics, &arena);
        failing_malloc_arm(n);
        enum nj_status status = nj_job_specs_read("job.yaml", bytes, &overrides, &arena,
                                                  &diagnostics, &specs, NULL);
        failed = failing_malloc_disarm();
        CHECK_EQ(status, failed ? NJ_E_MEMORY : NJ_E_INPUT);
        CHECK_EQ(specs.n_items, 0);
        nj_diagnostics_deinit(&diagnostics);
        nj_arena_deinit(&arena);
    }
}

static void a_variable_that_no_job_uses_is_a_warning(void)
{
    static const char *const vars[] = {"lables=x", "b=y", "unlike=z"};
    const struct nj_job_overrides overrides = {.vars = vars, .n_vars = 3};
    struct readings readings;
    read_jobs(&readings,
              "nightjar: 1\nname: a\nprompt: \"{{labels}}\"\nvars: {labels: v}\n"
              "---\nnightjar: 1\nname: b\nprompt: \"{{b}}\"\n",
              &overrides);
    REQUIRE_OK(readings.reading.status, &readings.reading.error);
    CHECK_TEXT(readings.reading.complaints,
               "--var: warning: 'lables' is used in no template, did you mean 'labels'?\n"
               "--var: warning: 'unlike' is used in no template");
    close_reading(&readings.reading);
}

int main(void)
{
    RUN(settings_replace_what_the_file_says_and_leave_the_rest);
    RUN(names_with_points_are_one_name_in_the_matrix);
    RUN(settings_are_checked_and_named_like_the_file);
    RUN(a_key_is_set_in_whatever_spelling_the_file_has_it);
    RUN(a_batch_keeps_its_own_prompts);
    RUN(variables_are_texts_as_they_are);
    RUN(the_smaller_limit_of_items_holds);
    RUN(every_job_of_a_file_is_changed);
    RUN(a_text_before_braces_must_be_quoted_whole);
    RUN(running_out_of_memory_anywhere_is_reported);
    RUN(a_variable_that_no_job_uses_is_a_warning);
    return test_result();
}
