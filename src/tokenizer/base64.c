#include "tokenizer/base64.h"

/* The value of one character, or -1. */
static int digit_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+') {
        return 62;
    }
    return c == '/' ? 63 : -1;
}

/* One group of four characters, the last `n_padding` of them '='. */
static bool decode_group(const char *group, unsigned n_padding, uint8_t *out)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < 4; i++) {
        int value = i < 4 - n_padding ? digit_value(group[i]) : 0;
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
    }
    uint32_t carries_nothing = (1u << 8 * n_padding) - 1;
    if ((bits & carries_nothing) != 0) {
        return false;
    }
    for (unsigned i = 0; i < 3 - n_padding; i++) {
        out[i] = (uint8_t)(bits >> (16 - 8 * i));
    }
    return true;
}

static unsigned padding_of(const char *group)
{
    if (group[3] != '=') {
        return 0;
    }
    return group[2] == '=' ? 2 : 1;
}

bool nj_base64_decode(struct nj_text text, uint8_t *out, size_t *n_out)
{
    if (text.length_bytes % 4 != 0) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < text.length_bytes; i += 4) {
        bool is_last = i + 4 == text.length_bytes;
        unsigned n_padding = is_last ? padding_of(text.data + i) : 0;
        if (!decode_group(text.data + i, n_padding, out + n)) {
            return false;
        }
        n += 3 - n_padding;
    }
    *n_out = n;
    return true;
}
