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

static void times_have_four_forms(void)
{
    static const char *const good[] = {"07:00",
                                       "23:59",
                                       "2027-03-01 07:00",
                                       "2028-02-29 00:00",
                                       "now+2h",
                                       "now+1h30m",
                                       "2027-03-01T07:00:00Z",
                                       "2027-03-01t07:00:59.25+01:00",
                                       "2027-03-01 07:00:00-23:59"};
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
                                      "tomorrow"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        if (!nj_time_is_valid(nj_text_from(good[i]))) {
            test_fail(__FILE__, __LINE__, "%s is refused", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (nj_time_is_valid(nj_text_from(bad[i]))) {
            test_fail(__FILE__, __LINE__, "%s is taken", bad[i]);
        }
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
        "\"07:00\", now+2h, or RFC 3339 with an offset\n"
        "job.yaml:8:13: 'deadline' must be text, not a list\n"
        "job.yaml:9:18: 'on_window_end' must be pause, finish_item or finish_job, not 'stop'\n"
        "job.yaml:10:3: unknown key 'windows' in schedule, did you mean 'window'?");
    CHECK_COMPLAINTS(HEAD "schedule: {days: []}\n", "job.yaml:3:18: 'days' is empty");
}

int main(void)
{
    RUN(windows_go_from_one_time_of_the_day_to_another);
    RUN(what_is_no_window_leaves_the_values_alone);
    RUN(times_have_four_forms);
    RUN(a_schedule_may_be_written_without_quotes);
    RUN(mistakes_have_their_place);
    return test_result();
}
