#include <stdint.h>
#include <string.h>

#include "base/text.h"
#include "support/check.h"

static struct nj_text span(const char *bytes, size_t length_bytes)
{
    struct nj_text text = {bytes, length_bytes};
    return text;
}

static bool is_scalar_value(uint32_t code_point)
{
    return code_point <= 0x10FFFF && (code_point < 0xD800 || code_point > 0xDFFF);
}

static void every_character_survives_encoding_and_decoding(void)
{
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        if (!is_scalar_value(code_point)) {
            continue;
        }
        char encoded[4];
        size_t length = nj_text_put(code_point, encoded);
        size_t offset = 0;
        bool survives = nj_text_next(span(encoded, length), &offset) == code_point &&
                        offset == length &&
                        nj_text_valid_prefix(span(encoded, length)) == length;
        if (!survives) {
            CHECK_EQ(code_point, -1);
        }
    }
}

static void surrogates_overlong_forms_and_large_values_are_refused(void)
{
    static const char *const bad[] = {
        "\xC0\x80",
        "\xC1\xBF",
        "\xE0\x80\x80",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x80\x80\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\x80",
        "\xE2\x28\xA1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(nj_text_valid_prefix(nj_text_from(bad[i])), 0);
        size_t offset = 0;
        CHECK_EQ(nj_text_next(nj_text_from(bad[i]), &offset), 0xFFFD);
        CHECK_EQ(offset, 1);
    }
}

static void valid_prefix_ends_where_the_damage_begins(void)
{
    CHECK_EQ(nj_text_valid_prefix(span(NULL, 0)), 0);
    CHECK_EQ(nj_text_valid_prefix(nj_text_from("gr\xC3\xBC\xC3\x9F"
                                               "e")),
             7);
    CHECK_EQ(nj_text_valid_prefix(nj_text_from("ab\xE2\x82")), 2);
    CHECK_EQ(nj_text_valid_prefix(nj_text_from("ab\xFF"
                                               "cd")),
             2);
    CHECK_EQ(nj_text_valid_prefix(span("a\0b", 3)), 3);
}

static void incomplete_suffix_counts_only_what_more_bytes_could_complete(void)
{
    CHECK_EQ(nj_text_incomplete_suffix(span(NULL, 0)), 0);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("abc")), 0);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\xC3")), 1);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\xC3\xBC")), 0);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\xE2\x82")), 2);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("\xF0\x9F\xA6")), 3);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("\xF0\x9F\xA6\x89")), 0);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\xE0\x80")), 0); /* overlong already */
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\xED\xA0")), 0); /* surrogate already */
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\x80\x80\x80\x80")), 0);
    CHECK_EQ(nj_text_incomplete_suffix(nj_text_from("a\xFF")), 0);
}

/* Cutting a valid text anywhere: the cut character is exactly the suffix that is held back. */
static void text_cut_anywhere_is_valid_up_to_its_incomplete_suffix(void)
{
    static const char whole[] = "a\xC3\xBC\xE2\x82\xAC\xF0\x9F\xA6\x89z";
    for (size_t cut = 0; cut < sizeof whole; cut++) {
        struct nj_text text = span(whole, cut);
        CHECK_EQ(nj_text_valid_prefix(text) + nj_text_incomplete_suffix(text), cut);
    }
}

static void texts_compare_by_length_and_bytes(void)
{
    CHECK(nj_text_equals(nj_text_from("abc"), "abc"));
    CHECK(!nj_text_equals(nj_text_from("abc"), "ab"));
    CHECK(!nj_text_equals(nj_text_from("abc"), "abd"));
    CHECK(nj_text_equal(span(NULL, 0), span("", 0)));
}

static void distance_counts_edits_up_to_the_limit(void)
{
    CHECK_EQ(nj_text_distance(nj_text_from("kitten"), nj_text_from("sitting"), 10), 3);
    CHECK_EQ(nj_text_distance(nj_text_from("sampling"), nj_text_from("samplnig"), 10), 2);
    CHECK_EQ(nj_text_distance(nj_text_from(""), nj_text_from("abc"), 10), 3);
    CHECK_EQ(nj_text_distance(nj_text_from("same"), nj_text_from("same"), 10), 0);
    CHECK_EQ(nj_text_distance(nj_text_from("kitten"), nj_text_from("sitting"), 2), 2);
    char longer[100];
    memset(longer, 'a', sizeof longer);
    CHECK_EQ(nj_text_distance(span(longer, sizeof longer), span(longer, 99), 3), 3);
}

int main(void)
{
    RUN(every_character_survives_encoding_and_decoding);
    RUN(surrogates_overlong_forms_and_large_values_are_refused);
    RUN(valid_prefix_ends_where_the_damage_begins);
    RUN(incomplete_suffix_counts_only_what_more_bytes_could_complete);
    RUN(text_cut_anywhere_is_valid_up_to_its_incomplete_suffix);
    RUN(texts_compare_by_length_and_bytes);
    RUN(distance_counts_edits_up_to_the_limit);
    return test_result();
}
