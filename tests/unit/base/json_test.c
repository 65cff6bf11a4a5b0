#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "support/check.h"
#include "support/failing_malloc.h"

static struct nj_json *parse(const char *text)
{
    struct nj_json *document = NULL;
    struct nj_error error;
    if (nj_json_parse(nj_text_from(text), "test.json", &document, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    return document;
}

static void check_refused(const char *text, const char *complaint)
{
    struct nj_json *document = NULL;
    struct nj_error error = {NJ_OK, ""};
    CHECK_EQ(nj_json_parse(nj_text_from(text), "test.json", &document, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, complaint);
    CHECK(document == NULL);
    nj_json_destroy(document);
}

static void values_come_back_with_their_types(void)
{
    struct nj_json *document =
        parse("{\"n\":null,\"t\":true,\"i\":-9223372036854775808,\"r\":2.5,"
              "\"s\":\"\\u00fc\\ud83e\\udd89\",\"a\":[1,2,3]}");
    const struct nj_json_value *root = nj_json_root(document);
    int64_t integer = 0;
    double number = 0;
    bool boolean = false;
    struct nj_text text = {NULL, 0};

    CHECK_EQ(nj_json_type_of(root), NJ_JSON_OBJECT);
    CHECK_EQ(nj_json_type_of(nj_json_get(root, "n")), NJ_JSON_NULL);
    CHECK(nj_json_as_boolean(nj_json_get(root, "t"), &boolean) && boolean);
    CHECK(nj_json_as_integer(nj_json_get(root, "i"), &integer) && integer == INT64_MIN);
    CHECK(nj_json_as_number(nj_json_get(root, "r"), &number) && number == 2.5);
    CHECK(nj_json_as_text(nj_json_get(root, "s"), &text));
    CHECK(nj_text_equals(text, "\xC3\xBC\xF0\x9F\xA6\x89"));
    CHECK_EQ(nj_json_count(nj_json_get(root, "a")), 3);
    CHECK(nj_json_as_number(nj_json_at(nj_json_get(root, "a"), 2), &number) && number == 3);
    nj_json_destroy(document);
}

static void wrong_type_leaves_the_out_parameter_alone(void)
{
    struct nj_json *document = parse("[1.5, \"1\", 1]");
    const struct nj_json_value *root = nj_json_root(document);
    int64_t integer = 77;
    double number = 77;
    bool boolean = true;
    struct nj_text text = {"x", 1};

    CHECK(!nj_json_as_integer(nj_json_at(root, 0), &integer));
    CHECK(!nj_json_as_number(nj_json_at(root, 1), &number));
    CHECK(!nj_json_as_boolean(nj_json_at(root, 2), &boolean));
    CHECK(!nj_json_as_text(nj_json_at(root, 2), &text));
    CHECK(integer == 77 && number == 77 && boolean && nj_text_equals(text, "x"));
    nj_json_destroy(document);
}

static void lookups_chain_through_what_is_absent(void)
{
    struct nj_json *document = parse("{\"a\":{\"b\":1},\"l\":[0]}");
    const struct nj_json_value *root = nj_json_root(document);
    struct nj_text key = {NULL, 0};

    CHECK(nj_json_get(nj_json_get(root, "a"), "b") != NULL);
    CHECK(nj_json_get(nj_json_get(root, "x"), "b") == NULL);
    CHECK(nj_json_get(nj_json_get(root, "l"), "b") == NULL);
    CHECK(nj_json_at(nj_json_get(root, "l"), 1) == NULL);
    CHECK(nj_json_at(root, 0) == NULL);
    CHECK(nj_json_member(root, 2, &key) == NULL);
    CHECK_EQ(nj_json_type_of(nj_json_get(root, "x")), NJ_JSON_ABSENT);
    CHECK_EQ(nj_json_count(NULL), 0);
    CHECK(nj_json_root(NULL) == NULL);
    nj_json_destroy(document);
}

static void members_are_walked_in_file_order(void)
{
    static const char *const keys[] = {"zebra", "apple", "mango", "1", ""};
    struct nj_json *document = parse("{\"zebra\":0,\"apple\":1,\"mango\":2,\"1\":3,\"\":4}");
    for (size_t i = 0; i < 5; i++) {
        struct nj_text key = {NULL, 0};
        int64_t integer = -1;
        CHECK(nj_json_as_integer(nj_json_member(nj_json_root(document), i, &key), &integer));
        CHECK_EQ(integer, i);
        CHECK(nj_text_equals(key, keys[i]));
    }
    nj_json_destroy(document);
}

static void bad_text_is_refused_with_its_place(void)
{
    check_refused("{\n  \"a\": 1,\n  oops\n}", "test.json:3:");
    check_refused("{\"a\":1,\"a\":2}", "duplicate");
    check_refused("{} x", "test.json:1:");
    check_refused("", "test.json:1:");
    check_refused("\"\xFF\"", "test.json:1:");
    check_refused("[1,]", "test.json:1:");
    check_refused("{'a':1}", "test.json:1:");
    check_refused("NaN", "test.json:1:");
    check_refused("9223372036854775808", "too big integer");
    check_refused("1e999", "real number overflow");
}

static void empty_input_without_memory_behind_it_is_refused(void)
{
    struct nj_json *document = NULL;
    struct nj_text nothing = {NULL, 0};
    CHECK_EQ(nj_json_parse(nothing, "test.json", &document, NULL), NJ_E_INPUT);
}

/* So many opening brackets and as many closing ones. */
static const char *nested(size_t depth)
{
    static char text[3 * NJ_JSON_DEPTH_LIMIT];
    (void)memset(text, 0, sizeof text);
    (void)memset(text, '[', depth);
    (void)memset(text + depth, ']', depth);
    return text;
}

static void nesting_is_limited_and_brackets_in_strings_do_not_count(void)
{
    nj_json_destroy(parse(nested(NJ_JSON_DEPTH_LIMIT)));
    check_refused(nested(NJ_JSON_DEPTH_LIMIT + 1),
                  "test.json:1:65: nested more than 64 levels deep");

    char quoted[512];
    (void)snprintf(quoted, sizeof quoted, "\"\\\"%s%s\"", nested(64), nested(64));
    nj_json_destroy(parse(quoted));
}

static void documents_past_the_size_limit_are_refused_unread(void)
{
    struct nj_json *document = NULL;
    struct nj_error error;
    struct nj_text text = {"x", (size_t)NJ_JSON_LIMIT_BYTES + 1}; /* must not be looked at */
    CHECK_EQ(nj_json_parse(text, "big.json", &document, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, "big.json: 67108865 bytes of JSON, at most 67108864 are read");
}

/* Visibly slow, should each look-up by index walk from the beginning. */
static void document_of_many_members_is_walked_by_index(void)
{
    enum { MEMBERS = 60000, MEMBER_BYTES = 11 }; /* ,"00ffff":1 */
    static char text[MEMBERS * MEMBER_BYTES + 2];
    size_t length = 0;
    for (unsigned i = 0; i < MEMBERS; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%c\"%06x\":1",
                                   i == 0 ? '{' : ',', i);
    }
    text[length++] = '}';
    struct nj_json *document = NULL;
    struct nj_text whole = {text, length};
    REQUIRE(nj_json_parse(whole, "test.json", &document, NULL) == NJ_OK);

    int64_t sum = 0;
    for (size_t i = 0; i < MEMBERS; i++) {
        struct nj_text key;
        int64_t one = 0;
        (void)nj_json_as_integer(nj_json_member(nj_json_root(document), i, &key), &one);
        sum += one;
    }

    CHECK_EQ(sum, MEMBERS);
    nj_json_destroy(document);
}

static const char *finish(struct nj_json_writer *writer)
{
    static char terminated[4096];
    struct nj_text text = {NULL, 0};
    CHECK_EQ(nj_json_finish(writer, &text, NULL), NJ_OK);
    (void)snprintf(terminated, sizeof terminated, "%.*s", (int)text.length_bytes, text.data);
    return terminated;
}

static void writer_puts_commas_and_keeps_the_order_of_calls(void)
{
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_begin_object(&writer);
    nj_json_key(&writer, "b");
    nj_json_write_integer(&writer, INT64_MIN);
    nj_json_key(&writer, "a");
    nj_json_begin_array(&writer);
    nj_json_write_unsigned(&writer, UINT64_MAX);
    nj_json_write_null(&writer);
    nj_json_write_boolean(&writer, false);
    nj_json_begin_object(&writer);
    nj_json_end_object(&writer);
    nj_json_begin_array(&writer);
    nj_json_end_array(&writer);
    nj_json_end_array(&writer);
    nj_json_end_object(&writer);
    nj_json_write_newline(&writer);
    nj_json_write_string(&writer, "next");

    CHECK_TEXT(finish(&writer), "{\"b\":-9223372036854775808,"
                                "\"a\":[18446744073709551615,null,false,{},[]]}\n\"next\"");
    nj_json_writer_reset(&writer);
    nj_json_write_null(&writer);
    CHECK_TEXT(finish(&writer), "null");
    nj_json_writer_deinit(&writer);
}

static void strings_are_escaped_and_always_valid(void)
{
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    struct nj_text text = {"\"\\/\n\r\t\b\0\x1F\x7F \xC3\xBC\xFF\xE2\x82", 16};
    nj_json_write_text(&writer, text);

    CHECK_TEXT(finish(&writer), "\"\\\"\\\\/\\n\\r\\t\\u0008\\u0000\\u001f\x7F \xC3\xBC"
                                "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"");
    nj_json_writer_deinit(&writer);
}

static void check_number(double value, const char *wanted)
{
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_write_number(&writer, value);
    CHECK_TEXT(finish(&writer), wanted);
    nj_json_writer_deinit(&writer);
}

static void numbers_are_the_shortest_that_read_back(void)
{
    check_number(0.7, "0.7");
    check_number(1.0, "1.0");
    check_number(-0.0, "-0.0");
    check_number(1e-6, "1e-06");
    check_number(1e300, "1e+300");
    check_number(0.1 + 0.2, "0.30000000000000004");
    check_number(1.0 / 3.0, "0.3333333333333333");
    check_number(5e-324, "5e-324");
    check_number(1.7976931348623157e308, "1.7976931348623157e+308");
    check_number(2.2250738585072014e-308, "2.2250738585072014e-308");
    check_number(NAN, "null");
    check_number(-INFINITY, "null");
}

static void any_real_reads_back_with_the_same_bits(void)
{
    uint64_t state = 12345;
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    for (int i = 0; i < 20000; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        double value = 0;
        memcpy(&value, &state, sizeof value);
        if (!isfinite(value)) {
            continue;
        }
        nj_json_writer_reset(&writer);
        nj_json_write_number(&writer, value);
        struct nj_json *document = NULL;
        struct nj_text text;
        double back = 0;
        REQUIRE(nj_json_finish(&writer, &text, NULL) == NJ_OK);
        REQUIRE(nj_json_parse(text, "test.json", &document, NULL) == NJ_OK);
        CHECK_EQ(nj_json_type_of(nj_json_root(document)), NJ_JSON_REAL);
        CHECK(nj_json_as_number(nj_json_root(document), &back));
        CHECK_BYTES(&back, &value, sizeof value);
        nj_json_destroy(document);
    }
    nj_json_writer_deinit(&writer);
}

static void copied_value_is_written_as_it_was_read(void)
{
    static const char text[] =
        "{\"z\":[1,-2.5,null,true,\"a\\u0000b\\\"\"],\"a\":{\"k\":{}},\"\":[[]]}";
    struct nj_json *document = parse(text);
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_write_value(&writer, nj_json_root(document));

    CHECK_TEXT(finish(&writer), text);
    nj_json_writer_deinit(&writer);
    nj_json_destroy(document);
}

static void decimal_point_does_not_depend_on_the_locale(void)
{
    /* Not every machine has a locale with a comma; where none is, this changes nothing. */
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (setlocale(LC_NUMERIC, names[i]) != NULL) {
            break;
        }
    }
    check_number(0.5, "0.5");
    (void)setlocale(LC_NUMERIC, "C");
}

static void every_failing_allocation_while_parsing_is_reported(void)
{
    static const char text[] = "{\"a\":[1,{\"b\":\"c\"},[2,3]],\"d\":\"e\"}";
    for (unsigned long n = 1;; n++) {
        struct nj_json *document = NULL;
        failing_malloc_arm(n);
        enum nj_status status = nj_json_parse(nj_text_from(text), "t", &document, NULL);
        bool failed = failing_malloc_disarm();
        nj_json_destroy(document);
        CHECK_EQ(status, failed ? NJ_E_MEMORY : NJ_OK);
        if (!failed) {
            CHECK(n > 2);
            return;
        }
    }
}

static void writer_out_of_memory_says_so_at_the_end(void)
{
    for (unsigned long n = 1;; n++) {
        struct nj_json_writer writer;
        struct nj_text text;
        nj_json_writer_init(&writer);
        failing_malloc_arm(n);
        for (int i = 0; i < 100; i++) {
            nj_json_write_string(&writer, "some text that fills the buffer");
        }
        bool failed = failing_malloc_disarm();
        CHECK_EQ(nj_json_finish(&writer, &text, NULL), failed ? NJ_E_MEMORY : NJ_OK);
        nj_json_writer_deinit(&writer);
        if (!failed) {
            CHECK(n > 2);
            return;
        }
    }
}

int main(void)
{
    RUN(values_come_back_with_their_types);
    RUN(wrong_type_leaves_the_out_parameter_alone);
    RUN(lookups_chain_through_what_is_absent);
    RUN(members_are_walked_in_file_order);
    RUN(bad_text_is_refused_with_its_place);
    RUN(empty_input_without_memory_behind_it_is_refused);
    RUN(nesting_is_limited_and_brackets_in_strings_do_not_count);
    RUN(documents_past_the_size_limit_are_refused_unread);
    RUN(document_of_many_members_is_walked_by_index);
    RUN(writer_puts_commas_and_keeps_the_order_of_calls);
    RUN(strings_are_escaped_and_always_valid);
    RUN(numbers_are_the_shortest_that_read_back);
    RUN(any_real_reads_back_with_the_same_bits);
    RUN(copied_value_is_written_as_it_was_read);
    RUN(decimal_point_does_not_depend_on_the_locale);
    RUN(every_failing_allocation_while_parsing_is_reported);
    RUN(writer_out_of_memory_says_so_at_the_end);
    return test_result();
}
