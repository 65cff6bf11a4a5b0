#include "base/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum {
    ALIGNMENT_BYTES = _Alignof(max_align_t),
    FIRST_BLOCK_BYTES = 4 * 1024,
    LARGEST_SHARED_BLOCK_BYTES = 1024 * 1024 /* larger requests get a block of their own */
};

struct nj_arena_block {
    struct nj_arena_block *older;
    size_t capacity_bytes;
    size_t used_bytes;
    max_align_t data[];
};

void nj_arena_init(struct nj_arena *arena, uint64_t limit_bytes)
{
    *arena = (struct nj_arena){.limit_bytes = limit_bytes};
}

void nj_arena_deinit(struct nj_arena *arena)
{
    struct nj_arena_block *block = arena->newest;
    while (block != NULL) {
        struct nj_arena_block *older = block->older;
        free(block);
        block = older;
    }
    arena->newest = NULL;
    arena->used_bytes = 0;
}

static size_t next_block_bytes(const struct nj_arena *arena, size_t needed)
{
    size_t capacity = FIRST_BLOCK_BYTES;
    if (arena->newest != NULL && arena->newest->capacity_bytes >= capacity) {
        capacity = 2 * arena->newest->capacity_bytes;
    }
    if (capacity > LARGEST_SHARED_BLOCK_BYTES) {
        capacity = LARGEST_SHARED_BLOCK_BYTES;
    }
    return needed > capacity ? needed : capacity;
}

/* A block that one request fills goes behind the newest, whose free space stays in use. */
static struct nj_arena_block *add_block(struct nj_arena *arena, size_t needed)
{
    size_t capacity = next_block_bytes(arena, needed);
    if (capacity > SIZE_MAX - sizeof(struct nj_arena_block)) {
        return NULL;
    }
    struct nj_arena_block *block = calloc(1, sizeof *block + capacity);
    if (block == NULL) {
        return NULL;
    }
    block->capacity_bytes = capacity;
    if (arena->newest != NULL && needed == capacity) {
        block->older = arena->newest->older;
        arena->newest->older = block;
    } else {
        block->older = arena->newest;
        arena->newest = block;
    }
    return block;
}

void *nj_arena_take(struct nj_arena *arena, size_t length_bytes)
{
    uint64_t rounded = 0;
    uint64_t total = 0;
    uint64_t wanted = length_bytes == 0 ? 1 : length_bytes;
    if (!nj_round_up_u64(wanted, ALIGNMENT_BYTES, &rounded) ||
        !nj_add_u64(arena->used_bytes, rounded, &total) ||
        (arena->limit_bytes != 0 && total > arena->limit_bytes)) {
        return NULL;
    }
    struct nj_arena_block *block = arena->newest;
    if (block == NULL || block->capacity_bytes - block->used_bytes < rounded) {
        block = add_block(arena, (size_t)rounded);
        if (block == NULL) {
            return NULL;
        }
    }
    void *memory = (unsigned char *)block->data + block->used_bytes;
    block->used_bytes += (size_t)rounded;
    arena->used_bytes = total;
    return memory;
}

void *nj_arena_take_array(struct nj_arena *arena, size_t count, size_t item_bytes)
{
    uint64_t length_bytes = 0;
    if (!nj_multiply_u64(count, item_bytes, &length_bytes) || length_bytes > SIZE_MAX) {
        return NULL;
    }
    return nj_arena_take(arena, (size_t)length_bytes);
}

char *nj_arena_copy_text(struct nj_arena *arena, const char *text, size_t length_bytes)
{
    if (length_bytes == SIZE_MAX) {
        return NULL;
    }
    char *copy = nj_arena_take(arena, length_bytes + 1);
    if (copy != NULL && length_bytes > 0) {
        memcpy(copy, text, length_bytes);
    }
    return copy;
}

enum nj_status nj_arena_fail(const struct nj_arena *arena, const char *what,
                             struct nj_error *err)
{
    if (arena->limit_bytes == 0) {
        return nj_fail(err, NJ_E_MEMORY, "%s: out of memory after %" PRIu64 " bytes", what,
                       arena->used_bytes);
    }
    return nj_fail(err, NJ_E_MEMORY,
                   "%s: out of memory after %" PRIu64 " of at most %" PRIu64 " bytes", what,
                   arena->used_bytes, arena->limit_bytes);
}
