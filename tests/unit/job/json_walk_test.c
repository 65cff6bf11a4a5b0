#include "job/json_walk.h"

#include <string.h>

#include "unit/job/reading.h"

static struct nj_arena arena;

/* The first value's text as a template prints it; NULL when it is no JSON. */
static const char *printed(const char *json)
{
    struct nj_json_walk walk;
    struct nj_text raw;
    enum nj_json_walk_kind kind;
    nj_json_walk_init(&walk, nj_text_from(json));
    if (!nj_json_walk_value(&walk, &kind, &raw)) {
        return NULL;
    }
    nj_json_walk_space(&walk);
    if (walk.offset < walk.text.length_bytes) {
        return NULL;
    }
    return shown(nj_json_walk_printed(kind, raw, &arena));
}

static void numbers_and_words_keep_the_text_they_were_written_with(void)
{
    static const char *const same[] = {
        "0",         "-0",   "1.10",  "1e5",  "1E+05",
        "-12.50e-3", "true", "false", "null", "123456789012345678901234567890"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        CHECK_TEXT(printed(same[i]), same[i]);
    }
}

static void strings_are_decoded(void)
{
    CHECK_TEXT(printed("\"\""), "");
    CHECK_TEXT(printed("\"caf\xC3\xA9\""), "caf\xC3\xA9");
    CHECK_TEXT(printed("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\""), "\"\\/\b\f\n\r\t");
    CHECK_TEXT(printed("\"\\u00e9\\u20AC\\ud83d\\uDE00\""),
               "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

static void lists_and_objects_lose_only_their_white_space(void)
{
    CHECK_TEXT(printed(" [ ] "), "[]");
    CHECK_TEXT(printed("{ }"), "{}");
    CHECK_TEXT(printed("[1 , [ 2.0,\t{ \"a b\" : \"c \\\" ]\" , \"d\":[ ] } ] ]"),
               "[1,[2.0,{\"a b\":\"c \\\" ]\",\"d\":[]}]]");
}

static void what_is_no_json_is_refused(void)
{
    static const char *const bad[] = {"",
                                      "01",
                                      "1.",
                                      ".5",
                                      "+1",
                                      "1e",
                                      "tru",
                                      "nulL",
                                      "'a'",
                                      "\"a",
                                      "\"\\x\"",
                                      "\"\\u12\"",
                                      "\"\\u0000\"",
                                      "\"\\ud83d\"",
                                      "\"\\ud83dx\"",
                                      "\"\\ude00\"",
                                      "\"\\ud83d\\u0041\"",
                                      "\"a\nb\"",
                                      "[",
                                      "[1",
                                      "[1,]",
                                      "[1 2]",
                                      "{",
                                      "{\"a\"}",
                                      "{\"a\":}",
                                      "{\"a\":1,}",
                                      "{a:1}",
                                      "{1:2}",
                                      "]",
                                      "[}",
                                      "{\"a\":1]",
                                      "1 2",
                                      "-",
                                      "[,1]"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *text = printed(bad[i]);
        if (text != NULL) {
            test_fail(__FILE__, __LINE__, "%s was read as %s", bad[i], text);
        }
    }
}

static void members_come_in_file_order_with_their_source_text(void)
{
    struct nj_json_walk walk;
    struct nj_text name;
    struct nj_text raw;
    enum nj_json_walk_kind kind;
    bool has_member = false;
    nj_json_walk_init(&walk, nj_text_from(" {\"b\" : 1.50 , \"a\\n\": [1, 2]}"));

    CHECK(nj_json_walk_take(&walk, '{'));
    CHECK(nj_json_walk_member(&walk, true, &has_member, &name, &kind, &raw) && has_member);
    CHECK_TEXT(shown(nj_json_walk_decode(name, &arena)), "b");
    CHECK_TEXT(shown(raw), "1.50");
    CHECK(nj_json_walk_member(&walk, false, &has_member, &name, &kind, &raw) && has_member);
    CHECK_TEXT(shown(nj_json_walk_decode(name, &arena)), "a\n");
    CHECK_EQ(kind, NJ_JSON_WALK_LIST);
    CHECK_TEXT(shown(raw), "[1, 2]");
    CHECK(nj_json_walk_member(&walk, false, &has_member, &name, &kind, &raw));
    CHECK(!has_member);
}

static void after_a_problem_nothing_succeeds(void)
{
    struct nj_json_walk walk;
    struct nj_text raw;
    enum nj_json_walk_kind kind;
    nj_json_walk_init(&walk, nj_text_from("[1 2] 3"));

    CHECK(!nj_json_walk_value(&walk, &kind, &raw));
    CHECK_TEXT(walk.problem, "',' or ']' expected");
    CHECK_EQ(walk.offset, 3);
    CHECK(!nj_json_walk_value(&walk, &kind, &raw));
    CHECK(!nj_json_walk_take(&walk, '2'));
    CHECK_EQ(walk.offset, 3);
}

static void nesting_ends_at_64_levels(void)
{
    enum { N_BRACKETS = 100000 };
    static char text[N_BRACKETS + 1];
    memset(text, '[', 64);
    memset(text + 64, ']', 64);
    text[128] = '\0';
    CHECK(printed(text) != NULL);
    memset(text, '[', N_BRACKETS);
    text[N_BRACKETS] = '\0';
    CHECK(printed(text) == NULL);
}

int main(void)
{
    RUN(numbers_and_words_keep_the_text_they_were_written_with);
    RUN(strings_are_decoded);
    RUN(lists_and_objects_lose_only_their_white_space);
    RUN(what_is_no_json_is_refused);
    RUN(members_come_in_file_order_with_their_source_text);
    RUN(after_a_problem_nothing_succeeds);
    RUN(nesting_ends_at_64_levels);
    nj_arena_deinit(&arena);
    return test_result();
}
