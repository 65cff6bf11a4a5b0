#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fake_reader.h"
#include "stream/stream.h"
#include "support/check.h"
#include "support/failing_malloc.h"

/* Groups of one record and one block each, in file order, unless a test says otherwise. */
#define BLOCK UINT64_C(4096)

enum { N_GROUPS = 40 };

static struct nj_stream_file files[FAKE_FILES];
static struct nj_extent extents[N_GROUPS];
static struct nj_record_group groups[N_GROUPS];

struct fixture {
    struct fake_reader fake;
    struct nj_byte_budget budget;
    struct nj_stream_options options;
    struct nj_stream *stream;
    struct nj_error error;
};

static void prepare(struct fixture *fixture, uint32_t n_frames, enum nj_group_keep keep)
{
    memset(fixture, 0, sizeof *fixture);
    fake_reader_init(&fixture->fake);
    nj_byte_budget_init(&fixture->budget, UINT64_MAX);
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        extents[i] =
            (struct nj_extent){.offset_bytes = i * BLOCK + 11, .length_bytes = BLOCK - 22};
        groups[i] = (struct nj_record_group){i, 1, keep};
    }
    fixture->options = (struct nj_stream_options){
        .fs = fake_file_system(false),
        .budget = &fixture->budget,
        .files = files,
        .n_files = FAKE_FILES,
        .extents = extents,
        .n_records = N_GROUPS,
        .groups = groups,
        .n_groups = N_GROUPS,
        .frames_bytes = n_frames * BLOCK,
        .readers = &fixture->fake.table,
        .clock = fake_clock(),
        .poisons = true,
    };
}

static bool open_stream(struct fixture *fixture)
{
    enum nj_status status =
        nj_stream_open(&fixture->options, &fixture->stream, &fixture->error);
    if (status != NJ_OK) {
        test_fail(__FILE__, __LINE__, "open: %s", fixture->error.text);
    }
    return status == NJ_OK;
}

static void finish(struct fixture *fixture)
{
    nj_stream_close(fixture->stream);
    CHECK_EQ(fixture->budget.held_bytes, 0);
    nj_byte_budget_deinit(&fixture->budget);
}

static struct nj_stream_report report_of(const struct fixture *fixture)
{
    struct nj_stream_report report;
    nj_stream_report(fixture->stream, &report);
    return report;
}

/* Pins a record, compares its bytes, unpins it. */
static bool use(struct fixture *fixture, uint32_t record)
{
    struct nj_pinned pinned = {NULL, 99};
    enum nj_status status = nj_stream_pin(fixture->stream, record, &pinned, &fixture->error);
    if (status != NJ_OK) {
        test_fail(__FILE__, __LINE__, "pin %u: %s", record, fixture->error.text);
        return false;
    }
    CHECK_EQ(pinned.device, 0);
    bool is_right = fake_check_bytes(&extents[record], &pinned);
    nj_stream_unpin(fixture->stream, record);
    return is_right;
}

/* Announces records first .. end - 1 and uses them in that order. */
static void walk(struct fixture *fixture, uint32_t first, uint32_t end)
{
    for (uint32_t i = first; i < end; i++) {
        nj_stream_want(fixture->stream, &i, 1);
    }
    for (uint32_t i = first; i < end; i++) {
        if (!use(fixture, i)) {
            return;
        }
    }
}

/* --- reading ahead --- */

static void walk_in_order_reads_everything_once_and_in_order(void)
{
    static struct fixture fixture;
    prepare(&fixture, 6, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));

    walk(&fixture, 0, N_GROUPS);

    struct nj_stream_report report = report_of(&fixture);
    CHECK_EQ(report.n_reads, N_GROUPS);
    CHECK_EQ(report.read_bytes, N_GROUPS * BLOCK);
    CHECK_EQ(nj_stream_read_bytes(fixture.stream), N_GROUPS * BLOCK);
    CHECK_EQ(report.n_rereads, 0);
    CHECK_EQ(report.n_cache_hits, 0);
    CHECK_TEXT(report.reader, "fake");
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        CHECK_EQ(fixture.fake.log[i], i * BLOCK);
    }
    finish(&fixture);
}

static void what_is_wanted_is_read_before_it_is_pinned(void)
{
    static struct fixture fixture;
    prepare(&fixture, 8, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    const uint32_t wanted[] = {7, 3, 9};

    nj_stream_want(fixture.stream, wanted, 3);

    REQUIRE(fixture.fake.n_logged == 3);
    CHECK_EQ(fixture.fake.log[0], 7 * BLOCK);
    CHECK_EQ(fixture.fake.log[1], 3 * BLOCK);
    CHECK_EQ(fixture.fake.log[2], 9 * BLOCK);
    CHECK(use(&fixture, 7) && use(&fixture, 3) && use(&fixture, 9));
    CHECK_EQ(fixture.fake.n_logged, 3);
    finish(&fixture);
}

/* Whoever computes with a group has the drive working for the ones behind it meanwhile. */
static void reads_of_what_follows_are_under_way_when_computing_begins(void)
{
    enum { FRAMES = 8, AHEAD = FRAMES / 2 - 1, N_USED = 20 };
    static struct fixture fixture;
    prepare(&fixture, FRAMES, NJ_GROUP_PASSING);
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    for (uint32_t i = 0; i < N_USED; i++) {
        struct nj_pinned pinned;
        REQUIRE_OK(nj_stream_pin(fixture.stream, i, &pinned, &fixture.error), &fixture.error);
        CHECK(fixture.fake.n_logged >= i + 1 + AHEAD);
        nj_stream_unpin(fixture.stream, i);
    }
    CHECK_EQ(report_of(&fixture).n_rereads, 0);
    finish(&fixture);
}

static void reading_ahead_stops_at_the_window(void)
{
    static struct fixture fixture;
    prepare(&fixture, 20, NJ_GROUP_CACHED);
    fixture.fake.is_prompt = true;
    REQUIRE(open_stream(&fixture));

    for (uint32_t i = 0; i < N_GROUPS; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    for (uint32_t i = 0; i < 100; i++) {
        nj_stream_want(fixture.stream, NULL, 0);
    }

    CHECK_EQ(fixture.fake.n_logged, 10); /* half of the frames */
    finish(&fixture);
}

/* How many of the first groups were asked for. */
static uint32_t n_asked_below(const struct fixture *fixture, uint64_t group)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fixture->fake.n_logged; i++) {
        n += fixture->fake.log[i] < group * BLOCK ? 1 : 0;
    }
    return n;
}

/* The first half is announced and never used, the engine waits for the other half: a wider
 * window reads more of the first. */
static void window_grows_when_it_made_the_engine_wait(void)
{
    static struct fixture fixture;
    prepare(&fixture, 20, NJ_GROUP_CACHED);
    fixture.options.clock = fake_clock_that_runs();
    fixture.fake.is_prompt = true;
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < N_GROUPS / 2; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    for (uint32_t i = 0; i < 100; i++) {
        nj_stream_want(fixture.stream, NULL, 0);
    }
    CHECK_EQ(n_asked_below(&fixture, N_GROUPS / 2), 10);
    for (uint32_t i = 0; i < 60; i++) {
        REQUIRE(use(&fixture, N_GROUPS / 2 + i % (N_GROUPS / 2)));
    }
    CHECK_EQ(n_asked_below(&fixture, N_GROUPS / 2), 15);
    finish(&fixture);
}

static void nothing_announced_works_as_well(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        REQUIRE(use(&fixture, (i * 17) % N_GROUPS));
    }
    CHECK_EQ(report_of(&fixture).n_reads, N_GROUPS);
    nj_stream_want(fixture.stream, NULL, 0);
    finish(&fixture);
}

static void pin_of_what_was_not_announced_goes_to_the_front(void)
{
    static struct fixture fixture;
    prepare(&fixture, 20, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < 30; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    uint32_t n_before = fixture.fake.n_logged;

    CHECK(use(&fixture, 35));

    REQUIRE(fixture.fake.n_logged > n_before);
    CHECK_EQ(fixture.fake.log[n_before], 35 * BLOCK);
    CHECK_EQ(report_of(&fixture).n_rereads, 0);
    finish(&fixture);
}

/* --- keeping --- */

static void walk_that_comes_round_finds_a_share_of_what_it_left(void)
{
    enum { FRAMES = 12, WALKS = 6, LEAST_KEPT = 4 };
    static struct fixture fixture;
    prepare(&fixture, FRAMES, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    walk(&fixture, 0, N_GROUPS);
    for (uint32_t i = 1; i < WALKS; i++) {
        uint64_t n_reads = report_of(&fixture).n_reads;
        walk(&fixture, 0, N_GROUPS);
        CHECK(report_of(&fixture).n_reads - n_reads <= N_GROUPS - LEAST_KEPT);
    }
    CHECK_EQ(report_of(&fixture).n_rereads, 0);
    CHECK_EQ(report_of(&fixture).n_reads + report_of(&fixture).n_cache_hits, WALKS * N_GROUPS);
    finish(&fixture);
}

static void nothing_is_read_twice_when_all_frames_that_are_useful_are_there(void)
{
    static struct fixture fixture;
    struct nj_stream_needs needs;
    prepare(&fixture, 0, NJ_GROUP_CACHED);
    for (uint32_t i = 0; i < N_GROUPS; i += 2) {
        groups[i].keep = NJ_GROUP_PASSING;
    }
    REQUIRE_OK(nj_stream_measure(&fixture.options, &needs, &fixture.error), &fixture.error);
    fixture.options.frames_bytes = needs.useful_frames_bytes + 5 * BLOCK;
    REQUIRE(open_stream(&fixture));
    CHECK_EQ(fixture.budget.held_bytes, needs.useful_frames_bytes);

    for (uint32_t i = 0; i < 3; i++) {
        walk(&fixture, 0, N_GROUPS);
    }

    CHECK_EQ(report_of(&fixture).n_reads, N_GROUPS);
    finish(&fixture);
}

static void passing_groups_push_out_no_others(void)
{
    static struct fixture fixture;
    prepare(&fixture, 10, NJ_GROUP_PASSING);
    groups[0].keep = groups[1].keep = groups[2].keep = NJ_GROUP_CACHED;
    REQUIRE(open_stream(&fixture));

    walk(&fixture, 0, N_GROUPS);
    walk(&fixture, 0, N_GROUPS);

    CHECK(report_of(&fixture).n_cache_hits >= 3);
    CHECK_EQ(fixture.fake.log[N_GROUPS] >= 3 * BLOCK, true);
    finish(&fixture);
}

static void often_used_groups_stay_and_rare_ones_go(void)
{
    static struct fixture fixture;
    prepare(&fixture, 8, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    walk(&fixture, 10, 18); /* the cache is full of others first */
    uint32_t rare = 18;
    for (uint32_t round = 0; round < 30; round++) {
        walk(&fixture, 0, 3); /* three in every round */
        walk(&fixture, rare, rare + 1);
        rare = rare + 1 == N_GROUPS ? 18 : rare + 1;
    }
    uint64_t n_reads = report_of(&fixture).n_reads;

    walk(&fixture, 0, 3);

    CHECK_EQ(report_of(&fixture).n_reads, n_reads);
    finish(&fixture);
}

/* Its records are pinned one at a time: the group stays until all that were announced had
 * their turn. */
static void group_stays_until_each_announced_record_was_used(void)
{
    static struct fixture fixture;
    prepare(&fixture, 0, NJ_GROUP_PASSING);
    for (uint32_t i = 0; i < N_GROUPS / 4; i++) {
        groups[i] = (struct nj_record_group){4 * i, 4, NJ_GROUP_PASSING};
    }
    fixture.options.n_groups = N_GROUPS / 4;
    fixture.options.frames_bytes = 16 * BLOCK;
    REQUIRE(open_stream(&fixture));

    walk(&fixture, 0, N_GROUPS);

    CHECK_EQ(report_of(&fixture).n_reads, N_GROUPS / 4);
    CHECK_EQ(report_of(&fixture).read_bytes, N_GROUPS * BLOCK);
    finish(&fixture);
}

static void group_announced_while_pinned_stays_for_its_next_use(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned;
    const uint32_t record = 5;
    prepare(&fixture, 4, NJ_GROUP_PASSING);
    REQUIRE(open_stream(&fixture));
    nj_stream_want(fixture.stream, &record, 1);
    REQUIRE_OK(nj_stream_pin(fixture.stream, 5, &pinned, &fixture.error), &fixture.error);
    nj_stream_want(fixture.stream, &record, 1);
    nj_stream_unpin(fixture.stream, 5);
    walk(&fixture, 10, 30);
    uint64_t n_reads = report_of(&fixture).n_reads;
    CHECK(use(&fixture, 5));
    CHECK_EQ(report_of(&fixture).n_reads, n_reads);
    finish(&fixture);
}

/* What is announced more often than it is used would otherwise be kept for ever. */
static void announcing_twice_is_announcing_once(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_PASSING);
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < 4; i++) {
        const uint32_t twice[] = {i, i};
        nj_stream_want(fixture.stream, twice, 2);
        CHECK(use(&fixture, i));
    }
    walk(&fixture, 10, 30);
    CHECK_EQ(report_of(&fixture).n_reads, 4 + 20);
    CHECK_EQ(report_of(&fixture).n_rereads, 0);
    finish(&fixture);
}

/* --- pinning --- */

static void as_many_groups_as_promised_can_be_pinned_at_once(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned[7];
    prepare(&fixture, 8, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    REQUIRE(nj_stream_n_pinnable(fixture.stream) == 7);
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }

    for (uint32_t first = 0; first + 7 <= N_GROUPS; first += 7) {
        for (uint32_t i = 0; i < 7; i++) {
            REQUIRE_OK(nj_stream_pin(fixture.stream, first + i, &pinned[i], &fixture.error),
                       &fixture.error);
        }
        for (uint32_t i = 0; i < 7; i++) {
            CHECK(fake_check_bytes(&extents[first + i], &pinned[i]));
            nj_stream_unpin(fixture.stream, first + i);
        }
    }

    CHECK_EQ(report_of(&fixture).n_rereads, 0);
    finish(&fixture);
}

static void record_stays_while_one_of_its_pins_is_left(void)
{
    static struct fixture fixture;
    struct nj_pinned first;
    struct nj_pinned second;
    prepare(&fixture, 4, NJ_GROUP_PASSING);
    REQUIRE(open_stream(&fixture));
    REQUIRE_OK(nj_stream_pin(fixture.stream, 3, &first, &fixture.error), &fixture.error);
    REQUIRE_OK(nj_stream_pin(fixture.stream, 3, &second, &fixture.error), &fixture.error);
    nj_stream_unpin(fixture.stream, 3);

    walk(&fixture, 10, 30);

    CHECK(first.bytes == second.bytes);
    CHECK(fake_check_bytes(&extents[3], &second));
    nj_stream_unpin(fixture.stream, 3);
    finish(&fixture);
}

/* All frames hold what is wanted, and something else is pinned: the one needed last goes. */
static void what_is_needed_last_makes_room_for_what_is_needed_now(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < 4; i++) {
        REQUIRE(use(&fixture, i));
    }
    const uint32_t wanted[] = {0, 1, 2, 3};
    nj_stream_want(fixture.stream, wanted, 4);
    CHECK_EQ(report_of(&fixture).n_cache_hits, 4);

    REQUIRE_OK(nj_stream_pin(fixture.stream, 20, &pinned, &fixture.error), &fixture.error);
    CHECK_EQ(report_of(&fixture).n_rereads, 1);
    nj_stream_unpin(fixture.stream, 20);

    uint64_t n_reads = report_of(&fixture).n_reads;
    CHECK(use(&fixture, 0) && use(&fixture, 1) && use(&fixture, 2));
    CHECK(report_of(&fixture).n_reads <= n_reads + 1); /* 3 alone may be on its way again */
    CHECK(use(&fixture, 3));
    CHECK_EQ(report_of(&fixture).n_reads, 4 + 1 + 1);
    finish(&fixture);
}

static void what_was_forgotten_takes_no_room(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    CHECK(use(&fixture, 0));

    nj_stream_forget(fixture.stream);

    uint64_t n_reads = report_of(&fixture).n_reads;
    walk(&fixture, 20, N_GROUPS);
    struct nj_stream_report report = report_of(&fixture);
    CHECK_EQ(report.n_reads - n_reads, N_GROUPS - 20);
    CHECK_EQ(report.n_rereads, 0);
    finish(&fixture);
}

static void bytes_are_gone_once_their_frame_is_given_up(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned;
    prepare(&fixture, 4, NJ_GROUP_PASSING);
    REQUIRE(open_stream(&fixture));
    REQUIRE_OK(nj_stream_pin(fixture.stream, 0, &pinned, &fixture.error), &fixture.error);
    nj_stream_unpin(fixture.stream, 0);
    CHECK(fake_check_bytes(&extents[0], &pinned)); /* kept, though not promised */
    const uint32_t wanted[] = {10, 11, 12, 13};
    for (uint32_t i = 0; i < 4; i++) {
        REQUIRE(use(&fixture, wanted[i]));
    }
    const uint32_t next = 20;
    nj_stream_want(fixture.stream, &next, 1); /* asked for, not there yet */
    bool is_poisoned = false;
    for (uint32_t i = 0; i < 4; i++) {
        const uint8_t *frame = pinned.bytes - 11 + i * BLOCK;
        is_poisoned = is_poisoned || (frame[0] == 0xA5 && frame[BLOCK - 1] == 0xA5);
    }
    CHECK(is_poisoned);
    finish(&fixture);
}

/* --- what the disk does --- */

static void group_on_many_places_is_put_together(void)
{
    static struct fixture fixture;
    prepare(&fixture, 0, NJ_GROUP_CACHED);
    extents[0] = (struct nj_extent){.file = 1, .offset_bytes = 100, .length_bytes = 9000};
    extents[1] = (struct nj_extent){.file = 0, .offset_bytes = 50000, .length_bytes = 1};
    extents[2] = (struct nj_extent){.file = 1, .offset_bytes = 9100, .length_bytes = 77};
    extents[3] = (struct nj_extent){.file = 0, .offset_bytes = 4095, .length_bytes = 2};
    groups[0] = (struct nj_record_group){0, 4, NJ_GROUP_CACHED};
    fixture.options.n_groups = 1;
    fixture.options.n_records = 4;
    fixture.options.frames_bytes = 24 * BLOCK;
    REQUIRE(open_stream(&fixture));
    walk(&fixture, 0, 4);
    CHECK_EQ(report_of(&fixture).read_bytes, (3 + 1 + 2) * BLOCK);
    finish(&fixture);
}

static void failed_reads_are_tried_again_three_times(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    fixture.fake.error_number = EIO;
    fixture.fake.from_bytes = 5 * BLOCK;
    fixture.fake.to_bytes = 6 * BLOCK;
    fixture.fake.n_failures = 3;
    REQUIRE(open_stream(&fixture));
    walk(&fixture, 0, 10);
    CHECK_EQ(report_of(&fixture).n_reads, 10 + 3);
    finish(&fixture);
}

static void failure_is_told_by_the_pin_and_others_go_on(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned = {NULL, 0};
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    fixture.fake.error_number = EIO;
    fixture.fake.from_bytes = 5 * BLOCK;
    fixture.fake.to_bytes = 6 * BLOCK;
    fixture.fake.n_failures = UINT32_MAX;
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    for (uint32_t i = 0; i < 5; i++) {
        REQUIRE(use(&fixture, i));
    }

    CHECK_EQ(nj_stream_pin(fixture.stream, 5, &pinned, &fixture.error), NJ_E_WEIGHTS);
    CHECK_EQ(fixture.error.status, NJ_E_WEIGHTS);
    CHECK_CONTAINS(fixture.error.text,
                   "fake0 at offset 20480: wanted 4096 bytes: Input/output error");
    CHECK(pinned.bytes == NULL);
    for (uint32_t i = 6; i < 12; i++) {
        REQUIRE(use(&fixture, i));
    }
    CHECK_EQ(nj_stream_pin(fixture.stream, 5, &pinned, NULL), NJ_E_WEIGHTS);
    fixture.fake.n_failures = 0; /* repaired */
    CHECK(use(&fixture, 5));
    finish(&fixture);
}

static void short_reads_go_on_behind_their_last_block(void)
{
    static struct fixture fixture;
    prepare(&fixture, 0, NJ_GROUP_CACHED);
    groups[0] = (struct nj_record_group){0, N_GROUPS, NJ_GROUP_CACHED};
    fixture.options.n_groups = 1;
    fixture.options.frames_bytes = 4 * BLOCK * N_GROUPS;
    fixture.fake.most_bytes = (uint32_t)(3 * BLOCK - 1);
    REQUIRE(open_stream(&fixture));
    walk(&fixture, 0, N_GROUPS);
    CHECK_EQ(report_of(&fixture).n_reads, N_GROUPS / 2);
    finish(&fixture);
}

static void file_that_became_shorter_is_told_with_wanted_and_found(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    fixture.fake.ends[0] = 7 * BLOCK + 1000;
    REQUIRE(open_stream(&fixture));
    CHECK(use(&fixture, 6));
    CHECK_EQ(nj_stream_pin(fixture.stream, 7, &pinned, &fixture.error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(fixture.error.text, "fake0 at offset 28672: wanted 4096 bytes, found 1000");
    CHECK_EQ(nj_stream_pin(fixture.stream, 9, &pinned, &fixture.error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(fixture.error.text, "fake0 at offset 36864: wanted 4096 bytes, found 0");
    finish(&fixture);
}

/* A file ends where its last record does, within a block: that is no short read. */
static void last_block_of_a_file_may_be_half(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    struct nj_stream_file whole[FAKE_FILES];
    memcpy(whole, files, sizeof whole);
    files[0].length_bytes = 3 * BLOCK + 500;
    CHECK_EQ(truncate(files[0].path, 3 * BLOCK + 500), 0);
    extents[3].length_bytes = 500 - 11;
    fixture.options.n_records = fixture.options.n_groups = 4;
    fixture.fake.ends[0] = 3 * BLOCK + 500;
    REQUIRE(open_stream(&fixture));
    walk(&fixture, 0, 4);
    CHECK_EQ(report_of(&fixture).n_reads, 4);
    finish(&fixture);
    memcpy(files, whole, sizeof whole);
    CHECK_EQ(truncate(files[0].path, (off_t)whole[0].length_bytes), 0);
}

static void drives_are_asked_in_parallel(void)
{
    static struct fixture fixture;
    prepare(&fixture, 32, NJ_GROUP_CACHED);
    fixture.options.fs = fake_file_system(true);
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        extents[i].file = i >= N_GROUPS / 4 ? 1 : 0; /* ten, then thirty */
    }
    REQUIRE(open_stream(&fixture));
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        nj_stream_want(fixture.stream, &i, 1);
    }
    CHECK(fixture.fake.most_in_flight[0] >= 2);
    CHECK(fixture.fake.most_in_flight[1] >= 2);
    for (uint32_t i = 0; i < N_GROUPS; i++) {
        REQUIRE(use(&fixture, i));
    }
    finish(&fixture);
}

static enum nj_status refuse_record(void *context, uint32_t record, const uint8_t *bytes,
                                    uint64_t length_bytes, struct nj_error *err)
{
    const uint32_t *refused = context;
    CHECK_EQ(bytes[0], fake_byte(0, extents[record].offset_bytes));
    CHECK_EQ(length_bytes, extents[record].length_bytes);
    if (record == *refused) {
        return nj_fail(err, NJ_E_WEIGHTS, "record %u has a scale that is no number", record);
    }
    return NJ_OK;
}

static void refused_records_fail_their_pin_each_time(void)
{
    static struct fixture fixture;
    struct nj_pinned pinned;
    uint32_t refused = 2;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    fixture.options.check = refuse_record;
    fixture.options.check_context = &refused;
    REQUIRE(open_stream(&fixture));
    nj_stream_want(fixture.stream, &refused, 1);
    CHECK(use(&fixture, 1));
    for (uint32_t i = 0; i < 2; i++) {
        CHECK_EQ(nj_stream_pin(fixture.stream, 2, &pinned, &fixture.error), NJ_E_WEIGHTS);
        CHECK_CONTAINS(fixture.error.text, "record 2 has a scale that is no number");
    }
    CHECK(use(&fixture, 3));
    finish(&fixture);
}

/* --- resident groups --- */

static void resident_groups_are_read_once_when_the_stream_is_opened(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_PASSING);
    for (uint32_t i = 0; i < N_GROUPS; i += 2) {
        groups[i].keep = NJ_GROUP_RESIDENT;
    }
    REQUIRE(open_stream(&fixture));
    CHECK_EQ(report_of(&fixture).n_reads, N_GROUPS / 2);
    CHECK_EQ(fixture.budget.held_bytes, BLOCK * (N_GROUPS / 2 + 4));
    walk(&fixture, 0, N_GROUPS);
    walk(&fixture, 0, N_GROUPS);
    struct nj_stream_report report = report_of(&fixture);
    CHECK_EQ(report.n_reads + report.n_cache_hits, N_GROUPS / 2 + N_GROUPS);
    CHECK(report.n_cache_hits < 8); /* what the frames still held */
    finish(&fixture);
}

static void everything_may_be_resident(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_RESIDENT);
    REQUIRE(open_stream(&fixture));
    CHECK_EQ(nj_stream_n_pinnable(fixture.stream), UINT32_MAX);
    walk(&fixture, 0, N_GROUPS);
    CHECK_EQ(report_of(&fixture).n_reads, N_GROUPS);
    finish(&fixture);
}

static void check_open_refused(struct fixture *fixture, enum nj_status wanted,
                               const char *complaint)
{
    CHECK_EQ(nj_stream_open(&fixture->options, &fixture->stream, &fixture->error), wanted);
    CHECK_CONTAINS(fixture->error.text, complaint);
    CHECK(fixture->stream == NULL);
    CHECK_EQ(fixture->budget.held_bytes, 0);
    nj_byte_budget_deinit(&fixture->budget);
}

static void resident_group_that_fails_ends_the_opening(void)
{
    static struct fixture fixture;
    uint32_t refused = 30;
    prepare(&fixture, 4, NJ_GROUP_RESIDENT);
    fixture.fake.error_number = EIO;
    fixture.fake.from_bytes = 5 * BLOCK;
    fixture.fake.to_bytes = 6 * BLOCK;
    fixture.fake.n_failures = UINT32_MAX;
    check_open_refused(&fixture, NJ_E_WEIGHTS, "fake0 at offset 20480");
    prepare(&fixture, 4, NJ_GROUP_RESIDENT);
    fixture.options.check = refuse_record;
    fixture.options.check_context = &refused;
    check_open_refused(&fixture, NJ_E_WEIGHTS, "record 30 has a scale that is no number");
}

/* --- memory --- */

static void too_few_frames_are_refused_with_both_figures(void)
{
    static struct fixture fixture;
    prepare(&fixture, 3, NJ_GROUP_CACHED);
    check_open_refused(&fixture, NJ_E_BUDGET,
                       "stream weights through 12288 bytes: at least 16384 are needed, 4 "
                       "frames of 4096");
    CHECK_EQ(fixture.fake.n_logged, 0);
}

static void budget_too_small_is_refused_with_both_figures_before_a_byte_is_read(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    groups[0].keep = NJ_GROUP_RESIDENT;
    nj_byte_budget_init(&fixture.budget, 5 * BLOCK - 1);
    check_open_refused(&fixture, NJ_E_BUDGET,
                       "hold frames for weights: needs 16384 bytes, but 16383 of the budget");
    CHECK_EQ(fixture.fake.n_logged, 0);
}

static void every_failing_allocation_is_reported(void)
{
    for (unsigned long n = 1;; n++) {
        static struct fixture fixture;
        prepare(&fixture, 4, NJ_GROUP_CACHED);
        groups[0].keep = NJ_GROUP_RESIDENT;
        failing_malloc_arm(n);
        enum nj_status status = nj_stream_open(&fixture.options, &fixture.stream, NULL);
        bool has_failed = failing_malloc_disarm();
        if (status == NJ_OK) {
            CHECK(use(&fixture, 0) && use(&fixture, 1));
            nj_stream_close(fixture.stream);
        } else {
            CHECK_EQ(status, NJ_E_MEMORY);
        }
        CHECK_EQ(fixture.budget.held_bytes, 0);
        nj_byte_budget_deinit(&fixture.budget);
        if (!has_failed) {
            CHECK_EQ(status, NJ_OK);
            CHECK(n > 20);
            return;
        }
    }
}

static void stream_without_records_opens_and_closes(void)
{
    static struct fixture fixture;
    prepare(&fixture, 4, NJ_GROUP_CACHED);
    fixture.options.n_records = 0;
    fixture.options.n_groups = 0;
    fixture.options.n_files = 0;
    REQUIRE(open_stream(&fixture));
    nj_stream_want(fixture.stream, NULL, 0);
    nj_stream_forget(fixture.stream);
    finish(&fixture);
}

int main(void)
{
    fake_files_make(files, N_GROUPS * BLOCK);
    RUN(walk_in_order_reads_everything_once_and_in_order);
    RUN(what_is_wanted_is_read_before_it_is_pinned);
    RUN(reads_of_what_follows_are_under_way_when_computing_begins);
    RUN(reading_ahead_stops_at_the_window);
    RUN(window_grows_when_it_made_the_engine_wait);
    RUN(nothing_announced_works_as_well);
    RUN(pin_of_what_was_not_announced_goes_to_the_front);
    RUN(walk_that_comes_round_finds_a_share_of_what_it_left);
    RUN(nothing_is_read_twice_when_all_frames_that_are_useful_are_there);
    RUN(passing_groups_push_out_no_others);
    RUN(often_used_groups_stay_and_rare_ones_go);
    RUN(group_stays_until_each_announced_record_was_used);
    RUN(group_announced_while_pinned_stays_for_its_next_use);
    RUN(announcing_twice_is_announcing_once);
    RUN(as_many_groups_as_promised_can_be_pinned_at_once);
    RUN(record_stays_while_one_of_its_pins_is_left);
    RUN(what_is_needed_last_makes_room_for_what_is_needed_now);
    RUN(what_was_forgotten_takes_no_room);
    RUN(bytes_are_gone_once_their_frame_is_given_up);
    RUN(group_on_many_places_is_put_together);
    RUN(failed_reads_are_tried_again_three_times);
    RUN(failure_is_told_by_the_pin_and_others_go_on);
    RUN(short_reads_go_on_behind_their_last_block);
    RUN(file_that_became_shorter_is_told_with_wanted_and_found);
    RUN(last_block_of_a_file_may_be_half);
    RUN(drives_are_asked_in_parallel);
    RUN(refused_records_fail_their_pin_each_time);
    RUN(resident_groups_are_read_once_when_the_stream_is_opened);
    RUN(everything_may_be_resident);
    RUN(resident_group_that_fails_ends_the_opening);
    RUN(too_few_frames_are_refused_with_both_figures);
    RUN(budget_too_small_is_refused_with_both_figures_before_a_byte_is_read);
    RUN(every_failing_allocation_is_reported);
    RUN(stream_without_records_opens_and_closes);
    return test_result();
}
