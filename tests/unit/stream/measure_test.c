#include <stdint.h>
#include <string.h>

#include "stream/groups.h"
#include "stream/stream.h"
#include "support/check.h"
#include "support/failing_malloc.h"

#define BLOCK UINT64_C(4096)

static const struct nj_stream_file files[] = {{"a", 409600}, {"b", 409600}};

static struct nj_stream_options options_of(const struct nj_extent *extents, uint32_t n_records,
                                           const struct nj_record_group *groups,
                                           uint32_t n_groups)
{
    struct nj_stream_options options = {
        .files = files,
        .n_files = 2,
        .extents = extents,
        .n_records = n_records,
        .groups = groups,
        .n_groups = n_groups,
    };
    return options;
}

static void records_that_touch_become_one_run_whatever_their_order(void)
{
    static const struct nj_extent extents[] = {
        {.file = 0, .offset_bytes = 2 * BLOCK + 100, .length_bytes = BLOCK},
        {.file = 0, .offset_bytes = 3 * BLOCK + 100, .length_bytes = 50},
        {.file = 0, .offset_bytes = 5, .length_bytes = 2 * BLOCK + 95},
    };
    static const struct nj_record_group groups[] = {{0, 3, NJ_GROUP_CACHED}};
    struct nj_stream_options options = options_of(extents, 3, groups, 1);
    struct nj_group_table table;
    struct nj_error error;

    REQUIRE_OK(nj_group_table_init(&table, &options, &error), &error);

    REQUIRE(table.n_runs == 1);
    CHECK_EQ(table.runs[0].offset_bytes, 0);
    CHECK_EQ(table.runs[0].length_bytes, 4 * BLOCK);
    CHECK_EQ(table.groups[0].memory_bytes, 4 * BLOCK);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(table.records[i].offset_bytes, extents[i].offset_bytes);
    }
    nj_group_table_deinit(&table);
}

/* The blocks between are in neither record; reading them would cost, a shared block does not.
 */
static void runs_are_split_where_a_whole_block_lies_between(void)
{
    static const struct nj_extent extents[] = {
        {.file = 0, .offset_bytes = 10, .length_bytes = 10},
        {.file = 0, .offset_bytes = BLOCK + 10, .length_bytes = 10},
        {.file = 0, .offset_bytes = 3 * BLOCK + 7, .length_bytes = 10},
        {.file = 1, .offset_bytes = 4 * BLOCK, .length_bytes = BLOCK},
    };
    static const struct nj_record_group groups[] = {{0, 4, NJ_GROUP_PASSING}};
    struct nj_stream_options options = options_of(extents, 4, groups, 1);
    struct nj_group_table table;
    struct nj_error error;

    REQUIRE_OK(nj_group_table_init(&table, &options, &error), &error);

    REQUIRE(table.n_runs == 3);
    CHECK_EQ(table.runs[0].length_bytes, 2 * BLOCK);
    CHECK_EQ(table.runs[1].offset_bytes, 3 * BLOCK);
    CHECK_EQ(table.runs[2].file, 1);
    CHECK_EQ(table.records[1].offset_bytes, BLOCK + 10);
    CHECK_EQ(table.records[2].offset_bytes, 2 * BLOCK + 7);
    CHECK_EQ(table.records[3].offset_bytes, 3 * BLOCK);
    CHECK_EQ(table.groups[0].memory_bytes, 4 * BLOCK);
    nj_group_table_deinit(&table);
}

static void needs_are_those_of_the_largest_passing_group(void)
{
    static const struct nj_extent extents[] = {
        {.file = 0, .offset_bytes = 100, .length_bytes = 7 * BLOCK},
        {.file = 0, .offset_bytes = 20 * BLOCK, .length_bytes = 2 * BLOCK},
        {.file = 1, .offset_bytes = BLOCK - 1, .length_bytes = 2},
    };
    static const struct nj_record_group groups[] = {
        {0, 1, NJ_GROUP_RESIDENT}, {1, 1, NJ_GROUP_CACHED}, {2, 1, NJ_GROUP_PASSING}};
    struct nj_stream_options options = options_of(extents, 3, groups, 3);
    struct nj_stream_needs needs;
    struct nj_error error;

    REQUIRE_OK(nj_stream_measure(&options, &needs, &error), &error);

    CHECK_EQ(needs.whole_bytes, 10 * BLOCK);
    CHECK_EQ(needs.resident_bytes, 8 * BLOCK);
    CHECK_EQ(needs.frame_bytes, 2 * BLOCK);
    CHECK_EQ(needs.least_frames_bytes, 2 * BLOCK * NJ_LEAST_FRAMES);
    CHECK_EQ(needs.useful_frames_bytes, 2 * BLOCK * NJ_LEAST_FRAMES);
    CHECK(needs.overhead_bytes > 0);
}

static void each_record_is_a_group_when_none_are_given(void)
{
    struct nj_extent extents[6];
    for (uint32_t i = 0; i < 6; i++) {
        extents[i] = (struct nj_extent){.offset_bytes = UINT64_C(100) * i, .length_bytes = 100};
    }
    struct nj_stream_options options = options_of(extents, 6, NULL, 0);
    struct nj_stream_needs needs;
    struct nj_error error;

    REQUIRE_OK(nj_stream_measure(&options, &needs, &error), &error);

    CHECK_EQ(needs.resident_bytes, 0);
    CHECK_EQ(needs.useful_frames_bytes, 6 * BLOCK);
}

static void nothing_is_needed_when_every_group_is_resident(void)
{
    static const struct nj_extent extents[] = {{.file = 0, .length_bytes = 5}};
    static const struct nj_record_group groups[] = {{0, 1, NJ_GROUP_RESIDENT}};
    struct nj_stream_options options = options_of(extents, 1, groups, 1);
    struct nj_stream_needs needs;
    struct nj_error error;

    REQUIRE_OK(nj_stream_measure(&options, &needs, &error), &error);

    CHECK_EQ(needs.resident_bytes, BLOCK);
    CHECK_EQ(needs.least_frames_bytes, 0);
    CHECK_EQ(needs.useful_frames_bytes, 0);
}

static void check_refused(const struct nj_record_group *groups, uint32_t n_groups,
                          const char *complaint)
{
    static const struct nj_extent extents[] = {{.length_bytes = 5}, {.length_bytes = 5}};
    struct nj_stream_options options = options_of(extents, 2, groups, n_groups);
    struct nj_stream_needs needs;
    struct nj_error error = {NJ_OK, ""};
    CHECK_EQ(nj_stream_measure(&options, &needs, &error), NJ_E_INTERNAL);
    CHECK_CONTAINS(error.text, complaint);
}

static void groups_that_do_not_cover_the_records_in_order_are_refused(void)
{
    check_refused((struct nj_record_group[]){{0, 1, NJ_GROUP_CACHED}}, 1,
                  "groups cover 1 of 2 records");
    check_refused((struct nj_record_group[]){{1, 1, NJ_GROUP_CACHED}}, 1,
                  "group 0: records 1 to 2, wanted them from 0 on and below 2");
    check_refused((struct nj_record_group[]){{0, 1, NJ_GROUP_CACHED}, {0, 2, NJ_GROUP_CACHED}},
                  2, "group 1: records 0 to 2, wanted them from 1 on");
    check_refused((struct nj_record_group[]){{0, 3, NJ_GROUP_CACHED}}, 1, "records 0 to 3");
    check_refused((struct nj_record_group[]){{0, UINT32_MAX, NJ_GROUP_CACHED}}, 1,
                  "records 0 to 4294967295");
    check_refused((struct nj_record_group[]){{0, 2, NJ_GROUP_CACHED}, {2, 0, NJ_GROUP_CACHED}},
                  2, "group 1: records 2 to 2");
}

static void group_of_four_gib_is_refused(void)
{
    enum { N = 64 };
    struct nj_stream_file large = {"large", UINT64_C(1) << 40};
    struct nj_extent extents[N];
    for (uint64_t i = 0; i < N; i++) {
        extents[i] = (struct nj_extent){.offset_bytes = i * NJ_RECORD_LIMIT_BYTES,
                                        .length_bytes = NJ_RECORD_LIMIT_BYTES};
    }
    struct nj_record_group group = {0, N, NJ_GROUP_RESIDENT};
    struct nj_stream_options options = options_of(extents, N, &group, 1);
    struct nj_stream_needs needs;
    struct nj_error error = {NJ_OK, ""};
    options.files = &large;
    options.n_files = 1;

    CHECK_EQ(nj_stream_measure(&options, &needs, &error), NJ_E_INTERNAL);
    CHECK_CONTAINS(error.text, "group 0 has 4 GiB and more");
}

static void every_failing_allocation_is_reported(void)
{
    static const struct nj_extent extents[] = {{.length_bytes = 5}, {.length_bytes = 5}};
    struct nj_stream_options options = options_of(extents, 2, NULL, 0);
    struct nj_stream_needs needs;
    for (unsigned long n = 1;; n++) {
        failing_malloc_arm(n);
        enum nj_status status = nj_stream_measure(&options, &needs, NULL);
        if (!failing_malloc_disarm()) {
            CHECK_EQ(status, NJ_OK);
            CHECK(n > 4);
            return;
        }
        /* Tables that cannot be made smaller stay as they are. */
        CHECK(status == NJ_E_MEMORY || (status == NJ_OK && n > 4));
    }
}

int main(void)
{
    RUN(records_that_touch_become_one_run_whatever_their_order);
    RUN(runs_are_split_where_a_whole_block_lies_between);
    RUN(needs_are_those_of_the_largest_passing_group);
    RUN(each_record_is_a_group_when_none_are_given);
    RUN(nothing_is_needed_when_every_group_is_resident);
    RUN(groups_that_do_not_cover_the_records_in_order_are_refused);
    RUN(group_of_four_gib_is_refused);
    RUN(every_failing_allocation_is_reported);
    return test_result();
}
