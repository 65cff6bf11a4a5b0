#include "tokenizer/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/check.h"
#include "unit/tokenizer/small_tokenizer.h"

static uint32_t random_state = 12345;

static size_t random_below(size_t n)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (size_t)(random_state >> 8) % n;
}

static void parse_words(const char *const *words, struct nj_arena *arena,
                        struct nj_rank_table *table)
{
    char *file = small_rank_file(words);
    struct nj_error error;
    if (nj_rank_table_parse((struct nj_bytes){(const uint8_t *)file, strlen(file)}, arena,
                            table, &error) != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    free(file);
}

/* The definition: look at all pairs, join the lowest rank, leftmost first, again and again. */
static size_t merge_by_scanning(const struct nj_rank_table *table, struct nj_bytes piece,
                                struct nj_bytes *parts)
{
    size_t n = piece.length_bytes;
    for (size_t i = 0; i < n; i++) {
        parts[i] = (struct nj_bytes){piece.data + i, 1};
    }
    for (;;) {
        nj_token best = -1;
        size_t best_at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            struct nj_bytes pair = {parts[i].data,
                                    parts[i].length_bytes + parts[i + 1].length_bytes};
            nj_token rank = nj_rank_table_find(table, pair);
            if (rank >= 0 && (best < 0 || rank < best)) {
                best = rank;
                best_at = i;
            }
        }
        if (best < 0) {
            return n;
        }
        parts[best_at].length_bytes += parts[best_at + 1].length_bytes;
        memmove(parts + best_at + 1, parts + best_at + 2, (n - best_at - 2) * sizeof *parts);
        n--;
    }
}

static void check_piece(struct nj_merge *merge, const struct nj_rank_table *table,
                        struct nj_bytes piece)
{
    struct nj_bytes parts[512];
    struct nj_token_list list = {0};
    struct nj_error error;
    REQUIRE_OK(nj_merge_piece(merge, table, piece, &list, &error), &error);
    size_t n = merge_by_scanning(table, piece, parts);
    bool equal = list.n_ids == n;
    for (size_t i = 0; equal && i < n; i++) {
        equal = list.ids[i] == nj_rank_table_find(table, parts[i]);
    }
    if (!equal) {
        test_fail(__FILE__, __LINE__, "\"%.*s\" is merged differently", (int)piece.length_bytes,
                  (const char *)piece.data);
    }
    nj_token_list_deinit(&list);
}

/* Words over three letters, some of them not made of two others, so never reached. */
static void draw_words(char (*words)[8], const char **pointers)
{
    size_t n = 0;
    for (size_t attempt = 0; attempt < 60; attempt++) {
        size_t length = 2 + random_below(5);
        char word[8] = "";
        for (size_t i = 0; i < length; i++) {
            word[i] = "abc"[random_below(3)];
        }
        bool is_new = true;
        for (size_t i = 0; i < n; i++) {
            is_new = is_new && strcmp(words[i], word) != 0;
        }
        if (is_new) {
            memcpy(words[n], word, sizeof word);
            pointers[n] = words[n];
            n++;
        }
    }
    pointers[n] = NULL;
}

static void the_heap_merges_exactly_as_plain_scanning_does(void)
{
    struct nj_merge merge = {0};
    for (int vocabulary = 0; vocabulary < 40; vocabulary++) {
        char words[60][8];
        const char *pointers[61];
        struct nj_arena arena = {0};
        struct nj_rank_table table;
        draw_words(words, pointers);
        parse_words(pointers, &arena, &table);
        for (int round = 0; round < 60; round++) {
            char text[300];
            size_t n = 1 + random_below(round < 50 ? 40 : sizeof text);
            for (size_t i = 0; i < n; i++) {
                text[i] = "abcabcabcabcx"[random_below(13)];
            }
            check_piece(&merge, &table, (struct nj_bytes){(const uint8_t *)text, n});
        }
        nj_arena_deinit(&arena);
    }
    nj_merge_deinit(&merge);
}

static void equal_ranks_merge_from_the_left(void)
{
    static const char *const words[] = {"aa", NULL};
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_merge merge = {0};
    struct nj_token_list list = {0};
    parse_words(words, &arena, &table);

    CHECK_EQ(nj_merge_piece(&merge, &table, (struct nj_bytes){(const uint8_t *)"aaaaa", 5},
                            &list, NULL),
             NJ_OK);

    CHECK_EQ(list.n_ids, 3);
    CHECK_EQ(list.ids[0], 256);
    CHECK_EQ(list.ids[1], 256);
    CHECK_EQ(list.ids[2], 'a');
    nj_token_list_deinit(&list);
    nj_merge_deinit(&merge);
    nj_arena_deinit(&arena);
}

/* 100,000 bytes: a slice of 25,000 four-byte characters. Scanning would look at 10^10 pairs. */
static void the_longest_piece_takes_a_fraction_of_a_second(void)
{
    static const char *const words[] = {"aa", "aaaa", "aaaaaaaa", "ab", "ba", "aba", NULL};
    enum { N = 100000 };
    static uint8_t piece[N];
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_merge merge = {0};
    struct nj_token_list list = {0};
    parse_words(words, &arena, &table);
    for (size_t i = 0; i < N; i++) {
        piece[i] = i < N / 2 ? 'a' : (uint8_t) "ab"[random_below(2)];
    }

    clock_t begin = clock();
    CHECK_EQ(nj_merge_piece(&merge, &table, (struct nj_bytes){piece, N}, &list, NULL), NJ_OK);
    double seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;

    CHECK(seconds < 1.0);
    size_t n_bytes = 0;
    for (size_t i = 0; i < list.n_ids; i++) {
        n_bytes += table.pieces[list.ids[i]].length_bytes;
    }
    CHECK_EQ(n_bytes, N);
    nj_token_list_deinit(&list);
    nj_merge_deinit(&merge);
    nj_arena_deinit(&arena);
}

int main(void)
{
    RUN(the_heap_merges_exactly_as_plain_scanning_does);
    RUN(equal_ranks_merge_from_the_left);
    RUN(the_longest_piece_takes_a_fraction_of_a_second);
    return test_result();
}
