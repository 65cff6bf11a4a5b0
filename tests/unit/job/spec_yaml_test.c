#include "job/item_seed.h"
#include "job/spec_yaml.h"

#include "support/failing_malloc.h"
#include "unit/job/reading.h"

#define HEAD "nightjar: 1\n"

static void a_job_that_says_little_gets_every_default(void)
{
    struct reading reading;
    read_bytes_as(&reading, "jobs/night one.yaml", HEAD "prompt: Hello\n", 26);

    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_spec *spec = reading.spec;
    CHECK_TEXT(shown(spec->name), "night one");
    CHECK_EQ(spec->model.length_bytes, 0);
    CHECK_EQ(spec->n_prompts, 1);
    CHECK_TEXT(shown(spec->prompts[0].prompt), "Hello");
    CHECK(spec->prompts[0].has_prompt);
    CHECK(spec->prompts[0].uses_chat);
    CHECK(!spec->prompts[0].has_system);
    CHECK_EQ(spec->rows.format, NJ_ROWS_NONE);
    CHECK_EQ(spec->thinking, NJ_JOB_THINKING_OFF);
    CHECK(!spec->has_latent_norm_eps);
    CHECK(!spec->has_job_seed);
    CHECK(spec->output_directory == NULL);
    const struct nj_sampling *sampling = &spec->prompts[0].sampling;
    CHECK_NEAR(sampling->temperature, 1, 0);
    CHECK_NEAR(sampling->top_p, 1, 0);
    CHECK_EQ(sampling->top_k, 0);
    CHECK_EQ(sampling->max_tokens, 512);
    CHECK(!sampling->has_seed);
    CHECK_EQ(sampling->n_stop, 0);
    close_reading(&reading);
}

static void every_supported_key_arrives_where_it_belongs(void)
{
    struct reading reading;
    static const char text[] =
        HEAD "name: Night-1.b\ndescription: what it is\ntags: [a, b c]\nmodel: m\n"
             "system: Be short.\nid: \"{{x}}\"\nvars: {x: '1'}\nprompt: \"Hi {{x}}\"\n"
             "thinking: high\nlatent_norm_eps: 1e-5\njob_seed: 9007199254740991\n"
             "sampling: {temperature: 0, top_p: 0.5, top_k: 40, max_tokens: 7, seed: 9,\n"
             "           stop: [\"\\n\", END]}\n"
             "rows: {file: r.txt, format: csv, delimiter: \";\", limit: 5, offset: 2}\n"
             "output: {dir: out}\n";
    read_bytes_as(&reading, "/d/job.yaml", text, sizeof text - 1);

    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_spec *spec = reading.spec;
    CHECK_TEXT(shown(spec->name), "Night-1.b");
    CHECK_TEXT(shown(spec->description), "what it is");
    CHECK_EQ(spec->n_tags, 2);
    CHECK_TEXT(shown(spec->tags[1]), "b c");
    CHECK_TEXT(shown(spec->model), "m");
    CHECK_TEXT(shown(spec->id_template), "{{x}}");
    CHECK_TEXT(shown(spec->prompts[0].system), "Be short.");
    CHECK_EQ(spec->thinking, NJ_JOB_THINKING_HIGH);
    CHECK_NEAR(spec->latent_norm_eps, 1e-5, 0);
    CHECK(spec->has_job_seed && spec->job_seed == NJ_SEED_MOST);
    const struct nj_sampling *sampling = &spec->prompts[0].sampling;
    CHECK_NEAR(sampling->temperature, 0, 0);
    CHECK_NEAR(sampling->top_p, 0.5, 0);
    CHECK_EQ(sampling->top_k, 40);
    CHECK_EQ(sampling->max_tokens, 7);
    CHECK(sampling->has_seed && sampling->seed == 9);
    CHECK_EQ(sampling->n_stop, 2);
    CHECK_TEXT(shown(sampling->stop[0]), "\n");
    CHECK_TEXT(shown(sampling->stop[1]), "END");
    CHECK_EQ(spec->rows.format, NJ_ROWS_CSV);
    CHECK_TEXT(spec->rows.path, "/d/r.txt");
    CHECK_EQ(spec->rows.delimiter, ';');
    CHECK_EQ(spec->rows.limit, 5);
    CHECK_EQ(spec->rows.offset, 2);
    CHECK_TEXT(spec->output_directory, "/d/out");
    close_reading(&reading);
}

static void relative_paths_begin_at_the_job_file(void)
{
    static const struct {
        const char *job, *written, *wanted;
    } cases[] = {{"job.yaml", "a.csv", "a.csv"},
                 {"jobs/job.yaml", "a.csv", "jobs/a.csv"},
                 {"jobs/job.yaml", "../a.csv", "jobs/../a.csv"},
                 {"jobs/job.yaml", "/data/a.csv", "/data/a.csv"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        int length =
            snprintf(text, sizeof text, HEAD "prompt: x\nrows: %s\n", cases[i].written);
        struct reading reading;
        read_bytes_as(&reading, cases[i].job, text, (size_t)length);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_TEXT(reading.spec->rows.path, cases[i].wanted);
        close_reading(&reading);
    }
}

static void prompts_override_what_the_job_says(void)
{
    struct reading reading;
    read_text(&reading, HEAD "system: job\nsampling: {top_k: 5, temperature: 0.5}\n"
                             "vars: {who: job}\nprompts:\n"
                             "  - plain {{who}}\n"
                             "  - {id: b, prompt: \"{{who}}\", system: own, vars: {who: own},\n"
                             "     sampling: {temperature: 0.25}}\n"
                             "  - messages: [{role: user, content: hi}]\n"
                             "  - messages: [{role: system, content: s}, {role: user, content: "
                             "hi},\n"
                             "               {role: assistant, content: ho}, {role: user, "
                             "content: hu}]\n");

    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_prompt_template *prompts = reading.spec->prompts;
    CHECK_EQ(reading.spec->n_prompts, 4);
    CHECK_TEXT(shown(prompts[0].prompt), "plain {{who}}");
    CHECK_TEXT(shown(prompts[0].system), "job");
    CHECK_NEAR(prompts[0].sampling.temperature, 0.5, 0);
    CHECK_TEXT(shown(prompts[1].id), "b");
    CHECK_TEXT(shown(prompts[1].system), "own");
    CHECK_TEXT(shown(prompts[1].vars[0].value), "own");
    CHECK_NEAR(prompts[1].sampling.temperature, 0.25, 0);
    CHECK_EQ(prompts[1].sampling.top_k, 5);
    CHECK_EQ(prompts[2].n_messages, 1);
    CHECK(prompts[2].has_system);
    CHECK_EQ(prompts[3].n_messages, 4);
    CHECK(!prompts[3].has_system);
    CHECK_EQ(prompts[3].messages[2].role, NJ_JOB_ROLE_ASSISTANT);
    close_reading(&reading);
}

static void prompts_can_be_token_ids_or_bare_text(void)
{
    struct reading reading;
    read_text(&reading, HEAD "chat: false\nprompts:\n  - {ids: [1, 2, 2147483647]}\n"
                             "  - bare\n  - {prompt: framed, chat: true}\n");

    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_prompt_template *prompts = reading.spec->prompts;
    CHECK_EQ(prompts[0].n_ids, 3);
    CHECK_EQ(prompts[0].ids[2], 2147483647);
    CHECK(!prompts[0].uses_chat);
    CHECK(!prompts[1].uses_chat);
    CHECK(prompts[2].uses_chat);
    close_reading(&reading);
}

static void all_mistakes_of_a_file_come_at_once_and_in_order(void)
{
    CHECK_COMPLAINTS(
        "nightjar: 2\nname: ../up\nsampling:\n  temprature: 1\n  top_p: 0\n  top_k: -1\n"
        "  max_tokens: 1.5\n  seed: 18446744073709551616\n  temperature: 1e999\n"
        "  stop: [\"\", [x]]\nthinking: medium\nlatent_norm_eps: 0\nprompt:\n"
        "rows: data.xls\noutput: out\ntemperature: 1\nfoo: 1\n",
        "job.yaml:1:11: format version 2 is not known, write 'nightjar: 1'\n"
        "job.yaml:2:7: job name '../up' cannot be a folder name, use at most 100 of A-Z a-z "
        "0-9 . _ - and spaces, begin with a letter or digit, do not end with a point or space\n"
        "job.yaml:4:3: unknown key 'temprature' in sampling, did you mean 'temperature'?\n"
        "job.yaml:5:10: 'top_p' must be above 0 and at most 1, not 0\n"
        "job.yaml:6:10: 'top_k' must be from 0 to 2147483647, not -1\n"
        "job.yaml:7:15: 'max_tokens' must be a whole number, not 1.5, write its digits, "
        "without point and exponent\n"
        "job.yaml:8:9: 'seed' must be from 0 to 9007199254740991, not "
        "18446744073709551616\n"
        "job.yaml:9:16: 'temperature' must be from 0 to 100, not 1e999\n"
        "job.yaml:10:10: 'stop' is empty, leave it out, or name a text that ends the answer\n"
        "job.yaml:10:14: 'stop' must be text, not a list, quote it if it is a text\n"
        "job.yaml:11:11: 'thinking' must be off, low, high or max, not 'medium'\n"
        "job.yaml:12:18: 'latent_norm_eps' must be from 1.17549e-38 to 1, not 0\n"
        "job.yaml:13:8: 'prompt' has no value\n"
        "job.yaml:14:7: the format of the row file 'data.xls' is not known, save the table as "
        "CSV in UTF-8\n"
        "job.yaml:15:9: 'output' must be a map, not text, write {key: value}, or such lines "
        "below it, indented\n"
        "job.yaml:16:1: unknown key 'temperature', it belongs under 'sampling'\n"
        "job.yaml:17:1: unknown key 'foo'");
}

static void nothing_is_half_accepted(void)
{
    struct reading reading;
    read_text(&reading, HEAD "prompt: x\nfoo: 1\n");
    CHECK_EQ(reading.status, NJ_E_INPUT);
    CHECK(reading.spec == NULL);
    CHECK_TEXT(reading.error.text, "job.yaml:3:1: unknown key 'foo'");
    close_reading(&reading);
}

static void keys_that_begin_with_x_are_left_alone(void)
{
    CHECK_COMPLAINTS(HEAD "prompt: x\nx-mine: {a: [1, {b: c}]}\nsampling: {x-note: why}\n", "");
    CHECK_COMPLAINTS(HEAD "prompt: x\nxmine: 1\n", "job.yaml:3:1: unknown key 'xmine'");
}

static void a_job_needs_its_version_and_exactly_one_form_of_prompt(void)
{
    CHECK_COMPLAINTS(
        "name: x\n",
        "job.yaml:1:1: the format version is missing, begin the file with "
        "'nightjar: 1'\n"
        "job.yaml:1:1: the job has no prompt, add prompt, messages, ids or prompts");
    CHECK_COMPLAINTS(HEAD "prompts: [a]\nprompt: b\n",
                     "job.yaml:2:1: 'prompts' stands beside a single prompt, keep one of them");
    CHECK_COMPLAINTS(HEAD "prompt: b\nids: [1]\n",
                     "job.yaml:3:1: 'ids' stands beside 'prompt', keep one of them");
    CHECK_COMPLAINTS(HEAD "prompts: [{id: a}, {prompt: a, file: b}]\n",
                     "job.yaml:2:11: this entry has no prompt, add prompt, messages, ids or "
                     "file\n"
                     "job.yaml:2:32: 'file' stands beside 'prompt', keep one of them");
    CHECK_COMPLAINTS(HEAD "prompts: []\n", "job.yaml:2:10: 'prompts' is empty");
    CHECK_COMPLAINTS(HEAD "prompts: [\"\"]\n", "job.yaml:2:11: 'prompts' is empty");
    CHECK_COMPLAINTS(HEAD "ids: []\n", "job.yaml:2:6: 'ids' is empty");
    CHECK_COMPLAINTS(
        HEAD "ids: [1, -1, 2147483648, x]\n",
        "job.yaml:2:10: 'ids' must be from 0 to 2147483647, not -1\n"
        "job.yaml:2:14: 'ids' must be from 0 to 2147483647, not 2147483648\n"
        "job.yaml:2:26: 'ids' must be a number, not 'x', numbers are written as in "
        "JSON, such as 0.7 or 200");
}

static void what_needs_the_chat_frame_is_refused_without_it(void)
{
    CHECK_COMPLAINTS(HEAD "chat: false\nsystem: s\nprompt: p\n",
                     "job.yaml:3:1: 'system' cannot be combined with 'chat: false', remove one "
                     "of them");
    CHECK_COMPLAINTS(HEAD "chat: false\nsystem: s\nprompts: [a, b]\n",
                     "job.yaml:3:1: 'system' cannot be combined with 'chat: false', remove one "
                     "of them");
    CHECK_COMPLAINTS(HEAD "chat: false\nmessages: [{role: user, content: x}]\n",
                     "job.yaml:3:1: 'messages' cannot be combined with 'chat: false', remove "
                     "one of them");
    CHECK_COMPLAINTS(HEAD "system: s\nprompts: [{prompt: a, chat: false}, {ids: [1]}]\n",
                     "job.yaml:3:23: 'chat' cannot be combined with the 'system' of the job, "
                     "remove one of them\n"
                     "job.yaml:3:38: 'ids' cannot be combined with the 'system' of the job, "
                     "remove one of them");
    CHECK_COMPLAINTS(HEAD "prompts: [{ids: [1], system: s}, {ids: [1], chat: true}]\n",
                     "job.yaml:2:22: 'system' cannot be combined with 'ids', remove one of "
                     "them\n"
                     "job.yaml:2:45: 'chat' cannot be combined with 'ids', remove one of them");
    CHECK_COMPLAINTS(HEAD "chat: false\nprompt: p\nthinking: low\n",
                     "job.yaml:4:1: 'thinking' needs prompts in the chat format, remove it");
}

static void messages_have_an_order(void)
{
    CHECK_COMPLAINTS(HEAD "messages: []\n", "job.yaml:2:11: 'messages' is empty");
    CHECK_COMPLAINTS(HEAD "messages:\n  - {role: user, content: a}\n"
                          "  - {role: system, content: b}\n  - {role: assistant, content: c}\n",
                     "job.yaml:4:5: a system message must be the first\n"
                     "job.yaml:5:5: the last message must have the role user, it is what the "
                     "model answers");
    CHECK_COMPLAINTS(HEAD
                     "messages:\n  - {role: tool, content: a}\n  - {rle: user}\n  - text\n",
                     "job.yaml:3:12: 'role' must be system, user or assistant, not 'tool'\n"
                     "job.yaml:4:5: message without 'role'\n"
                     "job.yaml:4:5: message without 'content'\n"
                     "job.yaml:4:6: unknown key 'rle' in messages, did you mean 'role'?\n"
                     "job.yaml:5:5: 'messages' must be a map, not text, write {key: value}, or "
                     "such lines below it, indented");
    CHECK_COMPLAINTS(HEAD "system: s\nmessages: [{role: system, content: t}, {role: user, "
                          "content: a}]\n",
                     "job.yaml:2:1: 'system' cannot be combined with a system message, remove "
                     "one of them");
}

static void names_are_folder_names(void)
{
    static const char *const good[] = {"a", "9", "a b", "a.b", "a-b_c", "A..z"};
    static const char *const bad[] = {".a", "-a", "_a", "a.", "a ", "a/b", "\\xc3\\xa4", "a:b"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, HEAD "prompt: x\nname: \"%s\"\n", good[i]);
        CHECK_COMPLAINTS(text, "");
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        struct reading reading;
        (void)snprintf(text, sizeof text, HEAD "prompt: x\nname: \"%s\"\n", bad[i]);
        read_text(&reading, text);
        CHECK_CONTAINS(reading.complaints, "cannot be a folder name");
        close_reading(&reading);
    }
    for (int length = 100; length <= 101; length++) {
        char text[160];
        struct reading reading;
        (void)snprintf(text, sizeof text, HEAD "prompt: x\nname: n%0*d\n", length - 1, 0);
        read_text(&reading, text);
        CHECK_EQ(reading.status, length == 100 ? NJ_OK : NJ_E_INPUT);
        close_reading(&reading);
    }
    struct reading reading;
    read_bytes_as(&reading, "jobs/.yaml", HEAD "prompt: x\n", 22);
    CHECK_TEXT(reading.complaints,
               "jobs/.yaml: the file's name cannot be the job's name, add a 'name'");
    close_reading(&reading);
}

static void an_unknown_variable_is_named_where_it_stands(void)
{
    CHECK_COMPLAINTS(HEAD "vars: {labels: x, other: y}\nprompt: |\n  First line.\n"
                          "  \xC3\xA9 One of {{labls}} and {{ nope }}.\n",
                     "job.yaml:5:12: unknown variable 'labls', did you mean 'labels'? known: "
                     "labels, other, _index, _id\n"
                     "job.yaml:5:26: unknown variable 'nope', known: labels, other, _index, "
                     "_id");
    CHECK_COMPLAINTS(HEAD "prompt: \"{{a}}\"\nsystem: \"x {{b}}\"\nid: \"{{_id}}\"\n",
                     "job.yaml:2:10: unknown variable 'a', known: _index, _id\n"
                     "job.yaml:3:12: unknown variable 'b', known: _index, _id\n"
                     "job.yaml:4:6: unknown variable '_id', known: _index");
    CHECK_COMPLAINTS(HEAD "prompt: today is {{_date}}\n",
                     "job.yaml:2:18: '_date' is not supported yet, results must not depend on "
                     "the day");
}

static void inline_rows_must_all_have_what_is_used(void)
{
    CHECK_COMPLAINTS(HEAD "prompt: \"{{a}} {{b}}\"\nrows:\n  - {a: 1, b: 2}\n  - {a: 1}\n",
                     "job.yaml:2:16: unknown variable 'b' for the row at job.yaml:5, known: a, "
                     "_index, _id");
    CHECK_COMPLAINTS(HEAD "prompt: \"{{a}} {{b}}\"\nrows: [{a: 1}, {a: 2}]\nvars: {b: x}\n",
                     "");
    CHECK_COMPLAINTS(HEAD "prompt: x\nrows: []\n", "job.yaml:3:7: 'rows' is empty");
    CHECK_COMPLAINTS(HEAD "prompt: x\nrows: [a, {b: [1]}, {_index: 1}, {sampling.foo: 1}]\n",
                     "job.yaml:3:8: 'rows' must be a map, not text, write {key: value}, or "
                     "such lines below it, indented\n"
                     "job.yaml:3:15: 'b' must be text, not a list, quote it if it is a text\n"
                     "job.yaml:3:22: '_index' is a built-in variable, choose another name\n"
                     "job.yaml:3:35: column 'sampling.foo' names no sampling setting, such as "
                     "sampling.temperature or sampling.max_tokens");
}

static void row_files_have_a_known_format(void)
{
    CHECK_COMPLAINTS(HEAD "prompt: x\nrows: {format: csv}\n",
                     "job.yaml:3:7: 'rows' names no 'file'");
    CHECK_COMPLAINTS(HEAD "prompt: x\nrows: {file: a.txt, format: xml}\n",
                     "job.yaml:3:7: the format of the row file 'a.txt' is not known, end its "
                     "name in .csv, .tsv or .jsonl, or add 'format'\n"
                     "job.yaml:3:29: 'format' must be csv, tsv or jsonl, not 'xml'");
    CHECK_COMPLAINTS(HEAD "prompt: x\nrows: {file: a.jsonl, delimiter: \";\", limit: 0}\n",
                     "job.yaml:3:23: 'delimiter' is for CSV files only, remove it\n"
                     "job.yaml:3:46: 'limit' must be at least 1, not 0");
    CHECK_COMPLAINTS(
        HEAD "prompt: x\nrows: {file: a.csv, delimiter: \";;\"}\n",
        "job.yaml:3:32: 'delimiter' must be one ASCII character and no quote, such "
        "as \",\" or \";\" or \"\\t\"");
    CHECK_COMPLAINTS(HEAD "prompt: x\nrows: \"a\\0b.csv\"\n",
                     "job.yaml:3:7: 'rows' has a NUL character");
}

static void stop_texts_are_few_and_short(void)
{
    CHECK_COMPLAINTS(HEAD "prompt: x\nsampling: {stop: END}\n", "");
    CHECK_COMPLAINTS(HEAD "prompt: x\nsampling: {stop: "
                          "[a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q]}\n",
                     "job.yaml:3:18: 'stop' has 17 texts, at most 16 are allowed");
    char text[400] = HEAD "prompt: x\nsampling: {stop: ";
    size_t length = strlen(text);
    memset(text + length, 's', 257);
    memcpy(text + length + 257, "}", 2);
    CHECK_COMPLAINTS(text, "job.yaml:3:18: 'stop' text of 257 bytes, at most 256 are allowed");
}

/* Whatever allocation fails, the error says so and nothing leaks (the sanitizers watch). */
static void running_out_of_memory_anywhere_is_reported(void)
{
    static const char text[] = HEAD "system: s\nvars: {a: b}\nx-a: &a {top_k: 1}\n"
                                    "sampling: {<<: *a, temperature: 0.5, stop: [x]}\n"
                                    "prompts: [\"{{a}}\", {messages: [{role: user, content: "
                                    "\"{{c}}\"}]}, {ids: [1]}]\nrows: [{c: d}]\nfoo: 1\n";
    unsigned long n = 0;
    bool failed = true;
    while (failed) {
        struct nj_arena arena = {0};
        struct nj_diagnostics diagnostics;
        const struct nj_job_spec *spec = NULL;
        struct nj_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
        nj_diagnostics_init(&diagnostics, &arena);
        failing_malloc_arm(++n);
        enum nj_status status =
            nj_job_spec_read("job.yaml", bytes, &arena, &diagnostics, &spec, NULL);
        failed = failing_malloc_disarm();
        CHECK_EQ(status, failed ? NJ_E_MEMORY : NJ_E_INPUT);
        CHECK(spec == NULL);
        nj_diagnostics_deinit(&diagnostics);
        nj_arena_deinit(&arena);
    }
    CHECK(n > 3);
}

static void what_people_mean_by_a_wrong_form_is_told(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nmessages:\n  - user: hi\n  - {role: user, content: x}\n",
                     "job.yaml:3:5: 'user' is a role and no key, write {role: user, content: "
                     "...}");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: [a, b]\n",
                     "job.yaml:2:9: 'prompt' must be text, not a list, several prompts stand "
                     "under 'prompts'");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\noutput: {directory: y}\n",
                     "job.yaml:3:10: unknown key 'directory' in output, known: dir, formats, "
                     "filename");
    CHECK_COMPLAINTS("nightjar: 1\nvars: {a: x}\nprompt: \"{{a | upper}}\"\n",
                     "job.yaml:3:10: unknown variable 'a | upper', only a name stands between "
                     "the braces, there are no filters or conditions");
}

static void names_in_what_is_broken_are_not_called_unknown(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"{{a}}\"\nmatrix: {a: [x, x]}\n",
                     "job.yaml:3:17: 'a' has the same value twice, remove one of them");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"{{a}} {{b}}\"\nvars: {a: [x]}\n",
                     "job.yaml:3:11: 'a' must be text, not a list, quote it if it is a text");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"{{a}}\"\nrows: {fil: x.csv}\n",
                     "job.yaml:3:7: 'rows' names no 'file'\n"
                     "job.yaml:3:8: unknown key 'fil' in rows, did you mean 'file'?");
}

int main(void)
{
    RUN(names_in_what_is_broken_are_not_called_unknown);
    RUN(a_job_that_says_little_gets_every_default);
    RUN(every_supported_key_arrives_where_it_belongs);
    RUN(relative_paths_begin_at_the_job_file);
    RUN(prompts_override_what_the_job_says);
    RUN(prompts_can_be_token_ids_or_bare_text);
    RUN(all_mistakes_of_a_file_come_at_once_and_in_order);
    RUN(nothing_is_half_accepted);
    RUN(keys_that_begin_with_x_are_left_alone);
    RUN(a_job_needs_its_version_and_exactly_one_form_of_prompt);
    RUN(what_needs_the_chat_frame_is_refused_without_it);
    RUN(messages_have_an_order);
    RUN(names_are_folder_names);
    RUN(an_unknown_variable_is_named_where_it_stands);
    RUN(inline_rows_must_all_have_what_is_used);
    RUN(row_files_have_a_known_format);
    RUN(stop_texts_are_few_and_short);
    RUN(running_out_of_memory_anywhere_is_reported);
    RUN(what_people_mean_by_a_wrong_form_is_told);
    return test_result();
}
