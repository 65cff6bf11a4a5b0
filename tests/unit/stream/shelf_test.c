#include "stream/shelf.h"

#include <stdint.h>

#include "support/check.h"

enum { N_FRAMES = 16 };

static struct nj_shelf shelf;

static void begin(void)
{
    CHECK_EQ(nj_shelf_init(&shelf, N_FRAMES, NULL), NJ_OK);
}

static uint32_t take_victim(void)
{
    uint32_t victim = nj_shelf_victim(&shelf);
    if (victim != NJ_NO_FRAME) {
        nj_shelf_take(&shelf, victim);
    }
    return victim;
}

static void empty_shelf_has_no_victim(void)
{
    begin();
    CHECK_EQ(nj_shelf_victim(&shelf), NJ_NO_FRAME);
    nj_shelf_put(&shelf, 3, 1);
    CHECK_EQ(take_victim(), 3);
    CHECK_EQ(nj_shelf_victim(&shelf), NJ_NO_FRAME);
    nj_shelf_deinit(&shelf);
}

static void passing_frames_go_first(void)
{
    begin();
    nj_shelf_put(&shelf, 0, 0);
    nj_shelf_put_passing(&shelf, 1);
    nj_shelf_put(&shelf, 2, 0);
    CHECK_EQ(take_victim(), 1);
    nj_shelf_deinit(&shelf);
}

static void of_frames_used_equally_often_the_latest_goes(void)
{
    begin();
    for (uint32_t i = 0; i < 5; i++) {
        nj_shelf_put(&shelf, i, 3);
    }
    CHECK_EQ(take_victim(), 4);
    CHECK_EQ(take_victim(), 3);
    nj_shelf_deinit(&shelf);
}

/* Within a walk, those that had their turn count one more than those that are still to come. */
static void one_use_more_saves_nobody(void)
{
    begin();
    nj_shelf_put(&shelf, 0, 3);
    nj_shelf_put(&shelf, 1, 4);
    CHECK_EQ(take_victim(), 1);
    nj_shelf_deinit(&shelf);
}

static void two_uses_more_do(void)
{
    begin();
    nj_shelf_put(&shelf, 0, 3);
    nj_shelf_put(&shelf, 1, 5);
    CHECK_EQ(take_victim(), 0);
    CHECK_EQ(take_victim(), 1);
    nj_shelf_deinit(&shelf);
}

static void frames_can_be_taken_from_anywhere(void)
{
    begin();
    for (uint32_t i = 0; i < 6; i++) {
        nj_shelf_put(&shelf, i, 1);
    }
    nj_shelf_take(&shelf, 5); /* the latest */
    nj_shelf_take(&shelf, 0); /* the earliest */
    nj_shelf_take(&shelf, 3); /* one between */
    nj_shelf_take(&shelf, 3); /* not there any more */
    CHECK_EQ(take_victim(), 4);
    CHECK_EQ(take_victim(), 2);
    CHECK_EQ(take_victim(), 1);
    CHECK_EQ(take_victim(), NJ_NO_FRAME);
    nj_shelf_deinit(&shelf);
}

static void halving_brings_counts_together_and_loses_nothing(void)
{
    begin();
    for (uint32_t i = 0; i < N_FRAMES; i++) {
        nj_shelf_put(&shelf, i, (uint8_t)i);
    }
    for (uint32_t i = 0; i < 4; i++) {
        nj_shelf_halve(&shelf);
    }
    /* All count nothing now: latest first. */
    for (uint32_t i = N_FRAMES; i > 0; i--) {
        CHECK_EQ(take_victim(), i - 1);
    }
    CHECK_EQ(take_victim(), NJ_NO_FRAME);
    nj_shelf_deinit(&shelf);
}

int main(void)
{
    RUN(empty_shelf_has_no_victim);
    RUN(passing_frames_go_first);
    RUN(of_frames_used_equally_often_the_latest_goes);
    RUN(one_use_more_saves_nobody);
    RUN(two_uses_more_do);
    RUN(frames_can_be_taken_from_anywhere);
    RUN(halving_brings_counts_together_and_loses_nothing);
    return test_result();
}
