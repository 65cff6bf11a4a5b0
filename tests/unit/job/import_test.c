/* Files of other tools, as they are written for them. */
#include "job/import.h"
#include "job/item_seed.h"

#include "support/failing_malloc.h"
#include "unit/job/reading.h"

static void read_as(struct reading *reading, const char *path, const char *text)
{
    read_bytes_as(reading, path, text, strlen(text));
}

static void check(const char *path, const char *text, const char *complaints)
{
    struct reading reading;
    read_as(&reading, path, text);
    CHECK_TEXT(reading.complaints, complaints);
    close_reading(&reading);
}

/* --- GitHub Models --- */

static void a_github_prompt_file_becomes_a_job(void)
{
    struct reading reading;
    read_as(&reading, "sum.prompt.yml",
            "name: Text Summarizer\ndescription: Summarizes\nmodel: openai/gpt-4o-mini\n"
            "modelParameters:\n  temperature: 0.5\n  maxTokens: 20\nmessages:\n"
            "  - role: system\n    content: You are brief.\n"
            "  - role: user\n    content: |\n      Sum up {{input}}\n"
            "testData:\n  - input: a fox\n    expected: fox\n  - input: no\n    expected: x\n"
            "evaluators:\n  - name: has fox\n    string: {contains: fox}\n"
            "responseFormat: text\n");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK_TEXT(reading.complaints,
               "sum.prompt.yml:3:8: warning: the model of an imported file is not used\n"
               "sum.prompt.yml:6:3: warning: 'maxTokens' is read as 'max_tokens'\n"
               "sum.prompt.yml:18:1: warning: 'evaluators' are left aside");
    const struct nj_job_spec *spec = reading.spec;
    CHECK_TEXT(shown(spec->name), "Text Summarizer");
    CHECK_EQ(spec->model.length_bytes, 0);
    CHECK_EQ(spec->prompts[0].n_messages, 2);
    CHECK_TEXT(shown(spec->prompts[0].messages[1].content), "Sum up {{input}}\n");
    CHECK_EQ(spec->prompts[0].sampling.max_tokens, 20);
    CHECK_EQ(spec->rows.n_inline_rows, 2);
    CHECK_TEXT(shown(spec->rows.inline_rows[1][1].value), "no");
    close_reading(&reading);
}

static void what_github_has_and_we_do_not_is_refused(void)
{
    check(
        "a.prompt.yml",
        "messages: [{role: user, content: x}]\nresponseFormat: json_schema\njsonSchema: x\n",
        "a.prompt.yml:2:1: 'responseFormat' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says\n"
        "a.prompt.yml:3:1: 'jsonSchema' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says");
    check(
        "a.yml",
        "modelParameters: {temprature: 1}\nmessages: [{role: user, content: "
        "\"{{who}}\"}]\n",
        "a.yml:1:19: unknown key 'temprature' in sampling, did you mean 'temperature'?\n"
        "a.yml:2:35: unknown variable 'who', give it with --var who=TEXT, known: _index, _id");
}

/* --- promptfoo --- */

static void a_promptfoo_configuration_becomes_a_job(void)
{
    struct reading reading;
    read_as(&reading, "promptfooconfig.yaml",
            "description: Moods\nprompts:\n  - \"Say {{word}} to {{who}}\"\n"
            "  - file://prompts/long.txt\n  - {label: short, raw: \"{{word}}\"}\n"
            "providers: [openai:gpt-4o]\ndefaultTest: {vars: {who: Ada}}\n"
            "tests:\n  - vars: {word: yes}\n    assert: [{type: contains, value: y}]\n"
            "  - {description: second, vars: {word: \"{{x}}\", who: Bob}}\n"
            "evaluateOptions: {repeat: 2, maxConcurrency: 4}\n");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK_TEXT(reading.complaints,
               "promptfooconfig.yaml:1:1: warning: answers are not judged: 'assert' is left "
               "aside\n"
               "promptfooconfig.yaml:6:12: warning: the providers of an imported file are not "
               "used");
    const struct nj_job_spec *spec = reading.spec;
    REQUIRE(spec->n_prompts == 3 && spec->rows.n_inline_rows == 2 && spec->n_vars == 1);
    CHECK_TEXT(spec->prompts[1].prompt_path, "prompts/long.txt");
    CHECK_TEXT(shown(spec->prompts[2].id), "short");
    CHECK_TEXT(shown(spec->rows.inline_rows[0][0].value), "yes");
    CHECK_EQ(spec->rows.inline_counts[1], 2);
    CHECK_EQ(spec->repeat, 2);
    close_reading(&reading);
}

static void promptfoo_tests_may_stand_in_a_file(void)
{
    struct reading reading;
    read_as(&reading, "conf/p.yaml", "prompts: \"{{a}}\"\ntests: file://t.csv\n");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK_TEXT(reading.spec->rows.path, "conf/t.csv");
    CHECK_EQ(reading.spec->rows.format, NJ_ROWS_CSV);
    close_reading(&reading);
}

static void a_bare_path_of_tests_is_told_to_need_its_scheme(void)
{
    check("p.yaml", "prompts: \"{{a}}\"\ntests: ../rows.csv\n",
          "p.yaml:2:8: 'tests' must be a list, or a file with file:// before its path, write "
          "file://../rows.csv");
    check("p.yaml", "prompts: \"{{a}}\"\ntests: all\n",
          "p.yaml:2:8: 'tests' must be a list, not text, write [one, two], or lines that begin "
          "with '- '");
}

static void what_promptfoo_has_and_we_do_not_is_refused(void)
{
    check(
        "p.yaml",
        "prompts:\n  - \"{% if x %}a{% endif %}\"\n  - file://a.js\n  - '[{\"role\": "
        "\"user\"}]'\n"
        "tests:\n  - vars: {a: [x, y], b: file://c.txt}\n    options: {}\n"
        "scenarios: []\n",

        "p.yaml:2:5: statements of Nunjucks cannot be imported, use {{variables}} only\n"
        "p.yaml:3:5: 'file://a.js' cannot be imported, prompts stand in .txt or .md files\n"
        "p.yaml:4:5: a prompt that is a JSON conversation cannot be imported, write 'messages' "
        "in a job file\n"
        "p.yaml:6:15: the value of 'a' cannot be imported, write a text\n"
        "p.yaml:6:26: the value of 'b' cannot be imported, write a text\n"
        "p.yaml:7:5: 'options' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says\n"
        "p.yaml:8:1: 'scenarios' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says");
}

/* --- llm --- */

static void an_llm_template_becomes_a_job(void)
{
    struct reading reading;
    read_as(&reading, "t.yaml",
            "model: gpt-4o\nsystem: You speak ${tongue} for $$5.\n"
            "prompt: \"Say {{x}} {$$} $input, $_a1!\"\n"
            "defaults: {tongue: Dutch, input: hi, _a1: z}\noptions: {temperature: 0.1}\n");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK_TEXT(reading.complaints,
               "t.yaml:1:8: warning: the model of an imported file is not used");
    const struct nj_prompt_template *prompt = &reading.spec->prompts[0];
    CHECK_TEXT(shown(prompt->system), "You speak {{tongue}} for $5.");
    CHECK_TEXT(shown(prompt->prompt), "Say {{{{x}} {$} {{input}}, {{_a1}}!");
    CHECK_NEAR(prompt->sampling.temperature, 0.1, 0);
    close_reading(&reading);
}

static void an_llm_template_without_a_prompt_takes_the_input(void)
{
    struct reading reading;
    read_as(&reading, "t.yaml",
            "system: Sum up in $tongue\ndefaults: {tongue: Dutch, input: x}\n");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK_TEXT(shown(reading.spec->prompts[0].prompt), "{{input}}");
    close_reading(&reading);
    check("t.yaml", "prompt: costs $ 5, {$a, ${b\ndefaults: {a: x}\nschema_object: {}\n",
          "t.yaml:1:15: '$' without a name behind it, write $$ for a dollar sign\n"
          "t.yaml:1:21: '{' before a variable cannot be imported, write a space between them\n"
          "t.yaml:1:25: '$' without a name behind it, write $$ for a dollar sign\n"
          "t.yaml:3:1: 'schema_object' cannot be imported, remove it, or write the job as "
          "nightjar.yaml(5) says");
}

/* Their data came from the command line there. */
static void a_variable_without_data_may_be_given_by_a_flag(void)
{
    check("t.yaml", "system: Of $country\noptions: {temperature: 1}\n",
          "t.yaml:1:1: unknown variable 'input', give it with --var input=TEXT, known: _index, "
          "_id\n"
          "t.yaml:1:9: unknown variable 'country', give it with --var country=TEXT, known: "
          "_index, _id");
    check("t.yaml", "nightjar: 1\nprompt: \"{{input}}\"\n",
          "t.yaml:2:10: unknown variable 'input', known: _index, _id");
}

static void a_job_that_lacks_its_version_is_told_so(void)
{
    check("t.yaml", "prompt: hello\nsystem: be nice\n",
          "t.yaml:1:1: the format version is missing, begin the file with 'nightjar: 1'");
    check("t.yaml", "prompt: it is $five\nid: x\n",
          "t.yaml:1:1: the format version is missing, begin the file with 'nightjar: 1'");
}

static void a_file_with_our_version_is_never_imported(void)
{
    check("a.prompt.yml", "nightjar: 1\nprompt: $x\ntests: []\n",
          "a.prompt.yml:3:1: unknown key 'tests'");
}

/* --- OpenAI batch --- */

#define REQUEST(ID, BODY)                                                                      \
    "{\"custom_id\": \"" ID "\", \"method\": \"POST\", \"url\": \"/v1/chat/completions\", "    \
    "\"body\": {" BODY "}}\n"
#define HELLO "\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]"

static void a_batch_becomes_a_job_with_a_prompt_for_each_line(void)
{
    struct reading reading;
    read_as(
        &reading, "batch.jsonl",
        REQUEST(
            "a-{{1}}",
            "\"model\": \"m\", \"messages\": [{\"role\": \"developer\", "
            "\"content\": \"be \\u00e9\"}, {\"role\": \"user\", \"content\": "
            "[{\"type\": \"text\", \"text\": \"{{x}\"}, {\"type\": \"text\", "
            "\"text\": \"}{{{{\"}]}], \"max_completion_tokens\": 9, "
            "\"temperature\": 0, \"seed\": 9007199254740991, \"stop\": "
            "[\"END\"], \"logprobs\": true, \"top_logprobs\": 2, "
            "\"logit_bias\": {\"7\": -1.5}, \"n\": null, \"user\": \"u\", "
            "\"stream\": false, \"response_format\": {\"type\": \"text\"}") "\r\n"
                                                                            "{\"custom_id\":"
                                                                            "\"b\",\"method\":"
                                                                            "\"POST\",\"url\":"
                                                                            "\"/v1/"
                                                                            "completions\","
                                                                            "\"body\":"
                                                                            "{\"prompt\":\"raw "
                                                                            "{{y}}\"}}\n"
                                                                            "{\"custom_id\":"
                                                                            "\"c\",\"method\":"
                                                                            "\"POST\",\"url\":"
                                                                            "\"/v1/"
                                                                            "completions\","
                                                                            "\"body\":"
                                                                            "{\"prompt\":[1,2]}"
                                                                            "}");
    REQUIRE_OK(reading.status, &reading.error);
    CHECK_TEXT(reading.complaints, "");
    const struct nj_job_spec *spec = reading.spec;
    REQUIRE(spec->n_prompts == 3);
    CHECK_TEXT(shown(spec->name), "batch");
    const struct nj_prompt_template *first = &spec->prompts[0];
    CHECK_TEXT(shown(first->id), "a-{{{{1}}");
    REQUIRE(first->n_messages == 2);
    CHECK_EQ(first->messages[0].role, NJ_JOB_ROLE_SYSTEM);
    CHECK_TEXT(shown(first->messages[0].content), "be \xC3\xA9");
    CHECK_TEXT(shown(first->messages[1].content), "{{{{x}}{{{{{{{{");
    CHECK_EQ(first->messages[1].compiled.n_parts, 3);
    CHECK(!first->messages[1].compiled.parts[0].is_variable);
    CHECK_EQ(first->sampling.max_tokens, 9);
    CHECK(first->sampling.has_seed && first->sampling.seed == NJ_SEED_MOST);
    CHECK_TEXT(shown(first->sampling.stop[0]), "END");
    CHECK_EQ(first->sampling.n_top_logprobs, 2);
    CHECK_EQ(first->sampling.logit_biases[0].token, 7);
    CHECK_EQ(first->sampling.n, 1);
    CHECK(!spec->prompts[1].uses_chat);
    CHECK_TEXT(shown(spec->prompts[1].prompt), "raw {{{{y}}");
    CHECK_EQ(spec->prompts[1].place.line, 3);
    CHECK_EQ(spec->prompts[2].n_ids, 2);
    close_reading(&reading);
}

static void mistakes_of_a_batch_come_all_at_once_with_their_lines(void)
{
    check(
        "b.jsonl",
        REQUEST("a", HELLO ", \"temperature\": 101") REQUEST("a", HELLO)
            REQUEST("b", HELLO ", \"tools\": []") REQUEST(
                "c", HELLO
                ", \"stream\": true") "{\"custom_id\": \"d\"}\nnot json\n[1]\n"
                                      "{\"custom_id\": \"e\", \"method\": \"GET\", \"url\": "
                                      "\"/v1/chat/completions\", "
                                      "\"body\": {}}\n"
                                      "{\"custom_id\": \"f\", \"method\": \"POST\", \"url\": "
                                      "\"/v1/embeddings\", "
                                      "\"body\": {}}\n" REQUEST("g", "")
                                          REQUEST("h", HELLO ", \"top_logprobs\": 1")
                                              REQUEST("i", "\"messages\": [{\"role\": "
                                                           "\"user\", \"content\": "
                                                           "[{\"type\": \"image_url\"}]}]")
                                                  REQUEST("j", HELLO ", \"n\": 1, \"n\": 2"),
        "b.jsonl:1:142: 'temperature' must be from 0 to 100, not 101\n"
        "b.jsonl:2:1: custom_id 'a' stands in line 1 already\n"
        "b.jsonl:3:127: 'tools' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says\n"
        "b.jsonl:4:127: 'stream' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says\n"
        "b.jsonl:5:1: a request without 'method', each line has custom_id, method, url and "
        "body\n"
        "b.jsonl:6:1: value expected\n"
        "b.jsonl:7:1: a request must be a JSON object\n"
        "b.jsonl:8:30: 'method' must be POST, not 'GET'\n"
        "b.jsonl:8:76: this entry has no prompt, add prompt, messages, ids or file\n"
        "b.jsonl:9:45: 'url' of '/v1/embeddings' cannot be imported, use /v1/chat/completions "
        "or /v1/completions\n"
        "b.jsonl:10:77: this entry has no prompt, add prompt, messages, ids or file\n"
        "b.jsonl:11:127: 'top_logprobs' needs 'logprobs: true'\n"
        "b.jsonl:12:120: a part of a message that is no text cannot be imported, write "
        "{\"type\": \"text\", \"text\": \"...\"}\n"
        "b.jsonl:13:135: name 'n' stands twice in the object, keep one of them");
}

static void all_mistakes_of_one_line_of_a_batch_are_told(void)
{
    check(
        "b.jsonl",
        "{\"custom_id\": 7, \"method\": \"GET\", \"body\": {\"messages\": [{\"role\": \"bot\", "
        "\"content\": [{\"type\": \"image\"}, {\"type\": \"audio\"}]}], \"n\": 0, \"tools\": "
        "[]}, "
        "\"foo\": 1}\n",
        "b.jsonl:1:1: a request without 'url', each line has custom_id, method, url and body\n"
        "b.jsonl:1:28: 'method' must be POST, not 'GET'\n"
        "b.jsonl:1:66: 'role' must be system, user or assistant, not 'bot'\n"
        "b.jsonl:1:85: a part of a message that is no text cannot be imported, write "
        "{\"type\": \"text\", \"text\": \"...\"}\n"
        "b.jsonl:1:104: a part of a message that is no text cannot be imported, write "
        "{\"type\": \"text\", \"text\": \"...\"}\n"
        "b.jsonl:1:131: 'n' must be from 1 to 128, not 0\n"
        "b.jsonl:1:134: 'tools' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says\n"
        "b.jsonl:1:148: 'foo' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says");
}

static void reasoning_effort_names_thinking(void)
{
    check("b.jsonl", REQUEST("a", HELLO ", \"reasoning_effort\": \"low\""),
          "b.jsonl:1:127: 'reasoning_effort' cannot be imported, remove it, and give --set "
          "thinking=off, low, high or max for all lines");
}

static void a_request_of_another_api_is_one_mistake(void)
{
    check("b.jsonl",
          "{\"custom_id\": \"a\", \"method\": \"POST\", \"url\": \"/v1/embeddings\", "
          "\"body\": {\"input\": \"x\", \"encoding_format\": \"float\"}}\n",
          "b.jsonl:1:45: 'url' of '/v1/embeddings' cannot be imported, use "
          "/v1/chat/completions or /v1/completions");
}

/* What YAML takes for a line break is a character like others in JSON. */
static void a_mistake_in_a_line_of_a_batch_is_told_in_that_line(void)
{
    check("b.jsonl",
          "{\"custom_id\": \"a\xE2\x80\xA8\x62\", bad}\n{\"custom_id\": \"\xC2\x85\" 1}\r\n"
          "{\"custom_id\": \"\xFF\"}\n{\"custom_id\": \"b\n",
          "b.jsonl:1:22: name in double quotes expected\n"
          "b.jsonl:2:19: ',' or '}' expected\n"
          "b.jsonl:3:16: byte 0xFF is not UTF-8 text, save the file as UTF-8\n"
          "b.jsonl:4:15: string that never ends");
}

static void a_line_of_a_batch_that_ends_too_early_is_told_at_its_own_end(void)
{
    check("batch.jsonl", "{\"custom_id\":\"a\"\r\n{\"custom_id\":\"b\",\r\n",
          "batch.jsonl:1:17: ',' or '}' expected\n"
          "batch.jsonl:2:18: name in double quotes expected");
}

/* And none is told on top because something could not be imported. */
static void what_cannot_be_imported_hides_no_other_mistake(void)
{
    check(
        "a.prompt.yml",
        "modelParameters: {temperature: hot, foo: 3}\nresponseFormat: json_schema\n"
        "messages: [{role: bot, content: \"{{a}\"}, {content: x}]\ntestData: [{a: 1}, 3]\n",
        "a.prompt.yml:1:32: 'temperature' must be a number, not 'hot', numbers are written as "
        "in JSON, such as 0.7 or 200\n"
        "a.prompt.yml:1:37: unknown key 'foo' in sampling\n"
        "a.prompt.yml:2:1: 'responseFormat' cannot be imported, remove it, or write the job as "
        "nightjar.yaml(5) says\n"
        "a.prompt.yml:3:19: 'role' must be system, user or assistant, not 'bot'\n"
        "a.prompt.yml:3:34: '{{' without '}}', write {{name}}, or {{{{ for literal braces\n"
        "a.prompt.yml:3:42: message without 'role'\n"
        "a.prompt.yml:4:20: 'rows' must be a map, not text, write {key: value}, or such lines "
        "below it, indented");
    check("p.yaml",
          "prompts: [\"file://a.js\", \"{{x\"]\ntests: [{vars: {a: [1], b: [2]}}, 3]\n"
          "evaluateOptions: {repeat: -1}\n",
          "p.yaml:1:11: 'file://a.js' cannot be imported, prompts stand in .txt or .md files\n"
          "p.yaml:1:27: '{{' without '}}', write {{name}}, or {{{{ for literal braces\n"
          "p.yaml:2:20: the value of 'a' cannot be imported, write a text\n"
          "p.yaml:2:28: the value of 'b' cannot be imported, write a text\n"
          "p.yaml:2:35: 'tests' must be a map, not text, write {key: value}, or such lines "
          "below it, indented\n"
          "p.yaml:3:27: 'repeat' must be from 1 to 1000000, not -1");
    check("p.yaml", "prompts: [\"{{a}} {% if %}\", \"{{a}}\"]\ntests: file://a.js\n",
          "p.yaml:1:11: statements of Nunjucks cannot be imported, use {{variables}} only\n"
          "p.yaml:2:8: 'file://a.js' cannot be imported, tests stand in .csv or .jsonl files");
    check(
        "t.yaml",
        "prompt: Pay $5 for {$a} or $b\ndefaults: {a: [x]}\noptions: {n: 0}\nfoo: 1\n",
        "t.yaml:1:13: '$' without a name behind it, write $$ for a dollar sign\n"
        "t.yaml:1:21: '{' before a variable cannot be imported, write a space between them\n"
        "t.yaml:2:15: 'a' must be text, not a list, quote it if it is a text\n"
        "t.yaml:3:14: 'n' must be from 1 to 128, not 0\n"
        "t.yaml:4:1: 'foo' cannot be imported, remove it, or write the job as nightjar.yaml(5) "
        "says");
}

static void a_batch_without_requests_is_no_job(void)
{
    check("b.jsonl", "\n \n", "b.jsonl: there is no request in the file");
    check("b.jsonl", "{\"a\": \"\xFF\"}\n",
          "b.jsonl:1:8: byte 0xFF is not UTF-8 text, save the file as UTF-8");
}

static void the_command_line_changes_what_is_imported(void)
{
    static const char *const sets[] = {"sampling.top_k=4", "name=other"};
    const struct nj_job_overrides overrides = {.sets = sets, .n_sets = 2, .limit = 1};
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_job_specs specs = {0};
    static const char text[] = REQUEST("a", HELLO) REQUEST("b", HELLO ", \"temperature\": 0");
    struct nj_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
    nj_diagnostics_init(&diagnostics, &arena);
    CHECK_EQ(
        nj_job_specs_read("b.jsonl", bytes, &overrides, &arena, &diagnostics, &specs, NULL),
        NJ_OK);
    REQUIRE(specs.n_items == 1);
    CHECK_TEXT(shown(specs.items[0]->name), "other");
    CHECK_EQ(specs.items[0]->prompts[1].sampling.top_k, 4);
    CHECK_EQ(specs.items[0]->item_limit, 1);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void running_out_of_memory_anywhere_is_reported(void)
{
    static const struct {
        const char *path, *text;
    } files[] = {
        {"b.jsonl", REQUEST("a", HELLO) "bad\n"},
        {"a.prompt.yml", "messages: [{role: user, content: x}]\ntestData: [{a: b}]\nfoo: 1\n"},
        {"p.yaml", "prompts: [\"{{a}}\", {raw: x}]\ntests: [{vars: {a: b}}]\nfoo: 1\n"},
        {"t.yaml", "prompt: $a $$\ndefaults: {a: b}\nfoo: 1\n"}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        bool failed = true;
        for (unsigned long n = 1; failed; n++) {
            struct nj_arena arena = {0};
            struct nj_diagnostics diagnostics;
            const struct nj_job_spec *spec = NULL;
            struct nj_bytes bytes = {(const uint8_t *)files[i].text, strlen(files[i].text)};
            nj_diagnostics_init(&diagnostics, &arena);
            failing_malloc_arm(n);
            enum nj_status status =
                nj_job_spec_read(files[i].path, bytes, &arena, &diagnostics, &spec, NULL);
            failed = failing_malloc_disarm();
            CHECK_EQ(status, failed ? NJ_E_MEMORY : NJ_E_INPUT);
            nj_diagnostics_deinit(&diagnostics);
            nj_arena_deinit(&arena);
        }
    }
}

int main(void)
{
    RUN(a_github_prompt_file_becomes_a_job);
    RUN(what_github_has_and_we_do_not_is_refused);
    RUN(a_promptfoo_configuration_becomes_a_job);
    RUN(promptfoo_tests_may_stand_in_a_file);
    RUN(a_bare_path_of_tests_is_told_to_need_its_scheme);
    RUN(what_promptfoo_has_and_we_do_not_is_refused);
    RUN(an_llm_template_becomes_a_job);
    RUN(an_llm_template_without_a_prompt_takes_the_input);
    RUN(a_variable_without_data_may_be_given_by_a_flag);
    RUN(a_job_that_lacks_its_version_is_told_so);
    RUN(a_file_with_our_version_is_never_imported);
    RUN(a_batch_becomes_a_job_with_a_prompt_for_each_line);
    RUN(mistakes_of_a_batch_come_all_at_once_with_their_lines);
    RUN(all_mistakes_of_one_line_of_a_batch_are_told);
    RUN(reasoning_effort_names_thinking);
    RUN(a_request_of_another_api_is_one_mistake);
    RUN(a_mistake_in_a_line_of_a_batch_is_told_in_that_line);
    RUN(what_cannot_be_imported_hides_no_other_mistake);
    RUN(a_line_of_a_batch_that_ends_too_early_is_told_at_its_own_end);
    RUN(a_batch_without_requests_is_no_job);
    RUN(the_command_line_changes_what_is_imported);
    RUN(running_out_of_memory_anywhere_is_reported);
    return test_result();
}
