#include "tokenizer/decode.h"

#include <stdbool.h>
#include <string.h>

/* How many bytes a character takes that begins with this one; 0 when none does. */
static size_t sequence_bytes(uint8_t lead)
{
    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return 0; /* a continuation, an overlong form, or beyond U+10FFFF */
    }
    return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* The second byte has a narrower range after some leads: no overlong forms, no surrogates,
 * nothing beyond U+10FFFF (The Unicode Standard, table 3-7). */
static bool continues(const struct nj_utf8_decoder *decoder, uint8_t byte)
{
    uint8_t low = 0x80;
    uint8_t high = 0xbf;
    if (decoder->n_pending == 1) {
        switch (decoder->pending[0]) {
        case 0xe0:
            low = 0xa0;
            break;
        case 0xed:
            high = 0x9f;
            break;
        case 0xf0:
            low = 0x90;
            break;
        case 0xf4:
            high = 0x8f;
            break;
        default:
            break;
        }
    }
    return byte >= low && byte <= high;
}

static size_t put_replacement(char *out)
{
    static const uint8_t replacement[] = {0xef, 0xbf, 0xbd}; /* U+FFFD */
    memcpy(out, replacement, sizeof replacement);
    return sizeof replacement;
}

/* One byte that may begin a character. */
static size_t begin(struct nj_utf8_decoder *decoder, uint8_t byte, char *out)
{
    size_t wanted = sequence_bytes(byte);
    if (wanted == 0) {
        return put_replacement(out);
    }
    if (wanted == 1) {
        *out = (char)byte;
        return 1;
    }
    decoder->pending[0] = byte;
    decoder->n_pending = 1;
    return 0;
}

static size_t push_byte(struct nj_utf8_decoder *decoder, uint8_t byte, char *out)
{
    if (decoder->n_pending == 0) {
        return begin(decoder, byte, out);
    }
    if (!continues(decoder, byte)) {
        decoder->n_pending = 0;
        size_t n = put_replacement(out);
        return n + begin(decoder, byte, out + n);
    }
    decoder->pending[decoder->n_pending++] = byte;
    size_t wanted = sequence_bytes(decoder->pending[0]);
    if (decoder->n_pending < wanted) {
        return 0;
    }
    memcpy(out, decoder->pending, wanted);
    decoder->n_pending = 0;
    return wanted;
}

size_t nj_utf8_decoder_push(struct nj_utf8_decoder *decoder, struct nj_bytes bytes, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes.length_bytes; i++) {
        n += push_byte(decoder, bytes.data[i], out + n);
    }
    return n;
}

size_t nj_utf8_decoder_finish(struct nj_utf8_decoder *decoder, char *out)
{
    if (decoder->n_pending == 0) {
        return 0;
    }
    decoder->n_pending = 0;
    return put_replacement(out);
}
