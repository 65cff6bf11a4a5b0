/* Sizes and durations as people write them: 8GiB, 500MB; 30s, 15m, 1h30m.
 *
 * A number without a unit is refused: 8 could be bytes or gigabytes.
 */
#ifndef NJ_JOB_QUANTITY_H
#define NJ_JOB_QUANTITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* How sizes and durations are written, for hints. */
extern const char nj_size_hint[];
extern const char nj_duration_hint[];

/* A decimal number with at most three digits behind the point, and B, kB, MB, GB, TB (powers of
 * 1000) or KiB, MiB, GiB, TiB (of 1024), a space between them allowed. False for anything else,
 * and for what is not a whole number of bytes below 2^63. */
bool nj_size_parse(struct nj_text text, uint64_t *bytes);

enum { NJ_SIZE_GUESS_BYTES = 32 };

/* What was meant by `8g` or `500mb`: "8GB", "500MB". False when nothing suggests itself. */
bool nj_size_guess(struct nj_text text, char guess[NJ_SIZE_GUESS_BYTES]);

/* Numbers as above with d, h, m, s or ms, larger units first, without spaces: 1h30m. False for
 * anything else, and for 2^63 ns (292 years) and more. */
bool nj_duration_parse(struct nj_text text, uint64_t *duration_ns);

#endif
