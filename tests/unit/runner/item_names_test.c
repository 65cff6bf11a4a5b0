#include "runner/item_names.h"

#include <string.h>

#include "support/check.h"

static void check_name(struct nj_item_names *names, const struct nj_item *item,
                       const char *wanted)
{
    char name[NJ_ITEM_NAME_BYTES];
    struct nj_error err;
    REQUIRE_OK(nj_item_names_give(names, item, name, &err), &err);
    CHECK_TEXT(name, wanted);
    CHECK(nj_item_names_has(names, wanted));
}

static void check_id(const char *id, const char *wanted)
{
    struct nj_item_names names = {0};
    struct nj_item item = {.index = 3, .id = nj_text_from(id)};
    check_name(&names, &item, wanted);
    nj_item_names_deinit(&names);
}

static void check_filename(const char *filename, const char *wanted)
{
    struct nj_item_names names = {0};
    struct nj_item item = {.index = 3, .filename = nj_text_from(filename)};
    check_name(&names, &item, wanted);
    nj_item_names_deinit(&names);
}

static void a_name_is_made_of_index_and_id(void)
{
    check_id("heron", "0003-heron.md");
    check_id("a night train", "0003-a-night-train.md");
    check_id("Z\xc3\xbcrich", "0003-Z-rich.md");
    check_id("../../etc/passwd", "0003-etc-passwd.md");
    check_id("a.b_c", "0003-a-b-c.md");
    check_id("3", "0003-3.md");
    check_id("", "0003.md");
    check_id("\xe2\x98\x83", "0003.md");
}

static void what_a_template_gives_is_made_safe(void)
{
    check_filename("0-a_lighthouse.v2", "0-a_lighthouse.v2.md");
    check_filename("../x", "x.md");
    check_filename(".hidden", "hidden.md");
    check_filename("a/b\\c:d\n", "a-b-c-d.md");
    check_filename("//", "item.md");
    check_filename("...", "item.md");
    check_filename("..", "item.md");
    check_filename("-rf", "rf.md");
    check_filename("--", "item.md");
    check_filename("-.x", "x.md");
    check_filename("\xe2\x80\xae"
                   "dm.exe",
                   "dm.exe.md");
}

/* Results are carried to other systems. */
static void no_name_is_a_device_of_some_system(void)
{
    check_filename("CON", "item-CON.md");
    check_filename("aux.v2", "item-aux.v2.md");
    check_filename("Lpt9", "item-Lpt9.md");
    check_filename("com0", "com0.md");
    check_filename("console", "console.md");
}

static void a_name_is_never_longer_than_its_limit(void)
{
    char name[NJ_ITEM_NAME_BYTES];
    char id[300];
    struct nj_item_names names = {0};
    struct nj_error err;
    memset(id, 'x', sizeof id);
    struct nj_item item = {.index = UINT64_MAX, .id = {id, sizeof id}};
    for (int i = 0; i < 12; i++) {
        REQUIRE_OK(nj_item_names_give(&names, &item, name, &err), &err);
        CHECK(strlen(name) < NJ_ITEM_NAME_BYTES);
    }
    CHECK_TEXT(name + NJ_ITEM_NAME_STEM_BYTES, "-12.md");
    nj_item_names_deinit(&names);
}

static void equal_names_are_told_apart_in_input_order(void)
{
    struct nj_item_names names = {0};
    struct nj_item lower = {.filename = nj_text_from("page")};
    struct nj_item upper = {.filename = nj_text_from("Page")};
    struct nj_item taken = {.filename = nj_text_from("page-3")};
    check_name(&names, &lower, "page.md");
    check_name(&names, &upper, "Page-2.md");
    check_name(&names, &taken, "page-3.md");
    check_name(&names, &lower, "page-4.md");
    CHECK(!nj_item_names_has(&names, "page-5.md"));
    nj_item_names_deinit(&names);
}

/* One name for all rows of a large job. */
static void many_equal_names_take_no_long_time(void)
{
    enum { N_ITEMS = 50000 };
    char name[NJ_ITEM_NAME_BYTES];
    struct nj_item_names names = {0};
    struct nj_item item = {.filename = nj_text_from("same")};
    struct nj_error err;
    for (int i = 0; i < N_ITEMS; i++) {
        REQUIRE_OK(nj_item_names_give(&names, &item, name, &err), &err);
    }
    CHECK_TEXT(name, "same-50000.md");
    CHECK_EQ(names.n_names, N_ITEMS);
    nj_item_names_deinit(&names);
}

int main(void)
{
    RUN(a_name_is_made_of_index_and_id);
    RUN(what_a_template_gives_is_made_safe);
    RUN(no_name_is_a_device_of_some_system);
    RUN(a_name_is_never_longer_than_its_limit);
    RUN(equal_names_are_told_apart_in_input_order);
    RUN(many_equal_names_take_no_long_time);
    return test_result();
}
