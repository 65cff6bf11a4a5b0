/* Base64 as tiktoken files write it: the standard alphabet, padded, one spelling per value. */
#ifndef NJ_TOKENIZER_BASE64_H
#define NJ_TOKENIZER_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* Room for the bytes of `n` characters. */
#define NJ_BASE64_ROOM(n) ((n) / 4 * 3)

/* Decodes all of `text` into `out`. False when the length is not a multiple of 4, a character
 * is foreign, padding stands anywhere but at the end, or bits that carry nothing are set; `out`
 * may then be partly written. */
bool nj_base64_decode(struct nj_text text, uint8_t *out, size_t *n_out);

#endif
