#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/folder.h"
#include "support/check.h"
#include "unit/snapshot/small_item.h"

static struct nj_snapshot_loaded load(struct small_item *item)
{
    enum nj_status status = NJ_OK;
    struct nj_error error = {.text = ""};
    struct nj_snapshot_loaded loaded =
        small_item_load(item, small_item_files(), &status, &error);
    CHECK_EQ(status, NJ_OK);
    CHECK_TEXT(error.text, "");
    return loaded;
}

static size_t n_segments(const struct small_item *item)
{
    struct nj_segment_listing listing = {0};
    struct nj_error error;
    CHECK_EQ(nj_segment_list(small_item_files(), item->directory_fd, &listing, &error), NJ_OK);
    size_t n = listing.list.n_numbers;
    nj_segment_listing_deinit(&listing);
    return n;
}

static void open_item(struct small_item *item, struct nj_snapshot_writer **writer, int level)
{
    small_item_open(item);
    small_item_make_folder(item);
    *writer = small_item_writer(item, small_item_files(), level);
}

static void close_item(struct small_item *item, struct nj_snapshot_writer *writer)
{
    nj_snapshot_writer_destroy(writer);
    small_item_close(item);
}

static void a_state_comes_back_at_every_level_of_compression(void)
{
    for (int level = -1; level <= 9; level++) {
        struct small_item item;
        struct nj_snapshot_writer *writer = NULL;
        open_item(&item, &writer, level);

        struct nj_snapshot_outcome outcome = small_item_snapshot(&item, writer, 150);
        CHECK(outcome.is_durable);
        CHECK_EQ(outcome.number, 1);
        CHECK_EQ(outcome.n_positions, 150);
        struct nj_snapshot_loaded loaded = load(&item);

        CHECK_EQ(loaded.number, 1);
        CHECK_EQ(loaded.n_positions, 150);
        CHECK_EQ(loaded.n_put_aside, 0);
        CHECK(small_item_state_is(&item, 150));
        close_item(&item, writer);
    }
}

/* Sweeps of every kind of length: none (at a pause), one id, over a page's end. */
static void a_chain_of_snapshots_comes_back_at_each_of_them(void)
{
    static const uint32_t steps[] = {70, 1, 1, 64, 0, 3, 60, 1, 1, 1, 1, 50, 2, 0, 1};
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    uint32_t n_read = 0;
    uint64_t number = 0;
    uint32_t longest = 0;
    open_item(&item, &writer, NJ_PACK_AUTO);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        n_read += steps[i];
        number += 1;
        CHECK(small_item_snapshot(&item, writer, steps[i]).is_durable);
        longest = item.chain.n_segments > longest ? item.chain.n_segments : longest;

        struct nj_snapshot_chain wanted = item.chain;
        struct nj_snapshot_loaded loaded = load(&item);

        CHECK_EQ(loaded.number, number);
        CHECK_EQ(loaded.n_positions, n_read);
        CHECK(small_item_state_is(&item, n_read));
        CHECK_EQ(item.chain.n_segments, wanted.n_segments);
        CHECK_EQ(item.chain.chain, wanted.chain);
        CHECK_EQ(item.chain.highest_number, number);
    }
    CHECK(longest > 2); /* else nothing was chained */
    close_item(&item, writer);
}

static void two_snapshots_and_what_they_need_are_kept(void)
{
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    open_item(&item, &writer, NJ_PACK_AUTO);
    for (int i = 0; i < 3; i++) {
        CHECK(small_item_snapshot(&item, writer, 2).is_durable);
        CHECK_EQ(item.chain.n_segments, 1); /* so short a cache is cheaper stored again */
    }
    CHECK_EQ(n_segments(&item), 2);

    for (int i = 0; i < 40; i++) {
        CHECK(small_item_snapshot(&item, writer, 4).is_durable);
        CHECK(n_segments(&item) <= NJ_CHAIN_SEGMENTS_LIMIT + 1);
    }
    nj_snapshot_writer_forget(writer, dup(item.directory_fd), 0, &item.chain);
    nj_snapshot_writer_wait(writer);
    CHECK_EQ(n_segments(&item), 0);
    close_item(&item, writer);
}

static void an_empty_folder_gives_no_state(void)
{
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    open_item(&item, &writer, NJ_PACK_AUTO);

    struct nj_snapshot_loaded loaded = load(&item);

    CHECK_EQ(loaded.number, 0);
    CHECK_EQ(item.chain.highest_number, 0);
    CHECK(small_item_state_is(&item, 0));
    close_item(&item, writer);
}

static void what_was_given_up_leaves_no_file(void)
{
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    struct nj_error error;
    struct nj_snapshot_outcome outcome;
    open_item(&item, &writer, NJ_PACK_AUTO);
    struct nj_snapshot_target target = {.sequence = &item.sequence,
                                        .directory_fd = item.directory_fd,
                                        .identity = item.identity,
                                        .chain = &item.chain};
    REQUIRE_OK(nj_snapshot_writer_begin(writer, &target, 1, &error), &error);
    CHECK_EQ(nj_snapshot_writer_begin(writer, &target, 1, &error), NJ_E_STATE);
    small_item_sweep(&item, 5, writer);

    nj_snapshot_writer_abandon(writer);
    nj_snapshot_writer_wait(writer);

    CHECK(nj_snapshot_writer_take_outcome(writer, 0, &outcome));
    CHECK(!outcome.is_durable);
    CHECK_EQ(outcome.status, NJ_E_STOPPED);
    CHECK_EQ(n_segments(&item), 0);
    CHECK_EQ(item.chain.number, 0);
    /* Its number is not given out again. */
    CHECK_EQ(small_item_snapshot(&item, writer, 5).number, 2);
    close_item(&item, writer);
}

static void a_finished_sequence_needs_no_snapshot(void)
{
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    open_item(&item, &writer, NJ_PACK_AUTO);
    item.sequence.finish = NJ_FINISH_STOP;

    CHECK_EQ(small_item_snapshot(&item, writer, 5).status, NJ_E_STOPPED);

    CHECK_EQ(n_segments(&item), 0);
    close_item(&item, writer);
}

/* A buffer as small as may be: the sweep waits for the writer and loses nothing. */
static void several_items_share_a_small_buffer(void)
{
    enum { N_ITEMS = 4 };
    struct small_item items[N_ITEMS];
    struct nj_snapshot_target targets[N_ITEMS];
    struct nj_snapshot_writer *writer = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, UINT64_MAX);
    for (int i = 0; i < N_ITEMS; i++) {
        small_item_open(&items[i]);
        small_item_make_folder(&items[i]);
        items[i].identity.item_index = (uint64_t)i;
        targets[i] = (struct nj_snapshot_target){.sequence = &items[i].sequence,
                                                 .directory_fd = items[i].directory_fd,
                                                 .identity = items[i].identity,
                                                 .chain = &items[i].chain};
        small_item_sweep(&items[i], 10 * (uint32_t)(i + 1), NULL);
    }
    struct nj_snapshot_writer_options options = {.fs = small_item_files(),
                                                 .dims = &items[0].dims,
                                                 .budget = &budget,
                                                 .clock = nj_clock_system(),
                                                 .pack_level = NJ_PACK_AUTO,
                                                 .max_targets = N_ITEMS,
                                                 .buffer_bytes = 1};
    REQUIRE_OK(nj_snapshot_writer_create(&options, &writer, &error), &error);
    CHECK(budget.held_bytes > NJ_SEGMENT_PAYLOAD_LIMIT_BYTES);

    REQUIRE_OK(nj_snapshot_writer_begin(writer, targets, N_ITEMS, &error), &error);
    nj_snapshot_writer_all_layers(writer);
    nj_snapshot_writer_commit(writer);
    nj_snapshot_writer_wait(writer);

    CHECK(!nj_snapshot_writer_is_busy(writer));
    for (uint32_t i = 0; i < N_ITEMS; i++) {
        struct nj_snapshot_outcome outcome;
        CHECK(nj_snapshot_writer_take_outcome(writer, i, &outcome));
        CHECK(outcome.is_durable);
        CHECK_EQ(load(&items[i]).n_positions, 10 * (i + 1));
        CHECK(small_item_state_is(&items[i], 10 * (i + 1)));
    }
    nj_snapshot_writer_destroy(writer);
    CHECK_EQ(budget.held_bytes, 0);
    nj_byte_budget_deinit(&budget);
    for (int i = 0; i < N_ITEMS; i++) {
        small_item_close(&items[i]);
    }
}

static void a_writer_that_cannot_be_paid_is_refused(void)
{
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    struct nj_error error;
    struct nj_byte_budget budget;
    small_item_open(&item);
    nj_byte_budget_init(&budget, 1 << 20);
    struct nj_snapshot_writer_options options = {.fs = small_item_files(),
                                                 .dims = &item.dims,
                                                 .budget = &budget,
                                                 .clock = nj_clock_system(),
                                                 .max_targets = 1};

    CHECK_EQ(nj_snapshot_writer_create(&options, &writer, &error), NJ_E_BUDGET);

    CHECK_EQ(budget.held_bytes, 0);
    nj_byte_budget_deinit(&budget);
    small_item_close(&item);
}

/* Its item is finished while the snapshot is still being written. */
static void what_is_forgotten_is_never_reported_durable(void)
{
    struct small_item item;
    struct nj_snapshot_writer *writer = NULL;
    struct nj_error error;
    struct nj_snapshot_outcome outcome;
    open_item(&item, &writer, NJ_PACK_AUTO);
    struct nj_snapshot_target target = {.sequence = &item.sequence,
                                        .directory_fd = item.directory_fd,
                                        .identity = item.identity,
                                        .chain = &item.chain};
    REQUIRE_OK(nj_snapshot_writer_begin(writer, &target, 1, &error), &error);
    small_item_sweep(&item, 5, writer);
    nj_snapshot_writer_commit(writer);

    nj_snapshot_writer_forget(writer, dup(item.directory_fd), 0, &item.chain);
    nj_snapshot_writer_wait(writer);

    CHECK(nj_snapshot_writer_take_outcome(writer, 0, &outcome));
    CHECK(!outcome.is_durable);
    CHECK_EQ(outcome.status, NJ_E_STOPPED);
    CHECK_EQ(item.chain.number, 0);
    CHECK_EQ(n_segments(&item), 0);
    close_item(&item, writer);
}

int main(void)
{
    RUN(what_is_forgotten_is_never_reported_durable);
    RUN(a_state_comes_back_at_every_level_of_compression);
    RUN(a_chain_of_snapshots_comes_back_at_each_of_them);
    RUN(two_snapshots_and_what_they_need_are_kept);
    RUN(an_empty_folder_gives_no_state);
    RUN(what_was_given_up_leaves_no_file);
    RUN(a_finished_sequence_needs_no_snapshot);
    RUN(several_items_share_a_small_buffer);
    RUN(a_writer_that_cannot_be_paid_is_refused);
    return test_result();
}
