/* Memory that is released whole.
 *
 * One arena per job spec, per request, per model index: whatever lives and dies together.
 * Blocks grow on demand up to a limit; nothing is freed before the arena is.
 *
 * Threads: one owner, no lock.
 */
#ifndef NJ_BASE_ARENA_H
#define NJ_BASE_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct nj_arena_block;

/* Invariant: used_bytes <= limit_bytes. A zeroed arena is valid and unlimited. */
struct nj_arena {
    struct nj_arena_block *newest;
    uint64_t used_bytes;
    uint64_t limit_bytes; /* 0: no limit */
};

void nj_arena_init(struct nj_arena *arena, uint64_t limit_bytes);
void nj_arena_deinit(struct nj_arena *arena);

/* Zeroed memory aligned for any type; NULL when the limit or the allocator says no.
 * `length_bytes` 0 gives a valid pointer. */
void *nj_arena_take(struct nj_arena *arena, size_t length_bytes);

/* As above for `count` items of `item_bytes`, without wrapping. */
void *nj_arena_take_array(struct nj_arena *arena, size_t count, size_t item_bytes);

/* A NUL-terminated copy of `length_bytes` bytes; NULL as above. */
char *nj_arena_copy_text(struct nj_arena *arena, const char *text, size_t length_bytes);

/* The failure that a NULL above means, as a sentence. */
enum nj_status nj_arena_fail(const struct nj_arena *arena, const char *what,
                             struct nj_error *err);

#endif
