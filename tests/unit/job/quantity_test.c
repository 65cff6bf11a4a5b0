#include "job/quantity.h"

#include "support/check.h"

static void sizes_have_a_number_and_a_unit(void)
{
    static const struct {
        const char *text;
        uint64_t bytes;
    } cases[] = {{"0B", 0},
                 {"512B", 512},
                 {"500MB", 500000000},
                 {"8GiB", UINT64_C(8) << 30},
                 {"8 GiB", UINT64_C(8) << 30},
                 {"1.5KiB", 1536},
                 {"0.001kB", 1},
                 {"2.25TB", UINT64_C(2250000000000)},
                 {"8388607TiB", UINT64_C(8388607) << 40}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t bytes = 7;
        CHECK(nj_size_parse(nj_text_from(cases[i].text), &bytes));
        CHECK_EQ(bytes, cases[i].bytes);
    }
}

static void what_is_no_size_leaves_the_value_alone(void)
{
    static const char *const texts[] = {
        "",          "8",          "GiB",   "8G",         "8gib",
        "-1GiB",     "8  GiB",     "8GiB ", "1e3MB",      "0.0001B",
        "1.2345GiB", "8388608TiB", "0.5B",  ".5GiB",      "1.GiB",
        "8GiB8",     "1GiB1B",     "GiB8",  "8388609TiB", "99999999999999999999B"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t bytes = 7;
        CHECK(!nj_size_parse(nj_text_from(texts[i]), &bytes));
        CHECK_EQ(bytes, 7);
    }
}

static void what_was_meant_by_a_size_is_guessed(void)
{
    static const char *const cases[][2] = {
        {"8g", "8GB"},         {"8G", "8GB"}, {"500mb", "500MB"}, {"1.5 gib", "1.5GiB"},
        {"8  GiB", "8GiB"},    {"2K", "2kB"}, {"2ki", "2KiB"},    {"1t", "1TB"},
        {"8gx", NULL},         {"8", NULL},   {"g", NULL},        {"0g", NULL},
        {"9999999999t", NULL}, {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char guess[NJ_SIZE_GUESS_BYTES];
        bool has_guess = nj_size_guess(nj_text_from(cases[i][0]), guess);
        CHECK_EQ(has_guess, cases[i][1] != NULL);
        if (has_guess && cases[i][1] != NULL) {
            CHECK_TEXT(guess, cases[i][1]);
        }
    }
}

static void durations_are_sums_of_falling_units(void)
{
    static const uint64_t second = 1000000000;
    static const struct {
        const char *text;
        uint64_t milliseconds;
    } cases[] = {{"0s", 0},
                 {"30s", 30000},
                 {"15m", 900000},
                 {"20h", 72000000},
                 {"2d", 172800000},
                 {"250ms", 250},
                 {"1h30m", 5400000},
                 {"1.5h", 5400000},
                 {"1d2h3m4s5ms", 93784005},
                 {"106751d", UINT64_C(9223286400000)}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t duration_ns = 7;
        CHECK(nj_duration_parse(nj_text_from(cases[i].text), &duration_ns));
        CHECK_EQ(duration_ns, cases[i].milliseconds * (second / 1000));
    }
}

static void what_is_no_duration_leaves_the_value_alone(void)
{
    static const char *const texts[] = {"",    "30",   "s",       "1m1h",      "1h1h",
                                        "-1s", "1 s",  "1h 30m",  "1s2",       "1.2345s",
                                        "1H",  "1min", "106752d", "106751d24h"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        uint64_t duration_ns = 7;
        CHECK(!nj_duration_parse(nj_text_from(texts[i]), &duration_ns));
        CHECK_EQ(duration_ns, 7);
    }
}

int main(void)
{
    RUN(sizes_have_a_number_and_a_unit);
    RUN(what_is_no_size_leaves_the_value_alone);
    RUN(what_was_meant_by_a_size_is_guessed);
    RUN(durations_are_sums_of_falling_units);
    RUN(what_is_no_duration_leaves_the_value_alone);
    return test_result();
}
