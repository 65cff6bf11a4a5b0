#include "cli/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

/* A clock that stands where the test puts it. */
static uint64_t now_ns;

static uint64_t read_clock(void *context)
{
    (void)context;
    return now_ns;
}

static int64_t read_calendar(void *context)
{
    (void)context;
    return 0;
}

struct fixture {
    struct nj_progress progress;
    char *text;
    size_t length;
    FILE *file;
};

static void prepare(struct fixture *fixture, bool is_terminal)
{
    struct nj_clock clock = {.monotonic_ns = read_clock, .unix_ms = read_calendar};
    now_ns = 0;
    fixture->file = open_memstream(&fixture->text, &fixture->length);
    REQUIRE(fixture->file != NULL);
    nj_progress_init(&fixture->progress, fixture->file, is_terminal, clock, 40.0);
}

static void release(struct fixture *fixture)
{
    (void)fclose(fixture->file);
    free(fixture->text);
}

static const char *written(struct fixture *fixture)
{
    (void)fflush(fixture->file);
    return fixture->text;
}

static void begin_items(struct fixture *fixture, unsigned n)
{
    struct nj_event started = {.type = NJ_EVENT_ITEM_STARTED,
                               .n_items = 100,
                               .n_items_done = fixture->progress.n_items_done};
    for (unsigned i = 0; i < n; i++) {
        nj_progress_event(&fixture->progress, &started);
    }
}

/* A sweep that decodes and ends `seconds` from now. */
static void pass(struct fixture *fixture, double seconds, uint64_t n_tokens)
{
    uint64_t n_done = fixture->progress.n_items_done;
    struct nj_event token = {.type = NJ_EVENT_TOKEN, .n_items = 100, .n_items_done = n_done};
    struct nj_event sweep = {.type = NJ_EVENT_SWEEP_DONE,
                             .n_items = 100,
                             .n_items_done = n_done,
                             .n_rows = n_tokens};
    now_ns += (uint64_t)(seconds * 1e9);
    for (uint64_t i = 0; i < n_tokens; i++) {
        nj_progress_event(&fixture->progress, &token);
    }
    nj_progress_event(&fixture->progress, &sweep);
}

static void end_items(struct fixture *fixture, uint64_t n_done, uint64_t length)
{
    struct nj_event done = {.type = NJ_EVENT_ITEM_DONE,
                            .n_items = 100,
                            .n_items_done = n_done,
                            .n_output_tokens = length};
    nj_progress_event(&fixture->progress, &done);
}

static void time_left_waits_for_twenty_seconds_and_fifty_tokens(void)
{
    struct fixture fixture;
    struct nj_pace_range range;
    prepare(&fixture, true);
    pass(&fixture, 19.0, 49);
    end_items(&fixture, 1, 30);
    CHECK(!nj_progress_time_left(&fixture.progress, &range));
    pass(&fixture, 1.5, 0);
    CHECK(!nj_progress_time_left(&fixture.progress, &range));
    pass(&fixture, 0.1, 1);
    CHECK(nj_progress_time_left(&fixture.progress, &range));
    release(&fixture);
}

/* Ten items two seconds apart, ten tokens each: 90 items of 10 tokens at 5 tokens/s are 180 s.
 */
static void time_left_is_a_range_around_the_truth(void)
{
    struct fixture fixture;
    struct nj_pace_range range = {0};
    prepare(&fixture, true);
    begin_items(&fixture, 100);
    for (uint64_t i = 1; i <= 10; i++) {
        pass(&fixture, 2.0, 10);
        end_items(&fixture, i, 10);
    }
    REQUIRE(nj_progress_time_left(&fixture.progress, &range));
    CHECK(range.low_s < 180.0 && range.low_s > 150.0);
    CHECK(range.high_s > 180.0 && range.high_s < 210.0);
    CHECK(!range.is_guess);
    release(&fixture);
}

/* Restored work is nobody's speed, and need not be done again. */
static void what_earlier_runs_did_does_not_make_this_one_faster(void)
{
    struct fixture fixture;
    struct nj_pace_range range = {0};
    struct nj_event started = {.type = NJ_EVENT_RUN_STARTED,
                               .n_items = 100,
                               .n_items_done = 50,
                               .n_items_kept = 50,
                               .n_tokens_restored = 700,
                               .n_running = 4};
    struct nj_event resumed = {
        .type = NJ_EVENT_ITEM_RESUMED, .n_items = 100, .n_items_done = 50};
    prepare(&fixture, false);
    nj_progress_event(&fixture.progress, &started);
    resumed.n_tokens_restored = 200;
    nj_progress_event(&fixture.progress, &resumed);
    begin_items(&fixture, 49);
    for (uint64_t i = 1; i <= 10; i++) {
        pass(&fixture, 2.0, 10);
        end_items(&fixture, 50 + i, i == 1 ? 210 : 10);
    }
    /* 100 tokens in 20 s; 40 items of 30 tokens in the mean are 240 s. */
    REQUIRE(nj_progress_time_left(&fixture.progress, &range));
    CHECK_NEAR(nj_pace_token_rate(&fixture.progress.pace), 5.0, 0.01);
    CHECK(range.low_s < 240.0 && range.high_s > 240.0);
    CHECK_NEAR(range.low_s / 0.9 + range.high_s / 1.1, 480.0, 1.0);
    CHECK_CONTAINS(written(&fixture), "kept 50 finished items, restored 700 tokens of 4 items");
    release(&fixture);
}

/* 100 items of half of 40 tokens, of which 90 are there: 1,910 at 3 a second, a guess. */
static void before_an_item_ends_the_time_left_is_marked_as_a_guess(void)
{
    struct fixture fixture;
    prepare(&fixture, false);
    begin_items(&fixture, 100);
    pass(&fixture, 20.0, 60);
    pass(&fixture, 10.0, 30);
    CHECK_TEXT(written(&fixture), "nightjar: 0/100 items, 90 tokens, 3.0 tokens/s, left: "
                                  "~5 min to 18 min\n");
    release(&fixture);
}

static void waiting_for_room_on_the_disk_is_not_slowness(void)
{
    struct fixture fixture;
    struct nj_event paused = {.type = NJ_EVENT_RUN_PAUSED, .n_items = 100};
    prepare(&fixture, true);
    pass(&fixture, 2.0, 10);
    nj_progress_event(&fixture.progress, &paused);
    pass(&fixture, 3000.0, 10);
    pass(&fixture, 2.0, 10);
    CHECK_NEAR(nj_pace_token_rate(&fixture.progress.pace), 5.0, 0.01);
    release(&fixture);
}

static void without_a_terminal_lines_are_plain_and_few(void)
{
    struct fixture fixture;
    struct nj_event sweep = {.type = NJ_EVENT_SWEEP_DONE, .n_items = 100};
    unsigned n_lines = 0;
    prepare(&fixture, false);
    for (int second = 0; second < 61; second++) {
        now_ns += 1000000000;
        nj_progress_event(&fixture.progress, &sweep);
    }
    const char *text = written(&fixture);
    for (const char *c = text; *c != '\0'; c++) {
        n_lines += *c == '\n';
    }
    CHECK_EQ(n_lines, 2);
    CHECK(strchr(text, '\r') == NULL);
    CHECK(strchr(text, '\033') == NULL);
    release(&fixture);
}

/* Two hundredths of the items each second. */
static void lines_come_with_each_hundredth_and_at_most_one_a_second(void)
{
    struct fixture fixture;
    unsigned n_lines = 0;
    prepare(&fixture, false);
    for (uint64_t i = 1; i <= 100; i++) {
        pass(&fixture, 0.5, 10);
        end_items(&fixture, i, 10);
    }
    for (const char *c = written(&fixture); *c != '\0'; c++) {
        n_lines += *c == '\n';
    }
    CHECK_EQ(n_lines, 50);
    release(&fixture);
}

static void a_long_prompt_shows_how_far_it_is_read(void)
{
    struct fixture fixture;
    struct nj_event sweep = {.type = NJ_EVENT_SWEEP_DONE,
                             .n_items = 1,
                             .n_rows = 6200,
                             .n_prefill_rows = 6200,
                             .n_prefill = 600000,
                             .n_prefill_read = 12000};
    prepare(&fixture, false);
    now_ns += UINT64_C(31000000000);
    nj_progress_event(&fixture.progress, &sweep);
    CHECK_TEXT(written(&fixture),
               "nightjar: 0/1 item, prefill 12,000/600,000 tokens, 200.0 tokens/s, left: -\n");
    release(&fixture);
}

static void a_range_of_equal_ends_is_one_time(void)
{
    struct fixture fixture;
    prepare(&fixture, false);
    for (uint64_t i = 1; i <= 99; i++) {
        pass(&fixture, 1.1, 10);
        end_items(&fixture, i, 10);
    }
    CHECK_CONTAINS(written(&fixture), "90/100 items");
    CHECK_CONTAINS(written(&fixture), "left: ");
    CHECK_CONTAINS(written(&fixture), "99/100 items");
    now_ns += UINT64_C(31000000000);
    end_items(&fixture, 100, 10);
    CHECK_CONTAINS(written(&fixture), "100/100 items, 990 tokens");
    CHECK_CONTAINS(written(&fixture), "left: about 0 s\n");
    release(&fixture);
}

static void a_terminal_has_its_line_from_the_first_sweep_on(void)
{
    struct fixture fixture;
    prepare(&fixture, true);
    pass(&fixture, 0.01, 2);
    CHECK_CONTAINS(written(&fixture), "nightjar: 0/100 items, 2 tokens");
    pass(&fixture, 0.01, 2);
    CHECK(strstr(written(&fixture), "4 tokens") == NULL);
    pass(&fixture, 0.2, 2);
    CHECK_CONTAINS(written(&fixture), "6 tokens");
    release(&fixture);
}

/* A line that wrapped could not be written over. */
static void on_a_terminal_the_line_is_written_over_and_does_not_wrap(void)
{
    struct fixture fixture;
    prepare(&fixture, true);
    pass(&fixture, 1.0, 3);
    nj_progress_end_line(&fixture.progress);
    CHECK_TEXT(written(&fixture), "\r\033[K\033[?7lnightjar: 0/100 items, 3 tokens, "
                                  "3.0 tokens/s, left: -\033[?7h\n");
    release(&fixture);
}

static void times_read_as_people_say_them(void)
{
    char text[32];
    nj_progress_format_time(12.4, text, sizeof text);
    CHECK_TEXT(text, "12 s");
    nj_progress_format_time(240.0, text, sizeof text);
    CHECK_TEXT(text, "4 min");
    nj_progress_format_time(7800.0, text, sizeof text);
    CHECK_TEXT(text, "2 h 10 min");
}

int main(void)
{
    RUN(time_left_waits_for_twenty_seconds_and_fifty_tokens);
    RUN(time_left_is_a_range_around_the_truth);
    RUN(what_earlier_runs_did_does_not_make_this_one_faster);
    RUN(before_an_item_ends_the_time_left_is_marked_as_a_guess);
    RUN(waiting_for_room_on_the_disk_is_not_slowness);
    RUN(without_a_terminal_lines_are_plain_and_few);
    RUN(lines_come_with_each_hundredth_and_at_most_one_a_second);
    RUN(a_long_prompt_shows_how_far_it_is_read);
    RUN(a_range_of_equal_ends_is_one_time);
    RUN(a_terminal_has_its_line_from_the_first_sweep_on);
    RUN(on_a_terminal_the_line_is_written_over_and_does_not_wrap);
    RUN(times_read_as_people_say_them);
    return test_result();
}
