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
    RUN(times_read_as_people_say_them);
    return test_result();
}
