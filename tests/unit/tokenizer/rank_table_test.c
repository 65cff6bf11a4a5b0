#include "tokenizer/rank_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "unit/tokenizer/small_tokenizer.h"

static struct nj_bytes bytes_of(const char *text)
{
    return (struct nj_bytes){(const uint8_t *)text, strlen(text)};
}

static void bytes_and_ranks_find_each_other(void)
{
    static const char *const words[] = {"he", "hello", " world", "\xe4\xb8\x96", NULL};
    char *file = small_rank_file(words);
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_error error;

    REQUIRE_OK(nj_rank_table_parse(bytes_of(file), &arena, &table, &error), &error);

    CHECK_EQ(table.n_ranks, 260);
    CHECK_EQ(table.longest_bytes, 6);
    for (nj_token i = 0; i < 260; i++) {
        CHECK_EQ(nj_rank_table_find(&table, table.pieces[i]), i);
    }
    CHECK_EQ(nj_rank_table_find(&table, bytes_of("hello")), 257);
    CHECK_EQ(nj_rank_table_find(&table, bytes_of("hell")), -1);
    CHECK_EQ(nj_rank_table_find(&table, bytes_of("")), -1);
    CHECK_EQ(nj_rank_table_find(&table, bytes_of("hello world")), -1);
    nj_arena_deinit(&arena);
    free(file);
}

static void lines_may_come_in_any_order_and_lack_the_last_newline(void)
{
    char *file = small_rank_file(NULL);
    size_t length = strlen(file);
    char *first_end = strchr(file, '\n') + 1;
    char swapped[4096];
    REQUIRE(length < sizeof swapped);
    /* The line of rank 0 goes to the end, without its newline. */
    (void)snprintf(swapped, sizeof swapped, "%s%.*s", first_end, (int)(first_end - file) - 1,
                   file);
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_error error;

    REQUIRE_OK(nj_rank_table_parse(bytes_of(swapped), &arena, &table, &error), &error);

    CHECK_EQ(table.n_ranks, 256);
    CHECK_EQ(table.pieces[0].data[0], 0);
    nj_arena_deinit(&arena);
    free(file);
}

/* The single bytes, then these lines. */
static void check_refused(const char *lines, const char *reason)
{
    char *file = small_rank_file(NULL);
    char wrong[4096];
    (void)snprintf(wrong, sizeof wrong, "%s%s", file, lines);
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_error error = {0};

    CHECK_EQ(nj_rank_table_parse(bytes_of(wrong), &arena, &table, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, reason);
    nj_arena_deinit(&arena);
    free(file);
}

static void damaged_lines_are_refused_with_their_number(void)
{
    check_refused("aGU=256\n", "tiktoken.model:257: no space");
    check_refused("\n", "tiktoken.model:257: no space");
    check_refused("aGU 256\n", "tiktoken.model:257: the token is not padded base64");
    check_refused("aGV= 256\n", "tiktoken.model:257: the token is not padded base64");
    check_refused(" 256\n", "tiktoken.model:257: the token is not padded base64");
    check_refused("aGU= 257\n", "tiktoken.model:257: the rank is not a number below 257");
    check_refused("aGU= \n", "tiktoken.model:257: the rank is not");
    check_refused("aGU=  256\n", "tiktoken.model:257: the rank is not");
    check_refused("aGU= -1\n", "tiktoken.model:257: the rank is not");
    check_refused("aGU= 0256\n", "tiktoken.model:257: the rank is not");
    check_refused("aGU= 256\r\n", "tiktoken.model:257: the rank is not");
    check_refused("aGU= 99999999999999999999\n", "tiktoken.model:257: the rank is not");
    check_refused("aGU= 255\n", "tiktoken.model:257: rank 255 appears a second time");
    check_refused("aGU= 256\naGU= 257\n",
                  "tiktoken.model:258: rank 257 has the bytes of rank 256");
}

static void a_file_without_one_of_the_single_bytes_is_refused(void)
{
    char *file = small_rank_file(NULL);
    char *line = strstr(file, "QQ== 65\n");
    REQUIRE(line != NULL);
    line[1] = 'U'; /* "A" becomes "AA": QUE= */
    line[2] = 'E';
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_error error = {0};

    CHECK_EQ(nj_rank_table_parse(bytes_of(file), &arena, &table, &error), NJ_E_WEIGHTS);

    CHECK_CONTAINS(error.text, "no token for the single byte 0x41");
    CHECK_EQ(nj_rank_table_parse(bytes_of(""), &arena, &table, &error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "0 lines");
    nj_arena_deinit(&arena);
    free(file);
}

int main(void)
{
    RUN(bytes_and_ranks_find_each_other);
    RUN(lines_may_come_in_any_order_and_lack_the_last_newline);
    RUN(damaged_lines_are_refused_with_their_number);
    RUN(a_file_without_one_of_the_single_bytes_is_refused);
    return test_result();
}
