/* What a worker's death means: which are the items' fault, whom halving finds, when a model is
 * given up, and how pauses grow. */
#include "queue/supervision.h"

#include <signal.h>

#include "support/check.h"

enum { NOW = 5000, MOST_ATTEMPTS = 3, BATCH_LIMIT = 16 };

static const struct nj_death crash = {NJ_DEATH_CRASH, SIGSEGV};
static const struct nj_death killed = {NJ_DEATH_KILLED, SIGKILL};

/* Items 0, 1, ... of job 1. */
static const struct nj_suspect *items_from(uint64_t first, size_t n_items)
{
    static struct nj_suspect items[BATCH_LIMIT];
    for (size_t i = 0; i < n_items; i++) {
        items[i] = (struct nj_suspect){1, first + i, MOST_ATTEMPTS};
    }
    return items;
}

static struct nj_supervision *begin(void)
{
    struct nj_supervision *supervision = NULL;
    struct nj_supervision_limits limits = nj_supervision_limits_default();
    CHECK_EQ(nj_supervision_create(&limits, &supervision, NULL), NJ_OK);
    return supervision;
}

static struct nj_supervision_answer die(struct nj_supervision *supervision,
                                        const struct nj_death *death, uint64_t first,
                                        size_t n_items, uint32_t n_attempts)
{
    struct nj_supervision_answer answer = {.verdict = NJ_VERDICT_STAY};
    CHECK_EQ(nj_supervision_died(supervision, death, items_from(first, n_items), n_items,
                                 n_attempts, NOW, &answer, NULL),
             NJ_OK);
    return answer;
}

/* The items on trial are these. */
static void check_trial(const struct nj_supervision *supervision, uint64_t first,
                        size_t n_wanted)
{
    size_t n_items = 0;
    const struct nj_suspect *trial = nj_supervision_trial(supervision, &n_items);
    CHECK_EQ(n_items, n_wanted);
    CHECK_EQ(trial == NULL, n_wanted == 0);
    for (size_t i = 0; trial != NULL && i < n_items && i < n_wanted; i++) {
        CHECK_EQ(trial[i].item_index, first + i);
    }
}

static void sweep_twice(struct nj_supervision *supervision, uint64_t first, size_t n_items)
{
    nj_supervision_swept(supervision, items_from(first, n_items), n_items);
    nj_supervision_swept(supervision, items_from(first, n_items), n_items);
}

static void an_end_is_named_by_what_was_seen(void)
{
    static const struct {
        struct nj_worker_end end;
        enum nj_death_kind kind;
        const char *text;
    } cases[] = {
        {{.code = 0}, NJ_DEATH_DONE, "ended"},
        {{.code = 7}, NJ_DEATH_DONE, "ended"},
        {{.code = 0, .was_asked = true}, NJ_DEATH_ASKED, "ended when asked to"},
        {{.code = 75, .was_asked = true}, NJ_DEATH_ASKED, "ended when asked to"},
        {{.code = 75}, NJ_DEATH_KILLED, "was killed from outside"},
        {{.code = 70}, NJ_DEATH_BUG, "found an error in itself (exit code 70)"},
        {{.code = 70, .was_asked = true},
         NJ_DEATH_BUG,
         "found an error in itself (exit code 70)"},
        {{.code = 99}, NJ_DEATH_BUG, "found an error in itself (exit code 99)"},
        {{.code = 12}, NJ_DEATH_REFUSED, "could not run (exit code 12)"},
        {{.is_signalled = true, .code = SIGSEGV},
         NJ_DEATH_CRASH,
         "crashed (signal 11, SIGSEGV)"},
        {{.is_signalled = true, .code = SIGABRT},
         NJ_DEATH_CRASH,
         "crashed (signal 6, SIGABRT)"},
        {{.is_signalled = true, .code = SIGKILL}, NJ_DEATH_KILLED, "was killed from outside"},
        {{.is_signalled = true, .code = SIGTERM}, NJ_DEATH_KILLED, "was killed from outside"},
        {{.is_signalled = true, .code = SIGKILL, .was_asked = true},
         NJ_DEATH_ASKED,
         "ended when asked to"},
        {{.is_signalled = true, .code = SIGKILL, .oom_kills_before = 2, .oom_kills_after = 3},
         NJ_DEATH_MEMORY,
         "was killed by the kernel at its memory limit"},
        {{.is_signalled = true, .code = SIGKILL, .was_hung = true},
         NJ_DEATH_HANG,
         "gave no sign of life and was killed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[NJ_DEATH_TEXT_BYTES];
        struct nj_death death = nj_death_of(&cases[i].end);
        CHECK_EQ(death.kind, cases[i].kind);
        CHECK_TEXT(nj_death_format(&death, text), cases[i].text);
    }
}

static void kills_from_outside_count_for_nobody(void)
{
    struct nj_supervision *supervision = begin();
    for (int i = 0; i < 500; i++) {
        struct nj_supervision_answer answer = die(supervision, &killed, 0, 1, 1000);
        CHECK_EQ(answer.verdict, NJ_VERDICT_RESTART);
        CHECK(!answer.counts);
    }
    check_trial(supervision, 0, 0);
    nj_supervision_destroy(supervision);
}

static void pauses_double_up_to_a_limit_and_begin_anew_after_progress(void)
{
    struct nj_supervision *supervision = begin();
    for (int64_t pause = 1000; pause < 300000; pause *= 2) {
        CHECK_EQ(die(supervision, &killed, 0, 2, 0).restart_at_ms, NOW + pause);
    }
    CHECK_EQ(die(supervision, &killed, 0, 2, 0).restart_at_ms, NOW + 300000);
    CHECK_EQ(die(supervision, &killed, 0, 2, 0).restart_at_ms, NOW + 300000);
    nj_supervision_swept(supervision, items_from(0, 1), 1);
    CHECK_EQ(die(supervision, &killed, 0, 2, 0).restart_at_ms, NOW + 1000);
    nj_supervision_destroy(supervision);
}

static void who_ended_as_asked_or_with_nothing_to_do_is_not_restarted(void)
{
    struct nj_supervision *supervision = begin();
    struct nj_death asked = {NJ_DEATH_ASKED, SIGTERM};
    struct nj_death done = {NJ_DEATH_DONE, 0};
    struct nj_death refused = {NJ_DEATH_REFUSED, 12};
    CHECK_EQ(die(supervision, &asked, 0, 3, 0).verdict, NJ_VERDICT_STAY);
    CHECK_EQ(die(supervision, &done, 0, 0, 0).verdict, NJ_VERDICT_STAY);
    CHECK_EQ(die(supervision, &done, 0, 2, 0).verdict, NJ_VERDICT_RESTART);
    CHECK_EQ(die(supervision, &refused, 0, 2, 0).verdict, NJ_VERDICT_PARK_REFUSED);
    nj_supervision_destroy(supervision);
}

static void an_item_that_crashes_alone_is_parked_after_its_attempts(void)
{
    struct nj_supervision *supervision = begin();
    for (uint32_t attempt = 1; attempt < MOST_ATTEMPTS; attempt++) {
        struct nj_supervision_answer answer = die(supervision, &crash, 4, 1, attempt);
        CHECK_EQ(answer.verdict, NJ_VERDICT_RESTART);
        CHECK(answer.counts);
        check_trial(supervision, 4, 1); /* nobody is put beside it */
    }
    struct nj_supervision_answer answer = die(supervision, &crash, 4, 1, MOST_ATTEMPTS);
    CHECK_EQ(answer.verdict, NJ_VERDICT_PARK_ITEM);
    CHECK_EQ(answer.parked.item_index, 4);
    CHECK(answer.restart_at_ms < INT64_MAX);
    check_trial(supervision, 0, 0);
    nj_supervision_destroy(supervision);
}

static void suspects_are_halved_until_one_is_left(void)
{
    struct nj_supervision *supervision = begin();
    CHECK(!die(supervision, &crash, 0, 5, 0).counts);
    check_trial(supervision, 0, 3);
    CHECK(!die(supervision, &crash, 0, 3, 0).counts);
    check_trial(supervision, 0, 2);
    sweep_twice(supervision, 0, 2); /* these are cleared */
    check_trial(supervision, 2, 1);
    CHECK(die(supervision, &crash, 2, 1, 1).counts);
    CHECK(die(supervision, &crash, 2, 1, 2).counts);
    CHECK_EQ(die(supervision, &crash, 2, 1, 3).verdict, NJ_VERDICT_PARK_ITEM);
    check_trial(supervision, 3, 2);
    sweep_twice(supervision, 3, 2);
    check_trial(supervision, 0, 0);
    nj_supervision_destroy(supervision);
}

static void one_sweep_clears_nobody(void)
{
    struct nj_supervision *supervision = begin();
    (void)die(supervision, &crash, 0, 4, 0);
    nj_supervision_swept(supervision, items_from(0, 2), 2);
    nj_supervision_swept(supervision, items_from(0, 1), 1);
    check_trial(supervision, 0, 2);
    nj_supervision_swept(supervision, items_from(1, 1), 1);
    check_trial(supervision, 2, 2);
    nj_supervision_destroy(supervision);
}

static void who_ends_is_tried_no_more(void)
{
    struct nj_supervision *supervision = begin();
    (void)die(supervision, &crash, 0, 4, 0);
    nj_supervision_ended(supervision, 1, 3);
    nj_supervision_ended(supervision, 1, 2);
    nj_supervision_ended(supervision, 2, 0); /* of another job */
    check_trial(supervision, 0, 2);
    nj_supervision_ended(supervision, 1, 0);
    check_trial(supervision, 1, 1);
    nj_supervision_ended(supervision, 1, 1);
    check_trial(supervision, 0, 0);
    nj_supervision_destroy(supervision);
}

/* A kill in the middle of a trial does not end it. */
static void a_trial_survives_kills_and_a_part_of_it_that_dies_is_halved(void)
{
    struct nj_supervision *supervision = begin();
    (void)die(supervision, &crash, 0, 8, 0);
    (void)die(supervision, &killed, 0, 4, 0);
    check_trial(supervision, 0, 4);
    (void)die(supervision, &crash, 2, 2, 0); /* only two of them were in the batch */
    check_trial(supervision, 2, 1);
    sweep_twice(supervision, 2, 1);
    check_trial(supervision, 3, 1);
    sweep_twice(supervision, 3, 1);
    check_trial(supervision, 0, 2); /* those that were not */
    nj_supervision_destroy(supervision);
}

static void when_nobody_alone_is_to_blame_the_batch_gets_narrower(void)
{
    struct nj_supervision *supervision = begin();
    CHECK_EQ(nj_supervision_most_places(supervision), UINT32_MAX);
    (void)die(supervision, &crash, 0, 4, 0);
    sweep_twice(supervision, 0, 2);
    sweep_twice(supervision, 2, 2);
    check_trial(supervision, 0, 0);
    CHECK(!die(supervision, &crash, 0, 4, 0).counts);
    CHECK_EQ(nj_supervision_most_places(supervision), 2);
    check_trial(supervision, 0, 0);
    nj_supervision_forget(supervision);
    CHECK_EQ(nj_supervision_most_places(supervision), UINT32_MAX);
    nj_supervision_destroy(supervision);
}

static void much_later_a_death_is_a_new_story(void)
{
    struct nj_supervision *supervision = begin();
    (void)die(supervision, &crash, 0, 2, 0);
    sweep_twice(supervision, 0, 1);
    sweep_twice(supervision, 1, 1);
    for (int i = 0; i < 20; i++) {
        nj_supervision_swept(supervision, items_from(0, 2), 2);
    }
    (void)die(supervision, &crash, 0, 2, 0);
    check_trial(supervision, 0, 1);
    CHECK_EQ(nj_supervision_most_places(supervision), UINT32_MAX);
    nj_supervision_destroy(supervision);
}

static void a_model_that_kills_before_any_item_is_given_up(void)
{
    struct nj_supervision *supervision = begin();
    for (int i = 1; i < 5; i++) {
        CHECK_EQ(die(supervision, &crash, 0, 0, 0).verdict, NJ_VERDICT_RESTART);
        CHECK_EQ(die(supervision, &killed, 0, 0, 0).verdict, NJ_VERDICT_RESTART);
    }
    CHECK_EQ(die(supervision, &crash, 0, 0, 0).verdict, NJ_VERDICT_PARK_MODEL);
    nj_supervision_destroy(supervision);
}

int main(void)
{
    RUN(an_end_is_named_by_what_was_seen);
    RUN(kills_from_outside_count_for_nobody);
    RUN(pauses_double_up_to_a_limit_and_begin_anew_after_progress);
    RUN(who_ended_as_asked_or_with_nothing_to_do_is_not_restarted);
    RUN(an_item_that_crashes_alone_is_parked_after_its_attempts);
    RUN(suspects_are_halved_until_one_is_left);
    RUN(one_sweep_clears_nobody);
    RUN(who_ends_is_tried_no_more);
    RUN(a_trial_survives_kills_and_a_part_of_it_that_dies_is_halved);
    RUN(when_nobody_alone_is_to_blame_the_batch_gets_narrower);
    RUN(much_later_a_death_is_a_new_story);
    RUN(a_model_that_kills_before_any_item_is_given_up);
    return test_result();
}
