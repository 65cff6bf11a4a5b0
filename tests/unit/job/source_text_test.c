#include "job/source_text.h"

#include "support/check.h"

static void places_count_characters_and_every_line_break_of_yaml(void)
{
    struct nj_text source = nj_text_from("a\xC3\xA9z\n"
                                         "b\r\nc\rd\xC2\x85"
                                         "e\xE2\x80\xA8"
                                         "f");
    struct nj_place first = {"f", 1, 1};
    static const struct {
        size_t offset;
        uint32_t line, column;
    } cases[] = {{0, 1, 1},  {3, 1, 3},  {5, 2, 1}, {8, 3, 1},
                 {10, 4, 1}, {13, 5, 1}, {17, 6, 1}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nj_place place = nj_source_place(source, 0, first, cases[i].offset);
        CHECK_EQ(place.line, cases[i].line);
        CHECK_EQ(place.column, cases[i].column);
    }
}

static void a_line_is_given_without_its_break(void)
{
    struct nj_text source = nj_text_from("one\r\n\nthree");

    CHECK(nj_text_equals(nj_source_line(source, 1), "one"));
    CHECK(nj_text_equals(nj_source_line(source, 2), ""));
    CHECK(nj_text_equals(nj_source_line(source, 3), "three"));
    CHECK(nj_text_equals(nj_source_line(source, 9), ""));
}

static void a_cursor_finds_the_same_bytes_in_any_order(void)
{
    struct nj_text source = nj_text_from("\xEF\xBB\xBF"
                                         "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z");
    static const size_t offsets[] = {3, 4, 6, 9, 13};
    static const size_t order[] = {4, 0, 3, 1, 2, 2, 4};
    struct nj_source_cursor cursor;
    nj_source_cursor_init(&cursor, source);

    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        CHECK_EQ(nj_source_cursor_seek(&cursor, order[i]), offsets[order[i]]);
    }
    CHECK_EQ(nj_source_cursor_seek(&cursor, 1000), source.length_bytes);
}

static void what_is_not_there_is_not_found(void)
{
    CHECK_EQ(nj_source_find(nj_text_from("a{{b"), "{{"), 1);
    CHECK(nj_source_find(nj_text_from("a{b"), "{{") == SIZE_MAX);
    CHECK(nj_source_find((struct nj_text){0}, "{{") == SIZE_MAX);
}

int main(void)
{
    RUN(places_count_characters_and_every_line_break_of_yaml);
    RUN(a_line_is_given_without_its_break);
    RUN(a_cursor_finds_the_same_bytes_in_any_order);
    RUN(what_is_not_there_is_not_found);
    return test_result();
}
