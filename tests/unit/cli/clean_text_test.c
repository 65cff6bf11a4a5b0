#include "cli/clean_text.h"

#include <stdio.h>
#include <stdlib.h>

#include "support/check.h"

static void check_printed(struct nj_text text, const char *wanted)
{
    char *printed = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&printed, &length);
    REQUIRE(file != NULL);
    nj_clean_print(file, text);
    CHECK_EQ(fclose(file), 0);
    CHECK_TEXT(printed, wanted);
    free(printed);
}

static void control_characters_are_escaped(void)
{
    check_printed(nj_text_from("a\033[31mred\r\b\x7F"), "a\\x1B[31mred\\x0D\\x08\\x7F");
    check_printed(nj_text_from("\xC2\x9B"
                               "31m"),
                  "\\xC2\\x9B31m");
    check_printed((struct nj_text){"a\0b", 3}, "a\\x00b");
}

/* "gpj.exe" must not be shown as "exe.jpg". */
static void what_turns_the_direction_of_writing_is_escaped(void)
{
    check_printed(nj_text_from("a\xE2\x80\xAEgpj.exe"), "a\\xE2\\x80\\xAEgpj.exe");
    check_printed(nj_text_from("\xE2\x81\xA6\xD8\x9C\xE2\x80\x8F\xE2\x80\xA8"),
                  "\\xE2\\x81\\xA6\\xD8\\x9C\\xE2\\x80\\x8F\\xE2\\x80\\xA8");
}

static void in_json_it_is_escaped_as_json_does(void)
{
    char *printed = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&printed, &length);
    REQUIRE(file != NULL);
    nj_clean_print_json(file, nj_text_from("{\"a\":\"\xE2\x80\xAE\xC2\x9B\x7F\xC3\xA9\"}\n"));
    CHECK_EQ(fclose(file), 0);
    CHECK_TEXT(printed, "{\"a\":\"\\u202e\\u009b\\u007f\xC3\xA9\"}\n");
    free(printed);
}

static void text_in_any_script_stays(void)
{
    check_printed(nj_text_from("two\nlines\tcaf\xC3\xA9 \xE9\xB8\x9F \xF0\x9F\x90\xA6"),
                  "two\nlines\tcaf\xC3\xA9 \xE9\xB8\x9F \xF0\x9F\x90\xA6");
    check_printed(nj_text_from("\xC2\xA0\xEF\xBF\xBD"), "\xC2\xA0\xEF\xBF\xBD");
}

/* The name of a file may hold anything but '/' and NUL. */
static void a_line_stays_one_line(void)
{
    char *printed = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&printed, &length);
    REQUIRE(file != NULL);
    nj_clean_print_line(file, nj_text_from("c\nd\te\x1B.yaml"));
    CHECK_EQ(fclose(file), 0);
    CHECK_TEXT(printed, "c\\x0Ad\\x09e\\x1B.yaml");
    free(printed);
}

static void bytes_that_are_not_utf8_are_escaped(void)
{
    check_printed(nj_text_from("a\xFF\xC3"), "a\\xFF\\xC3");
}

int main(void)
{
    RUN(control_characters_are_escaped);
    RUN(what_turns_the_direction_of_writing_is_escaped);
    RUN(in_json_it_is_escaped_as_json_does);
    RUN(text_in_any_script_stays);
    RUN(a_line_stays_one_line);
    RUN(bytes_that_are_not_utf8_are_escaped);
    return test_result();
}
