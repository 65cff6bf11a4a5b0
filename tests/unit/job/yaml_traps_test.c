/* What people run into with YAML, one test for each: what libyaml 0.2.5 does with it was
 * measured, and what we say instead is fixed here word for word. */
#include <time.h>

#include "unit/job/reading.h"

static const char *first_prompt(const struct reading *reading)
{
    return reading->spec == NULL ? NULL : shown(reading->spec->prompts[0].prompt);
}

static const char *variable(const struct reading *reading, const char *name)
{
    if (reading->spec == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < reading->spec->n_vars; i++) {
        if (nj_text_equals(reading->spec->vars[i].name, name)) {
            return shown(reading->spec->vars[i].value);
        }
    }
    return NULL;
}

static void norway_stays_text_where_text_is_expected(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nprompt: x\n"
                        "vars: {a: no, b: yes, c: on, d: NO, e: Norway, f: ~, g: true}\n");

    CHECK_TEXT(variable(&reading, "a"), "no");
    CHECK_TEXT(variable(&reading, "b"), "yes");
    CHECK_TEXT(variable(&reading, "c"), "on");
    CHECK_TEXT(variable(&reading, "d"), "NO");
    CHECK_TEXT(variable(&reading, "f"), "~");
    CHECK_TEXT(variable(&reading, "g"), "true");
    close_reading(&reading);
}

static void booleans_are_true_and_false_in_any_case_and_nothing_else(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nchat: TRUE\n", "");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nchat: False\n", "");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nchat: yes\n",
                     "job.yaml:3:7: 'chat' must be true or false, not 'yes', write true");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nchat: Off\n",
                     "job.yaml:3:7: 'chat' must be true or false, not 'Off', write false");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nchat: ~\n",
                     "job.yaml:3:7: 'chat' must be true or false, not '~'");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nchat: \"true\"\n",
                     "job.yaml:3:7: 'chat' must be true or false, not quoted text, "
                     "remove the quotes");
}

static void numbers_follow_json(void)
{
    CHECK_COMPLAINTS(
        "nightjar: 1\nprompt: x\nsampling: {max_tokens: 0644}\n",
        "job.yaml:3:24: 'max_tokens' must be a number, not '0644', write it without leading "
        "zeros");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nsampling: {max_tokens: 1_000}\n",
                     "job.yaml:3:24: 'max_tokens' must be a number, not '1_000', write it "
                     "without '_'");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\njob_seed: 12:30:45\n",
                     "job.yaml:3:11: 'job_seed' must be a number, not '12:30:45', numbers are "
                     "written as in JSON, such as 0.7 or 200");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nsampling:\n  temperature: 0,7\n",
                     "job.yaml:4:16: 'temperature' must be a number, not '0,7', the decimal "
                     "sign is a point");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nsampling: {temperature: \"0.7\"}\n",
                     "job.yaml:3:25: 'temperature' must be a number, not quoted text, remove "
                     "the quotes");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nsampling: {temperature: 7e-1, top_k: 40}\n", "");
}

static void numbers_on_text_keys_keep_their_text(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nprompt: x\nname: 1.10\n"
                        "vars: {a: 0644, b: 1_000, c: 12:30:45, d: 22:00-07:00}\n");

    REQUIRE(reading.spec != NULL);
    CHECK_TEXT(shown(reading.spec->name), "1.10");
    CHECK_TEXT(variable(&reading, "a"), "0644");
    CHECK_TEXT(variable(&reading, "b"), "1_000");
    CHECK_TEXT(variable(&reading, "c"), "12:30:45");
    CHECK_TEXT(variable(&reading, "d"), "22:00-07:00");
    close_reading(&reading);
}

/* YAML 1.1 tools read 22:00 as the number 1320. */
static void a_window_needs_no_quotes(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nprompt: x\nschedule:\n  window: 22:00-07:00\n");
    CHECK_TEXT(reading.complaints, "");
    REQUIRE(reading.spec != NULL && reading.spec->n_daemon_keys == 1);
    CHECK_TEXT(reading.spec->daemon_keys[0].name, "schedule");
    close_reading(&reading);
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nschedule: {window: [22:00-07:00, 13:00-14:00]}\n",
                     "");
}

static void a_duplicate_key_is_an_error_with_both_lines(void)
{
    CHECK_COMPLAINTS(
        "nightjar: 1\nprompt: a\nname: b\nprompt: c\nprompt: d\n",
        "job.yaml:4:1: key 'prompt' stands in line 2 and again in line 4, keep one "
        "of them\n"
        "job.yaml:5:1: key 'prompt' stands in line 2 and again in line 5, keep one "
        "of them");
}

static void a_duplicate_anchor_is_an_error(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: &a x\nname: &a y\n",
                     "job.yaml:3:7: anchor '&a' is already used in line 2, give each anchor a "
                     "name of its own");
}

static void an_alias_without_an_anchor_is_an_error(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: *later\nx-a: &later y\n",
                     "job.yaml:2:9: alias '*later' has no anchor '&later', define it above, or "
                     "quote a text that begins with '*'");
}

static void an_alias_inside_its_own_anchor_is_an_error(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nx-a: &x [1, *x]\n",
                     "job.yaml:3:13: alias '*x' stands inside its own anchor of line 3");
}

static void merge_keys_bring_what_is_not_there(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nprompt: x\n"
                        "x-one: &one {temperature: 0.5, top_k: 7}\n"
                        "x-two: &two {top_k: 9, max_tokens: 3}\n"
                        "sampling:\n  temperature: 0.25\n  <<: [*one, *two]\n");

    REQUIRE(reading.spec != NULL);
    const struct nj_sampling *sampling = &reading.spec->prompts[0].sampling;
    CHECK_NEAR(sampling->temperature, 0.25, 0);
    CHECK_EQ(sampling->top_k, 7);
    CHECK_EQ(sampling->max_tokens, 3);
    close_reading(&reading);
}

static void a_merge_of_a_merge_brings_both(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nprompt: x\n"
                        "x-one: &one {top_k: 7}\n"
                        "x-two: &two {<<: *one, max_tokens: 3}\n"
                        "sampling: {<<: *two}\n");

    REQUIRE(reading.spec != NULL);
    CHECK_EQ(reading.spec->prompts[0].sampling.top_k, 7);
    CHECK_EQ(reading.spec->prompts[0].sampling.max_tokens, 3);
    close_reading(&reading);
}

static void what_cannot_be_merged_is_an_error(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nsampling: {<<: 5}\n",
                     "job.yaml:3:16: '<<' needs a map or a list of maps, not text");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nx-a: &a [1]\nsampling: {<<: [{top_k: 1}, *a]}\n",
                     "job.yaml:3:6: '<<' needs a map or a list of maps, not a list");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\nsampling:\n  <<: {top_k: 1}\n  <<: {top_k: 2}\n",
                     "job.yaml:5:3: a second '<<' in one map, write one '<<: [*a, *b]'");
}

static void an_alias_bomb_is_stopped_before_it_grows(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\n"
                     "x-a: &a [1,1,1,1,1,1,1,1,1,1]\n"
                     "x-b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                     "x-c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                     "x-d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                     "x-e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n"
                     "x-f: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
                     "job.yaml:7:31: more than 100000 values, aliases written out, put many "
                     "rows into a CSV or JSONL file");
}

/* libyaml needs 27 s to read this to its end. */
static void a_hundred_thousand_open_brackets_end_at_once(void)
{
    enum { N_BRACKETS = 100000 };
    static char text[N_BRACKETS];
    memset(text, '[', N_BRACKETS);
    struct reading reading;
    clock_t begin = clock();

    read_bytes_as(&reading, "job.yaml", text, N_BRACKETS);

    CHECK(clock() - begin < CLOCKS_PER_SEC);
    CHECK_TEXT(reading.complaints, "job.yaml:1:65: nested deeper than 64 levels");
    close_reading(&reading);
}

static void aliases_cannot_hide_depth(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\n"
                     "x-a: &a [[[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]]]\n"
                     "x-b: &b [[[[[[[[[[[[[[[[[[[[[[*a]]]]]]]]]]]]]]]]]]]]]]\n"
                     "x-c: &c [[[[[[[[[[[[[[[[[[[[[[*b]]]]]]]]]]]]]]]]]]]]]]\n",
                     "job.yaml:5:31: nested deeper than 64 levels, aliases written out");
}

static void a_tab_as_indentation_is_called_that(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nsampling:\n\ttop_k: 1\n",
                     "job.yaml:3:1: tab used for indentation, use spaces");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\n\tname: y\n",
                     "job.yaml:3:1: tab used for indentation, use spaces");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: |\n\ta tab\n",
                     "job.yaml:3:1: tab used for indentation, use spaces");
}

static void tabs_behind_a_colon_and_before_a_comment_are_fine(void)
{
    CHECK_COMPLAINTS("nightjar:\t1\t# one\nprompt:\tx\n", "");
}

static void a_byte_order_mark_at_the_start_is_accepted_and_counts_no_column(void)
{
    CHECK_COMPLAINTS("\xEF\xBB\xBFnightjar: 1\nprompt: x\n", "");
    CHECK_COMPLAINTS("\xEF\xBB\xBFnightjar: 1 \xE9\n",
                     "job.yaml:1:13: byte 0xE9 is not UTF-8 text, save the file as UTF-8");
}

static void a_byte_order_mark_where_files_were_joined_is_explained(void)
{
    CHECK_COMPLAINTS("nightjar: 1\n\xEF\xBB\xBFprompt: x\n",
                     "job.yaml:2:1: byte order mark (U+FEFF) inside the file, remove it; it is "
                     "left over where files were joined");
}

static void utf_16_is_called_that(void)
{
    struct reading reading;
    read_bytes_as(&reading, "job.yaml", "\xFF\xFEn\0i\0", 6);
    CHECK_TEXT(reading.complaints, "job.yaml:1:1: the file is UTF-16, save the file as UTF-8");
    close_reading(&reading);
}

static void crlf_changes_no_byte_of_a_prompt(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\r\nprompt: |\r\n  one\r\n  two\r\nname: x\r\n");
    CHECK_TEXT(first_prompt(&reading), "one\ntwo\n");
    CHECK_TEXT(shown(reading.spec->name), "x");
    close_reading(&reading);
}

static void places_are_right_in_files_with_crlf(void)
{
    CHECK_COMPLAINTS("nightjar: 1\r\nprompt: |\r\n  one\r\n  two {{who}}\r\n",
                     "job.yaml:4:7: unknown variable 'who', known: _index, _id");
}

static void latin_1_bytes_have_a_line_and_a_column(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: caf\xE9\n",
                     "job.yaml:2:12: byte 0xE9 is not UTF-8 text, save the file as UTF-8");
    CHECK_COMPLAINTS("nightjar: 1\nname: \xC3\xA9\nprompt: \xC3\xA9 caf\xE9 noir\n",
                     "job.yaml:3:14: byte 0xE9 is not UTF-8 text, save the file as UTF-8");
}

/* libyaml reads in pieces of 16 KiB, so an offset within a piece would be wrong here. */
static void a_bad_byte_far_into_the_file_has_its_place(void)
{
    enum { N_LINES = 4000 };
    static char text[N_LINES * 16 + 64];
    size_t length = (size_t)sprintf(text, "nightjar: 1\n");
    for (unsigned i = 0; i < N_LINES; i++) {
        length += (size_t)sprintf(text + length, "x-%05u: \xC3\xA9\n", i);
    }
    length += (size_t)sprintf(text + length, "prompt: caf\xE9\n");
    struct reading reading;
    read_bytes_as(&reading, "job.yaml", text, length);
    CHECK_TEXT(reading.complaints,
               "job.yaml:4002:12: byte 0xE9 is not UTF-8 text, save the file as UTF-8");
    close_reading(&reading);
}

static void control_characters_have_a_line_and_a_column(void)
{
    struct reading reading;
    read_bytes_as(&reading, "job.yaml", "nightjar: 1\nprompt: a\0b\n", 24);
    CHECK_TEXT(reading.complaints,
               "job.yaml:2:10: control character U+0000 is not allowed, remove it, or write it "
               "as an escape in double quotes");
    close_reading(&reading);
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \x7F\n",
                     "job.yaml:2:9: control character U+007F is not allowed, remove it, or "
                     "write it as an escape in double quotes");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: a\x1B[31m\n",
                     "job.yaml:2:10: control character U+001B is not allowed, remove it, or "
                     "write it as an escape in double quotes");
}

static void a_json_surrogate_pair_is_explained_with_what_to_write(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"hi \\ud83d\\ude00\"\n",
                     "job.yaml:2:13: \\ud83d\\ude00 is a JSON surrogate pair, which YAML does "
                     "not have, write \\U0001F600 or the character itself");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"\\ud83d\"\n",
                     "job.yaml:2:10: this escape names no character, write the character "
                     "itself, or \\U and eight hex digits");
}

static void a_second_colon_is_explained(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: Say: hello\n",
                     "job.yaml:2:12: a second ': ' in one value, quote the text, or write it "
                     "below the key after |");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: Answer: {{x}}\n",
                     "job.yaml:2:15: a second ': ' in one value, quote the text, or write it "
                     "below the key after |");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: hello\n  name: x\n",
                     "job.yaml:3:7: this key is indented as if it belonged to the line above, "
                     "begin all keys of a map in the same column");
}

static void a_value_that_begins_with_braces_must_be_quoted(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: {{name}} is here\n",
                     "job.yaml:2:9: a value starting with {{ must be quoted, write \"{{name}} "
                     "...\"");
    CHECK_COMPLAINTS("nightjar: 1\nprompts:\n  - {{a}}\n  - {{b}}\n",
                     "job.yaml:3:5: a value starting with {{ must be quoted, write \"{{name}} "
                     "...\"\n"
                     "job.yaml:4:5: a value starting with {{ must be quoted, write \"{{name}} "
                     "...\"");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: {{a}}, {{b}}\n",
                     "job.yaml:2:9: a value starting with {{ must be quoted, write \"{{name}} "
                     "...\"");
}

static void braces_inside_a_value_are_fine(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1\nprompt: Hi {{name}}\nvars: {name: Ada}\n");
    CHECK_TEXT(first_prompt(&reading), "Hi {{name}}");
    close_reading(&reading);
}

static void a_comment_behind_a_prompt_is_warned_of(void)
{
    struct reading reading;
    read_text(&reading, "nightjar: 1 # fine here\nprompt: foo #bar\nname: a # fine\n"
                        "vars:\n  x: issue #5 #6\n");
    CHECK_EQ(reading.status, NJ_OK);
    CHECK_TEXT(first_prompt(&reading), "foo");
    CHECK_TEXT(
        reading.complaints,
        "job.yaml:2:9: warning: what follows ' #' is a comment and not part of 'prompt', "
        "quote the text if it belongs to it\n"
        "job.yaml:5:6: warning: what follows ' #' is a comment and not part of 'x', "
        "quote the text if it belongs to it");
    close_reading(&reading);
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"foo\" #bar\n", "");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: foo#bar\n", "");
}

static void unusual_line_breaks_are_explained_on_error(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: foo\xC2\x85"
                     "bar\nname: x\n",
                     "job.yaml:2:12: U+0085 acts as a line break in YAML, remove it, or write "
                     "it as an escape in double quotes");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: foo\xE2\x80\xA8"
                     "bar\nname: x\n",
                     "job.yaml:2:12: U+2028 acts as a line break in YAML, remove it, or write "
                     "it as an escape in double quotes");
}

static void block_texts_keep_their_final_newlines_as_yaml_says(void)
{
    static const struct {
        const char *style, *wanted;
    } cases[] = {{"|", "a\nb\n"}, {"|-", "a\nb"}, {"|+", "a\nb\n\n"}, {">", "a b\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, "nightjar: 1\nprompt: %s\n  a\n  b\n\n",
                       cases[i].style);
        struct reading reading;
        read_text(&reading, text);
        CHECK_TEXT(first_prompt(&reading), cases[i].wanted);
        close_reading(&reading);
    }
}

static void several_documents_are_refused_where_one_job_is_wanted(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: a\n---\nnightjar: 1\nprompt: b\n",
                     "job.yaml:4:1: several jobs in one file are not supported here, put each "
                     "job into its own file");
    CHECK_COMPLAINTS("---\nnightjar: 1\nprompt: a\n...\n", "");
}

static void several_documents_are_several_jobs_and_taken_whole_or_not_at_all(void)
{
    struct readings readings;
    read_jobs(&readings,
              "nightjar: 1\nname: a\nprompt: a\n---\nnightjar: 1\nname: b\nprompt: b\n", NULL);
    CHECK_TEXT(readings.reading.complaints, "");
    CHECK_EQ(readings.specs.n_items, 2);
    close_reading(&readings.reading);
    read_jobs(&readings,
              "nightjar: 1\nname: a\nprompt: a\n---\nnightjar: 1\nname: b\nprompts: b\n", NULL);
    CHECK_TEXT(readings.reading.complaints, "job.yaml:7:10: 'prompts' must be a list, not "
                                            "text, a single one stands under 'prompt'");
    CHECK_EQ(readings.specs.n_items, 0);
    close_reading(&readings.reading);
}

static void a_file_without_a_document_has_no_job(void)
{
    static const char *const texts[] = {"", "# only a comment\n", "---\n", "\n\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        CHECK_COMPLAINTS(texts[i], "job.yaml: no job in file, a job begins with 'nightjar: 1'");
    }
}

static void a_key_longer_than_1024_characters_is_an_error(void)
{
    static char text[4096];
    memset(text, 'k', 2000);
    (void)snprintf(text + 1100, sizeof text - 1100, ": 1\nnightjar: 1\n");
    CHECK_COMPLAINTS(text,
                     "job.yaml:1:1: key longer than 1024 characters, keys are short names");
    (void)snprintf(text, sizeof text, "nightjar: 1\n");
    memset(text + 12, 'k', 1100);
    (void)snprintf(text + 1112, sizeof text - 1112, ": 1\n");
    CHECK_COMPLAINTS(text,
                     "job.yaml:2:1: key longer than 1024 characters, keys are short names");
}

static void more_than_16_mib_are_not_read(void)
{
    static char text[NJ_JOB_FILE_LIMIT_BYTES + 1];
    struct reading reading;
    read_bytes_as(&reading, "job.yaml", text, sizeof text);
    CHECK_TEXT(reading.complaints, "job.yaml: the file has 16777217 bytes, at most 16 MiB are "
                                   "read, put the rows into a CSV or JSONL file");
    close_reading(&reading);
}

static void other_slips_have_a_place_and_a_way_out(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: @x\n",
                     "job.yaml:2:9: a value cannot begin with '@', quote the value");
    CHECK_COMPLAINTS(
        "nightjar: 1\nprompt: \"x\n",
        "job.yaml:2:9: the quote that opens here is never closed, close it; inside "
        "single quotes write ' as ''");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: 'it's'\n",
                     "job.yaml:2:13: text behind a closing quote, write a quote inside single "
                     "quotes as ''");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: \"a \\q\"\n",
                     "job.yaml:2:12: unknown escape in double quotes, write \\\\ for a "
                     "backslash, or use single quotes");
    CHECK_COMPLAINTS("nightjar: 1\ntags: [a, b\nprompt: x\n",
                     "job.yaml:3:7: the '[' of line 2 is not closed before this, close it with "
                     "], or quote the text");
    CHECK_COMPLAINTS("nightjar: 1\ntags: - a\n",
                     "job.yaml:2:7: a list cannot begin here, put '- ' on the next line");
    CHECK_COMPLAINTS("nightjar: 1\ntags:\n  - a\n b\n",
                     "job.yaml:4:2: this does not belong to the map of line 1, check "
                     "indentation and quotes");
    CHECK_COMPLAINTS("nightjar: 1\nprompt\nname: x\n",
                     "job.yaml:2:1: a key without ': ' behind it, write 'key: value', or quote "
                     "a text of several lines");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: !!str 5\n",
                     "job.yaml:2:9: tags (!) have no use here, remove it, or quote a text that "
                     "begins with '!'");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: x\n? [a]\n: b\n",
                     "job.yaml:3:3: a key must be text, not a list");
    CHECK_COMPLAINTS("%FOO\n---\nnightjar: 1\n",
                     "job.yaml:1:5: not YAML: found unknown directive name");
    CHECK_COMPLAINTS("- a\n", "job.yaml:1:1: a job is a map of keys, not a list, a job begins "
                              "with 'nightjar: 1'");
}

static void emphasis_at_the_beginning_must_be_quoted(void)
{
    CHECK_COMPLAINTS("nightjar: 1\nprompt: *b* is bold\n",
                     "job.yaml:2:9: a value that begins with '*' or '&' must be quoted, write "
                     "\"*...\"");
    CHECK_COMPLAINTS("nightjar: 1\nprompt: & more\n",
                     "job.yaml:2:9: a value that begins with '*' or '&' must be quoted, write "
                     "\"*...\"");
}

int main(void)
{
    RUN(norway_stays_text_where_text_is_expected);
    RUN(booleans_are_true_and_false_in_any_case_and_nothing_else);
    RUN(numbers_follow_json);
    RUN(numbers_on_text_keys_keep_their_text);
    RUN(a_window_needs_no_quotes);
    RUN(a_duplicate_key_is_an_error_with_both_lines);
    RUN(a_duplicate_anchor_is_an_error);
    RUN(an_alias_without_an_anchor_is_an_error);
    RUN(an_alias_inside_its_own_anchor_is_an_error);
    RUN(merge_keys_bring_what_is_not_there);
    RUN(a_merge_of_a_merge_brings_both);
    RUN(what_cannot_be_merged_is_an_error);
    RUN(an_alias_bomb_is_stopped_before_it_grows);
    RUN(a_hundred_thousand_open_brackets_end_at_once);
    RUN(aliases_cannot_hide_depth);
    RUN(a_tab_as_indentation_is_called_that);
    RUN(tabs_behind_a_colon_and_before_a_comment_are_fine);
    RUN(a_byte_order_mark_at_the_start_is_accepted_and_counts_no_column);
    RUN(a_byte_order_mark_where_files_were_joined_is_explained);
    RUN(utf_16_is_called_that);
    RUN(crlf_changes_no_byte_of_a_prompt);
    RUN(places_are_right_in_files_with_crlf);
    RUN(latin_1_bytes_have_a_line_and_a_column);
    RUN(a_bad_byte_far_into_the_file_has_its_place);
    RUN(control_characters_have_a_line_and_a_column);
    RUN(a_json_surrogate_pair_is_explained_with_what_to_write);
    RUN(a_second_colon_is_explained);
    RUN(a_value_that_begins_with_braces_must_be_quoted);
    RUN(braces_inside_a_value_are_fine);
    RUN(a_comment_behind_a_prompt_is_warned_of);
    RUN(unusual_line_breaks_are_explained_on_error);
    RUN(block_texts_keep_their_final_newlines_as_yaml_says);
    RUN(several_documents_are_refused_where_one_job_is_wanted);
    RUN(several_documents_are_several_jobs_and_taken_whole_or_not_at_all);
    RUN(a_file_without_a_document_has_no_job);
    RUN(a_key_longer_than_1024_characters_is_an_error);
    RUN(more_than_16_mib_are_not_read);
    RUN(other_slips_have_a_place_and_a_way_out);
    RUN(emphasis_at_the_beginning_must_be_quoted);
    return test_result();
}
