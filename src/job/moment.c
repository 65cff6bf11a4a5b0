#include "job/moment.h"

#include <assert.h>

#include "job/civil.h"
#include "job/clock_text.h"
#include "job/quantity.h"

enum { MINUTE_SECONDS = 60, DATE_BYTES = sizeof "2027-03-01" - 1 };

static const int64_t second_ns = 1000000000;

const char nj_moment_hint[] =
    "write \"2027-03-01 07:00\", \"07:00\", \"tomorrow 07:00\", now+2h, "
    "or RFC 3339 with an offset";

/* --- reading --- */

static bool take_date(struct nj_text *rest, int64_t *days)
{
    struct nj_civil_date date = {0, 0, 0};
    unsigned year = 0;
    if (!nj_take_digits(rest, 4, &year) || !nj_take_character(rest, "-") ||
        !nj_take_digits(rest, 2, &date.month) || !nj_take_character(rest, "-") ||
        !nj_take_digits(rest, 2, &date.day)) {
        return false;
    }
    date.year = year;
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > nj_days_of_month(date.year, date.month)) {
        return false;
    }
    *days = nj_days_from_date(date);
    return true;
}

/* ":59" or ":59.25"; a leap second counts as the first of the next minute. */
static bool take_seconds(struct nj_text *rest, unsigned *second)
{
    unsigned digit = 0;
    if (!nj_take_character(rest, ":") || !nj_take_digits(rest, 2, second) || *second > 60) {
        return false;
    }
    if (!nj_take_character(rest, ".")) {
        return true;
    }
    bool has_digits = false;
    while (nj_take_digits(rest, 1, &digit)) {
        has_digits = true;
    }
    return has_digits;
}

static bool take_offset(struct nj_text *rest, int64_t *east_seconds)
{
    unsigned minute = 0;
    if (nj_take_character(rest, "Zz")) {
        *east_seconds = 0;
        return true;
    }
    bool is_west = rest->length_bytes > 0 && rest->data[0] == '-';
    if (!nj_take_character(rest, "+-") || !nj_take_time_of_day(rest, &minute)) {
        return false;
    }
    *east_seconds = (is_west ? -1 : 1) * (int64_t)minute * MINUTE_SECONDS;
    return true;
}

/* A local time is written with a space and without seconds; RFC 3339 says everything. */
static bool parse_date_and_time(struct nj_text text, struct nj_moment *moment)
{
    int64_t days = 0;
    int64_t east_seconds = 0;
    unsigned minute = 0;
    unsigned second = 0;
    struct nj_text rest = text;
    if (!take_date(&rest, &days) || !nj_take_character(&rest, "Tt ") ||
        !nj_take_time_of_day(&rest, &minute)) {
        return false;
    }
    int64_t local = days * NJ_DAY_SECONDS + (int64_t)minute * MINUTE_SECONDS;
    if (rest.length_bytes == 0) {
        *moment = (struct nj_moment){NJ_MOMENT_LOCAL, local};
        return text.data[DATE_BYTES] == ' ';
    }
    if (!take_seconds(&rest, &second) || !take_offset(&rest, &east_seconds)) {
        return false;
    }
    *moment = (struct nj_moment){NJ_MOMENT_INSTANT, local + second - east_seconds};
    return rest.length_bytes == 0;
}

static bool parse_duration(struct nj_text text, struct nj_moment *moment)
{
    uint64_t duration_ns = 0;
    if (!nj_duration_parse(text, &duration_ns)) {
        return false;
    }
    int64_t seconds = (int64_t)(duration_ns / (uint64_t)second_ns);
    bool has_rest = duration_ns % (uint64_t)second_ns != 0;
    *moment = (struct nj_moment){NJ_MOMENT_FROM_NOW, seconds + (has_rest ? 1 : 0)};
    return true;
}

static bool parse_time_of_day(struct nj_text text, enum nj_moment_kind kind,
                              struct nj_moment *moment)
{
    unsigned minute = 0;
    if (!nj_take_time_of_day(&text, &minute) || text.length_bytes > 0) {
        return false;
    }
    *moment = (struct nj_moment){kind, (int64_t)minute * MINUTE_SECONDS};
    return true;
}

bool nj_moment_parse(struct nj_text text, struct nj_moment *moment)
{
    struct nj_text rest = text;
    struct nj_moment read = {NJ_MOMENT_NONE, 0};
    bool is_read = false;
    if (nj_take_word(&rest, "now+")) {
        is_read = parse_duration(rest, &read);
    } else if (nj_take_word(&rest, "tomorrow ")) {
        is_read = parse_time_of_day(rest, NJ_MOMENT_TOMORROW, &read);
    } else {
        is_read = parse_time_of_day(text, NJ_MOMENT_TIME_OF_DAY, &read) ||
                  parse_date_and_time(text, &read);
    }
    if (is_read) {
        *moment = read;
    }
    return is_read;
}

/* --- resolving --- */

static int64_t today_of(const struct nj_zone *zone, int64_t now)
{
    return nj_floor_divide(now + nj_zone_offset(zone, now), NJ_DAY_SECONDS);
}

/* A time that occurs twice can still be ahead though its first occurrence has passed. Yesterday
 * and the day after tomorrow are looked at for zones that repeat or leave out a day. */
static int64_t next_time_of_day(const struct nj_zone *zone, int64_t second_of_day, int64_t now,
                                enum nj_zone_pick pick)
{
    int64_t today = today_of(zone, now);
    int64_t next = INT64_MAX;
    for (int64_t day = today - 1; day <= today + 2; day++) {
        int64_t local = day * NJ_DAY_SECONDS + second_of_day;
        int64_t last = nj_zone_resolve(zone, local, NJ_ZONE_LAST);
        int64_t picked = nj_zone_resolve(zone, local, pick);
        int64_t candidate = picked > now ? picked : last;
        if (candidate > now && candidate < next) {
            next = candidate;
        }
    }
    return next;
}

int64_t nj_moment_resolve(struct nj_moment moment, const struct nj_zone *zone,
                          int64_t now_unix_seconds, enum nj_zone_pick pick)
{
    int64_t midnight = 0;
    assert(moment.kind != NJ_MOMENT_NONE);
    switch (moment.kind) {
    case NJ_MOMENT_LOCAL:
        return nj_zone_resolve(zone, moment.seconds, pick);
    case NJ_MOMENT_TIME_OF_DAY:
        return next_time_of_day(zone, moment.seconds, now_unix_seconds, pick);
    case NJ_MOMENT_TOMORROW:
        midnight = (today_of(zone, now_unix_seconds) + 1) * NJ_DAY_SECONDS;
        return nj_zone_resolve(zone, midnight + moment.seconds, pick);
    case NJ_MOMENT_FROM_NOW:
        return now_unix_seconds + moment.seconds;
    case NJ_MOMENT_NONE:
    case NJ_MOMENT_INSTANT:
        break;
    }
    return moment.seconds;
}
