#include "job/state.h"

#include <string.h>

#include "support/check.h"

/* One line a state, one column a target, in the order of the numbers. */
static const char *const job_moves[] = {
    /*          qrppsdfce */
    "queued    .xxxxxxxx", "running   x.xx.xxxx", "paused    xx.x.xxxx",
    "parked    xx...xxxx", "skipped   x......xx", "done      x........",
    "failed    x........", "cancelled .........", "expired   ........."};

static const char *const work_moves[] = {
    /*            qriwdfpc */
    "queued      .x..xxxx", "running     ..xxxxxx", "interrupted .x..xxxx",
    "waiting     x...xxxx", "done        x.......", "failed      x.......",
    "parked      x......x", "cancelled   ....xx.."};

enum { JOB_COLUMN = 10, WORK_COLUMN = 12 };

static void jobs_move_as_the_diagram_says_and_not_otherwise(void)
{
    for (unsigned from = NJ_JOB_QUEUED; from < NJ_JOB_STATES_END; from++) {
        for (unsigned to = NJ_JOB_QUEUED; to < NJ_JOB_STATES_END; to++) {
            bool may = nj_job_may_move((enum nj_job_state)from, (enum nj_job_state)to);
            if (may != (job_moves[from - 1][JOB_COLUMN + to - 1] == 'x')) {
                test_fail(__FILE__, __LINE__, "%s to %s",
                          nj_job_state_name((enum nj_job_state)from),
                          nj_job_state_name((enum nj_job_state)to));
            }
        }
    }
}

static void items_move_as_the_diagram_says_and_not_otherwise(void)
{
    for (unsigned from = NJ_WORK_QUEUED; from < NJ_WORK_STATES_END; from++) {
        for (unsigned to = NJ_WORK_QUEUED; to < NJ_WORK_STATES_END; to++) {
            bool may = nj_work_may_move((enum nj_work_state)from, (enum nj_work_state)to);
            if (may != (work_moves[from - 1][WORK_COLUMN + to - 1] == 'x')) {
                test_fail(__FILE__, __LINE__, "%s to %s",
                          nj_work_state_name((enum nj_work_state)from),
                          nj_work_state_name((enum nj_work_state)to));
            }
        }
    }
}

static void the_tables_name_the_states_in_their_order(void)
{
    for (unsigned i = NJ_JOB_QUEUED; i < NJ_JOB_STATES_END; i++) {
        const char *name = nj_job_state_name((enum nj_job_state)i);
        CHECK(strncmp(job_moves[i - 1], name, strlen(name)) == 0);
    }
    for (unsigned i = NJ_WORK_QUEUED; i < NJ_WORK_STATES_END; i++) {
        const char *name = nj_work_state_name((enum nj_work_state)i);
        CHECK(strncmp(work_moves[i - 1], name, strlen(name)) == 0);
    }
}

static void what_has_ended_can_only_be_brought_back(void)
{
    CHECK(!nj_job_has_ended(NJ_JOB_PARKED) && nj_job_has_ended(NJ_JOB_SKIPPED));
    CHECK(!nj_work_has_ended(NJ_WORK_WAITING) && nj_work_has_ended(NJ_WORK_DONE));
    CHECK(nj_work_has_ended(NJ_WORK_PARKED));
}

int main(void)
{
    RUN(jobs_move_as_the_diagram_says_and_not_otherwise);
    RUN(items_move_as_the_diagram_says_and_not_otherwise);
    RUN(the_tables_name_the_states_in_their_order);
    RUN(what_has_ended_can_only_be_brought_back);
    return test_result();
}
