/* Very long text, cut as the released tokenizer cuts it before it splits it into pieces.
 *
 * It looks at blocks of 400,000 characters, and inside each it also cuts before the 25,001st
 * character in a row that is white space, or is not. Slices are encoded independently, so where
 * they end shows in the ids; ordinary text is one slice. The cuts also bound the longest piece.
 */
#ifndef NJ_TOKENIZER_SLICES_H
#define NJ_TOKENIZER_SLICES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

enum { NJ_SLICE_BLOCK_CHARACTERS = 400000, NJ_SLICE_RUN_CHARACTERS = 25000 };

struct nj_slices {
    struct nj_text text; /* valid UTF-8 */
    size_t offset;       /* of what is still to be cut */
    size_t n_block_left; /* characters until the block ends */
};

void nj_slices_init(struct nj_slices *slices, struct nj_text text);

/* False at the end; slices are never empty. */
bool nj_slices_next(struct nj_slices *slices, struct nj_text *slice);

#endif
