/* What the texts of items take of memory while they are under way: rows, prompts, answers and
 * result lines. With long rows that is more than the model's states, and it counts against the
 * same ceiling.
 *
 * Plain numbers; they are estimates from above for what one item holds, by its own figures.
 */
#ifndef NJ_RUNNER_ITEM_MEMORY_H
#define NJ_RUNNER_ITEM_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "job/items.h"

/* Zeroed: of no items. */
struct nj_item_memory {
    uint64_t text_bytes; /* of the longest: row, variables, prompt and its ids */
    uint64_t line_bytes; /* of the longest: its result, as it may become */
};

/* An item that was read into `arena_bytes` of an arena, with a prompt of so many ids. */
void nj_item_memory_note(struct nj_item_memory *memory, const struct nj_item *item,
                         uint64_t arena_bytes, size_t n_prompt_ids);

/* Of each item in the batch, until its result is durable. */
uint64_t nj_item_memory_of_one(const struct nj_item_memory *memory);

/* Of `n_items` in the batch, and of what passes through besides: the row that is being read,
 * the line that is being written, later those that are exported. */
uint64_t nj_item_memory_of_all(const struct nj_item_memory *memory, uint32_t n_items);

/* How many items, at least 1 and at most `most`, leave nearly all of `memory_bytes` to the
 * model. */
uint32_t nj_item_memory_width(const struct nj_item_memory *memory, uint64_t memory_bytes,
                              uint32_t most);

#endif
