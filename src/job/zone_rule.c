#include "job/zone_rule.h"

#include "job/civil.h"

enum {
    SUMMER_HOUR_SECONDS = 3600, /* a summer offset that is not written is one hour more */
    DEFAULT_CHANGE_SECONDS = 2 * 3600,
    MOST_HOURS = 167 /* RFC 8536 section 3.3.1 */
};

/* --- parsing --- */

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

static bool is_letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z');
}

static void skip(struct nj_text *rest, size_t n_bytes)
{
    rest->data += n_bytes;
    rest->length_bytes -= n_bytes;
}

static bool take_character(struct nj_text *rest, char wanted)
{
    if (rest->length_bytes == 0 || rest->data[0] != wanted) {
        return false;
    }
    skip(rest, 1);
    return true;
}

static bool take_number(struct nj_text *rest, unsigned least, unsigned most, unsigned *value)
{
    unsigned sum = 0;
    size_t n_digits = 0;
    while (n_digits < rest->length_bytes && is_digit(rest->data[n_digits]) && sum <= most) {
        sum = sum * 10 + (unsigned)(rest->data[n_digits] - '0');
        n_digits++;
    }
    skip(rest, n_digits);
    *value = sum;
    return n_digits > 0 && sum >= least && sum <= most;
}

/* A name is letters, or anything in angle brackets; it is not used. */
static bool skip_name(struct nj_text *rest)
{
    size_t length = 0;
    if (take_character(rest, '<')) {
        while (length < rest->length_bytes && rest->data[length] != '>') {
            length++;
        }
        skip(rest, length);
        return length > 0 && take_character(rest, '>');
    }
    while (length < rest->length_bytes && is_letter(rest->data[length])) {
        length++;
    }
    skip(rest, length);
    return length >= 3;
}

/* [+-]hh[:mm[:ss]] */
static bool take_signed_time(struct nj_text *rest, unsigned most_hours, int32_t *seconds)
{
    unsigned hours = 0;
    unsigned minutes = 0;
    unsigned rest_seconds = 0;
    bool is_negative = take_character(rest, '-');
    if (!is_negative) {
        (void)take_character(rest, '+');
    }
    if (!take_number(rest, 0, most_hours, &hours) ||
        (take_character(rest, ':') &&
         (!take_number(rest, 0, 59, &minutes) ||
          (take_character(rest, ':') && !take_number(rest, 0, 59, &rest_seconds))))) {
        return false;
    }
    int32_t sum = (int32_t)(hours * 3600 + minutes * 60 + rest_seconds);
    *seconds = is_negative ? -sum : sum;
    return true;
}

/* POSIX counts offsets to the west. */
static bool take_offset(struct nj_text *rest, int32_t *offset)
{
    int32_t west = 0;
    if (!take_signed_time(rest, MOST_HOURS, &west)) {
        return false;
    }
    *offset = -west;
    return true;
}

static bool take_day(struct nj_text *rest, struct nj_zone_change *change)
{
    if (take_character(rest, 'M')) {
        change->kind = NJ_ZONE_DAY_OF_MONTH;
        return take_number(rest, 1, 12, &change->month) && take_character(rest, '.') &&
               take_number(rest, 1, 5, &change->week) && take_character(rest, '.') &&
               take_number(rest, 0, 6, &change->weekday);
    }
    if (take_character(rest, 'J')) {
        change->kind = NJ_ZONE_JULIAN_DAY;
        return take_number(rest, 1, 365, &change->day);
    }
    change->kind = NJ_ZONE_DAY_OF_YEAR;
    return take_number(rest, 0, 365, &change->day);
}

static bool take_change(struct nj_text *rest, struct nj_zone_change *change)
{
    change->local_seconds = DEFAULT_CHANGE_SECONDS;
    if (!take_character(rest, ',') || !take_day(rest, change)) {
        return false;
    }
    return !take_character(rest, '/') ||
           take_signed_time(rest, MOST_HOURS, &change->local_seconds);
}

bool nj_zone_rule_parse(struct nj_text text, struct nj_zone_rule *rule)
{
    struct nj_zone_rule read = {.has_summer = false};
    if (!skip_name(&text) || !take_offset(&text, &read.standard_offset)) {
        return false;
    }
    if (text.length_bytes > 0) {
        read.has_summer = true;
        read.summer_offset = read.standard_offset + SUMMER_HOUR_SECONDS;
        if (!skip_name(&text)) {
            return false;
        }
        bool has_offset = text.length_bytes > 0 && text.data[0] != ',';
        if (has_offset && !take_offset(&text, &read.summer_offset)) {
            return false;
        }
        if (!take_change(&text, &read.to_summer) || !take_change(&text, &read.to_standard)) {
            return false;
        }
    }
    *rule = read;
    return text.length_bytes == 0;
}

/* --- calendar --- */

static int64_t first_of_month(int64_t year, unsigned month)
{
    return nj_days_from_date((struct nj_civil_date){.year = year, .month = month, .day = 1});
}

static int64_t day_of_month(const struct nj_zone_change *change, int64_t year)
{
    int64_t first = first_of_month(year, change->month);
    unsigned wanted = (change->weekday + 6) % 7; /* counted from Monday */
    int64_t day =
        first + (wanted + 7 - nj_weekday(first)) % 7 + (change->week - 1) * INT64_C(7);
    int64_t end = first + nj_days_of_month(year, change->month);
    return day < end ? day : day - 7;
}

static int64_t day_of(const struct nj_zone_change *change, int64_t year)
{
    int64_t january = first_of_month(year, 1);
    switch (change->kind) {
    case NJ_ZONE_DAY_OF_MONTH:
        return day_of_month(change, year);
    case NJ_ZONE_DAY_OF_YEAR:
        return january + change->day;
    case NJ_ZONE_JULIAN_DAY:
        break;
    }
    bool is_behind_leap_day = change->day >= 60 && nj_days_of_month(year, 2) == 29;
    return january + change->day - 1 + (is_behind_leap_day ? 1 : 0);
}

void nj_zone_rule_changes(const struct nj_zone_rule *rule, int64_t year, int64_t *to_summer,
                          int64_t *to_standard)
{
    *to_summer = day_of(&rule->to_summer, year) * NJ_DAY_SECONDS +
                 rule->to_summer.local_seconds - rule->standard_offset;
    *to_standard = day_of(&rule->to_standard, year) * NJ_DAY_SECONDS +
                   rule->to_standard.local_seconds - rule->summer_offset;
}

static int64_t year_at(int64_t unix_seconds)
{
    return nj_date_from_days(nj_floor_divide(unix_seconds, NJ_DAY_SECONDS)).year;
}

/* The last change until an instant, looked for in its year and its neighbours, since a change
 * near New Year may belong to another one in UTC. */
static bool is_summer(const struct nj_zone_rule *rule, int64_t unix_seconds)
{
    int64_t latest = INT64_MIN;
    bool summer = false;
    int64_t middle = year_at(unix_seconds);
    for (int64_t year = middle - 1; year <= middle + 1; year++) {
        int64_t to_summer = 0;
        int64_t to_standard = 0;
        nj_zone_rule_changes(rule, year, &to_summer, &to_standard);
        if (to_standard <= unix_seconds && to_standard > latest) {
            latest = to_standard;
            summer = false;
        }
        /* Both at once: summer time all year round, written as an end at the next beginning. */
        if (to_summer <= unix_seconds && to_summer >= latest) {
            latest = to_summer;
            summer = true;
        }
    }
    return summer;
}

int32_t nj_zone_rule_offset(const struct nj_zone_rule *rule, int64_t unix_seconds)
{
    if (rule->has_summer && is_summer(rule, unix_seconds)) {
        return rule->summer_offset;
    }
    return rule->standard_offset;
}

static int64_t sooner_after(int64_t candidate, int64_t unix_seconds, int64_t soonest)
{
    return candidate > unix_seconds && candidate < soonest ? candidate : soonest;
}

int64_t nj_zone_rule_next_change(const struct nj_zone_rule *rule, int64_t unix_seconds)
{
    int64_t soonest = INT64_MAX;
    if (!rule->has_summer) {
        return soonest;
    }
    int64_t middle = year_at(unix_seconds);
    for (int64_t year = middle - 1; year <= middle + 2; year++) {
        int64_t to_summer = 0;
        int64_t to_standard = 0;
        nj_zone_rule_changes(rule, year, &to_summer, &to_standard);
        soonest = sooner_after(to_summer, unix_seconds, soonest);
        soonest = sooner_after(to_standard, unix_seconds, soonest);
    }
    return soonest;
}
