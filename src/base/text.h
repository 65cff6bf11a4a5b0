/* UTF-8 text as borrowed spans. */
#ifndef NJ_BASE_TEXT_H
#define NJ_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not NUL-terminated; `data` may be NULL when the length is 0. */
struct nj_text {
    const char *data;
    size_t length_bytes;
};

struct nj_text nj_text_from(const char *terminated);
bool nj_text_equal(struct nj_text a, struct nj_text b);
bool nj_text_equals(struct nj_text a, const char *terminated);

/* The length in bytes of the longest prefix that is valid UTF-8 (no surrogates, no overlong
 * forms, at most U+10FFFF). Equals length_bytes iff all of it is valid. */
size_t nj_text_valid_prefix(struct nj_text text);

/* Of a text that may stop inside a character: how many bytes at the end belong to a character
 * that more bytes could still complete (0..3). Bytes that no continuation can repair count as
 * 0. */
size_t nj_text_incomplete_suffix(struct nj_text text);

/* Decodes the character at `*offset` (which must be < length) and moves past it. Bytes that are
 * not UTF-8 give U+FFFD and advance by one. */
uint32_t nj_text_next(struct nj_text text, size_t *offset);

/* Writes 1 to 4 bytes; returns how many. `code_point` must be a Unicode scalar value. */
size_t nj_text_put(uint32_t code_point, char out[4]);

/* Levenshtein distance capped at `limit`, for "did you mean". */
unsigned nj_text_distance(struct nj_text a, struct nj_text b, unsigned limit);

#endif
