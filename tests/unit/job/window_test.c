/* Windows: days of opening, half-open ends, both nights of changing clocks. */
#include "job/window.h"

#include "base/file.h"
#include "job/civil.h"
#include "support/check.h"

static struct nj_zone *open_zone(const char *name)
{
    struct nj_zone *zone = NULL;
    struct nj_error error;
    if (nj_zone_open(nj_file_system_real(), NJ_ZONE_DIRECTORY, nj_text_from(name), &zone,
                     &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    return zone;
}

static int64_t local_seconds(int64_t year, unsigned month, unsigned day, unsigned hour,
                             unsigned minute)
{
    struct nj_civil_date date = {.year = year, .month = month, .day = day};
    return nj_days_from_date(date) * NJ_DAY_SECONDS + hour * INT64_C(3600) +
           minute * INT64_C(60);
}

static int64_t utc(int64_t year, unsigned month, unsigned day, unsigned hour, unsigned minute)
{
    return local_seconds(year, month, day, hour, minute);
}

static void dates_and_days_turn_into_each_other(void)
{
    CHECK_EQ(nj_days_from_date((struct nj_civil_date){1970, 1, 1}), 0);
    CHECK_EQ(nj_days_from_date((struct nj_civil_date){2000, 3, 1}), 11017);
    CHECK_EQ(nj_days_from_date((struct nj_civil_date){1969, 12, 31}), -1);
    CHECK_EQ(nj_weekday(0), 3);
    CHECK_EQ(nj_weekday(-1), 2);
    for (int64_t days = -800000; days < 800000; days += 37) {
        struct nj_civil_date date = nj_date_from_days(days);
        if (!CHECK(nj_days_from_date(date) == days)) {
            return;
        }
        CHECK(date.day >= 1 && date.day <= nj_days_of_month(date.year, date.month));
    }
}

static void a_night_belongs_to_the_day_on_which_it_opens(void)
{
    struct nj_zone *zone = open_zone("UTC");
    REQUIRE(zone != NULL);
    struct nj_window night = {22 * 60, 7 * 60};
    unsigned friday = 1U << 4;
    struct nj_schedule schedule = {&night, 1, friday, zone};
    /* 2027-01-08 is a Friday. */
    struct nj_schedule_state state = nj_schedule_at(&schedule, utc(2027, 1, 8, 21, 59));
    CHECK(!state.is_open);
    CHECK_EQ(state.opens_at, utc(2027, 1, 8, 22, 0));
    state = nj_schedule_at(&schedule, utc(2027, 1, 9, 6, 59));
    CHECK(state.is_open);
    CHECK_EQ(state.closes_at, utc(2027, 1, 9, 7, 0));
    CHECK_EQ(state.opens_at, utc(2027, 1, 15, 22, 0));
    CHECK_EQ(nj_date_from_days(state.opening_day).day, 8);
    CHECK(!nj_schedule_at(&schedule, utc(2027, 1, 9, 22, 30)).is_open);
    nj_zone_close(zone);
}

static void windows_are_half_open(void)
{
    struct nj_zone *zone = open_zone("UTC");
    REQUIRE(zone != NULL);
    struct nj_window noon = {12 * 60, 13 * 60};
    struct nj_schedule schedule = {&noon, 1, NJ_EVERY_DAY, zone};
    CHECK(!nj_schedule_at(&schedule, utc(2027, 5, 1, 12, 0) - 1).is_open);
    CHECK(nj_schedule_at(&schedule, utc(2027, 5, 1, 12, 0)).is_open);
    CHECK(nj_schedule_at(&schedule, utc(2027, 5, 1, 13, 0) - 1).is_open);
    CHECK(!nj_schedule_at(&schedule, utc(2027, 5, 1, 13, 0)).is_open);
    nj_zone_close(zone);
}

static void windows_that_touch_count_as_one(void)
{
    struct nj_zone *zone = open_zone("UTC");
    REQUIRE(zone != NULL);
    struct nj_window windows[] = {{23 * 60, 24 * 60}, {0, 60}, {30, 120}};
    struct nj_schedule schedule = {windows, 3, NJ_EVERY_DAY, zone};
    struct nj_schedule_state state = nj_schedule_at(&schedule, utc(2027, 5, 1, 23, 30));
    CHECK(state.is_open);
    CHECK_EQ(state.closes_at, utc(2027, 5, 2, 2, 0));
    CHECK_EQ(state.opens_at, utc(2027, 5, 2, 23, 0));
    nj_zone_close(zone);
}

static void whole_days_never_close_and_some_days_do(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    struct nj_window always = {0, 24 * 60};
    struct nj_schedule schedule = {&always, 1, NJ_EVERY_DAY, zone};
    struct nj_schedule_state state = nj_schedule_at(&schedule, utc(2027, 3, 28, 0, 30));
    CHECK(state.is_open);
    CHECK_EQ(state.closes_at, INT64_MAX);
    schedule.days = 0x1f; /* Monday to Friday */
    state = nj_schedule_at(&schedule, utc(2027, 1, 8, 12, 0));
    CHECK_EQ(state.closes_at, utc(2027, 1, 8, 23, 0)); /* Saturday 00:00 in Berlin */
    CHECK_EQ(state.opens_at, utc(2027, 1, 10, 23, 0));
    schedule.n_windows = 0;
    CHECK(nj_schedule_at(&schedule, utc(2027, 1, 9, 12, 0)).is_open);
    nj_zone_close(zone);
}

/* The window 22:00-07:00 of Berlin around an instant lasts so many hours. */
static void check_length(const struct nj_zone *zone, int64_t at, int64_t hours)
{
    struct nj_window night = {22 * 60, 7 * 60};
    struct nj_schedule schedule = {&night, 1, NJ_EVERY_DAY, zone};
    struct nj_schedule_state before = nj_schedule_at(&schedule, at);
    CHECK(!before.is_open);
    struct nj_schedule_state inside = nj_schedule_at(&schedule, before.opens_at);
    CHECK(inside.is_open);
    CHECK_EQ(inside.closes_at - before.opens_at, hours * 3600);
}

static void nights_of_changing_clocks_have_their_real_length(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    check_length(zone, utc(2027, 3, 26, 12, 0), 9);
    check_length(zone, utc(2027, 3, 27, 12, 0), 8);
    check_length(zone, utc(2027, 10, 30, 12, 0), 10);
    nj_zone_close(zone);
}

static void a_time_that_is_left_out_moves_forward_and_opens_once(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    struct nj_window gap = {2 * 60 + 15, 2 * 60 + 45};
    struct nj_schedule schedule = {&gap, 1, NJ_EVERY_DAY, zone};
    int64_t start = utc(2027, 3, 28, 1, 15); /* 03:15 in summer time */
    CHECK_EQ(nj_schedule_at(&schedule, utc(2027, 3, 27, 12, 0)).opens_at, start);
    CHECK_EQ(nj_schedule_at(&schedule, start).closes_at, start + INT64_C(30) * 60);
    CHECK_EQ(nj_schedule_at(&schedule, start).opens_at, utc(2027, 3, 29, 0, 15));
    nj_zone_close(zone);
}

static void a_time_that_occurs_twice_starts_first_and_ends_last(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    int64_t twice = local_seconds(2027, 10, 31, 2, 30);
    CHECK_EQ(nj_zone_resolve(zone, twice, NJ_ZONE_FIRST), utc(2027, 10, 31, 0, 30));
    CHECK_EQ(nj_zone_resolve(zone, twice, NJ_ZONE_LAST), utc(2027, 10, 31, 1, 30));
    struct nj_window window = {2 * 60 + 10, 2 * 60 + 20};
    struct nj_schedule schedule = {&window, 1, NJ_EVERY_DAY, zone};
    struct nj_schedule_state state = nj_schedule_at(&schedule, utc(2027, 10, 31, 0, 10));
    CHECK(state.is_open);
    CHECK_EQ(state.closes_at, utc(2027, 10, 31, 1, 20));
    nj_zone_close(zone);
}

static void check_refused(const char *name, const char *words)
{
    struct nj_zone *zone = NULL;
    struct nj_error error;
    CHECK_EQ(nj_zone_open(nj_file_system_real(), NJ_ZONE_DIRECTORY, nj_text_from(name), &zone,
                          &error),
             NJ_E_INPUT);
    CHECK_CONTAINS(error.text, words);
    CHECK(zone == NULL);
}

/* Half-open: what ends when the window closes still fits. */
static void what_cannot_end_before_the_window_does_is_not_begun(void)
{
    struct nj_zone *zone = open_zone("UTC");
    REQUIRE(zone != NULL);
    struct nj_window noon = {12 * 60, 13 * 60};
    struct nj_schedule schedule = {&noon, 1, NJ_EVERY_DAY, zone};
    int64_t now = utc(2027, 5, 1, 12, 50);
    static const uint64_t minute_ns = UINT64_C(60000000000);
    struct nj_schedule_state state = nj_schedule_at(&schedule, now);
    CHECK(nj_schedule_leaves(&state, now, 0));
    CHECK(nj_schedule_leaves(&state, now, 10 * minute_ns));
    CHECK(!nj_schedule_leaves(&state, now, 10 * minute_ns + 1));
    CHECK(!nj_schedule_leaves(&state, now + 3600, 0));
    state = nj_schedule_at(&schedule, utc(2027, 5, 1, 14, 0));
    CHECK(!nj_schedule_leaves(&state, utc(2027, 5, 1, 14, 0), 0));
    schedule.n_windows = 0;
    state = nj_schedule_at(&schedule, now);
    CHECK(nj_schedule_leaves(&state, now, UINT64_MAX));
    nj_zone_close(zone);
}

static void unknown_zones_are_errors_and_names_stay_in_the_database(void)
{
    check_refused("Nowhere/Bad", "there is no time zone 'Nowhere/Bad'");
    check_refused("Europe", "there is no time zone 'Europe'");
    check_refused("zone.tab", "is no time zone");
    check_refused("../passwd", "is no time zone");
    check_refused("/etc/localtime", "is no time zone");
    check_refused("Europe//Berlin", "is no time zone");
    check_refused("", "is no time zone");
}

int main(void)
{
    RUN(dates_and_days_turn_into_each_other);
    RUN(a_night_belongs_to_the_day_on_which_it_opens);
    RUN(windows_are_half_open);
    RUN(windows_that_touch_count_as_one);
    RUN(whole_days_never_close_and_some_days_do);
    RUN(nights_of_changing_clocks_have_their_real_length);
    RUN(a_time_that_is_left_out_moves_forward_and_opens_once);
    RUN(a_time_that_occurs_twice_starts_first_and_ends_last);
    RUN(what_cannot_end_before_the_window_does_is_not_begun);
    RUN(unknown_zones_are_errors_and_names_stay_in_the_database);
    return test_result();
}
