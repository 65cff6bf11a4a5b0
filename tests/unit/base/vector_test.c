#include <stdint.h>
#include <stdlib.h>

#include "base/vector.h"
#include "support/check.h"
#include "support/failing_malloc.h"

static void appended_items_keep_their_values_while_the_array_grows(void)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        REQUIRE(nj_vector_reserve(&items, &capacity, sizeof *items, i + 1, NULL) == NJ_OK);
        items[i] = i * 7;
    }

    CHECK(capacity >= 10000 && capacity <= 20000);
    for (uint32_t i = 0; i < 10000; i++) {
        CHECK_EQ(items[i], i * 7);
    }
    free(items);
}

static void reserving_what_is_there_changes_nothing(void)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    CHECK_EQ(nj_vector_reserve(&items, &capacity, sizeof *items, 0, NULL), NJ_OK);
    CHECK(items == NULL);
    CHECK_EQ(capacity, 0);
}

static void failure_leaves_array_and_capacity_unchanged(void)
{
    uint32_t *items = NULL;
    size_t capacity = 0;
    struct nj_error error;
    REQUIRE(nj_vector_reserve(&items, &capacity, sizeof *items, 8, NULL) == NJ_OK);
    items[7] = 42;
    size_t capacity_before = capacity;

    CHECK_EQ(nj_vector_reserve(&items, &capacity, sizeof *items, SIZE_MAX / 2, &error),
             NJ_E_MEMORY);
    CHECK_CONTAINS(error.text, "too large");
    failing_malloc_arm(1);
    CHECK_EQ(nj_vector_reserve(&items, &capacity, sizeof *items, 9, &error), NJ_E_MEMORY);
    CHECK(failing_malloc_disarm());

    CHECK_EQ(capacity, capacity_before);
    CHECK_EQ(items[7], 42);
    free(items);
}

int main(void)
{
    RUN(appended_items_keep_their_values_while_the_array_grows);
    RUN(reserving_what_is_there_changes_nothing);
    RUN(failure_leaves_array_and_capacity_unchanged);
    return test_result();
}
