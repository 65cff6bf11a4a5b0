#include "job/matrix.h"

#include "job/item_seed.h"
#include "unit/job/job_on_disk.h"

#define HEAD "nightjar: 1\nprompt: x\n"

static void check_last(const struct nj_item *item, const char *wanted)
{
    CHECK_TEXT(item->n_messages == 0 ? NULL
                                     : shown(item->messages[item->n_messages - 1].content),
               wanted);
}

static void rows_are_outermost_then_prompts_then_cells_then_repeats(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nrows: [{r: A}, {r: B}]\nrepeat: 2\n"
                           "prompts: [\"1{{r}}{{m}}\", \"2{{r}}{{m}}\"]\n"
                           "matrix: {m: [x, y]}\n"));
    static const char *const wanted[] = {"1Ax", "1Ax", "1Ay", "1Ay", "2Ax", "2Ax",
                                         "2Ay", "2Ay", "1Bx", "1Bx", "1By", "1By",
                                         "2Bx", "2Bx", "2By", "2By"};
    for (unsigned i = 0; i < 16; i++) {
        struct nj_item item = next_item(&job);
        check_last(&item, wanted[i]);
        CHECK_EQ(item.index, i);
        CHECK_EQ(item.row_index, i / 8);
        CHECK_EQ(item.prompt_index, i / 4 % 2);
        CHECK_EQ(item.matrix_index, i / 2 % 2);
        CHECK_EQ(item.repeat_index, i % 2);
    }
    check_end(&job);
    close_job(&job);
}

static void the_last_name_changes_fastest(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nprompt: \"{{b}}{{a}}\"\n"
                           "id: \"{{_index}}-{{sampling.top_k}}\"\n"
                           "matrix: {b: [1, 2], sampling.top_k: [5, 6], a: [no]}\n"));
    static const char *const ids[] = {"0-5", "1-6", "2-5", "3-6"};
    static const char *const contents[] = {"1no", "1no", "2no", "2no"};
    for (unsigned i = 0; i < 4; i++) {
        struct nj_item item = next_item(&job);
        CHECK_TEXT(shown(item.id), ids[i]);
        check_last(&item, contents[i]);
        CHECK_EQ(item.sampling->top_k, 5 + i % 2);
    }
    check_end(&job);
    close_job(&job);
}

static void excluded_cells_leave_the_indices_of_the_others(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nprompt: \"{{a}}{{b}}\"\nmatrix:\n  a: [1, 2]\n"
                           "  b: [x, y]\n  exclude: [{a: 1, b: y}, {b: x, a: 2}]\n"
                           "  include: [{a: 3, b: z}, {a: 1, b: y}]\n"));
    static const char *const contents[] = {"1x", "2y", "3z", "1y"};
    static const unsigned indices[] = {0, 3, 4, 5};
    for (unsigned i = 0; i < 4; i++) {
        struct nj_item item = next_item(&job);
        check_last(&item, contents[i]);
        CHECK_EQ(item.matrix_index, indices[i]);
    }
    check_end(&job);
    close_job(&job);
}

static void cells_can_be_listed_one_by_one(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nprompt: \"{{a}}\"\nmatrix:\n  include:\n"
                           "    - {a: x, sampling.stop: [END]}\n"
                           "    - {sampling.stop: \"\\n\", a: y}\n"));
    struct nj_item first = next_item(&job);
    struct nj_item second = next_item(&job);
    check_last(&first, "x");
    check_last(&second, "y");
    REQUIRE(first.sampling->n_stop == 1 && second.sampling->n_stop == 1);
    CHECK_TEXT(shown(first.sampling->stop[0]), "END");
    CHECK_TEXT(shown(second.sampling->stop[0]), "\n");
    CHECK_EQ(first.n_vars, 1);
    check_end(&job);
    close_job(&job);
}

static void the_matrix_wins_over_row_prompt_and_job(void)
{
    struct job job;
    REQUIRE(open_job(&job,
                     "nightjar: 1\nvars: {v: job}\nsampling: {temperature: 0.1, top_k: 1, "
                     "top_p: 0.1, max_tokens: 9}\n"
                     "prompts: [{prompt: \"{{v}}\", vars: {v: prompt}, sampling: {top_k: 2, "
                     "top_p: 0.2, temperature: 0.2}}]\n"
                     "rows: [{v: row, sampling.top_p: 0.3, sampling.temperature: 0.3}]\n"
                     "matrix: {v: [matrix], sampling.temperature: [0.4]}\n"));
    struct nj_item item = next_item(&job);
    check_last(&item, "matrix");
    CHECK_NEAR(item.sampling->temperature, 0.4, 0);
    CHECK_NEAR(item.sampling->top_p, 0.3, 0);
    CHECK_EQ(item.sampling->top_k, 2);
    CHECK_EQ(item.sampling->max_tokens, 9);
    close_job(&job);
}

static void repeats_raise_a_written_seed_and_derive_others_apart(void)
{
    struct job job;
    REQUIRE(open_job(&job,
                     "nightjar: 1\nrepeat: 2\nprompts: [{prompt: a, sampling: {seed: 40}}, "
                     "\"{{m}}\"]\nmatrix: {m: [1, 2], sampling.seed: [7]}\n"));
    for (unsigned i = 0; i < 8; i++) {
        CHECK_EQ(next_item(&job).seed, 7 + i % 2);
    }
    close_job(&job);

    REQUIRE(open_job(&job,
                     "nightjar: 1\nrepeat: 2\nprompts: [{prompt: a, sampling: {seed: "
                     "9007199254740991}}, \"{{m}}\"]\nmatrix: {m: [1, 2, 3], exclude: [{m: "
                     "1}]}\n"));
    for (uint64_t i = 0; i < 8; i++) {
        struct nj_item item = next_item(&job);
        struct nj_item_identity identity = {
            .prompt_index = 1, .cell_index = 1 + i / 2 % 2, .repeat_index = i % 2};
        uint64_t derived = 0;
        CHECK_EQ(nj_item_seed(7, &identity, &derived, NULL), NJ_OK);
        CHECK(item.seed == (i >= 4 ? derived : i % 2 == 0 ? NJ_SEED_MOST : 0));
    }
    close_job(&job);
}

static void counting_multiplies_and_limits(void)
{
    CHECK_EQ(count_both_ways("nightjar: 1\nprompt: \"{{m}}\"\nrepeat: 3\nmatrix: {m: [1, "
                             "2]}\nrows: [{a: b}, {a: c}]\n"),
             12);
    CHECK_EQ(count_both_ways(HEAD "repeat: 3\nbudget: {max_items: 7}\nrows: [{a: b}, {a: c}, "
                                  "{a: d}]\n"),
             7);
    CHECK_EQ(count_both_ways(HEAD "budget: {max_items: 7}\n"), 1);
}

static void counting_does_not_look_at_every_repeat(void)
{
    struct job job;
    uint64_t n_items = 0;
    read_job(&job, "nightjar: 1\nprompt: \"{{a}}\"\nrepeat: 1000000\nmatrix: {a: "
                   "[1,2,3,4,5,6,7,8,9,0]}\n");
    REQUIRE(job.reading.spec != NULL);
    CHECK_EQ(nj_items_check(job.reading.spec, nj_file_system_real(), &job.reading.diagnostics,
                            &n_items, NULL),
             NJ_OK);
    CHECK_EQ(n_items, 10000000);
    close_job(&job);
}

/* Another limit or another neighbour must not change what an item is. */
static void an_item_is_the_same_whatever_else_is_selected(void)
{
    static const char *const texts[] = {
        "nightjar: 1\nprompt: \"{{k}}{{m}}\"\nrepeat: 2\nrows: {file: rows.csv}\n"
        "matrix: {m: [1, 2]}\n",
        "nightjar: 1\nprompt: \"{{k}}{{m}}\"\nrepeat: 3\nrows: {file: rows.csv, offset: 1}\n"
        "matrix: {m: [1, 2], exclude: [{m: 1}]}\n"};
    uint64_t seeds[2] = {0};
    write_file("rows.csv", "k\na\nb\n", 6);
    for (size_t i = 0; i < 2; i++) {
        struct job job;
        REQUIRE(open_job(&job, texts[i]));
        for (;;) {
            struct nj_item item = next_item(&job);
            if (item.row_index == 1 && item.matrix_index == 1 && item.repeat_index == 1) {
                check_last(&item, "b2");
                seeds[i] = item.seed;
                break;
            }
        }
        close_job(&job);
    }
    CHECK(seeds[0] == seeds[1]);
}

static void mistakes_in_the_matrix_have_their_place(void)
{
    static const struct {
        const char *matrix, *complaints;
    } cases[] = {
        {"[a]", "job.yaml:3:9: 'matrix' must be a map, not a list, write {key: value}, or such "
                "lines below it, indented"},
        {"{}", "job.yaml:3:9: the matrix has no cells"},
        {"{a: 1}", "job.yaml:3:13: 'a' must be a list, not text, write [one, two], or lines "
                   "that begin with '- '"},
        {"{a: []}", "job.yaml:3:13: 'a' must have from 1 to 1000 values"},
        {"{a: [x, y, x]}", "job.yaml:3:20: 'a' has the same value twice, remove one of them"},
        {"{a: [[x]]}", "job.yaml:3:14: 'a' must be text, not a list, quote it if it is a text"},
        {"{_id: [x]}", "job.yaml:3:10: '_id' is a built-in variable, choose another name"},
        {"{sampling: [x]}", "job.yaml:3:10: the matrix cannot vary all of 'sampling', write "
                            "'sampling.temperature: [...]' and so on"},
        {"{sampling.foo: [x]}", "job.yaml:3:10: 'sampling.foo' names no sampling setting, such "
                                "as sampling.temperature or sampling.max_tokens"},
        {"{sampling.top_p: [0.5, 2]}", "job.yaml:3:32: 'sampling.top_p' must be above 0 and at "
                                       "most 1, not 2"},
        {"{sampling.response_format: [x]}",
         "job.yaml:3:10: 'response_format' is not supported: nothing would hold the answer to "
         "it, remove it, and ask for the form in the prompt"},
        {"{a: [x], exclude: [{b: x}]}", "job.yaml:3:29: 'b' is no name of the matrix, write a "
                                        "list for it above, or remove it"},
        {"{a: [x], exclude: [{a: y}]}", "job.yaml:3:32: 'a' never has this value, write it "
                                        "exactly as in the list"},
        {"{a: [x], exclude: [{}]}", "job.yaml:3:28: an entry of 'exclude' names nothing"},
        {"{a: [x], exclude: [{a: x}]}", "job.yaml:3:9: the matrix has no cells"},
        {"{a: [x, y], exclude: [{a: x}, {a: x}]}",
         "job.yaml:3:39: this entry of 'exclude' matches no cell that is left"},
        {"{a: [x], b: [y], include: [{a: x}]}",
         "job.yaml:3:36: this entry of 'include' does not say 'b'"},
        {"{a: [x], include: [{a: x}]}",
         "job.yaml:3:28: this entry of 'include' is in the matrix already, remove it"},
        {"{a: [x], include: x}", "job.yaml:3:27: 'include' must be a list, not text, write "
                                 "[one, two], or lines that begin with '- '"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, HEAD "matrix: %s\n", cases[i].matrix);
        CHECK_COMPLAINTS(text, cases[i].complaints);
    }
    CHECK_COMPLAINTS(HEAD "repeat: 0\n",
                     "job.yaml:3:9: 'repeat' must be from 1 to 1000000, not 0");
}

static void a_matrix_too_large_is_refused_before_it_is_built(void)
{
    CHECK_COMPLAINTS(HEAD "x-l: &l [0,1,2,3,4,5,6,7,8,9]\nmatrix: {a: *l, b: *l, c: *l, d: *l, "
                          "e: [1, 2]}\n",
                     "job.yaml:4:9: the matrix has more than 10000 cells, use rows");
    CHECK_COMPLAINTS(HEAD "x-l: &l [1]\nmatrix: {a: *l, b: *l, c: *l, d: *l, e: *l, f: *l, g: "
                          "*l, h: *l, i: *l, j: *l, k: *l, l: *l, m: *l, n: *l, o: *l, p: *l,\n"
                          "  q: *l, r: *l}\n",
                     "job.yaml:5:3: more than 16 names in the matrix\n"
                     "job.yaml:5:10: more than 16 names in the matrix");
}

static void a_name_of_the_matrix_is_known_to_templates(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"{{a}} {{sampling.top_k}} {{sampling.stop}}\"\n"
                     "matrix: {a: [x], sampling.top_k: [1], sampling.stop: [[x]]}\n",
                     "job.yaml:2:35: unknown variable 'sampling.stop', known: a, "
                     "sampling.top_k, _index, _id");
}

static void every_model_that_would_be_used_is_listed_once(void)
{
    static const struct {
        const char *text;
        size_t n_models;
        const char *model;
    } cases[] = {
        {"nightjar: 1\nprompt: x\n", 0, ""},
        {"nightjar: 1\nprompt: x\nmodel: a\n", 1, "a"},
        {"nightjar: 1\nprompts: [{prompt: x, model: b}, {prompt: y, model: b}]\nmodel: a\n", 1,
         "b"},
        {"nightjar: 1\nprompts: [{prompt: x, model: b}, y]\nmodel: a\n", 2, "a"},
        {"nightjar: 1\nprompt: x\nmodel: c\nmatrix: {model: [a, b]}\n", 2, "c"},
        {"nightjar: 1\nprompt: x\nmatrix: {model: [a]}\n", 1, "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading reading;
        read_text(&reading, cases[i].text);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_EQ(reading.spec->n_models, cases[i].n_models);
        CHECK_TEXT(shown(reading.spec->model), cases[i].model);
        close_reading(&reading);
    }
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nprompts: [{prompt: x, model: b}, y]\nmodel: a\n"));
    CHECK_TEXT(shown(next_item(&job).model), "b");
    CHECK_TEXT(shown(next_item(&job).model), "a");
    close_job(&job);
}

static void a_name_that_no_template_uses_is_a_warning(void)
{
    static const struct {
        const char *name, *hint;
    } cases[] = {{"temperature", "did you mean 'sampling.temperature'?"},
                 {"temprature", "did you mean 'sampling.temperature'?"},
                 {"maxTokens", "did you mean 'sampling.max_tokens'?"},
                 {"samplng.temperature", "did you mean 'sampling.temperature'?"},
                 {"modle", "did you mean 'model'?"},
                 {"lables", "did you mean 'labels'?"},
                 {"thinking", "it does not set the key 'thinking', which is one for all items: "
                              "write a job for each value, with '---' between them"},
                 {"system", "it does not set the key 'system', write 'system: \"{{system}}\"' "
                            "beside it"},
                 {"colour", "it only multiplies the items"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char wanted[512];
        struct reading reading;
        (void)snprintf(text, sizeof text,
                       "nightjar: 1\nvars: {labels: x}\nprompt: \"{{labels}}\"\n"
                       "matrix: {%s: [0, 1]}\n",
                       cases[i].name);
        (void)snprintf(wanted, sizeof wanted,
                       "job.yaml:4:10: warning: '%s' in the matrix is used in no template, %s",
                       cases[i].name, cases[i].hint);
        read_text(&reading, text);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_TEXT(reading.complaints, wanted);
        close_reading(&reading);
    }
}

static void a_name_is_used_by_any_template(void)
{
    static const char *const lines[] = {"prompt: \"{{a}}\"",
                                        "prompt: x\nid: \"{{a}}-{{_index}}\"",
                                        "prompt: x\nsystem: \"{{a}}\"",
                                        "prompt: x\noutput: {filename: \"{{a}}-{{_index}}\"}",
                                        "messages: [{role: user, content: \"{{a}}\"}]",
                                        "prompts: [{file: a.txt}]"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text, "nightjar: 1\nmatrix: {a: [0, 1]}\n%s\n", lines[i]);
        CHECK_COMPLAINTS(text, "");
    }
}

int main(void)
{
    RUN(rows_are_outermost_then_prompts_then_cells_then_repeats);
    RUN(the_last_name_changes_fastest);
    RUN(excluded_cells_leave_the_indices_of_the_others);
    RUN(cells_can_be_listed_one_by_one);
    RUN(the_matrix_wins_over_row_prompt_and_job);
    RUN(repeats_raise_a_written_seed_and_derive_others_apart);
    RUN(counting_multiplies_and_limits);
    RUN(counting_does_not_look_at_every_repeat);
    RUN(an_item_is_the_same_whatever_else_is_selected);
    RUN(mistakes_in_the_matrix_have_their_place);
    RUN(a_matrix_too_large_is_refused_before_it_is_built);
    RUN(a_name_of_the_matrix_is_known_to_templates);
    RUN(every_model_that_would_be_used_is_listed_once);
    RUN(a_name_that_no_template_uses_is_a_warning);
    RUN(a_name_is_used_by_any_template);
    return test_result();
}
