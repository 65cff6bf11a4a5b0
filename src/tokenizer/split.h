/* Text into pieces, by the pattern that the vocabulary was trained with. Merges never cross a
 * piece's border, so every border shows in the ids.
 *
 * The pattern (docs/formats/tokenizer.md) runs in PCRE2, the only file that includes it. The
 * tests hold a second implementation without a regex engine.
 *
 * Threads: one owner.
 */
#ifndef NJ_TOKENIZER_SPLIT_H
#define NJ_TOKENIZER_SPLIT_H

#include <stddef.h>

#include "base/status.h"
#include "base/text.h"

struct nj_split;

/* On success the caller owns `*split`. */
enum nj_status nj_split_create(struct nj_split **split, struct nj_error *err);
void nj_split_destroy(struct nj_split *split);

/* The end of the piece that begins at `begin`, which must be a piece's border before the end of
 * `text`. The text must be valid UTF-8. NJ_E_INTERNAL when the engine gives up (a limit of its
 * own, or no piece here): never a wrong border. */
enum nj_status nj_split_next(struct nj_split *split, struct nj_text text, size_t begin,
                             size_t *end, struct nj_error *err);

#endif
