/* Finds things by name: an open-addressed hash table over an array that somebody else owns.
 *
 * It holds 8 bytes a slot and nothing of the items but their numbers, because half a million
 * tensors have their names in memory already.
 *
 * Threads: one owner; any number of readers once it is filled.
 */
#ifndef NJ_FORMAT_NAME_TABLE_H
#define NJ_FORMAT_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"

/* Each item begins with its name: `struct { const char *name; ... }`. */
struct nj_named_items {
    const void *items;
    size_t item_bytes;
    size_t count;
};

/* The tag is part of the name's hash: a probe that meets another name seldom has to look at it,
 * which would be a cache miss. */
struct nj_name_slot {
    uint32_t number_plus_one; /* 0 is empty */
    uint32_t tag;
};

/* Invariant: n_slots is a power of two and at least a quarter of them are empty. */
struct nj_name_table {
    struct nj_name_slot *slots;
    size_t n_slots;
    uint64_t seed;
};

#define NJ_NAME_ABSENT UINT32_MAX

/* Fills a table with all items. `seed` should depend on the input, so that nobody can prepare
 * names that all fall into one slot. A name that occurs twice: `*duplicate` receives the number
 * of the second one and the table stays empty; otherwise NJ_NAME_ABSENT. NJ_E_MEMORY. */
enum nj_status nj_name_table_init(struct nj_name_table *table, struct nj_named_items items,
                                  uint64_t seed, uint32_t *duplicate, struct nj_error *err);
void nj_name_table_deinit(struct nj_name_table *table);

/* The item's number, or NJ_NAME_ABSENT. */
uint32_t nj_name_table_find(const struct nj_name_table *table, struct nj_named_items items,
                            struct nj_text name);

#endif
