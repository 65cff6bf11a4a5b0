/* Ids to whole characters: holds back bytes of a character that is not complete yet. */
#ifndef NJ_TOKENIZER_DECODE_H
#define NJ_TOKENIZER_DECODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Plain data: copy it to save it. */
struct nj_utf8_decoder {
    uint8_t pending[4];
    size_t n_pending;
};

/* Room that `out` needs for `n` bytes pushed: each may become U+FFFD. */
#define NJ_UTF8_DECODER_ROOM(n) (3 * ((n) + 4))

/* Writes the characters that are complete after these bytes; bytes that are not UTF-8 become
 * U+FFFD (one per maximal broken part, as Unicode recommends). Returns the bytes written. */
size_t nj_utf8_decoder_push(struct nj_utf8_decoder *decoder, struct nj_bytes bytes, char *out);

/* At the end: what is still pending, as U+FFFD. */
size_t nj_utf8_decoder_finish(struct nj_utf8_decoder *decoder, char *out);

#endif
