#include "tokenizer/decode.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "support/check.h"

/* Pushes `text` in portions of `n` bytes into a NUL-terminated string, then finishes. */
static void decode(const char *text, size_t length, size_t portion, char *out)
{
    struct nj_utf8_decoder decoder = {0};
    size_t n = 0;
    for (size_t i = 0; i < length; i += portion) {
        size_t left = length - i < portion ? length - i : portion;
        struct nj_bytes bytes = {(const uint8_t *)text + i, left};
        n += nj_utf8_decoder_push(&decoder, bytes, out + n);
    }
    n += nj_utf8_decoder_finish(&decoder, out + n);
    out[n] = '\0';
}

static void whole_characters_come_out_whatever_the_portions(void)
{
    static const char text[] = "a\xc3\xa9\xe4\xb8\x96\xf0\x9f\x98\x80z";
    for (size_t portion = 1; portion < sizeof text; portion++) {
        char out[64];

        decode(text, sizeof text - 1, portion, out);

        CHECK_TEXT(out, text);
    }
}

static void an_incomplete_character_is_held_back_until_its_last_byte(void)
{
    struct nj_utf8_decoder decoder = {0};
    char out[32];

    CHECK_EQ(
        nj_utf8_decoder_push(&decoder, (struct nj_bytes){(const uint8_t *)"x\xf0\x9f", 3}, out),
        1);
    CHECK_EQ(nj_utf8_decoder_push(&decoder, (struct nj_bytes){(const uint8_t *)"\x98", 1}, out),
             0);
    struct nj_utf8_decoder saved = decoder;
    CHECK_EQ(nj_utf8_decoder_push(&decoder, (struct nj_bytes){(const uint8_t *)"\x80", 1}, out),
             4);
    CHECK_BYTES(out, "\xf0\x9f\x98\x80", 4);
    CHECK_EQ(nj_utf8_decoder_finish(&decoder, out), 0);

    /* A copy goes on from where it was taken. */
    CHECK_EQ(nj_utf8_decoder_finish(&saved, out), 3);
    CHECK_BYTES(out, "\xef\xbf\xbd", 3);
    CHECK_EQ(nj_utf8_decoder_finish(&saved, out), 0);
}

#define R "\xef\xbf\xbd"

static void broken_bytes_become_one_replacement_per_maximal_part(void)
{
    /* The Unicode Standard 15, section 3.9: tables 3-8 to 3-11, then our own. */
    static const char *const pairs[][2] = {
        {"\xc0\xaf\xe0\x80\xbf\xf0\x81\x82\x41", R R R R R R R R "A"},
        {"\xed\xa0\x80\xed\xbf\xbf\xed\xaf\x41", R R R R R R R R "A"},
        {"\xf4\x91\x92\x93\xff\x41\x80\xbf\x42", R R R R R "A" R R "B"},
        {"\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41", R R R R "A"},
        {"\xf0\x9f\x98", R},
        {"\xc3\xc3\xa9", R "\xc3\xa9"},
        {"\xe4\xb8\xf0\x9f\x98\x80", R "\xf0\x9f\x98\x80"},
        {"\xf5\x80", R R},
        {"\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\xe0\xa0\x80\xed\x9f\xbf",
         "\xf4\x8f\xbf\xbf\xf0\x90\x80\x80\xe0\xa0\x80\xed\x9f\xbf"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        for (size_t portion = 1; portion <= 9; portion++) {
            char out[64];

            decode(pairs[i][0], strlen(pairs[i][0]), portion, out);

            CHECK_TEXT(out, pairs[i][1]);
        }
    }
}

static void any_bytes_give_valid_text_within_the_room_that_is_asked_for(void)
{
    uint32_t state = 1;
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[8];
        for (size_t i = 0; i < sizeof bytes; i++) {
            state = state * 1664525u + 1013904223u;
            /* leads and continuations much more often than chance would give */
            bytes[i] = (uint8_t)((state >> 24) | (state >> 9 & 0x80));
        }
        struct nj_utf8_decoder decoder = {{0xf0, 0x9f, 0x98, 0}, 3};
        char out[NJ_UTF8_DECODER_ROOM(sizeof bytes) + 1];
        memset(out, '#', sizeof out);

        size_t n = nj_utf8_decoder_push(&decoder, (struct nj_bytes){bytes, sizeof bytes}, out);
        n += nj_utf8_decoder_finish(&decoder, out + n);

        CHECK(n < sizeof out && out[sizeof out - 1] == '#');
        CHECK_EQ(nj_text_valid_prefix((struct nj_text){out, n}), n);
    }
}

int main(void)
{
    RUN(whole_characters_come_out_whatever_the_portions);
    RUN(an_incomplete_character_is_held_back_until_its_last_byte);
    RUN(broken_bytes_become_one_replacement_per_maximal_part);
    RUN(any_bytes_give_valid_text_within_the_room_that_is_asked_for);
    return test_result();
}
