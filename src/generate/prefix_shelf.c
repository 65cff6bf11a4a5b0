#include "generate/prefix_shelf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

uint64_t nj_prefix_state_bytes(const struct nj_dims *dims, uint32_t n_ids)
{
    uint64_t n_pages = ((uint64_t)n_ids + NJ_PAGE_POSITIONS - 1) / NJ_PAGE_POSITIONS;
    return nj_state_recurrent_bytes(dims) + n_pages * nj_state_page_bytes(dims);
}

static void remove_entry(struct nj_prefix_shelf *shelf, size_t index)
{
    struct nj_prefix_entry *entry = &shelf->entries[index];
    shelf->held_bytes -= entry->n_bytes;
    nj_state_destroy(entry->state);
    free(entry->ids);
    *entry = shelf->entries[--shelf->n_entries];
}

void nj_prefix_shelf_deinit(struct nj_prefix_shelf *shelf)
{
    while (shelf->n_entries > 0) {
        remove_entry(shelf, shelf->n_entries - 1);
    }
}

static bool is_prefix(const struct nj_prefix_entry *entry, const nj_token *ids, uint32_t n_ids)
{
    return entry->n_ids <= n_ids && memcmp(entry->ids, ids, entry->n_ids * sizeof *ids) == 0;
}

const struct nj_prefix_entry *nj_prefix_shelf_find(const struct nj_prefix_shelf *shelf,
                                                   const nj_token *ids, uint32_t n_ids)
{
    const struct nj_prefix_entry *found = NULL;
    for (size_t i = 0; i < shelf->n_entries; i++) {
        const struct nj_prefix_entry *entry = &shelf->entries[i];
        bool is_longer = found == NULL || entry->n_ids > found->n_ids;
        if (is_longer && is_prefix(entry, ids, n_ids)) {
            found = entry;
        }
    }
    return found;
}

void nj_prefix_shelf_use(struct nj_prefix_shelf *shelf, const struct nj_prefix_entry *entry)
{
    shelf->entries[entry - shelf->entries].used = ++shelf->clock;
}

static uint64_t worth(const struct nj_prefix_shelf *shelf, const struct nj_prefix_entry *entry)
{
    return nj_prefix_tree_to_come(shelf->tree, entry->ids, entry->n_ids);
}

/* The first to go among those wanted by fewer than `n_wanted`; n_entries: there is none. */
static size_t first_to_go(const struct nj_prefix_shelf *shelf, uint64_t n_wanted)
{
    size_t first = shelf->n_entries;
    uint64_t least = n_wanted;
    for (size_t i = 0; i < shelf->n_entries; i++) {
        const struct nj_prefix_entry *entry = &shelf->entries[i];
        uint64_t n = worth(shelf, entry);
        bool is_older =
            first < shelf->n_entries && n == least && entry->used < shelf->entries[first].used;
        if (n < least || is_older) {
            first = i;
            least = n;
        }
    }
    return first;
}

static bool fits(const struct nj_prefix_shelf *shelf, uint64_t n_bytes)
{
    return shelf->n_entries < NJ_PREFIX_SHELF_ENTRIES && n_bytes <= shelf->limit_bytes &&
           shelf->held_bytes <= shelf->limit_bytes - n_bytes;
}

bool nj_prefix_shelf_has_room(const struct nj_prefix_shelf *shelf, uint32_t n_ids,
                              uint64_t n_to_come)
{
    uint64_t n_bytes = nj_prefix_state_bytes(shelf->dims, n_ids);
    uint64_t kept_bytes = 0;
    size_t n_kept = 0;
    if (n_to_come == 0 || n_bytes > shelf->limit_bytes) {
        return false;
    }
    for (size_t i = 0; i < shelf->n_entries; i++) {
        bool stays = worth(shelf, &shelf->entries[i]) >= n_to_come;
        kept_bytes += stays ? shelf->entries[i].n_bytes : 0;
        n_kept += stays ? 1 : 0;
    }
    return n_kept < NJ_PREFIX_SHELF_ENTRIES && kept_bytes <= shelf->limit_bytes - n_bytes;
}

/* Memory that was promised, and is not there after all: no more is asked for than is held. */
static struct nj_prefix_entry *give_in(struct nj_prefix_shelf *shelf, nj_token *ids)
{
    shelf->limit_bytes = shelf->held_bytes;
    free(ids);
    return NULL;
}

static struct nj_prefix_entry *add_fork(struct nj_prefix_shelf *shelf, const nj_token *ids,
                                        const struct nj_state *state)
{
    uint32_t n_ids = nj_state_length(state);
    nj_token *copy = malloc(n_ids * sizeof *ids);
    struct nj_state *fork = NULL;
    if (copy == NULL || nj_state_fork(state, &fork, NULL) != NJ_OK) {
        return give_in(shelf, copy);
    }
    memcpy(copy, ids, n_ids * sizeof *ids);
    struct nj_prefix_entry *entry = &shelf->entries[shelf->n_entries++];
    *entry = (struct nj_prefix_entry){.ids = copy,
                                      .n_ids = n_ids,
                                      .state = fork,
                                      .n_bytes = nj_prefix_state_bytes(shelf->dims, n_ids),
                                      .used = ++shelf->clock};
    shelf->held_bytes += entry->n_bytes;
    if (shelf->held_bytes > shelf->peak_bytes) {
        shelf->peak_bytes = shelf->held_bytes;
    }
    return entry;
}

struct nj_prefix_entry *nj_prefix_shelf_put(struct nj_prefix_shelf *shelf, const nj_token *ids,
                                            const struct nj_state *state, uint64_t n_to_come)
{
    uint32_t n_ids = nj_state_length(state);
    uint64_t n_bytes = nj_prefix_state_bytes(shelf->dims, n_ids);
    assert(n_ids > 0);
    if (!nj_prefix_shelf_has_room(shelf, n_ids, n_to_come)) {
        return NULL;
    }
    while (!fits(shelf, n_bytes)) {
        size_t index = first_to_go(shelf, n_to_come);
        assert(index < shelf->n_entries);
        remove_entry(shelf, index);
    }
    return add_fork(shelf, ids, state);
}

bool nj_prefix_shelf_drop(struct nj_prefix_shelf *shelf)
{
    size_t index = first_to_go(shelf, UINT64_MAX);
    if (index == shelf->n_entries) {
        return false;
    }
    remove_entry(shelf, index);
    return true;
}
