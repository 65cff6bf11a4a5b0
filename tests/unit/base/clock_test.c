#include "base/clock.h"
#include "support/check.h"

static void times_are_written_in_utc_with_milliseconds(void)
{
    char text[NJ_CLOCK_TEXT_BYTES];
    CHECK_TEXT(nj_clock_format(0, text), "1970-01-01T00:00:00.000Z");
    CHECK_TEXT(nj_clock_format(INT64_C(1796162400007), text), "2026-12-01T22:00:00.007Z");
    CHECK_TEXT(nj_clock_format(INT64_C(1709210096789), text), "2024-02-29T12:34:56.789Z");
}

static void times_before_1970_count_backwards(void)
{
    char text[NJ_CLOCK_TEXT_BYTES];
    CHECK_TEXT(nj_clock_format(-1, text), "1969-12-31T23:59:59.999Z");
    CHECK_TEXT(nj_clock_format(-1000, text), "1969-12-31T23:59:59.000Z");
}

static void times_outside_four_digit_years_stop_at_the_nearest(void)
{
    char text[NJ_CLOCK_TEXT_BYTES];
    CHECK_TEXT(nj_clock_format(INT64_MAX, text), "9999-12-31T23:59:59.999Z");
    CHECK_TEXT(nj_clock_format(INT64_MIN, text), "0000-01-01T00:00:00.000Z");
}

static void system_clock_never_goes_back_and_knows_the_century(void)
{
    struct nj_clock clock = nj_clock_system();
    uint64_t before = clock.monotonic_ns(clock.context);
    uint64_t after = clock.monotonic_ns(clock.context);
    CHECK(after >= before);
    CHECK(clock.unix_ms(clock.context) > INT64_C(1700000000000)); /* November 2023 */
}

int main(void)
{
    RUN(times_are_written_in_utc_with_milliseconds);
    RUN(times_before_1970_count_backwards);
    RUN(times_outside_four_digit_years_stop_at_the_nearest);
    RUN(system_clock_never_goes_back_and_knows_the_century);
    return test_result();
}
