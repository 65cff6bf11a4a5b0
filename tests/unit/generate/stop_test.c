#include "generate/stop.h"

#include <string.h>

#include "base/random.h"
#include "support/check.h"

/* Pushes `text` in pieces of `piece_bytes`; what passed is in `out`. Returns what matched. */
static int push_in_pieces(struct nj_stop_matcher *matcher, const char *text, size_t piece_bytes,
                          char *out)
{
    size_t length = strlen(text);
    size_t n_out = 0;
    int found = -1;
    for (size_t begin = 0; begin < length && found < 0; begin += piece_bytes) {
        size_t n = length - begin < piece_bytes ? length - begin : piece_bytes;
        size_t n_passed = 0;
        struct nj_bytes bytes = {.data = (const uint8_t *)text + begin, .length_bytes = n};
        found = nj_stop_matcher_push(matcher, bytes, out + n_out, &n_passed);
        n_out += n_passed;
    }
    out[n_out] = '\0';
    return found;
}

struct example {
    const char *stop[3];
    const char *text;
    int found;
    const char *passed; /* before the match, or all that is not held back */
    const char *held;
};

static const struct example examples[] = {
    {{"END"}, "some textEND and more", 0, "some text", ""},
    {{"END"}, "some text EN", -1, "some text ", "EN"},
    {{"END"}, "ENENEND", 0, "ENEN", ""},
    {{"aab"}, "aaab", 0, "a", ""},
    {{"abcd", "b"}, "xab", 1, "xa", ""}, /* complete first */
    {{"b", "ab"}, "xab", 1, "x", ""},    /* at the same byte: the longest */
    {{"\n\n"}, "line\nline\n\nx", 0, "line\nline", ""},
    {{"\xC3\xA9"}, "caf\xC3\xA9", 0, "caf", ""}, /* inside a character if need be */
    {{"\xA9"}, "caf\xC3\xA9", 0, "caf\xC3", ""},
    {{"xyz"}, "nothing of it", -1, "nothing of it", ""},
};

static void a_match_is_the_same_however_tokens_cut_the_text(void)
{
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        const struct example *example = &examples[i];
        struct nj_stop_string strings[3];
        size_t n = 0;
        while (n < 3 && example->stop[n] != NULL) {
            strings[n] = (struct nj_stop_string){example->stop[n], strlen(example->stop[n])};
            n++;
        }
        for (size_t piece_bytes = 1; piece_bytes < 12; piece_bytes++) {
            struct nj_stop_matcher matcher;
            char out[64];
            REQUIRE(nj_stop_matcher_init(&matcher, strings, n, NULL) == NJ_OK);
            CHECK_EQ(push_in_pieces(&matcher, example->text, piece_bytes, out), example->found);
            CHECK_TEXT(out, example->passed);
            CHECK_EQ(matcher.n_held, strlen(example->held));
            CHECK_BYTES(matcher.held, example->held, matcher.n_held);
            nj_stop_matcher_deinit(&matcher);
        }
    }
}

static void without_strings_everything_passes_at_once(void)
{
    struct nj_stop_matcher matcher;
    char out[16];
    REQUIRE(nj_stop_matcher_init(&matcher, NULL, 0, NULL) == NJ_OK);
    CHECK_EQ(push_in_pieces(&matcher, "abc", 3, out), -1);
    CHECK_TEXT(out, "abc");
    CHECK_EQ(matcher.n_held, 0);
    nj_stop_matcher_deinit(&matcher);
}

/* The first place at which any of the strings is complete, looked for in the simple way. */
static size_t first_end(const char *text, const struct nj_stop_string *strings, size_t n,
                        size_t *longest)
{
    for (size_t end = 1; end <= strlen(text); end++) {
        *longest = 0;
        for (size_t i = 0; i < n; i++) {
            size_t length = strings[i].length_bytes;
            if (length <= end && length > *longest &&
                memcmp(text + end - length, strings[i].bytes, length) == 0) {
                *longest = length;
            }
        }
        if (*longest > 0) {
            return end;
        }
    }
    return 0;
}

static void random_texts_match_where_a_plain_search_does(void)
{
    static const struct nj_stop_string strings[] = {{"abab", 4}, {"bb", 2}, {"aaa", 3}};
    for (uint64_t round = 0; round < 2000; round++) {
        char text[24];
        char out[32];
        struct nj_stop_matcher matcher;
        size_t longest = 0;
        for (size_t i = 0; i < sizeof text - 1; i++) {
            text[i] = nj_draw_uniform(round, 0, i, 3) < 0.55 ? 'a' : 'b';
        }
        text[sizeof text - 1] = '\0';
        if (round % 2 == 0) {
            text[10] = 'c';
        }
        size_t end = first_end(text, strings, 3, &longest);
        REQUIRE(nj_stop_matcher_init(&matcher, strings, 3, NULL) == NJ_OK);
        int found = push_in_pieces(&matcher, text, 1 + round % 5, out);
        CHECK_EQ(found >= 0, end > 0);
        if (found >= 0 && end > 0) {
            CHECK_EQ(strlen(out), end - longest);
            CHECK_BYTES(out, text, end - longest);
        }
        nj_stop_matcher_deinit(&matcher);
    }
}

int main(void)
{
    RUN(a_match_is_the_same_however_tokens_cut_the_text);
    RUN(without_strings_everything_passes_at_once);
    RUN(random_texts_match_where_a_plain_search_does);
    return test_result();
}
