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

static void text_in_any_script_stays(void)
{
    check_printed(nj_text_from("two\nlines\tcaf\xC3\xA9 \xE9\xB8\x9F \xF0\x9F\x90\xA6"),
                  "two\nlines\tcaf\xC3\xA9 \xE9\xB8\x9F \xF0\x9F\x90\xA6");
    check_printed(nj_text_from("\xC2\xA0\xEF\xBF\xBD"), "\xC2\xA0\xEF\xBF\xBD");
}

static void bytes_that_are_not_utf8_are_escaped(void)
{
    check_printed(nj_text_from("a\xFF\xC3"), "a\\xFF\\xC3");
}

int main(void)
{
    RUN(control_characters_are_escaped);
    RUN(text_in_any_script_stays);
    RUN(bytes_that_are_not_utf8_are_escaped);
    return test_result();
}
