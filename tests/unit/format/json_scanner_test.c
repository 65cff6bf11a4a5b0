#include <stdint.h>
#include <string.h>

#include "format/json_scanner.h"
#include "support/check.h"

static struct nj_json_scanner scanner_of(const char *text)
{
    struct nj_json_scanner scanner;
    nj_json_scanner_init(&scanner, nj_text_from(text), 0);
    return scanner;
}

static bool skips_whole(struct nj_text text, struct nj_error *error)
{
    struct nj_json_scanner scanner;
    nj_json_scanner_init(&scanner, text, 0);
    return nj_json_scan_skip(&scanner, error) == NJ_OK &&
           nj_json_scan_end(&scanner, error) == NJ_OK;
}

static void every_kind_of_value_is_passed(void)
{
    static const char *const texts[] = {
        "null",     " true ",
        "false",    "0",
        "-0.5e+10", "12E3",
        "\"\"",     "\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00FC\\uD83E\\uDD89\xC3\xBC\"",
        "[]",       "[1, [2, {}], \"]\"]",
        "{}",       "\t{ \"a\" : { \"b\" : [ ] } ,\r\n \"c\" : null }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct nj_error error = {NJ_OK, ""};
        CHECK(skips_whole(nj_text_from(texts[i]), &error));
        CHECK_TEXT(error.text, "");
    }
}

static void anything_else_is_refused(void)
{
    static const char *const texts[] = {
        "",
        " ",
        "nul",
        "True",
        "01",
        "-",
        "1.",
        ".5",
        "1e",
        "+1",
        "\"",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "\"\n\"",
        "\"\x01\"",
        "\"\xFF\"",
        "\"\xC3\"",
        "\"\xED\xA0\x80\"",
        "[",
        "[1",
        "[1,]",
        "[,1]",
        "[1 2]",
        "{",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{\"a\" 1}",
        "{} {}",
        "[}",
        "{]",
        "nullx",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct nj_error error = {NJ_OK, ""};
        if (skips_whole(nj_text_from(texts[i]), &error)) {
            CHECK_TEXT(texts[i], "something that is not accepted");
        }
        CHECK_EQ(error.status, NJ_E_WEIGHTS);
        CHECK_CONTAINS(error.text, "byte ");
    }
}

static void every_cut_of_a_text_is_refused_and_nothing_behind_it_read(void)
{
    static const char text[] = "{\"a\":[1.5e3,\"\\u00fc\xE2\x82\xAC\"],\"b\":{\"c\":false}}";
    for (size_t cut = 0; cut < sizeof text - 1; cut++) {
        char copy[sizeof text];
        memset(copy, '"', sizeof copy); /* would end a string, were it read */
        memcpy(copy, text, cut);
        struct nj_text cut_text = {copy, cut};
        CHECK(!skips_whole(cut_text, NULL));
    }
}

static void nesting_is_bounded(void)
{
    char text[2 * NJ_JSON_SCAN_DEPTH_LIMIT + 3];
    struct nj_text whole = {text, 2 * (size_t)NJ_JSON_SCAN_DEPTH_LIMIT};
    struct nj_error error;
    memset(text, '[', NJ_JSON_SCAN_DEPTH_LIMIT);
    memset(text + NJ_JSON_SCAN_DEPTH_LIMIT, ']', NJ_JSON_SCAN_DEPTH_LIMIT);
    CHECK(skips_whole(whole, &error));

    memset(text, '[', NJ_JSON_SCAN_DEPTH_LIMIT + 1);
    CHECK(!skips_whole(whole, &error));
    CHECK_CONTAINS(error.text, "byte 64: wanted at most 64 levels");
}

static void whole_numbers_are_read_up_to_the_last(void)
{
    uint64_t value = 0;
    struct nj_json_scanner scanner = scanner_of(" 18446744073709551615,0");
    CHECK_EQ(nj_json_scan_unsigned(&scanner, &value, NULL), NJ_OK);
    CHECK(value == UINT64_MAX);

    static const char *const bad[] = {
        "18446744073709551616", "99999999999999999999", "-1", "1.0", "1e3", "007", "", "x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        value = 7;
        scanner = scanner_of(bad[i]);
        CHECK_EQ(nj_json_scan_unsigned(&scanner, &value, NULL), NJ_E_WEIGHTS);
        CHECK_EQ(value, 7);
    }
}

static void check_unescaped(const char *text, const char *wanted)
{
    struct nj_json_scanner scanner = scanner_of(text);
    struct nj_json_raw_string raw;
    struct nj_arena arena = {0};
    struct nj_text name = {NULL, 0};
    struct nj_error error;
    REQUIRE_OK(nj_json_scan_string(&scanner, &raw, &error), &error);
    enum nj_status status = nj_json_unescape(&raw, &arena, &name, &error);
    if (wanted == NULL) {
        CHECK_EQ(status, NJ_E_WEIGHTS);
    } else {
        CHECK_EQ(status, NJ_OK);
        CHECK(nj_text_equals(name, wanted));
    }
    nj_arena_deinit(&arena);
}

static void escapes_are_resolved(void)
{
    check_unescaped("\"plain\"", "plain");
    check_unescaped("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t");
    check_unescaped("\"a\\u0062\\u00e9\\u20AC\\ud83e\\uDD89z\"",
                    "ab\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA6\x89z");
}

static void escapes_that_make_no_text_are_refused(void)
{
    check_unescaped("\"a\\u0000b\"", NULL);
    check_unescaped("\"\\ud83e\"", NULL);
    check_unescaped("\"\\ud83ex\\udd89\"", NULL);
    check_unescaped("\"\\udd89\\ud83e\"", NULL);
    check_unescaped("\"\\ud83e\\u0041\"", NULL);
}

static void complaints_name_the_byte_in_the_file(void)
{
    struct nj_error error;
    struct nj_json_scanner scanner;
    uint64_t value = 0;
    nj_json_scanner_init(&scanner, nj_text_from("  x"), 1000);
    CHECK_EQ(nj_json_scan_unsigned(&scanner, &value, &error), NJ_E_WEIGHTS);
    CHECK_TEXT(error.text, "byte 1002: wanted a whole number below 2^64, found byte 0x78");
    scanner = scanner_of("[");
    CHECK_EQ(nj_json_scan_skip(&scanner, &error), NJ_E_WEIGHTS);
    CHECK_TEXT(error.text, "byte 1: wanted a value, the text ends");
}

int main(void)
{
    RUN(every_kind_of_value_is_passed);
    RUN(anything_else_is_refused);
    RUN(every_cut_of_a_text_is_refused_and_nothing_behind_it_read);
    RUN(nesting_is_bounded);
    RUN(whole_numbers_are_read_up_to_the_last);
    RUN(escapes_are_resolved);
    RUN(escapes_that_make_no_text_are_refused);
    RUN(complaints_name_the_byte_in_the_file);
    return test_result();
}
