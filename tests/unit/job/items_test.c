#include "job/items.h"

#include <errno.h>
#include <string.h>

#include "job/item_seed.h"
#include "support/failing_malloc.h"
#include "support/faulty_files.h"
#include "unit/job/job_on_disk.h"

enum { TEXT_BYTES = 8192 };

static void check_id_and_last_message(const struct nj_item *item, const char *id,
                                      const char *content)
{
    CHECK_TEXT(shown(item->id), id);
    CHECK_TEXT(item->n_messages == 0 ? NULL
                                     : shown(item->messages[item->n_messages - 1].content),
               content);
}

/* The line without the name of the test's folder, wherever it stands. */
static const char *without_folder(char *line)
{
    size_t length = strlen(test_folder()) + 1;
    for (char *found = line; (found = strstr(found, test_folder())) != NULL;) {
        memmove(found, found + length, strlen(found + length) + 1);
    }
    return line;
}

/* What nj_items_check complains of, with the folder left out. */
static void check_complaints(const char *text, const char *wanted)
{
    struct job job;
    uint64_t n_items = 0;
    char found[TEXT_BYTES] = "";
    size_t used = 0;
    read_job(&job, text);
    if (job.reading.spec == NULL) {
        close_job(&job);
        return;
    }
    struct nj_diagnostics *diagnostics = &job.reading.diagnostics;
    enum nj_status status = nj_items_check(job.reading.spec, nj_file_system_real(), diagnostics,
                                           &n_items, &job.reading.error);
    CHECK_EQ(status, diagnostics->n_errors > 0 ? NJ_E_INPUT : NJ_OK);
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        char line[1024];
        (void)nj_diagnostic_format(&diagnostics->items[i], line, sizeof line);
        used += (size_t)snprintf(found + used, sizeof found - used, "%s%s", i == 0 ? "" : "\n",
                                 without_folder(line));
    }
    CHECK_TEXT(found, wanted);
    close_job(&job);
}

static void one_prompt_without_rows_is_one_item(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nprompt: Hello\n"));

    struct nj_item item = next_item(&job);

    check_id_and_last_message(&item, "0", "Hello");
    CHECK(item.uses_chat);
    CHECK_EQ(item.n_messages, 1);
    CHECK_EQ(item.messages[0].role, NJ_JOB_ROLE_USER);
    CHECK_EQ(item.n_vars, 0);
    CHECK_EQ(item.sampling->max_tokens, 512);
    check_end(&job);
    close_job(&job);
}

static void rows_are_outermost_and_prompts_inside_them(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nprompts:\n  - {id: \"p-{{w}}\", prompt: \"1 {{w}}\"}\n"
                           "  - \"2 {{w}}\"\nrows: [{w: a}, {w: b}]\n"));
    static const char *const ids[] = {"p-a", "1", "p-b", "3"};
    static const char *const contents[] = {"1 a", "2 a", "1 b", "2 b"};

    for (unsigned i = 0; i < 4; i++) {
        struct nj_item item = next_item(&job);
        check_id_and_last_message(&item, ids[i], contents[i]);
        CHECK_EQ(item.index, i);
        CHECK_EQ(item.prompt_index, i % 2);
        CHECK_EQ(item.row_index, i / 2);
    }
    check_end(&job);
    close_job(&job);
}

static void a_column_wins_over_the_prompts_variable_and_that_over_the_jobs(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nvars: {a: job, b: job, c: job, d: job}\nprompts:\n"
                           "  - {prompt: \"{{a}} {{b}} {{c}}\", vars: {b: prompt, c: prompt}}\n"
                           "rows: [{c: row, e: row}]\n"));

    struct nj_item item = next_item(&job);

    check_id_and_last_message(&item, "0", "job prompt row");
    CHECK_EQ(item.n_vars, 5);
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    static const char *const values[] = {"job", "prompt", "row", "job", "row"};
    for (size_t i = 0; i < item.n_vars && i < 5; i++) {
        CHECK_TEXT(shown(item.vars[i].name), names[i]);
        CHECK_TEXT(shown(item.vars[i].value), values[i]);
    }
    close_job(&job);
}

static void the_id_template_wins_and_built_ins_are_known(void)
{
    struct job job;
    write_file("rows.csv", "k\nx\nx\n", 6);
    REQUIRE(open_job(&job, "nightjar: 1\nid: \"{{k}}-{{_index}}\"\nrows: rows.csv\n"
                           "prompts: [{id: unused, prompt: \"{{_id}} {{ _index }}\"}]\n"));

    struct nj_item first = next_item(&job);
    struct nj_item second = next_item(&job);

    check_id_and_last_message(&first, "x-0", "x-0 0");
    check_id_and_last_message(&second, "x-1", "x-1 1");
    close_job(&job);
}

static void values_of_rows_are_never_expanded_again(void)
{
    struct job job;
    write_file("rows.csv", "k,l\n{{l}},{{{{\n", 15);
    REQUIRE(open_job(&job, "nightjar: 1\nrows: rows.csv\nprompt: \"{{k}} {{l}} {{{{\"\n"));

    struct nj_item item = next_item(&job);

    check_id_and_last_message(&item, "0", "{{l}} {{{{ {{");
    close_job(&job);
}

static void dotted_paths_lead_into_jsonl_objects(void)
{
    struct job job;
    static const char rows[] = "{\"u\":{\"n\":1.50,\"c\":{\"d\":\"\\u00e9\"},\"o\":{\"a\": [1, "
                               "2]}},\"v.w\":\"exact\",\"s\":\"{\\\"n\\\":1}\"}\n";
    write_file("rows.jsonl", rows, sizeof rows - 1);
    REQUIRE(open_job(&job, "nightjar: 1\nrows: rows.jsonl\n"
                           "prompt: \"{{u.n}} {{u.c.d}} {{u.o}} {{u.o.a}} {{v.w}} {{s}}\"\n"));

    struct nj_item item = next_item(&job);

    check_id_and_last_message(&item, "0", "1.50 \xC3\xA9 {\"a\":[1,2]} [1,2] exact {\"n\":1}");
    close_job(&job);
}

static void the_system_text_comes_first(void)
{
    struct job job;
    REQUIRE(open_job(&job, "nightjar: 1\nsystem: \"Be {{m}}.\"\nvars: {m: short}\nprompts:\n"
                           "  - a\n  - messages: [{role: user, content: b}, {role: assistant, "
                           "content: c}, {role: user, content: \"{{m}}\"}]\n"));

    struct nj_item first = next_item(&job);
    struct nj_item second = next_item(&job);

    CHECK_EQ(first.n_messages, 2);
    CHECK_EQ(first.messages[0].role, NJ_JOB_ROLE_SYSTEM);
    CHECK_TEXT(shown(first.messages[0].content), "Be short.");
    CHECK_TEXT(shown(first.messages[1].content), "a");
    CHECK_EQ(second.n_messages, 4);
    CHECK_EQ(second.messages[2].role, NJ_JOB_ROLE_ASSISTANT);
    CHECK_TEXT(shown(second.messages[3].content), "short");
    close_job(&job);
}

static void ids_and_bare_prompts_have_no_messages(void)
{
    struct job job;
    REQUIRE(
        open_job(&job, "nightjar: 1\nprompts: [{ids: [5, 6]}, {prompt: x, chat: false}]\n"));

    struct nj_item ids = next_item(&job);
    struct nj_item bare = next_item(&job);

    CHECK(!ids.uses_chat && ids.n_messages == 0 && ids.n_ids == 2 && ids.ids[1] == 6);
    CHECK(!bare.uses_chat && bare.n_messages == 0 && bare.n_ids == 0);
    CHECK_TEXT(shown(bare.prompt), "x");
    close_job(&job);
}

static void seeds_are_as_written_or_derived_from_the_identity(void)
{
    struct job job;
    write_file("rows.csv", "k\na\nb\nc\n", 8);
    REQUIRE(open_job(&job,
                     "nightjar: 1\nrows: {file: rows.csv, offset: 1, limit: 2}\nprompts:\n"
                     "  - {prompt: y, sampling: {seed: 99}}\n  - x\n"));

    for (uint64_t row = 1; row <= 2; row++) {
        struct nj_item written = next_item(&job);
        struct nj_item derived = next_item(&job);
        struct nj_item_identity identity = {.prompt_index = 1, .row_index = row};
        uint64_t wanted = 0;
        CHECK_EQ(nj_item_seed(7, &identity, &wanted, NULL), NJ_OK);
        CHECK(derived.seed == wanted);
        CHECK(written.seed == 99);
        CHECK_EQ(derived.row_index, row);
        CHECK_EQ(derived.index, 2 * (row - 1) + 1);
    }
    check_end(&job);
    close_job(&job);
}

static void sampling_columns_override_for_their_row_only(void)
{
    struct job job;
    static const char rows[] = "k,sampling.temperature,sampling.seed,sampling.stop\n"
                               "a,0.25,5,\"\n\"\nb,,,\n";
    write_file("rows.csv", rows, sizeof rows - 1);
    REQUIRE(open_job(&job, "nightjar: 1\nrows: rows.csv\nprompt: \"{{k}}\"\n"
                           "sampling: {temperature: 0.5, top_k: 3}\n"));

    struct nj_item first = next_item(&job);
    struct nj_item second = next_item(&job);

    CHECK_NEAR(first.sampling->temperature, 0.25, 0);
    CHECK_EQ(first.sampling->top_k, 3);
    CHECK_EQ(first.seed, 5);
    REQUIRE(first.sampling->n_stop == 1);
    CHECK_TEXT(shown(first.sampling->stop[0]), "\n");
    CHECK_NEAR(second.sampling->temperature, 0.5, 0);
    CHECK(!second.sampling->has_seed);
    CHECK_EQ(second.sampling->n_stop, 0);
    close_job(&job);
}

static void items_live_as_long_as_their_arena(void)
{
    struct job job;
    write_file("rows.csv", "k\nfirst\nsecond\n", 15);
    REQUIRE(open_job(&job, "nightjar: 1\nrows: rows.csv\nprompt: \"{{k}}\"\n"));

    struct nj_item first = next_item(&job);
    (void)next_item(&job);
    check_end(&job);
    nj_item_iterator_close(job.iterator);
    job.iterator = NULL;

    check_id_and_last_message(&first, "0", "first");
    CHECK_TEXT(shown(first.vars[0].name), "k");
    CHECK_TEXT(shown(first.vars[0].value), "first");
    CHECK_EQ(first.sampling->max_tokens, 512);
    close_job(&job);
}

static void a_prompt_may_stand_in_a_file_of_its_own(void)
{
    struct job job;
    write_file("letter.txt",
               "\xEF\xBB\xBF"
               "Dear {{name}},\n",
               18);
    REQUIRE(open_job(&job, "nightjar: 1\nprompts: [{file: letter.txt}]\nvars: {name: Ada}\n"));
    struct nj_item item = next_item(&job);
    check_id_and_last_message(&item, "0", "Dear Ada,\n");
    close_job(&job);

    check_complaints("nightjar: 1\nprompts: [{file: letter.txt}]\n",
                     "letter.txt:1:6: unknown variable 'name', known: _index, _id");
    write_file("bad.txt", "a\ncaf\xE9", 6);
    write_file("empty.txt", "", 0);
    check_complaints("nightjar: 1\nprompts:\n  - {file: bad.txt}\n  - {file: empty.txt}\n",
                     "bad.txt:2:4: byte 0xE9 is not UTF-8 text, save the file as UTF-8\n"
                     "job.yaml:4:12: the prompt file 'empty.txt' is empty");
}

static void a_name_that_the_header_lacks_is_said_once_for_the_file(void)
{
    write_file("rows.csv", "name,wat\na,b\nc\nd,e\n", 19);
    check_complaints("nightjar: 1\nrows: rows.csv\nprompt: |\n  {{name}} is\n  {{what}}\n",
                     "job.yaml:5:3: unknown variable 'what', did you mean 'wat'? known: name, "
                     "wat, _index, _id\n"
                     "rows.csv:3:1: the row has 1 value, the header has 2, quote values that "
                     "contain the delimiter");
    struct job job;
    read_job(&job, "nightjar: 1\nrows: rows.csv\nprompt: \"{{what}}\"\n");
    REQUIRE(job.reading.spec != NULL);
    CHECK_EQ(nj_item_iterator_open(job.reading.spec, nj_file_system_real(), 0, &job.iterator,
                                   &job.reading.error),
             NJ_E_INPUT);
    CHECK_CONTAINS(job.reading.error.text, "job.yaml:3:10: unknown variable 'what'");
    close_job(&job);
}

static void mistakes_in_rows_come_all_at_once(void)
{
    static const char rows[] =
        "{\"a\":\"x\",\"sampling.top_p\":2}\n{\"b\":1}\nno\n{\"a\":\"\"}\n";
    write_file("rows.jsonl", rows, sizeof rows - 1);
    check_complaints("nightjar: 1\nrows: rows.jsonl\nprompt: \"{{a}}\"\nchat: false\n",
                     "rows.jsonl:1:1: 'sampling.top_p' must be above 0 and at most 1, not 2\n"
                     "rows.jsonl:3:1: a row must be a JSON object\n"
                     "job.yaml:3:9: the prompt is empty for the row at rows.jsonl:4, without a "
                     "chat frame the model needs some text\n"
                     "job.yaml:3:10: unknown variable 'a' for the row at rows.jsonl:2, "
                     "known: b, _index, _id");
}

static void single_braces_around_a_variable_are_warned_of(void)
{
    struct job job;
    uint64_t n_items = 0;
    read_job(&job, "nightjar: 1\nvars: {a: x, f: y}\nprompts:\n  - Hello {a} and {{f}}\n"
                   "  - '{b} {a b} {{{{a} {} { a} {f'\n  - {system: '{f}', prompt: '{a:1}'}\n");
    REQUIRE(job.reading.spec != NULL);
    CHECK_EQ(nj_items_check(job.reading.spec, nj_file_system_real(), &job.reading.diagnostics,
                            &n_items, NULL),
             NJ_OK);
    list_complaints(&job.reading);
    CHECK_EQ(job.reading.diagnostics.n_warnings, 2);
    CHECK_CONTAINS(job.reading.complaints,
                   "job.yaml:4:5: warning: '{a}' is text, and not the variable of that name, "
                   "write two braces on each side for its value");
    CHECK_CONTAINS(job.reading.complaints, "job.yaml:6:5: warning: '{f}' is text");
    close_job(&job);
}

/* A thousand rows with one mistake in the template are one mistake. */
static void a_name_that_many_rows_lack_is_said_once_with_how_many(void)
{
    static const char rows[] = "{\"a\":1}\n{\"b\":2}\n\n{\"b\":3,\"a\":4}\n{\"b\":5}\n";
    write_file("rows.jsonl", rows, sizeof rows - 1);
    check_complaints(
        "nightjar: 1\nrows: rows.jsonl\nprompts: [\"{{a}} {{c}}\", \"{{c}}{{m}}\"]\n"
        "matrix: {m: [x, y]}\nid: \"{{a}}\"\n",
        "job.yaml:3:12: unknown variable 'a' for 2 rows, the first at "
        "rows.jsonl:2, known: b, m, "
        "_index, _id\n"
        "job.yaml:3:18: unknown variable 'c', known: a, m, _index, _id\n"
        "job.yaml:3:27: unknown variable 'c', known: a, m, _index, _id\n"
        "job.yaml:5:6: unknown variable 'a' for 2 rows, the first at "
        "rows.jsonl:2, known: b, m, "
        "_index");
    CHECK_COMPLAINTS("nightjar: 1\nrows: [{a: 1}, {b: 2}, {c: 3}]\nprompt: \"{{a}}{{x}}\"\n",
                     "job.yaml:3:10: unknown variable 'a' for 2 rows, the first at job.yaml:2, "
                     "known: b, _index, _id\n"
                     "job.yaml:3:15: unknown variable 'x', known: a, _index, _id");
}

static void a_bad_row_is_an_error_with_its_place_while_iterating(void)
{
    struct job job;
    struct nj_item item = {0};
    bool has_item = false;
    write_file("rows.csv", "a\nx\ny,z\nw\n", 10);
    REQUIRE(open_job(&job, "nightjar: 1\nrows: rows.csv\nprompt: \"{{a}}\"\n"));

    (void)next_item(&job);
    CHECK_EQ(
        nj_item_iterator_next(job.iterator, &job.arena, &item, &has_item, &job.reading.error),
        NJ_E_INPUT);

    CHECK_CONTAINS(job.reading.error.text, "rows.csv:3:1: the row has 2 values");
    close_job(&job);
}

static void no_rows_at_all_are_a_mistake(void)
{
    write_file("rows.csv", "a\n", 2);
    check_complaints("nightjar: 1\nrows: rows.csv\nprompt: x\n",
                     "job.yaml:2:7: there are no rows, so the job has nothing to do");
}

static void checking_counts_the_items(void)
{
    struct job job;
    uint64_t n_items = 0;
    write_file("rows.csv", "a\n1\n2\n3\n", 8);
    read_job(&job, "nightjar: 1\nrows: {file: rows.csv, offset: 1}\nprompts: [x, y]\n");
    REQUIRE(job.reading.spec != NULL);
    CHECK_EQ(nj_items_check(job.reading.spec, nj_file_system_real(), &job.reading.diagnostics,
                            &n_items, NULL),
             NJ_OK);
    CHECK_EQ(n_items, 4);
    close_job(&job);
}

static void an_item_comes_once_for_each_of_its_samples(void)
{
    static const char text[] = "nightjar: 1\nprompts:\n"
                               "  - {id: a, prompt: x, sampling: {n: 3, seed: 9}}\n"
                               "  - {id: b, prompt: y}\n";
    static const char *const ids[] = {"a", "a", "a", "b"};
    static const uint32_t samples[] = {0, 1, 2, 0};
    struct job job;
    uint64_t n_items = 0;
    REQUIRE(open_job(&job, text));
    for (size_t i = 0; i < 4; i++) {
        struct nj_item item = next_item(&job);
        check_id_and_last_message(&item, ids[i], i < 3 ? "x" : "y");
        CHECK_EQ(item.index, i / 3);
        CHECK_EQ(item.sample, samples[i]);
        CHECK(i == 3 || item.seed == 9);
    }
    check_end(&job);
    CHECK_EQ(nj_items_check(job.reading.spec, nj_file_system_real(), &job.reading.diagnostics,
                            &n_items, NULL),
             NJ_OK);
    CHECK_EQ(n_items, 2);
    close_job(&job);
}

/* The whole file is far larger than what may be held at a time. */
static void many_rows_are_walked_in_bounded_memory(void)
{
    enum { N_ROWS = 20000, ITEM_BYTES = 16 * 1024 };
    struct job job;
    static char content[N_ROWS * 128];
    size_t length = (size_t)sprintf(content, "n,text\n");
    for (unsigned i = 0; i < N_ROWS; i++) {
        length += (size_t)sprintf(content + length, "%u,\"%080u\"\n", i, i);
    }
    write_file("rows.csv", content, length);
    REQUIRE(open_job(&job, "nightjar: 1\nrows: rows.csv\nprompt: \"{{n}} {{text}}\"\n"));

    uint64_t n_items = 0;
    uint64_t most_bytes = 0;
    struct nj_item item;
    for (bool has_item = true; has_item;) {
        nj_arena_deinit(&job.arena);
        CHECK_EQ(nj_item_iterator_next(job.iterator, &job.arena, &item, &has_item, NULL),
                 NJ_OK);
        n_items += has_item ? 1 : 0;
        most_bytes = job.arena.used_bytes > most_bytes ? job.arena.used_bytes : most_bytes;
    }
    CHECK_EQ(n_items, N_ROWS);
    CHECK(most_bytes < ITEM_BYTES);
    close_job(&job);
}

static enum nj_status walk(const struct nj_job_spec *spec, const struct nj_file_system *fs,
                           uint64_t *n_items)
{
    struct nj_item_iterator *iterator = NULL;
    struct nj_arena arena = {0};
    enum nj_status status = nj_item_iterator_open(spec, fs, 0, &iterator, NULL);
    for (bool has_item = true; status == NJ_OK && has_item;) {
        struct nj_item item;
        status = nj_item_iterator_next(iterator, &arena, &item, &has_item, NULL);
        *n_items += status == NJ_OK && has_item ? 1 : 0;
    }
    nj_item_iterator_close(iterator);
    nj_arena_deinit(&arena);
    return status;
}

static const char walked_job[] =
    "nightjar: 1\nsystem: s\nvars: {v: w}\nrows: rows.jsonl\n"
    "prompts: [{file: p.txt}, {id: \"{{a.b}}\", prompt: \"{{v}} {{a.b}}\"}]\n";

static void write_walked_files(void)
{
    static const char rows[] =
        "{\"a\":{\"b\":\"\\n\"},\"sampling.top_k\":3}\n{\"a\":{\"b\":1}}\n";
    write_file("rows.jsonl", rows, sizeof rows - 1);
    write_file("p.txt", "{{a.b}}", 7);
}

static void running_out_of_memory_anywhere_is_reported(void)
{
    struct job job;
    write_walked_files();
    read_job(&job, walked_job);
    REQUIRE(job.reading.spec != NULL);
    bool failed = true;
    for (unsigned long n = 1; failed; n++) {
        uint64_t n_items = 0;
        failing_malloc_arm(n);
        enum nj_status status = walk(job.reading.spec, nj_file_system_real(), &n_items);
        failed = failing_malloc_disarm();
        CHECK_EQ(status, failed ? NJ_E_MEMORY : NJ_OK);
        CHECK(failed || n_items == 4);
    }
    close_job(&job);
}

static void a_failing_file_anywhere_is_reported(void)
{
    struct job job;
    struct faulty_files faulty;
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_READ, FAULTY_STATUS};
    write_walked_files();
    faulty_files_init(&faulty, nj_file_system_real());
    read_job(&job, walked_job);
    REQUIRE(job.reading.spec != NULL);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            uint64_t n_items = 0;
            faulty_files_reset(&faulty);
            faulty_files_fail(&faulty, calls[i], n, EIO);
            enum nj_status status = walk(job.reading.spec, &faulty.table, &n_items);
            fired = faulty_files_fired(&faulty);
            CHECK(fired == (status != NJ_OK));
            CHECK(fired || n_items == 4);
        }
    }
    close_job(&job);
}

int main(void)
{
    RUN(one_prompt_without_rows_is_one_item);
    RUN(rows_are_outermost_and_prompts_inside_them);
    RUN(a_column_wins_over_the_prompts_variable_and_that_over_the_jobs);
    RUN(the_id_template_wins_and_built_ins_are_known);
    RUN(values_of_rows_are_never_expanded_again);
    RUN(dotted_paths_lead_into_jsonl_objects);
    RUN(the_system_text_comes_first);
    RUN(ids_and_bare_prompts_have_no_messages);
    RUN(seeds_are_as_written_or_derived_from_the_identity);
    RUN(sampling_columns_override_for_their_row_only);
    RUN(items_live_as_long_as_their_arena);
    RUN(a_prompt_may_stand_in_a_file_of_its_own);
    RUN(a_name_that_the_header_lacks_is_said_once_for_the_file);
    RUN(mistakes_in_rows_come_all_at_once);
    RUN(single_braces_around_a_variable_are_warned_of);
    RUN(a_name_that_many_rows_lack_is_said_once_with_how_many);
    RUN(a_bad_row_is_an_error_with_its_place_while_iterating);
    RUN(no_rows_at_all_are_a_mistake);
    RUN(checking_counts_the_items);
    RUN(an_item_comes_once_for_each_of_its_samples);
    RUN(many_rows_are_walked_in_bounded_memory);
    RUN(running_out_of_memory_anywhere_is_reported);
    RUN(a_failing_file_anywhere_is_reported);
    return test_result();
}
