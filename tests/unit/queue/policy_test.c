/* The rules of policy.h, one at a time. Time begins at 1000000; a place belongs to the job of
 * its index. */
#include "queue/policy.h"

#include "support/check.h"

enum { NOW = 1000000, JOBS_LIMIT = 8, PLACES_LIMIT = 8 };

static const int64_t hour = 3600;

static const uint64_t second_ns = 1000000000;

struct table {
    struct nj_policy_job jobs[JOBS_LIMIT];
    struct nj_policy_place places[PLACES_LIMIT];
    struct nj_policy_verdict verdicts[JOBS_LIMIT];
    size_t order[JOBS_LIMIT];
    bool puts_down[PLACES_LIMIT];
    struct nj_policy_input input;
    struct nj_policy_decision decision;
};

/* Jobs 1, 2, ... of model 0, always open, three items ready each; a worker with four places. */
static void lay(struct table *table, size_t n_jobs)
{
    *table = (struct table){.input = {.n_jobs = n_jobs,
                                      .n_places = 4,
                                      .now = NOW,
                                      .steady = 50000,
                                      .turn = {.model = 0, .began_at = 50000},
                                      .limits = nj_policy_limits_default()}};
    for (size_t i = 0; i < n_jobs; i++) {
        table->jobs[i] = (struct nj_policy_job){
            .job_id = i + 1,
            .start_at = INT64_MIN,
            .deadline = INT64_MAX,
            .hours = {.is_open = true, .closes_at = INT64_MAX, .opens_at = INT64_MAX},
            .held_until = INT64_MAX,
            .retry_at = INT64_MAX,
            .n_ready = 3};
    }
}

static void give_places(struct table *table, size_t job, size_t n_places)
{
    for (size_t i = 0; i < n_places; i++) {
        size_t n_taken = table->input.n_taken++;
        table->places[n_taken] =
            (struct nj_policy_place){.job = job, .claim_sequence = n_taken + 1};
    }
    table->jobs[job].has_begun = true;
}

static void decide(struct table *table)
{
    table->input.jobs = table->jobs;
    table->input.places = table->places;
    table->decision = (struct nj_policy_decision){
        .verdicts = table->verdicts, .order = table->order, .puts_down = table->puts_down};
    nj_policy_decide(&table->input, &table->decision);
}

static size_t n_put_down(const struct table *table)
{
    size_t n = 0;
    for (size_t i = 0; i < table->input.n_taken; i++) {
        n += table->puts_down[i] ? 1 : 0;
    }
    return n;
}

/* What the jobs take, as a number: 310 is three, one and none. */
static unsigned takes(const struct table *table)
{
    unsigned sum = 0;
    for (size_t i = 0; i < table->input.n_jobs; i++) {
        sum = sum * 10 + (unsigned)table->verdicts[i].n_takes;
    }
    return sum;
}

static void among_equals_the_older_job_goes_first(void)
{
    struct table table;
    lay(&table, 3);
    decide(&table);
    CHECK_EQ(takes(&table), 310);
    CHECK_EQ(table.verdicts[2].wait, NJ_WAIT_PLACE);
    CHECK_EQ(table.verdicts[2].job_id, 1);
    CHECK_EQ(table.verdicts[0].wait, NJ_WAIT_NONE);
}

static void a_higher_priority_takes_the_free_places_and_no_more(void)
{
    struct table table;
    lay(&table, 3);
    table.jobs[2].priority = 1;
    give_places(&table, 0, 3);
    decide(&table);
    CHECK_EQ(takes(&table), 1);
    CHECK_EQ(n_put_down(&table), 0);
    CHECK_EQ(table.verdicts[1].wait, NJ_WAIT_PRIORITY);
    CHECK_EQ(table.verdicts[1].job_id, 3);
}

static void a_job_that_preempts_makes_places_of_the_lowest_begun_last(void)
{
    struct table table;
    lay(&table, 3);
    table.jobs[1].priority = -1;
    table.jobs[2].priority = 1;
    table.jobs[2].preempts = true;
    table.jobs[2].n_ready = 2;
    give_places(&table, 1, 1);
    give_places(&table, 0, 3);
    decide(&table);
    CHECK_EQ(takes(&table), 2);
    CHECK(table.puts_down[0] && table.puts_down[3]);
    CHECK(!table.puts_down[1] && !table.puts_down[2]);
    CHECK_EQ(table.verdicts[0].n_kept, 2);
}

static void equals_are_not_preempted(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].preempts = true;
    give_places(&table, 0, 4);
    decide(&table);
    CHECK_EQ(takes(&table), 0);
    CHECK_EQ(n_put_down(&table), 0);
}

static void a_deadline_within_a_day_goes_before_age_and_a_far_one_does_not(void)
{
    struct table table;
    lay(&table, 3);
    table.jobs[1].deadline = NOW + 25 * hour;
    table.jobs[2].deadline = NOW + 24 * hour;
    decide(&table);
    CHECK_EQ(takes(&table), 103);
    CHECK_EQ(table.order[0], 2);
    CHECK_EQ(table.order[1], 0);
    CHECK_EQ(table.decision.look_again_at, NOW + 8 * hour); /* when job 2 has waited too long */
}

static void a_passed_deadline_ends_a_job(void)
{
    struct table table;
    lay(&table, 1);
    give_places(&table, 0, 1);
    table.jobs[0].deadline = NOW;
    decide(&table);
    CHECK_EQ(table.verdicts[0].wait, NJ_WAIT_EXPIRED);
    CHECK(table.puts_down[0]);
    CHECK_EQ(takes(&table), 0);
}

static void what_may_not_run_says_why_and_until_when(void)
{
    struct table table;
    lay(&table, 6);
    table.jobs[0].start_at = NOW + 7;
    table.jobs[1].dependency = NJ_DEPENDENCY_OPEN;
    table.jobs[1].awaited_job_id = 77;
    table.jobs[2].dependency = NJ_DEPENDENCY_UNMEETABLE;
    table.jobs[3].held = NJ_WAIT_DISK;
    table.jobs[4].n_ready = 0;
    table.jobs[4].retry_at = NOW + 5;
    table.jobs[5].hours = (struct nj_schedule_state){.opens_at = NOW + 3};
    decide(&table);
    static const enum nj_wait wanted[] = {NJ_WAIT_START, NJ_WAIT_AFTER, NJ_WAIT_UNMEETABLE,
                                          NJ_WAIT_DISK,  NJ_WAIT_RETRY, NJ_WAIT_WINDOW};
    for (size_t i = 0; i < 6; i++) {
        CHECK_EQ(table.verdicts[i].wait, wanted[i]);
    }
    CHECK_EQ(table.verdicts[0].until, NOW + 7);
    CHECK_EQ(table.verdicts[1].job_id, 77);
    CHECK_EQ(table.verdicts[4].until, NOW + 5);
    CHECK_EQ(table.verdicts[5].until, NOW + 3);
    CHECK_EQ(table.decision.look_again_at, NOW + 3);
    CHECK_EQ(takes(&table), 0);
}

static void check_window_end(enum nj_window_end end, bool has_begun, bool is_open,
                             unsigned wanted_takes, size_t wanted_put_down, enum nj_wait wait)
{
    struct table table;
    lay(&table, 1);
    give_places(&table, 0, 1);
    table.jobs[0].on_window_end = end;
    table.jobs[0].has_begun = has_begun;
    table.jobs[0].sweep_ns = 60 * second_ns;
    table.jobs[0].hours = (struct nj_schedule_state){
        .is_open = is_open, .closes_at = NOW + 59, .opens_at = NOW + hour};
    decide(&table);
    CHECK_EQ(takes(&table), wanted_takes);
    CHECK_EQ(n_put_down(&table), wanted_put_down);
    CHECK_EQ(table.verdicts[0].wait, wait);
}

static void a_window_ends_as_the_job_says(void)
{
    check_window_end(NJ_WINDOW_END_PAUSE, true, false, 0, 1, NJ_WAIT_WINDOW);
    check_window_end(NJ_WINDOW_END_FINISH_ITEM, true, false, 0, 0, NJ_WAIT_WINDOW);
    check_window_end(NJ_WINDOW_END_FINISH_JOB, true, false, 3, 0, NJ_WAIT_NONE);
    check_window_end(NJ_WINDOW_END_FINISH_JOB, false, false, 0, 0, NJ_WAIT_WINDOW);
}

static void a_sweep_that_cannot_end_before_the_window_does_is_not_begun(void)
{
    check_window_end(NJ_WINDOW_END_PAUSE, true, true, 0, 1, NJ_WAIT_WINDOW_ENDS);
    check_window_end(NJ_WINDOW_END_FINISH_ITEM, true, true, 0, 0, NJ_WAIT_WINDOW_ENDS);
    check_window_end(NJ_WINDOW_END_FINISH_JOB, true, true, 3, 0, NJ_WAIT_NONE);
}

static void a_pause_lets_items_finish_if_asked(void)
{
    struct table table;
    lay(&table, 2);
    give_places(&table, 0, 1);
    give_places(&table, 1, 1);
    table.jobs[0].held = table.jobs[1].held = NJ_WAIT_PAUSED;
    table.jobs[1].held_items_finish = true;
    decide(&table);
    CHECK(table.puts_down[0] && !table.puts_down[1]);
    CHECK_EQ(takes(&table), 0);
}

static void without_a_model_the_highest_rank_chooses_it(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].model = 7;
    table.jobs[1].priority = 1;
    table.input.turn = (struct nj_policy_turn){.model = NJ_NO_MODEL};
    table.input.n_places = 0;
    decide(&table);
    CHECK(table.decision.switches);
    CHECK_EQ(table.decision.turn.model, 7);
    CHECK_EQ(table.verdicts[1].wait, NJ_WAIT_OPENING);
    CHECK_EQ(takes(&table), 0);
}

static void a_model_without_work_gives_way_to_any_priority(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[0].n_ready = 0;
    table.jobs[1].model = 1;
    table.jobs[1].priority = -100;
    decide(&table);
    CHECK(table.decision.switches);
    CHECK_EQ(table.decision.turn.model, 1);
}

static void a_model_drains_for_a_higher_priority_and_is_put_down_in_the_end(void)
{
    struct table table;
    lay(&table, 3);
    table.jobs[1].model = 1;
    table.jobs[1].priority = 1;
    give_places(&table, 0, 1);
    decide(&table);
    CHECK(!table.decision.switches);
    CHECK(table.decision.turn.is_draining);
    CHECK_EQ(takes(&table), 0);
    CHECK_EQ(table.decision.look_again_at, NOW + hour / 2);
    CHECK_EQ(table.verdicts[2].wait, NJ_WAIT_MODEL);
    CHECK_EQ(table.verdicts[2].job_id, 2);

    table.input.turn = table.decision.turn;
    table.input.steady += hour / 2;
    decide(&table);
    CHECK(table.decision.switches);
    CHECK(table.puts_down[0]);
    CHECK_EQ(table.decision.turn.model, 1);
}

static void a_model_that_has_drained_gives_way(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].model = 1;
    table.jobs[1].priority = 1;
    decide(&table);
    CHECK(table.decision.switches);
    CHECK_EQ(table.decision.turn.model, 1);
}

static void a_job_of_another_model_that_preempts_waits_for_no_item(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].model = 1;
    table.jobs[1].priority = 1;
    table.jobs[1].preempts = true;
    give_places(&table, 0, 4);
    decide(&table);
    CHECK(table.decision.switches);
    CHECK_EQ(n_put_down(&table), 4);
}

static void equal_priorities_of_two_models_take_turns(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].model = 1;
    table.input.steady = 50000 + 2 * hour - 1;
    decide(&table);
    CHECK(!table.decision.switches);
    CHECK_EQ(takes(&table), 30);
    CHECK_EQ(table.verdicts[1].wait, NJ_WAIT_MODEL);
    CHECK_EQ(table.verdicts[1].job_id, 1);
    CHECK_EQ(table.verdicts[1].until, NOW + 1);

    table.input.steady++;
    decide(&table);
    CHECK(table.decision.switches);
    CHECK_EQ(table.decision.turn.model, 1);
}

static void a_lower_priority_elsewhere_waits_until_its_patience_ends(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].model = 1;
    table.jobs[1].priority = -1;
    table.jobs[1].waited_seconds = 8 * hour - 1;
    table.input.steady = 90000;
    decide(&table);
    CHECK(!table.decision.switches && !table.decision.turn.is_draining);
    CHECK_EQ(table.verdicts[1].wait, NJ_WAIT_PRIORITY);
    CHECK_EQ(table.decision.look_again_at, NOW + 1);

    table.jobs[1].waited_seconds++;
    decide(&table);
    CHECK(table.decision.switches);
    CHECK_EQ(table.decision.turn.model, 1);
    CHECK(table.decision.turn.is_granted);
}

static void a_granted_turn_is_not_cut_short(void)
{
    struct table table;
    lay(&table, 2);
    table.jobs[1].model = 1;
    table.jobs[1].priority = 100;
    table.jobs[1].preempts = true;
    table.input.turn.is_granted = true;
    table.input.steady = 50000 + hour / 2 - 1;
    decide(&table);
    CHECK(!table.decision.switches);
    CHECK_EQ(takes(&table), 30);

    table.input.steady++;
    decide(&table);
    CHECK(table.decision.switches);
}

static void who_waited_too_long_gets_one_place_that_nobody_takes_away(void)
{
    struct table table;
    lay(&table, 3);
    table.jobs[0].priority = 2;
    table.jobs[1].priority = 1;
    table.jobs[2].waited_seconds = 8 * hour;
    decide(&table);
    CHECK_EQ(takes(&table), 301);
    CHECK(table.verdicts[2].is_granted);

    table.jobs[2].waited_seconds = 0;
    table.jobs[0].preempts = true;
    give_places(&table, 2, 1);
    give_places(&table, 1, 3);
    table.places[0].is_granted = true;
    decide(&table);
    CHECK(!table.puts_down[0]);
    CHECK_EQ(takes(&table), 300);
}

static void every_reason_has_a_name(void)
{
    CHECK_TEXT(nj_wait_name(NJ_WAIT_NONE), "none");
    CHECK_TEXT(nj_wait_name(NJ_WAIT_AFTER), "after");
    CHECK_TEXT(nj_wait_name(NJ_WAIT_WINDOW_ENDS), "window_ends");
    CHECK_TEXT(nj_wait_name(NJ_WAIT_OPENING), "opening");
}

int main(void)
{
    RUN(among_equals_the_older_job_goes_first);
    RUN(a_higher_priority_takes_the_free_places_and_no_more);
    RUN(a_job_that_preempts_makes_places_of_the_lowest_begun_last);
    RUN(equals_are_not_preempted);
    RUN(a_deadline_within_a_day_goes_before_age_and_a_far_one_does_not);
    RUN(a_passed_deadline_ends_a_job);
    RUN(what_may_not_run_says_why_and_until_when);
    RUN(a_window_ends_as_the_job_says);
    RUN(a_sweep_that_cannot_end_before_the_window_does_is_not_begun);
    RUN(a_pause_lets_items_finish_if_asked);
    RUN(without_a_model_the_highest_rank_chooses_it);
    RUN(a_model_without_work_gives_way_to_any_priority);
    RUN(a_model_drains_for_a_higher_priority_and_is_put_down_in_the_end);
    RUN(a_model_that_has_drained_gives_way);
    RUN(a_job_of_another_model_that_preempts_waits_for_no_item);
    RUN(equal_priorities_of_two_models_take_turns);
    RUN(a_lower_priority_elsewhere_waits_until_its_patience_ends);
    RUN(a_granted_turn_is_not_cut_short);
    RUN(who_waited_too_long_gets_one_place_that_nobody_takes_away);
    RUN(every_reason_has_a_name);
    return test_result();
}
