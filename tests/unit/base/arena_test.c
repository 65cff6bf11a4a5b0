#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "support/check.h"
#include "support/failing_malloc.h"

static void memory_is_zeroed_aligned_and_keeps_what_is_written(void)
{
    enum { COUNT = 3000 };
    static unsigned char *taken[COUNT];
    struct nj_arena arena;
    nj_arena_init(&arena, 0);

    for (size_t i = 0; i < COUNT; i++) {
        taken[i] = nj_arena_take(&arena, 1 + i % 97);
        REQUIRE(taken[i] != NULL);
        CHECK_EQ((uintptr_t)taken[i] % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < 1 + i % 97; j++) {
            if (taken[i][j] != 0) {
                CHECK_EQ(taken[i][j], 0);
            }
        }
        memset(taken[i], (int)(i & 0xFF), 1 + i % 97);
    }

    for (size_t i = 0; i < COUNT; i++) {
        CHECK_EQ(taken[i][0], i & 0xFF);
        CHECK_EQ(taken[i][i % 97], i & 0xFF);
    }
    nj_arena_deinit(&arena);
}

static void large_request_between_small_ones_disturbs_none(void)
{
    const size_t large_bytes = 5000000;
    struct nj_arena arena;
    nj_arena_init(&arena, 0);
    char *before = nj_arena_copy_text(&arena, "before", 6);
    unsigned char *large = nj_arena_take(&arena, large_bytes);
    char *after = nj_arena_copy_text(&arena, "after", 5);
    REQUIRE(before != NULL && large != NULL && after != NULL);

    memset(large, 0xAB, large_bytes);

    CHECK_TEXT(before, "before");
    CHECK_TEXT(after, "after");
    nj_arena_deinit(&arena);
}

static void limit_is_never_passed(void)
{
    struct nj_arena arena;
    struct nj_error error;
    nj_arena_init(&arena, 100);
    CHECK(nj_arena_take(&arena, 96) != NULL);

    CHECK(nj_arena_take(&arena, 16) == NULL);
    CHECK_EQ(arena.used_bytes, 96);
    CHECK_EQ(nj_arena_fail(&arena, "read jobs.yaml", &error), NJ_E_MEMORY);
    CHECK_TEXT(error.text, "read jobs.yaml: out of memory after 96 of at most 100 bytes");

    nj_arena_deinit(&arena);
}

static void sizes_that_would_wrap_are_refused(void)
{
    struct nj_arena arena = {0};
    CHECK(nj_arena_take(&arena, SIZE_MAX) == NULL);
    CHECK(nj_arena_take(&arena, SIZE_MAX - 15) == NULL);
    CHECK(nj_arena_take_array(&arena, SIZE_MAX / 2, 3) == NULL);
    CHECK(nj_arena_copy_text(&arena, "", SIZE_MAX) == NULL);
    CHECK_EQ(arena.used_bytes, 0);
    nj_arena_deinit(&arena);
}

static void empty_request_gives_a_pointer_and_empty_text_a_terminator(void)
{
    struct nj_arena arena = {0};
    CHECK(nj_arena_take(&arena, 0) != NULL);
    CHECK_TEXT(nj_arena_copy_text(&arena, NULL, 0), "");
    nj_arena_deinit(&arena);
    nj_arena_deinit(&arena);
    CHECK(arena.newest == NULL);
}

static void failed_allocation_gives_null_and_leaves_the_arena_usable(void)
{
    struct nj_arena arena = {0};
    struct nj_error error;

    failing_malloc_arm(1);
    CHECK(nj_arena_take(&arena, 10) == NULL);
    CHECK(failing_malloc_disarm());
    CHECK_EQ(nj_arena_fail(&arena, "read it", &error), NJ_E_MEMORY);
    CHECK_TEXT(error.text, "read it: out of memory after 0 bytes");

    CHECK(nj_arena_take(&arena, 10) != NULL);
    nj_arena_deinit(&arena);
}

int main(void)
{
    RUN(memory_is_zeroed_aligned_and_keeps_what_is_written);
    RUN(large_request_between_small_ones_disturbs_none);
    RUN(limit_is_never_passed);
    RUN(sizes_that_would_wrap_are_refused);
    RUN(empty_request_gives_a_pointer_and_empty_text_a_terminator);
    RUN(failed_allocation_gives_null_and_leaves_the_arena_usable);
    return test_result();
}
