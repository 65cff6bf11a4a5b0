#include <stdio.h>
#include <string.h>

#include "format/name_table.h"
#include "support/check.h"
#include "support/failing_malloc.h"

enum { N_ITEMS = 5000 };

struct item {
    const char *name;
    unsigned value;
};

static char names[N_ITEMS][24];
static struct item items[N_ITEMS];

static struct nj_named_items make_items(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "layers.%zu.weight", i);
        items[i].name = names[i];
    }
    struct nj_named_items named = {items, sizeof items[0], count};
    return named;
}

static void every_name_is_found_and_no_other(void)
{
    for (size_t count = 0; count <= N_ITEMS; count = 3 * count + 1) {
        struct nj_named_items named = make_items(count);
        struct nj_name_table table;
        uint32_t duplicate = 0;
        REQUIRE(nj_name_table_init(&table, named, 99, &duplicate, NULL) == NJ_OK);

        CHECK_EQ(duplicate, NJ_NAME_ABSENT);
        for (size_t i = 0; i < count; i++) {
            CHECK_EQ(nj_name_table_find(&table, named, nj_text_from(names[i])), i);
        }
        CHECK_EQ(nj_name_table_find(&table, named, nj_text_from("layers.0.weigh")),
                 NJ_NAME_ABSENT);
        CHECK_EQ(nj_name_table_find(&table, named, nj_text_from("")), NJ_NAME_ABSENT);
        nj_name_table_deinit(&table);
    }
}

static void second_of_two_equal_names_is_reported(void)
{
    struct nj_named_items named = make_items(100);
    struct nj_name_table table;
    uint32_t duplicate = NJ_NAME_ABSENT;
    (void)snprintf(names[70], sizeof names[70], "layers.3.weight");

    CHECK_EQ(nj_name_table_init(&table, named, 1, &duplicate, NULL), NJ_OK);

    CHECK_EQ(duplicate, 70);
    CHECK_EQ(nj_name_table_find(&table, named, nj_text_from("layers.1.weight")),
             NJ_NAME_ABSENT);
    nj_name_table_deinit(&table);
}

static void failed_allocation_is_reported(void)
{
    struct nj_named_items named = make_items(10);
    struct nj_name_table table;
    uint32_t duplicate = 0;
    failing_malloc_arm(1);
    CHECK_EQ(nj_name_table_init(&table, named, 1, &duplicate, NULL), NJ_E_MEMORY);
    CHECK(failing_malloc_disarm());
    nj_name_table_deinit(&table);
}

int main(void)
{
    RUN(every_name_is_found_and_no_other);
    RUN(second_of_two_equal_names_is_reported);
    RUN(failed_allocation_is_reported);
    return test_result();
}
