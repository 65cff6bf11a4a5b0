#include "cli/pace.h"

#include "support/check.h"

enum { N_SWEEPS_LIMIT = 4, N_REPEATS = 4000 };

struct rate_case {
    const char *what;
    struct nj_pace_sweep sweeps[N_SWEEPS_LIMIT]; /* until one of 0 seconds */
    double tokens;                               /* a second */
    double prefill;
};

static const struct rate_case rate_cases[] = {
    {.what = "nothing yet"},
    {"only decoding", {{.seconds = 2.0, .n_decode_rows = 8, .n_tokens = 8}}, 4.0, 0.0},
    {"only reading, nothing chosen", {{.seconds = 2.0, .n_prefill_rows = 600}}, 0.0, 300.0},
    /* The last rows of prompts choose tokens; without other sweeps that is the speed. */
    {"answers of one token",
     {{.seconds = 4.0, .n_prefill_rows = 400, .n_tokens = 8}},
     2.0,
     100.0},
    {"a long prompt does not make decoding slow",
     {{.seconds = 1.0, .n_decode_rows = 5, .n_tokens = 5},
      {.seconds = 1.0, .n_prefill_rows = 500, .n_decode_rows = 4, .n_tokens = 5}},
     5.0,
     500.0},
    {"few rows of a prompt do not make decoding fast",
     {{.seconds = 1.0, .n_prefill_rows = 3, .n_decode_rows = 9, .n_tokens = 9}},
     9.0,
     0.0},
};

static void rates_of_reading_and_decoding_are_kept_apart(void)
{
    for (size_t i = 0; i < sizeof rate_cases / sizeof rate_cases[0]; i++) {
        const struct rate_case *row = &rate_cases[i];
        struct nj_pace pace = {0};
        for (int k = 0; k < N_SWEEPS_LIMIT && row->sweeps[k].seconds > 0.0; k++) {
            nj_pace_add(&pace, &row->sweeps[k]);
        }
        bool is_right =
            CHECK_NEAR(nj_pace_token_rate(&pace), row->tokens, 0.01 * row->tokens) &&
            CHECK_NEAR(nj_pace_prefill_rate(&pace), row->prefill, 0.01 * row->prefill);
        if (!is_right) {
            test_fail(__FILE__, __LINE__, "in the row: %s", row->what);
        }
    }
}

static void decode(struct nj_pace *pace, unsigned n_seconds, uint64_t tokens_a_second)
{
    struct nj_pace_sweep sweep = {
        .seconds = 1.0, .n_decode_rows = tokens_a_second, .n_tokens = tokens_a_second};
    for (unsigned i = 0; i < n_seconds; i++) {
        nj_pace_add(pace, &sweep);
    }
}

/* An hour at 100, then slower: after two minutes most of the way, after ten all of it. */
static void a_rate_follows_within_minutes(void)
{
    struct nj_pace pace = {0};
    decode(&pace, 3600, 100);
    CHECK_NEAR(nj_pace_token_rate(&pace), 100.0, 0.1);
    decode(&pace, 120, 10);
    CHECK_NEAR(nj_pace_token_rate(&pace), 10.0 + 90.0 / 2.718, 2.0);
    decode(&pace, 480, 10);
    CHECK_NEAR(nj_pace_token_rate(&pace), 10.0, 1.0);
}

static void a_sweep_without_rows_or_time_says_nothing(void)
{
    struct nj_pace pace = {0};
    decode(&pace, 10, 10);
    nj_pace_add(&pace, &(struct nj_pace_sweep){.seconds = 500.0});
    nj_pace_add(&pace, &(struct nj_pace_sweep){.n_decode_rows = 500, .n_tokens = 500});
    CHECK_NEAR(nj_pace_token_rate(&pace), 10.0, 0.001);
}

/* 10 tokens and 100 positions a second; lengths of 20 without spread, unless it says so. */
struct time_case {
    const char *what;
    struct nj_pace_lengths lengths;
    struct nj_pace_work work;
    double low_s, high_s;
    bool is_guess;
};

static const struct time_case time_cases[] = {
    {"nothing left", {4, 80.0, 1600.0, 100.0}, {0}, 0.0, 0.0, false},
    {"decoding only",
     {4, 80.0, 1600.0, 100.0},
     {.n_items = 5},
     9.0, /* 5 x 20 / 10 = 10, a tenth to each side */
     11.0,
     false},
    {"what is chosen for items under way is not chosen again",
     {4, 80.0, 1600.0, 100.0},
     {.n_items = 5, .tokens_open = 40.0},
     5.4,
     6.6,
     false},
    {"items longer than the mean are no negative work",
     {4, 80.0, 1600.0, 100.0},
     {.n_items = 1, .tokens_open = 70.0},
     0.0,
     0.0,
     false},
    {"prompts to come and the rest of the open ones",
     {4, 80.0, 1600.0, 100.0},
     {.n_items = 10, .n_items_waiting = 10, .prompt_tokens = 50.0, .prefill_open = 100.0},
     0.9 * (6.0 + 19.0), /* the first token of each comes with its prompt */
     1.1 * (6.0 + 19.0),
     false},
    {"lengths that differ widen the range",
     {4, 80.0, 2000.0, 100.0}, /* variance 100 */
     {.n_items = 4},
     0.9 * 4.0, /* 80 tokens, and 2 x sqrt(400) less or more */
     1.1 * 12.0,
     false},
    {"before an item has ended, half of max_tokens is guessed",
     {0, 0.0, 0.0, 100.0},
     {.n_items = 4},
     0.9 * 10.0, /* 4 x 50 tokens, half of them less or more */
     1.1 * 30.0,
     true},
};

static void time_left_is_the_work_left_at_its_rates(void)
{
    struct nj_pace pace = {0};
    nj_pace_add(&pace, &(struct nj_pace_sweep){1.0, .n_decode_rows = 10, .n_tokens = 10});
    nj_pace_add(&pace, &(struct nj_pace_sweep){1.0, .n_prefill_rows = 100});
    for (size_t i = 0; i < sizeof time_cases / sizeof time_cases[0]; i++) {
        const struct time_case *row = &time_cases[i];
        struct nj_pace_range range = {-1.0, -1.0, !row->is_guess};
        bool is_right = CHECK(nj_pace_time_left(&pace, &row->lengths, &row->work, &range)) &&
                        CHECK_NEAR(range.low_s, row->low_s, 0.01) &&
                        CHECK_NEAR(range.high_s, row->high_s, 0.01) &&
                        CHECK_EQ(range.is_guess, row->is_guess);
        if (!is_right) {
            test_fail(__FILE__, __LINE__, "in the row: %s", row->what);
        }
    }
}

static void nothing_is_said_while_a_rate_that_it_takes_is_unknown(void)
{
    struct nj_pace pace = {0};
    struct nj_pace_range range;
    const struct nj_pace_lengths lengths = {4, 80.0, 1600.0, 100.0};
    const struct nj_pace_work decoding = {.n_items = 5};
    const struct nj_pace_work reading = {.n_items = 5, .prefill_open = 10.0};
    CHECK(!nj_pace_time_left(&pace, &lengths, &decoding, &range));
    decode(&pace, 10, 10);
    CHECK(nj_pace_time_left(&pace, &lengths, &decoding, &range));
    CHECK(!nj_pace_time_left(&pace, &lengths, &reading, &range));
}

/* Short answers: each sweep mostly reads prompts and decodes other items beside. 100 items of
 * 20 + 4 rows, 24 a second. */
static void what_is_decoded_beside_prompts_is_not_counted_twice(void)
{
    struct nj_pace pace = {0};
    struct nj_pace_range range = {0};
    const struct nj_pace_lengths lengths = {10, 50.0, 250.0, 8.0};
    const struct nj_pace_work work = {
        .n_items = 100, .n_items_waiting = 100, .prompt_tokens = 20.0};
    for (int i = 0; i < N_REPEATS; i++) {
        nj_pace_add(&pace, &(struct nj_pace_sweep){1.0, 20, 4, 5});
    }
    REQUIRE(nj_pace_time_left(&pace, &lengths, &work, &range));
    CHECK_NEAR(range.low_s, 90.0, 0.1);
    CHECK_NEAR(range.high_s, 110.0, 0.1);
}

int main(void)
{
    RUN(rates_of_reading_and_decoding_are_kept_apart);
    RUN(a_rate_follows_within_minutes);
    RUN(a_sweep_without_rows_or_time_says_nothing);
    RUN(time_left_is_the_work_left_at_its_rates);
    RUN(nothing_is_said_while_a_rate_that_it_takes_is_unknown);
    RUN(what_is_decoded_beside_prompts_is_not_counted_twice);
    return test_result();
}
