#include "tokenizer/merge.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/vector.h"

/* A stretch of the piece, kept at the index of its first byte: the left neighbour's index is
 * `previous`, the right one's is its own index plus its length. Absorbed ones have length 0. */
struct nj_merge_symbol {
    uint32_t length_bytes;
    uint32_t previous;
    nj_token token;
};

/* A pair that is a token. Stale once either side has changed, which always makes the pair that
 * begins at `left` longer, or `left` itself disappear. */
struct nj_merge_candidate {
    nj_token rank;
    uint32_t left;
    uint32_t length_bytes; /* of both sides */
};

void nj_merge_deinit(struct nj_merge *merge)
{
    free(merge->symbols);
    free(merge->heap);
    *merge = (struct nj_merge){0};
}

static bool comes_before(struct nj_merge_candidate a, struct nj_merge_candidate b)
{
    return a.rank != b.rank ? a.rank < b.rank : a.left < b.left;
}

static void push(struct nj_merge *merge, struct nj_merge_candidate candidate)
{
    size_t i = merge->n_heap++;
    while (i > 0 && comes_before(candidate, merge->heap[(i - 1) / 2])) {
        merge->heap[i] = merge->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    merge->heap[i] = candidate;
}

static struct nj_merge_candidate pop(struct nj_merge *merge)
{
    struct nj_merge_candidate first = merge->heap[0];
    struct nj_merge_candidate moved = merge->heap[--merge->n_heap];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= merge->n_heap) {
            break;
        }
        if (child + 1 < merge->n_heap &&
            comes_before(merge->heap[child + 1], merge->heap[child])) {
            child++;
        }
        if (!comes_before(merge->heap[child], moved)) {
            break;
        }
        merge->heap[i] = merge->heap[child];
        i = child;
    }
    merge->heap[i] = moved;
    return first;
}

/* The bytes from `left` to the end of its right neighbour; 0 when there is none, or when `left`
 * has been absorbed (it then is its own neighbour, of no length). */
static uint32_t pair_bytes(const struct nj_merge *merge, struct nj_bytes piece, uint32_t left)
{
    uint32_t right = left + merge->symbols[left].length_bytes;
    if (right >= piece.length_bytes) {
        return 0;
    }
    return merge->symbols[left].length_bytes + merge->symbols[right].length_bytes;
}

static void consider(struct nj_merge *merge, const struct nj_rank_table *table,
                     struct nj_bytes piece, uint32_t left)
{
    uint32_t length = pair_bytes(merge, piece, left);
    nj_token rank = nj_rank_table_find(table, (struct nj_bytes){piece.data + left, length});
    if (rank >= 0) {
        push(merge, (struct nj_merge_candidate){rank, left, length});
    }
}

static void join(struct nj_merge *merge, struct nj_bytes piece,
                 struct nj_merge_candidate candidate)
{
    struct nj_merge_symbol *left = &merge->symbols[candidate.left];
    merge->symbols[candidate.left + left->length_bytes].length_bytes = 0;
    left->length_bytes = candidate.length_bytes;
    left->token = candidate.rank;
    uint32_t next = candidate.left + left->length_bytes;
    if (next < piece.length_bytes) {
        merge->symbols[next].previous = candidate.left;
    }
}

static enum nj_status begin(struct nj_merge *merge, const struct nj_rank_table *table,
                            struct nj_bytes piece, struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&merge->symbols, &merge->symbols_capacity,
                                              sizeof *merge->symbols, piece.length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    /* At most n - 1 pairs at first; each of at most n - 1 merges takes one and adds two. */
    status = nj_vector_reserve(&merge->heap, &merge->heap_capacity, sizeof *merge->heap,
                               2 * piece.length_bytes, err);
    if (status != NJ_OK) {
        return status;
    }
    merge->n_heap = 0;
    uint32_t n = (uint32_t)piece.length_bytes;
    for (uint32_t i = 0; i < n; i++) {
        nj_token token = nj_rank_table_find(table, (struct nj_bytes){piece.data + i, 1});
        merge->symbols[i] = (struct nj_merge_symbol){1, i == 0 ? 0 : i - 1, token};
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        consider(merge, table, piece, i);
    }
    return NJ_OK;
}

enum nj_status nj_merge_piece(struct nj_merge *merge, const struct nj_rank_table *table,
                              struct nj_bytes piece, struct nj_token_list *list,
                              struct nj_error *err)
{
    assert(piece.length_bytes <= INT32_MAX);
    enum nj_status status = begin(merge, table, piece, err);
    while (status == NJ_OK && merge->n_heap > 0) {
        struct nj_merge_candidate best = pop(merge);
        if (pair_bytes(merge, piece, best.left) != best.length_bytes) {
            continue; /* stale */
        }
        join(merge, piece, best);
        consider(merge, table, piece, best.left);
        if (best.left > 0) {
            consider(merge, table, piece, merge->symbols[best.left].previous);
        }
    }
    for (size_t i = 0; status == NJ_OK && i < piece.length_bytes;) {
        status = nj_token_list_append(list, &merge->symbols[i].token, 1, err);
        i += merge->symbols[i].length_bytes;
    }
    return status;
}
