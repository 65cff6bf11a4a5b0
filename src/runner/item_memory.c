#include "runner/item_memory.h"

#include "base/checked.h"

enum {
    LINE_OVERHEAD_BYTES = 1024, /* keys, digest, usage, an error */
    ID_BYTES = 12,              /* in a line, with its comma */
    ANSWER_ID_BYTES = 8,        /* as a number, in a list that grew to twice its size */
    ANSWER_TEXT_BYTES = 16,     /* of one id, as the tokenizer's longer ones have */
    LOGPROB_BYTES = 8 + 100,    /* in the slot, and as an object in a line */
    /* Copies of the longest at the same time: a row as bytes, as a tree and as texts; a line in
     * the making, framed, and again as the tree that other formats are made from. */
    N_PASSING = 3,
    TEXT_SHARE = 4 /* texts of a batch take at most a quarter of the memory */
};

static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t result = 0;
    return nj_add_u64(a, b, &result) ? result : UINT64_MAX;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result = 0;
    return nj_multiply_u64(a, b, &result) ? result : UINT64_MAX;
}

/* As JSON writes it. */
static uint64_t quoted_bytes(struct nj_text text)
{
    enum { CONTROL_BYTES = 6 };
    uint64_t n_bytes = 4; /* quotes, a colon, a comma */
    for (size_t i = 0; i < text.length_bytes; i++) {
        unsigned char byte = (unsigned char)text.data[i];
        bool is_escaped =
            byte == '"' || byte == '\\' || byte == '\n' || byte == '\r' || byte == '\t';
        n_bytes += is_escaped ? 2 : byte < 0x20 ? CONTROL_BYTES : 1;
    }
    return n_bytes;
}

/* The answer that the item may come to have: in the sequence, and in its line. */
static uint64_t answer_bytes(const struct nj_item *item)
{
    const struct nj_sampling *sampling = item->sampling;
    uint64_t n_logprobs = sampling->wants_logprobs ? UINT64_C(1) + sampling->n_top_logprobs : 0;
    uint64_t n_line_ids = item->n_ids > 0 ? ID_BYTES : 0;
    return product(sampling->max_tokens, ANSWER_ID_BYTES + UINT64_C(2) * ANSWER_TEXT_BYTES +
                                             n_line_ids + n_logprobs * LOGPROB_BYTES);
}

static uint64_t line_bytes(const struct nj_item *item)
{
    uint64_t n_bytes = sum(LINE_OVERHEAD_BYTES, answer_bytes(item));
    n_bytes = sum(n_bytes, quoted_bytes(item->id));
    for (size_t i = 0; i < item->n_vars; i++) {
        n_bytes = sum(n_bytes,
                      sum(quoted_bytes(item->vars[i].name), quoted_bytes(item->vars[i].value)));
    }
    return n_bytes;
}

void nj_item_memory_note(struct nj_item_memory *memory, const struct nj_item *item,
                         uint64_t arena_bytes, size_t n_prompt_ids)
{
    uint64_t text = sum(arena_bytes, product(n_prompt_ids, 2 * sizeof(nj_token)));
    uint64_t line = line_bytes(item);
    memory->text_bytes = text > memory->text_bytes ? text : memory->text_bytes;
    memory->line_bytes = line > memory->line_bytes ? line : memory->line_bytes;
}

uint64_t nj_item_memory_of_one(const struct nj_item_memory *memory)
{
    return sum(memory->text_bytes, memory->line_bytes);
}

uint64_t nj_item_memory_of_all(const struct nj_item_memory *memory, uint32_t n_items)
{
    return product(nj_item_memory_of_one(memory), (uint64_t)N_PASSING + n_items);
}

uint32_t nj_item_memory_width(const struct nj_item_memory *memory, uint64_t memory_bytes,
                              uint32_t most)
{
    uint64_t one = nj_item_memory_of_one(memory);
    uint64_t n_items = one > 0 ? memory_bytes / TEXT_SHARE / one : most;
    if (n_items >= most) {
        return most;
    }
    return n_items > 0 ? (uint32_t)n_items : 1;
}
