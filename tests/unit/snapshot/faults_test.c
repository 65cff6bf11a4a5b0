/* Every call to the file system fails once; the power goes before every one of them. */
#include <errno.h>
#include <string.h>

#include "snapshot/folder.h"
#include "support/check.h"
#include "support/faulty_files.h"
#include "support/lossy_files.h"
#include "unit/snapshot/small_item.h"

enum { FIRST = 30, STEP = 3 };

static struct nj_snapshot_loaded load_well(struct small_item *item)
{
    enum nj_status status = NJ_OK;
    struct nj_error error = {.text = ""};
    struct nj_snapshot_loaded loaded =
        small_item_load(item, small_item_files(), &status, &error);
    CHECK_EQ(status, NJ_OK);
    CHECK(small_item_state_is(item, loaded.n_positions));
    return loaded;
}

/* How a call goes wrong. */
struct fault {
    enum faulty_call call;
    int error_number; /* 0: half of it is done, which is no error */
};

static void arm(struct faulty_files *faulty, const struct fault *fault, unsigned long n)
{
    if (fault->error_number == 0) {
        faulty_files_cut(faulty, fault->call, n);
    } else {
        faulty_files_fail(faulty, fault->call, n, fault->error_number);
    }
}

/* A snapshot in which the n-th call fails, between two that go well. False when no call was
 * the n-th. */
static bool survive(const struct fault *fault, unsigned long n)
{
    struct small_item item;
    struct faulty_files faulty;
    faulty_files_init(&faulty, small_item_files());
    small_item_open(&item);
    small_item_make_folder(&item);
    struct nj_snapshot_writer *writer = small_item_writer(&item, &faulty.table, NJ_PACK_AUTO);
    CHECK(small_item_snapshot(&item, writer, FIRST).is_durable);

    arm(&faulty, fault, n);
    struct nj_snapshot_outcome outcome = small_item_snapshot(&item, writer, STEP);
    bool fired = faulty_files_fired(&faulty);
    faulty_files_reset(&faulty);

    CHECK_EQ(outcome.is_durable, outcome.status == NJ_OK);
    if (!outcome.is_durable) {
        CHECK_EQ(outcome.status, NJ_E_STORAGE);
        CHECK_CONTAINS(outcome.error.text, strerror(fault->error_number));
    }
    if (fault->error_number == 0) {
        CHECK(outcome.is_durable);
    }
    struct nj_snapshot_chain chain = item.chain;
    struct nj_snapshot_loaded loaded = load_well(&item);
    CHECK_EQ(loaded.n_positions, outcome.is_durable ? FIRST + STEP : FIRST);
    CHECK_EQ(loaded.n_put_aside, 0);

    /* The state goes on from where it was, and so does the chain. */
    item.chain = chain;
    if (!outcome.is_durable) {
        small_item_sweep(&item, STEP, NULL);
    }
    CHECK(small_item_snapshot(&item, writer, STEP).is_durable);
    CHECK_EQ(load_well(&item).n_positions, FIRST + 2 * STEP);
    nj_snapshot_writer_destroy(writer);
    small_item_close(&item);
    return fired;
}

static void a_call_that_fails_costs_one_snapshot_and_no_more(void)
{
    static const struct fault faults[] = {
        {FAULTY_OPEN, EMFILE}, {FAULTY_WRITE, ENOSPC},  {FAULTY_WRITE, EIO},
        {FAULTY_WRITE, 0},     {FAULTY_DATA_SYNC, EIO}, {FAULTY_DATA_SYNC, ENOSPC},
        {FAULTY_SYNC, EIO},    {FAULTY_CLOSE, EIO},     {FAULTY_UNLINK, EIO},
        {FAULTY_STATUS, EIO},  {FAULTY_READ, EIO},      {FAULTY_READ, 0},
    };
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        unsigned long n = 1;
        while (survive(&faults[i], n)) {
            n++;
        }
        CHECK(n > 1 || faults[i].call == FAULTY_UNLINK);
    }
}

/* After a sync failed the file is not written to and not synced again: it goes. */
static void a_failed_sync_is_not_tried_again(void)
{
    struct small_item item;
    struct faulty_files faulty;
    faulty_files_init(&faulty, small_item_files());
    small_item_open(&item);
    small_item_make_folder(&item);
    struct nj_snapshot_writer *writer = small_item_writer(&item, &faulty.table, NJ_PACK_AUTO);
    faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 1, EIO);

    struct nj_snapshot_outcome outcome = small_item_snapshot(&item, writer, FIRST);

    CHECK_EQ(outcome.status, NJ_E_STORAGE);
    CHECK_CONTAINS(outcome.error.text, "sync segment-000001.snap");
    CHECK_EQ(faulty.n_calls[FAULTY_DATA_SYNC], 1);
    CHECK_EQ(faulty.n_calls[FAULTY_UNLINK], 1);
    CHECK_EQ(small_item_snapshot(&item, writer, STEP).number, 2);
    nj_snapshot_writer_destroy(writer);
    small_item_close(&item);
}

static void a_read_that_fails_costs_time_and_no_bit(void)
{
    static const struct fault faults[] = {
        {FAULTY_READ, EIO}, {FAULTY_READ, 0}, {FAULTY_OPEN, EACCES}, {FAULTY_STATUS, EIO}};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        bool fired = true;
        for (unsigned long n = 1; fired; n++) {
            struct small_item item;
            struct faulty_files faulty;
            enum nj_status status = NJ_OK;
            struct nj_error error;
            faulty_files_init(&faulty, small_item_files());
            small_item_open(&item);
            small_item_make_folder(&item);
            struct nj_snapshot_writer *writer =
                small_item_writer(&item, small_item_files(), NJ_PACK_AUTO);
            CHECK(small_item_snapshot(&item, writer, FIRST).is_durable);
            nj_snapshot_writer_destroy(writer);
            arm(&faulty, &faults[i], n);

            struct nj_snapshot_loaded loaded =
                small_item_load(&item, &faulty.table, &status, &error);

            fired = faulty_files_fired(&faulty);
            CHECK(small_item_state_is(&item, loaded.n_positions));
            CHECK(loaded.n_positions == FIRST || (fired && loaded.n_positions == 0));
            CHECK(status == NJ_OK || fired);
            small_item_close(&item);
        }
    }
}

/* --- power --- */

enum { N_SNAPSHOTS = 4 };

/* Snapshots until the power goes; returns the positions of the last one reported durable. */
static uint32_t write_until_dark(struct small_item *item, struct lossy_files *lossy)
{
    uint32_t n_durable = 0;
    struct nj_snapshot_writer *writer = small_item_writer(item, &lossy->table, NJ_PACK_AUTO);
    for (int i = 0; i < N_SNAPSHOTS && !lossy->is_dark; i++) {
        struct nj_snapshot_outcome outcome =
            small_item_snapshot(item, writer, i == 0 ? FIRST : STEP);
        if (outcome.is_durable) {
            n_durable = outcome.n_positions;
        }
    }
    nj_snapshot_writer_destroy(writer);
    return n_durable;
}

/* False when everything was over before the power went. */
static bool survive_darkness(unsigned long n, uint64_t seed)
{
    static struct lossy_files lossy;
    struct small_item item;
    lossy_files_init(&lossy, small_item_files());
    small_item_open(&item);
    small_item_make_folder(&item);
    lossy_files_cut_power_at(&lossy, n);
    uint32_t n_durable = write_until_dark(&item, &lossy);
    bool went_dark = lossy.is_dark;
    lossy_files_lose(&lossy, seed);

    struct nj_snapshot_loaded loaded = load_well(&item);
    CHECK(loaded.n_positions >= n_durable);
    /* What was put aside stays aside: a second start finds the same. */
    struct nj_snapshot_loaded again = load_well(&item);
    CHECK_EQ(again.n_positions, loaded.n_positions);
    CHECK_EQ(again.n_put_aside, 0);

    struct nj_snapshot_writer *writer =
        small_item_writer(&item, small_item_files(), NJ_PACK_AUTO);
    struct nj_snapshot_outcome outcome = small_item_snapshot(&item, writer, STEP);
    CHECK(outcome.is_durable);
    CHECK_EQ(load_well(&item).n_positions, loaded.n_positions + STEP);
    nj_snapshot_writer_destroy(writer);
    small_item_close(&item);
    return went_dark;
}

static void power_may_go_before_any_call(void)
{
    enum { N_SEEDS = 6 };
    bool went_dark = true;
    unsigned long n = 1;
    for (; went_dark; n++) {
        for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
            went_dark = survive_darkness(n, seed * 1000 + n);
        }
    }
    CHECK(n > 40); /* four snapshots take more calls than that */
}

int main(void)
{
    RUN(a_call_that_fails_costs_one_snapshot_and_no_more);
    RUN(a_failed_sync_is_not_tried_again);
    RUN(a_read_that_fails_costs_time_and_no_bit);
    RUN(power_may_go_before_any_call);
    return test_result();
}
