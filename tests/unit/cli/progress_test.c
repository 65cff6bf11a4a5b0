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
    nj_progress_init(&fixture->progress, fixture->file, is_terminal, clock);
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

static void pass(struct fixture *fixture, double seconds, uint64_t n_tokens)
{
    struct nj_event token = {.type = NJ_EVENT_TOKEN, .n_items = 100};
    now_ns += (uint64_t)(seconds * 1e9);
    for (uint64_t i = 0; i < n_tokens; i++) {
        token.n_items_done = fixture->progress.n_items_done;
        nj_progress_event(&fixture->progress, &token);
    }
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
    double low = 0.0;
    double high = 0.0;
    prepare(&fixture, true);
    pass(&fixture, 19.0, 60);
    end_items(&fixture, 1, 30);
    CHECK(!nj_progress_time_left(&fixture.progress, &low, &high));
    pass(&fixture, 1.5, 0);
    CHECK(nj_progress_time_left(&fixture.progress, &low, &high));
    release(&fixture);
}

/* Ten items a second apart, ten tokens each: 90 items of 10 tokens at 5 tokens/s are 180 s. */
static void time_left_is_a_range_around_the_truth(void)
{
    struct fixture fixture;
    double low = 0.0;
    double high = 0.0;
    prepare(&fixture, true);
    for (uint64_t i = 1; i <= 10; i++) {
        pass(&fixture, 2.0, 10);
        end_items(&fixture, i, 10);
    }
    REQUIRE(nj_progress_time_left(&fixture.progress, &low, &high));
    CHECK(low < 180.0 && low > 150.0);
    CHECK(high > 180.0 && high < 210.0);
    release(&fixture);
}

/* Restored work is nobody's speed. */
static void what_earlier_runs_did_does_not_make_this_one_faster(void)
{
    struct fixture fixture;
    double low = 0.0;
    double high = 0.0;
    struct nj_event started = {.type = NJ_EVENT_RUN_STARTED,
                               .n_items = 100,
                               .n_items_done = 50,
                               .n_items_kept = 50,
                               .n_tokens_restored = 700,
                               .n_running = 4};
    prepare(&fixture, false);
    nj_progress_event(&fixture.progress, &started);
    for (uint64_t i = 1; i <= 10; i++) {
        pass(&fixture, 2.0, 10);
        end_items(&fixture, 50 + i, 10);
    }
    REQUIRE(nj_progress_time_left(&fixture.progress, &low, &high));
    CHECK(low < 80.0 && high > 80.0 && high < 100.0);
    CHECK_CONTAINS(written(&fixture), "kept 50 finished items, restored 700 tokens of 4 items");
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

/* Sixty quick items: a line for each tenth, and at most one a second. */
static void quick_jobs_print_few_lines(void)
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
    CHECK_EQ(n_lines, 10);
    release(&fixture);
}

static void a_long_prompt_shows_how_far_it_is_read(void)
{
    struct fixture fixture;
    struct nj_event sweep = {.type = NJ_EVENT_SWEEP_DONE,
                             .n_items = 1,
                             .n_prefill = 600000,
                             .n_prefill_read = 12000};
    prepare(&fixture, false);
    now_ns += UINT64_C(31000000000);
    nj_progress_event(&fixture.progress, &sweep);
    CHECK_TEXT(written(&fixture),
               "nightjar: 0/1 item, prefill 12,000/600,000 tokens, left: estimating\n");
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
    CHECK(strstr(written(&fixture), "left: -") == NULL);
    pass(&fixture, 31.0, 0);
    end_items(&fixture, 100, 10);
    CHECK_CONTAINS(written(&fixture), "100/100 items, 990 tokens");
    CHECK_CONTAINS(written(&fixture), "left: about 0 s\n");
    release(&fixture);
}

/* A line that wrapped could not be written over. */
static void on_a_terminal_the_line_is_written_over_and_does_not_wrap(void)
{
    struct fixture fixture;
    prepare(&fixture, true);
    pass(&fixture, 1.0, 3);
    end_items(&fixture, 1, 3);
    nj_progress_end_line(&fixture.progress);
    CHECK_TEXT(written(&fixture), "\r\033[K\033[?7lnightjar: 1/100 items, 3 tokens, "
                                  "3.0 tokens/s, left: estimating\033[?7h\n");
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
    RUN(without_a_terminal_lines_are_plain_and_few);
    RUN(quick_jobs_print_few_lines);
    RUN(a_long_prompt_shows_how_far_it_is_read);
    RUN(a_range_of_equal_ends_is_one_time);
    RUN(on_a_terminal_the_line_is_written_over_and_does_not_wrap);
    RUN(times_read_as_people_say_them);
    return test_result();
}
