#include "stream/read_depth.h"

#include "support/check.h"

#define MIB (UINT64_C(1024) * 1024)

/* A drive that always has as many reads in flight as the depth allows, with a rate that depends
 * on it, and an engine that does nothing but wait. */
struct drive {
    struct nj_read_depth depth;
    uint64_t now_ns;
    uint32_t fast_from; /* the depth from which on it is at its best */
    uint32_t slow_from; /* and from which on it is slow again */
};

static void begin(struct drive *drive, uint32_t fast_from, uint32_t slow_from)
{
    *drive =
        (struct drive){.now_ns = 1000000000, .fast_from = fast_from, .slow_from = slow_from};
    nj_read_depth_init(&drive->depth);
}

static void read_for(struct drive *drive, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes; done += MIB) {
        uint32_t depth = drive->depth.depth;
        uint64_t took_ns = 1000000; /* 1 GiB a second at its best */
        if (depth < drive->fast_from) {
            took_ns = took_ns * drive->fast_from / depth;
        }
        if (depth >= drive->slow_from) {
            took_ns *= 2;
        }
        nj_read_depth_wait(&drive->depth, depth, drive->now_ns);
        drive->now_ns += took_ns;
        nj_read_depth_arrived(&drive->depth, MIB, drive->now_ns);
    }
}

static void depth_grows_until_the_rate_no_longer_does(void)
{
    struct drive drive;
    begin(&drive, 64, UINT32_MAX);
    read_for(&drive, 2000 * MIB);
    CHECK_EQ(drive.depth.depth, 64);
}

static void depth_stays_where_more_brings_nothing(void)
{
    struct drive drive;
    begin(&drive, 1, UINT32_MAX);
    read_for(&drive, 1000 * MIB);
    CHECK_EQ(drive.depth.depth, NJ_READ_DEPTH_START);
}

static void depth_is_bounded(void)
{
    struct drive drive;
    begin(&drive, 100000, UINT32_MAX);
    read_for(&drive, 4000 * MIB);
    CHECK_EQ(drive.depth.depth, NJ_READ_DEPTH_MOST_TRIED);
}

static void depth_falls_where_fewer_reads_are_faster(void)
{
    struct drive drive;
    begin(&drive, 1, 32);
    read_for(&drive, 6400 * MIB); /* not while more is being tried */
    CHECK_EQ(drive.depth.depth, 16);
}

/* What was found once is not for ever: storage changes, as does who else uses it. */
static void depth_is_tried_again_later(void)
{
    struct drive drive;
    begin(&drive, 1, UINT32_MAX);
    read_for(&drive, 1000 * MIB);
    CHECK_EQ(drive.depth.depth, NJ_READ_DEPTH_START);
    drive.fast_from = 64;
    read_for(&drive, 20000 * MIB);
    CHECK_EQ(drive.depth.depth, 64);
}

static void running_out_doubles_the_depth_beyond_what_is_tried(void)
{
    struct drive drive;
    begin(&drive, 1, UINT32_MAX);
    for (uint32_t i = 0; i < 20; i++) {
        nj_read_depth_ran_out(&drive.depth);
    }
    CHECK_EQ(drive.depth.depth, NJ_READ_DEPTH_MOST);
}

/* The drive worked while the engine computed: counting its bytes, but not that time, would make
 * any depth look fast. */
static void reads_begun_before_the_wait_are_not_measured(void)
{
    struct nj_read_depth depth;
    uint64_t now_ns = 1000000000;
    nj_read_depth_init(&depth);
    for (uint32_t i = 0; i < 1000; i++) {
        now_ns += 20000000; /* computing */
        for (uint32_t j = 0; j < depth.depth; j++) {
            nj_read_depth_wait(&depth, depth.depth, now_ns);
            now_ns += 1000;
            nj_read_depth_arrived(&depth, MIB, now_ns);
        }
    }
    CHECK_EQ(depth.window_bytes, 0);
    CHECK_EQ(depth.depth, NJ_READ_DEPTH_START);
}

static void a_drive_with_too_little_to_do_is_not_measured(void)
{
    struct nj_read_depth depth;
    uint64_t now_ns = 1000000000;
    nj_read_depth_init(&depth);
    for (uint32_t i = 0; i < 1000; i++) {
        nj_read_depth_wait(&depth, 1, now_ns);
        now_ns += 1000000;
        nj_read_depth_arrived(&depth, MIB, now_ns);
    }
    CHECK_EQ(depth.window_bytes, 0);
}

int main(void)
{
    RUN(depth_grows_until_the_rate_no_longer_does);
    RUN(depth_stays_where_more_brings_nothing);
    RUN(depth_is_bounded);
    RUN(depth_falls_where_fewer_reads_are_faster);
    RUN(depth_is_tried_again_later);
    RUN(running_out_doubles_the_depth_beyond_what_is_tried);
    RUN(reads_begun_before_the_wait_are_not_measured);
    RUN(a_drive_with_too_little_to_do_is_not_measured);
    return test_result();
}
