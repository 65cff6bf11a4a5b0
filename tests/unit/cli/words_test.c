#include "cli/words.h"

#include "support/check.h"

static void figures_have_their_thousands_apart(void)
{
    char text[NJ_WORDS_BYTES];
    CHECK_TEXT(nj_words_number(0, text), "0");
    CHECK_TEXT(nj_words_number(999, text), "999");
    CHECK_TEXT(nj_words_number(1000, text), "1,000");
    CHECK_TEXT(nj_words_number(29900, text), "29,900");
    CHECK_TEXT(nj_words_number(1234567, text), "1,234,567");
    CHECK_TEXT(nj_words_number(UINT64_MAX, text), "18,446,744,073,709,551,615");
}

static void one_is_no_plural(void)
{
    char text[NJ_WORDS_BYTES];
    CHECK_TEXT(nj_words_count(1, "item", text), "1 item");
    CHECK_TEXT(nj_words_count(0, "item", text), "0 items");
    CHECK_TEXT(nj_words_count(29900, "item", text), "29,900 items");
}

int main(void)
{
    RUN(figures_have_their_thousands_apart);
    RUN(one_is_no_plural);
    return test_result();
}
