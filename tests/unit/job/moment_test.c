/* start_at and deadline: five ways to write a time, and the instant each means. */
#include "job/moment.h"

#include "base/file.h"
#include "job/civil.h"
#include "support/check.h"

static void times_have_five_forms(void)
{
    static const struct {
        const char *text;
        enum nj_moment_kind kind;
        int64_t seconds;
    } good[] = {{"07:00", NJ_MOMENT_TIME_OF_DAY, 25200},
                {"23:59", NJ_MOMENT_TIME_OF_DAY, 86340},
                {"tomorrow 06:00", NJ_MOMENT_TOMORROW, 21600},
                {"1970-01-02 07:00", NJ_MOMENT_LOCAL, 111600},
                {"2028-02-29 00:00", NJ_MOMENT_LOCAL, 1835395200},
                {"now+2h", NJ_MOMENT_FROM_NOW, 7200},
                {"now+1h30m", NJ_MOMENT_FROM_NOW, 5400},
                {"now+1ms", NJ_MOMENT_FROM_NOW, 1},
                {"1970-01-01T00:00:60Z", NJ_MOMENT_INSTANT, 60},
                {"1970-01-01t01:00:59.25+01:00", NJ_MOMENT_INSTANT, 59},
                {"1969-12-31 00:01:00-23:59", NJ_MOMENT_INSTANT, 0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct nj_moment moment = {NJ_MOMENT_NONE, 7};
        if (!nj_moment_parse(nj_text_from(good[i].text), &moment)) {
            test_fail(__FILE__, __LINE__, "%s is refused", good[i].text);
        }
        CHECK_EQ(moment.kind, good[i].kind);
        CHECK_EQ(moment.seconds, good[i].seconds);
    }
}

static void what_is_no_time_leaves_the_moment_alone(void)
{
    static const char *const bad[] = {"",
                                      "7:00",
                                      "24:00",
                                      "07:60",
                                      "now",
                                      "now+",
                                      "now+2",
                                      "now-2h",
                                      "2027-13-01 07:00",
                                      "2027-02-29 07:00",
                                      "2100-02-29 07:00",
                                      "2027-00-01 07:00",
                                      "2027-03-00 07:00",
                                      "2027-03-01",
                                      "2027-03-01T07:00",
                                      "2027-03-01T07:00:00",
                                      "2027-03-01T07:00:61Z",
                                      "2027-03-01T07:00:00.Z",
                                      "2027-03-01T07:00:00+1:00",
                                      "2027-03-01T07:00:00Zx",
                                      "07:00 tomorrow",
                                      "tomorrow",
                                      "tomorrow 24:00",
                                      "tomorrow  06:00",
                                      "tomorrow 06:00 "};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct nj_moment moment = {NJ_MOMENT_NONE, 7};
        if (nj_moment_parse(nj_text_from(bad[i]), &moment)) {
            test_fail(__FILE__, __LINE__, "%s is taken", bad[i]);
        }
        CHECK(moment.kind == NJ_MOMENT_NONE && moment.seconds == 7);
    }
}

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

static int64_t utc(int64_t year, unsigned month, unsigned day, unsigned hour, unsigned minute)
{
    struct nj_civil_date date = {.year = year, .month = month, .day = day};
    return nj_days_from_date(date) * NJ_DAY_SECONDS + hour * INT64_C(3600) +
           minute * INT64_C(60);
}

static int64_t resolved(const struct nj_zone *zone, const char *text, int64_t now,
                        enum nj_zone_pick pick)
{
    struct nj_moment moment = {NJ_MOMENT_INSTANT, -1};
    CHECK(nj_moment_parse(nj_text_from(text), &moment));
    return nj_moment_resolve(moment, zone, now, pick);
}

static void each_form_becomes_an_instant(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    int64_t now = utc(2026, 12, 1, 20, 0); /* 21:00 in Berlin */
    static const struct {
        const char *text;
        int64_t year;
        unsigned month, day, hour, minute;
    } cases[] = {
        {"22:30", 2026, 12, 1, 21, 30},         {"07:00", 2026, 12, 2, 6, 0},
        {"tomorrow 06:00", 2026, 12, 2, 5, 0},  {"tomorrow 23:30", 2026, 12, 2, 22, 30},
        {"2027-07-01 07:00", 2027, 7, 1, 5, 0}, {"2027-07-01T07:00:00-02:00", 2027, 7, 1, 9, 0},
        {"now+26h", 2026, 12, 2, 22, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        CHECK_EQ(
            resolved(zone, cases[i].text, now, NJ_ZONE_FIRST),
            utc(cases[i].year, cases[i].month, cases[i].day, cases[i].hour, cases[i].minute));
    }
    nj_zone_close(zone);
}

static void the_next_occurrence_is_never_now(void)
{
    struct nj_zone *zone = open_zone("UTC");
    REQUIRE(zone != NULL);
    int64_t half_past_ten = utc(2026, 12, 1, 22, 30);
    CHECK_EQ(resolved(zone, "22:30", half_past_ten - 1, NJ_ZONE_FIRST), half_past_ten);
    CHECK_EQ(resolved(zone, "22:30", half_past_ten, NJ_ZONE_FIRST), half_past_ten + 86400);
    nj_zone_close(zone);
}

static void in_an_hour_that_occurs_twice_a_start_is_early_and_a_deadline_late(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    int64_t first = utc(2027, 10, 31, 0, 30); /* 02:30 in summer time */
    int64_t last = first + 3600;
    CHECK_EQ(resolved(zone, "02:30", first - 7200, NJ_ZONE_FIRST), first);
    CHECK_EQ(resolved(zone, "02:30", first - 7200, NJ_ZONE_LAST), last);
    CHECK_EQ(resolved(zone, "02:30", first, NJ_ZONE_FIRST), last);
    CHECK_EQ(resolved(zone, "02:30", last, NJ_ZONE_FIRST), last + 86400);
    CHECK_EQ(resolved(zone, "2027-10-31 02:30", first, NJ_ZONE_FIRST), first);
    CHECK_EQ(resolved(zone, "tomorrow 02:30", first - 86400, NJ_ZONE_LAST), last);
    nj_zone_close(zone);
}

static void a_time_that_is_left_out_moves_forward(void)
{
    struct nj_zone *zone = open_zone("Europe/Berlin");
    REQUIRE(zone != NULL);
    int64_t evening = utc(2027, 3, 27, 20, 0);
    int64_t moved = utc(2027, 3, 28, 1, 15); /* 03:15 in summer time */
    CHECK_EQ(resolved(zone, "02:15", evening, NJ_ZONE_FIRST), moved);
    CHECK_EQ(resolved(zone, "tomorrow 02:15", evening, NJ_ZONE_LAST), moved);
    nj_zone_close(zone);
}

int main(void)
{
    RUN(times_have_five_forms);
    RUN(what_is_no_time_leaves_the_moment_alone);
    RUN(each_form_becomes_an_instant);
    RUN(the_next_occurrence_is_never_now);
    RUN(in_an_hour_that_occurs_twice_a_start_is_early_and_a_deadline_late);
    RUN(a_time_that_is_left_out_moves_forward);
    return test_result();
}
