#include "job/schedule_keys.h"

#include "unit/job/reading.h"

#define HEAD "nightjar: 1\nprompt: x\n"

static void windows_go_from_one_time_of_the_day_to_another(void)
{
    static const struct {
        const char *text;
        unsigned start, end;
    } cases[] = {{"22:00-07:00", 1320, 420},
                 {"00:00-24:00", 0, 1440},
                 {"13:00-13:45", 780, 825},
                 {"23:59-00:00", 1439, 0},
                 {"always", 0, 1440}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned start = 7;
        unsigned end = 7;
        CHECK(nj_window_parse(nj_text_from(cases[i].text), &start, &end));
        CHECK_EQ(start, cases[i].start);
        CHECK_EQ(end, cases[i].end);
    }
}

static void what_is_no_window_leaves_the_values_alone(void)
{
    static const char *const texts[] = {"",
                                        "22:00",
                                        "22:00-22:00",
                                        "24:00-07:00",
                                        "22:60-07:00",
                                        "22:00-24:01",
                                        "9:00-10:00",
                                        "22:00 -07:00",
                                        "22:00-07:00x",
                                        "25:00-07:00",
                                        "Always",
                                        "2200-0700"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        unsigned start = 7;
        unsigned end = 7;
        CHECK(!nj_window_parse(nj_text_from(texts[i]), &start, &end));
        CHECK(start == 7 && end == 7);
    }
}

static void a_schedule_may_be_written_without_quotes(void)
{
    CHECK_COMPLAINTS(HEAD "schedule:\n  window: 22:00-07:00\n  days: [mon, sun]\n"
                          "  timezone: America/Argentina/Buenos_Aires\n  start_at: now+2h\n"
                          "  deadline: 2027-03-01 07:00\n  on_window_end: finish_item\n",
                     "");
    CHECK_COMPLAINTS(HEAD "schedule: {window: [\"22:00-07:00\", always], days: fri}\n", "");
}

static void what_is_written_is_kept(void)
{
    struct reading reading;
    read_text(&reading, HEAD "schedule:\n  window: [\"22:30-06:30\", 13:00-13:45]\n"
                             "  days: [mon, sun]\n  timezone: Europe/Berlin\n"
                             "  start_at: now+2h\n  deadline: 2027-03-01 07:00\n"
                             "  on_window_end: finish_job\n");
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_hours *hours = &reading.spec->orders.hours;
    REQUIRE(hours->n_windows == 2);
    CHECK_EQ(hours->windows[0].start_minute, 22 * 60 + 30);
    CHECK_EQ(hours->windows[0].end_minute, 6 * 60 + 30);
    CHECK_EQ(hours->windows[1].end_minute, 13 * 60 + 45);
    CHECK_EQ(hours->days, 1U << 0 | 1U << 6);
    CHECK_TEXT(shown(hours->timezone), "Europe/Berlin");
    CHECK_TEXT(shown(hours->start_at.text), "now+2h");
    CHECK_EQ(hours->start_at.moment.kind, NJ_MOMENT_FROM_NOW);
    CHECK_EQ(hours->start_at.moment.seconds, 7200);
    CHECK_TEXT(shown(hours->deadline.text), "2027-03-01 07:00");
    CHECK_EQ(hours->deadline.moment.kind, NJ_MOMENT_LOCAL);
    CHECK_EQ(hours->on_window_end, NJ_WINDOW_END_FINISH_JOB);
    close_reading(&reading);
}

static void what_is_not_said_is_any_time(void)
{
    struct reading reading;
    read_text(&reading, HEAD);
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_hours *hours = &reading.spec->orders.hours;
    CHECK_EQ(hours->n_windows, 0);
    CHECK_EQ(hours->days, NJ_EVERY_DAY);
    CHECK_EQ(hours->timezone.length_bytes, 0);
    CHECK_EQ(hours->start_at.moment.kind, NJ_MOMENT_NONE);
    CHECK_EQ(hours->deadline.moment.kind, NJ_MOMENT_NONE);
    CHECK_EQ(hours->on_window_end, NJ_WINDOW_END_PAUSE);
    close_reading(&reading);
}

static void days_without_a_window_are_whole_days(void)
{
    struct reading reading;
    read_text(&reading, HEAD "schedule: {days: [sat, sun]}\n");
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_hours *hours = &reading.spec->orders.hours;
    REQUIRE(hours->n_windows == 1);
    CHECK_EQ(hours->windows[0].start_minute, 0);
    CHECK_EQ(hours->windows[0].end_minute, 24 * 60);
    CHECK_EQ(hours->days, 1U << 5 | 1U << 6);
    close_reading(&reading);
}

static void mistakes_have_their_place(void)
{
    CHECK_COMPLAINTS(
        HEAD "schedule:\n  window: [\"22:00-22:00\", 9-17]\n  days: [monday]\n"
             "  timezone: ../etc\n  start_at: tomorrow\n  deadline: [x]\n"
             "  on_window_end: stop\n  windows: []\n",
        "job.yaml:4:12: 'window' must be from one time of the day to another, not "
        "'22:00-22:00', write a window such as \"22:00-07:00\", or always\n"
        "job.yaml:4:27: 'window' must be from one time of the day to another, not '9-17', "
        "write "
        "a window such as \"22:00-07:00\", or always\n"
        "job.yaml:5:10: 'days' must be mon, tue, wed, thu, fri, sat or sun, not 'monday'\n"
        "job.yaml:6:13: 'timezone' must be the name of a time zone, not '../etc', write a name "
        "such as Europe/Berlin or UTC\n"
        "job.yaml:7:13: 'start_at' must be a time, not 'tomorrow', write \"2027-03-01 07:00\", "
        "\"07:00\", \"tomorrow 07:00\", now+2h, or RFC 3339 with an offset\n"
        "job.yaml:8:13: 'deadline' must be text, not a list, quote it if it is a text\n"
        "job.yaml:9:18: 'on_window_end' must be pause, finish_item or finish_job, not 'stop'\n"
        "job.yaml:10:3: unknown key 'windows' in schedule, did you mean 'window'?");
    CHECK_COMPLAINTS(HEAD "schedule: {days: []}\n", "job.yaml:3:18: 'days' is empty");
}

int main(void)
{
    RUN(windows_go_from_one_time_of_the_day_to_another);
    RUN(what_is_no_window_leaves_the_values_alone);
    RUN(what_is_written_is_kept);
    RUN(what_is_not_said_is_any_time);
    RUN(days_without_a_window_are_whole_days);
    RUN(a_schedule_may_be_written_without_quotes);
    RUN(mistakes_have_their_place);
    return test_result();
}
