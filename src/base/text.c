#include "base/text.h"

#include <string.h>

struct nj_text nj_text_from(const char *terminated)
{
    struct nj_text text = {terminated, strlen(terminated)};
    return text;
}

bool nj_text_equal(struct nj_text a, struct nj_text b)
{
    return a.length_bytes == b.length_bytes &&
           (a.length_bytes == 0 || memcmp(a.data, b.data, a.length_bytes) == 0);
}

bool nj_text_equals(struct nj_text a, const char *terminated)
{
    return nj_text_equal(a, nj_text_from(terminated));
}

/* Bytes of the character that `lead` begins; 0 when no character begins so. */
static size_t length_from_lead(unsigned char lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        return 4;
    }
    return 0; /* a continuation, an overlong form (C0, C1) or beyond U+10FFFF */
}

/* The second byte rules out overlong forms, surrogates and values beyond U+10FFFF. */
static bool second_byte_fits(unsigned char lead, unsigned char second)
{
    unsigned char low = 0x80;
    unsigned char high = 0xBF;
    if (lead == 0xE0) {
        low = 0xA0;
    } else if (lead == 0xED) {
        high = 0x9F;
    } else if (lead == 0xF0) {
        low = 0x90;
    } else if (lead == 0xF4) {
        high = 0x8F;
    }
    return second >= low && second <= high;
}

/* How many of the `length_bytes` bytes at `data` fit together as the beginning of one
 * character; `wanted` receives how many the character has. 0 when not even the first byte does.
 */
static size_t fitting_bytes(const unsigned char *data, size_t length_bytes, size_t *wanted)
{
    *wanted = length_from_lead(data[0]);
    if (*wanted == 0) {
        return 0;
    }
    size_t fitting = 1;
    while (fitting < *wanted && fitting < length_bytes) {
        unsigned char next = data[fitting];
        bool fits = fitting == 1 ? second_byte_fits(data[0], next) : (next & 0xC0) == 0x80;
        if (!fits) {
            break;
        }
        fitting++;
    }
    return fitting;
}

static size_t whole_character_bytes(const unsigned char *data, size_t length_bytes)
{
    size_t wanted = 0;
    size_t fitting = fitting_bytes(data, length_bytes, &wanted);
    return fitting == wanted ? wanted : 0;
}

size_t nj_text_valid_prefix(struct nj_text text)
{
    const unsigned char *data = (const unsigned char *)text.data;
    size_t offset = 0;
    while (offset < text.length_bytes) {
        size_t length = whole_character_bytes(data + offset, text.length_bytes - offset);
        if (length == 0) {
            break;
        }
        offset += length;
    }
    return offset;
}

size_t nj_text_incomplete_suffix(struct nj_text text)
{
    const unsigned char *data = (const unsigned char *)text.data;
    for (size_t n = 1; n <= 3 && n <= text.length_bytes; n++) {
        const unsigned char *begin = data + (text.length_bytes - n);
        if ((begin[0] & 0xC0) == 0x80) {
            continue; /* inside a character: its lead lies further ahead */
        }
        size_t wanted = 0;
        size_t fitting = fitting_bytes(begin, n, &wanted);
        return fitting == n && wanted > n ? n : 0;
    }
    return 0;
}

uint32_t nj_text_next(struct nj_text text, size_t *offset)
{
    static const unsigned char lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    const unsigned char *data = (const unsigned char *)text.data + *offset;
    size_t length = whole_character_bytes(data, text.length_bytes - *offset);
    if (length == 0) {
        *offset += 1;
        return 0xFFFD;
    }
    uint32_t code_point = data[0] & lead_mask[length];
    for (size_t i = 1; i < length; i++) {
        code_point = (code_point << 6) | (data[i] & 0x3Fu);
    }
    *offset += length;
    return code_point;
}

static char continuation(uint32_t bits)
{
    return (char)(0x80u | (bits & 0x3Fu));
}

size_t nj_text_put(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0u | (code_point >> 6));
        out[1] = continuation(code_point);
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0u | (code_point >> 12));
        out[1] = continuation(code_point >> 6);
        out[2] = continuation(code_point);
        return 3;
    }
    out[0] = (char)(0xF0u | (code_point >> 18));
    out[1] = continuation(code_point >> 12);
    out[2] = continuation(code_point >> 6);
    out[3] = continuation(code_point);
    return 4;
}

enum { DISTANCE_LONGEST_BYTES = 64 };

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned nj_text_distance(struct nj_text a, struct nj_text b, unsigned limit)
{
    /* Suggestions are for words; longer texts are as far apart as one may ask. */
    if (a.length_bytes > DISTANCE_LONGEST_BYTES || b.length_bytes > DISTANCE_LONGEST_BYTES) {
        return limit;
    }
    unsigned row[DISTANCE_LONGEST_BYTES + 1]; /* distances of a's prefix to b's prefixes */
    for (unsigned j = 0; j <= b.length_bytes; j++) {
        row[j] = j;
    }
    for (unsigned i = 1; i <= a.length_bytes; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b.length_bytes; j++) {
            unsigned replaced = diagonal + (a.data[i - 1] != b.data[j - 1] ? 1u : 0u);
            diagonal = row[j];
            row[j] = least(replaced, least(row[j], row[j - 1]) + 1);
        }
    }
    return least(row[b.length_bytes], limit);
}
