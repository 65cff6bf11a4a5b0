#include "tokenizer/base64.h"

#include <string.h>

#include "support/check.h"

static bool decode(const char *text, uint8_t *out, size_t *n)
{
    return nj_base64_decode(nj_text_from(text), out, n);
}

static void published_examples_decode(void)
{
    /* RFC 4648, section 10 */
    static const char *const pairs[][2] = {
        {"", ""},
        {"Zg==", "f"},
        {"Zm8=", "fo"},
        {"Zm9v", "foo"},
        {"Zm9vYg==", "foob"},
        {"Zm9vYmE=", "fooba"},
        {"Zm9vYmFy", "foobar"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        uint8_t out[8];
        size_t n = 99;

        CHECK(decode(pairs[i][0], out, &n));

        CHECK_EQ(n, strlen(pairs[i][1]));
        CHECK_BYTES(out, pairs[i][1], strlen(pairs[i][1]));
    }
}

static void all_64_digits_have_their_values(void)
{
    uint8_t out[48];
    size_t n = 0;

    REQUIRE(
        decode("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", out, &n));

    for (size_t i = 0; i < 64; i++) {
        unsigned bits = 0;
        for (size_t bit = 6 * i; bit < 6 * i + 6; bit++) {
            bits = bits << 1 | ((unsigned)out[bit / 8] >> (7 - bit % 8) & 1u);
        }
        CHECK_EQ(bits, i);
    }
}

static void anything_but_the_one_spelling_is_refused(void)
{
    static const char *const wrong[] = {
        "Z",    "Zg",       "Zg=",  "Zg===",  "Z===", "====", "Zh==", /* a set bit too many */
        "Zm9=", "Zg==Zg==", "Z=g=", "Zm9v\n", "Zm 9", "Zm9-", "Zm9_", "\xc3\xa9Zm",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t out[8];
        size_t n;
        if (decode(wrong[i], out, &n)) {
            test_fail(__FILE__, __LINE__, "accepted: %s", wrong[i]);
        }
    }
}

int main(void)
{
    RUN(published_examples_decode);
    RUN(all_64_digits_have_their_values);
    RUN(anything_but_the_one_spelling_is_refused);
    return test_result();
}
