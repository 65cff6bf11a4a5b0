#include "format/name_table.h"

#include <stdlib.h>
#include <string.h>

/* Eight bytes at a time, multiplied and folded: not for secrets, only to spread names whose
 * order the maker of a file cannot foresee. */
static uint64_t hash_name(struct nj_text name, uint64_t seed)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15); /* 2^64 / golden ratio */
    uint64_t hash = seed ^ name.length_bytes;
    size_t left = name.length_bytes;
    const char *data = name.data;
    while (left > 0) {
        uint64_t word = 0;
        size_t taken = left < sizeof word ? left : sizeof word;
        memcpy(&word, data, taken);
        hash = (hash ^ word) * odd;
        hash ^= hash >> 32;
        data += taken;
        left -= taken;
    }
    return hash;
}

static struct nj_text name_of(struct nj_named_items items, size_t number)
{
    const char *name = NULL;
    memcpy(&name, (const char *)items.items + number * items.item_bytes, sizeof name);
    return nj_text_from(name);
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* The slot that holds the name, or the empty one where it would go. */
static struct nj_name_slot *slot_of(const struct nj_name_table *table,
                                    struct nj_named_items items, struct nj_text name,
                                    uint64_t hash)
{
    size_t mask = table->n_slots - 1;
    for (size_t i = (size_t)hash & mask;; i = (i + 1) & mask) {
        struct nj_name_slot *slot = &table->slots[i];
        if (slot->number_plus_one == 0) {
            return slot;
        }
        if (slot->tag == tag_of(hash) &&
            nj_text_equal(name_of(items, slot->number_plus_one - 1), name)) {
            return slot;
        }
    }
}

enum nj_status nj_name_table_init(struct nj_name_table *table, struct nj_named_items items,
                                  uint64_t seed, uint32_t *duplicate, struct nj_error *err)
{
    *table = (struct nj_name_table){.n_slots = 16, .seed = seed};
    *duplicate = NJ_NAME_ABSENT;
    if (items.count >= NJ_NAME_ABSENT) {
        return nj_fail(err, NJ_E_MEMORY, "index %zu names: too many", items.count);
    }
    while (table->n_slots - table->n_slots / 4 < items.count) {
        table->n_slots *= 2;
    }
    table->slots = calloc(table->n_slots, sizeof *table->slots);
    if (table->slots == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "index %zu names: out of memory", items.count);
    }
    for (size_t i = 0; i < items.count; i++) {
        struct nj_text name = name_of(items, i);
        uint64_t hash = hash_name(name, seed);
        struct nj_name_slot *slot = slot_of(table, items, name, hash);
        if (slot->number_plus_one != 0) {
            nj_name_table_deinit(table);
            *duplicate = (uint32_t)i;
            return NJ_OK;
        }
        *slot = (struct nj_name_slot){(uint32_t)i + 1, tag_of(hash)};
    }
    return NJ_OK;
}

void nj_name_table_deinit(struct nj_name_table *table)
{
    free(table->slots);
    *table = (struct nj_name_table){.slots = NULL};
}

uint32_t nj_name_table_find(const struct nj_name_table *table, struct nj_named_items items,
                            struct nj_text name)
{
    if (table->slots == NULL) {
        return NJ_NAME_ABSENT;
    }
    const struct nj_name_slot *slot = slot_of(table, items, name, hash_name(name, table->seed));
    return slot->number_plus_one == 0 ? NJ_NAME_ABSENT : slot->number_plus_one - 1;
}
