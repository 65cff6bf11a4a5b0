#include "tokenizer/slices.h"

#include <stdint.h>

/* White space here is what Python's `str.isspace` says: Unicode White_Space and the four
 * separators U+001C to U+001F. The split pattern's \s lacks those four. */
static bool is_space(uint32_t c)
{
    if (c < 0x80) {
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    }
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
           c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

void nj_slices_init(struct nj_slices *slices, struct nj_text text)
{
    *slices = (struct nj_slices){.text = text, .n_block_left = NJ_SLICE_BLOCK_CHARACTERS};
}

/* Where the slice that begins at `begin` ends; counts its characters off the block. */
static size_t slice_end(struct nj_slices *slices, size_t begin)
{
    bool run_is_space = false;
    size_t n_run = 0;
    size_t offset = begin;
    while (offset < slices->text.length_bytes && slices->n_block_left > 0) {
        size_t after = offset;
        bool now_is_space = is_space(nj_text_next(slices->text, &after));
        n_run = now_is_space == run_is_space ? n_run + 1 : 1;
        run_is_space = now_is_space;
        if (n_run > NJ_SLICE_RUN_CHARACTERS) {
            break;
        }
        slices->n_block_left--;
        offset = after;
    }
    return offset;
}

bool nj_slices_next(struct nj_slices *slices, struct nj_text *slice)
{
    if (slices->offset == slices->text.length_bytes) {
        return false;
    }
    if (slices->n_block_left == 0) {
        slices->n_block_left = NJ_SLICE_BLOCK_CHARACTERS;
    }
    size_t begin = slices->offset;
    slices->offset = slice_end(slices, begin);
    *slice = (struct nj_text){slices->text.data + begin, slices->offset - begin};
    return true;
}
