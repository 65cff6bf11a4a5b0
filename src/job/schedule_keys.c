#include "job/schedule_keys.h"

#include <string.h>

#include "job/quantity.h"

enum { MINUTES_OF_DAY = 24 * 60 };

/* --- times --- */

/* Takes so many digits off the front. */
static bool take_number(struct nj_text *rest, size_t n_digits, unsigned *value)
{
    unsigned sum = 0;
    if (rest->length_bytes < n_digits) {
        return false;
    }
    for (size_t i = 0; i < n_digits; i++) {
        if (rest->data[i] < '0' || rest->data[i] > '9') {
            return false;
        }
        sum = sum * 10 + (unsigned)(rest->data[i] - '0');
    }
    rest->data += n_digits;
    rest->length_bytes -= n_digits;
    *value = sum;
    return true;
}

static bool take_character(struct nj_text *rest, const char *allowed)
{
    if (rest->length_bytes == 0 || rest->data[0] == '\0' ||
        strchr(allowed, rest->data[0]) == NULL) {
        return false;
    }
    rest->data++;
    rest->length_bytes--;
    return true;
}

/* HH:MM up to 24:00, which not every place allows. */
static bool take_minute_of_day(struct nj_text *rest, unsigned *minute_of_day)
{
    unsigned hour = 0;
    unsigned minute = 0;
    if (!take_number(rest, 2, &hour) || !take_character(rest, ":") ||
        !take_number(rest, 2, &minute) || minute > 59) {
        return false;
    }
    *minute_of_day = hour * 60 + minute;
    return *minute_of_day <= MINUTES_OF_DAY;
}

static bool take_time_of_day(struct nj_text *rest)
{
    unsigned minute = 0;
    return take_minute_of_day(rest, &minute) && minute < MINUTES_OF_DAY;
}

static unsigned days_of_month(unsigned year, unsigned month)
{
    static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && is_leap ? 1 : 0);
}

static bool take_date(struct nj_text *rest)
{
    unsigned year = 0;
    unsigned month = 0;
    unsigned day = 0;
    return take_number(rest, 4, &year) && take_character(rest, "-") &&
           take_number(rest, 2, &month) && take_character(rest, "-") &&
           take_number(rest, 2, &day) && month >= 1 && month <= 12 && day >= 1 &&
           day <= days_of_month(year, month);
}

static bool take_seconds(struct nj_text *rest)
{
    unsigned second = 0;
    unsigned digit = 0;
    if (!take_character(rest, ":") || !take_number(rest, 2, &second) || second > 60) {
        return false;
    }
    if (!take_character(rest, ".")) {
        return true;
    }
    bool has_digits = false;
    while (take_number(rest, 1, &digit)) {
        has_digits = true;
    }
    return has_digits;
}

static bool take_offset(struct nj_text *rest)
{
    return take_character(rest, "Zz") || (take_character(rest, "+-") && take_time_of_day(rest));
}

bool nj_time_is_valid(struct nj_text text)
{
    static const char now[] = "now+";
    uint64_t duration_ns = 0;
    struct nj_text rest = text;
    if (take_time_of_day(&rest)) {
        return rest.length_bytes == 0;
    }
    if (text.length_bytes > sizeof now - 1 && memcmp(text.data, now, sizeof now - 1) == 0) {
        rest = (struct nj_text){text.data + sizeof now - 1, text.length_bytes - sizeof now + 1};
        return nj_duration_parse(rest, &duration_ns);
    }
    rest = text;
    if (!take_date(&rest) || !take_character(&rest, "Tt ") || !take_time_of_day(&rest)) {
        return false;
    }
    if (rest.length_bytes == 0) {
        return text.data[sizeof "2027-03-01" - 1] == ' '; /* local times are not RFC 3339 */
    }
    return take_seconds(&rest) && take_offset(&rest) && rest.length_bytes == 0;
}

bool nj_window_parse(struct nj_text text, unsigned *start_minute, unsigned *end_minute)
{
    unsigned start = 0;
    unsigned end = 0;
    if (nj_text_equals(text, "always")) {
        *start_minute = 0;
        *end_minute = MINUTES_OF_DAY;
        return true;
    }
    if (!take_minute_of_day(&text, &start) || !take_character(&text, "-") ||
        !take_minute_of_day(&text, &end) || text.length_bytes > 0 || start == MINUTES_OF_DAY ||
        start == end) {
        return false;
    }
    *start_minute = start;
    *end_minute = end;
    return true;
}

/* --- keys --- */

/* Reads one value, or each of a list that is not empty. */
static void read_each(struct nj_schema *schema, const struct nj_node_pair *pair,
                      void (*read)(struct nj_schema *, const struct nj_node_pair *))
{
    if (pair->value->kind != NJ_NODE_LIST) {
        read(schema, pair);
        return;
    }
    if (pair->value->n_items == 0) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' is empty",
                        pair->key->text.data);
    }
    for (size_t i = 0; i < pair->value->n_items; i++) {
        struct nj_node_pair item = {pair->key, pair->value->items[i]};
        read(schema, &item);
    }
}

static void read_one_window(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    struct nj_text text;
    unsigned start = 0;
    unsigned end = 0;
    if (nj_expect_filled_text(schema, pair, &text) && !nj_window_parse(text, &start, &end)) {
        nj_schema_error(schema, pair->value->place,
                        "write a window such as \"22:00-07:00\", or always",
                        "'%s' must be from one time of the day to another, not '%s'",
                        pair->key->text.data, text.data);
    }
}

static void read_window(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)target;
    read_each(schema, pair, read_one_window);
}

static void read_one_day(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    static const char *const names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    size_t index = 0;
    (void)nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index);
}

static void read_days(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)target;
    read_each(schema, pair, read_one_day);
}

/* A zone's name is a path below the zone folder, which must not lead out of it. */
static bool is_zone_name(struct nj_text name)
{
    bool is_valid = name.data[0] != '/';
    for (size_t i = 0; i < name.length_bytes; i++) {
        char character = name.data[i];
        bool is_letter = (character >= 'a' && character <= 'z') ||
                         (character >= 'A' && character <= 'Z') ||
                         (character >= '0' && character <= '9');
        is_valid =
            is_valid && (is_letter || (character != '\0' && strchr("_/+-", character) != NULL));
    }
    return is_valid;
}

static void read_timezone(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_text text;
    (void)target;
    if (nj_expect_filled_text(schema, pair, &text) && !is_zone_name(text)) {
        nj_schema_error(schema, pair->value->place, "write a name such as Europe/Berlin or UTC",
                        "'timezone' must be the name of a time zone, not '%s'", text.data);
    }
}

static void read_time(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_text text;
    (void)target;
    if (nj_expect_filled_text(schema, pair, &text) && !nj_time_is_valid(text)) {
        nj_schema_error(schema, pair->value->place,
                        "write \"2027-03-01 07:00\", \"07:00\", now+2h, or RFC 3339 with an "
                        "offset",
                        "'%s' must be a time, not '%s'", pair->key->text.data, text.data);
    }
}

static void read_on_window_end(struct nj_schema *schema, const struct nj_node_pair *pair,
                               void *target)
{
    static const char *const names[] = {"pause", "finish_item", "finish_job"};
    size_t index = 0;
    (void)target;
    (void)nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index);
}

static const struct nj_key_rule rules[] = {
    {"window", read_window}, {"days", read_days},     {"timezone", read_timezone},
    {"start_at", read_time}, {"deadline", read_time}, {"on_window_end", read_on_window_end},
};

static const struct nj_key_table keys = {
    .within = "schedule", .rules = rules, .n_rules = sizeof rules / sizeof rules[0]};

void nj_schedule_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    if (nj_expect_map(schema, pair)) {
        nj_schema_read_map(schema, pair->value, &keys, target);
    }
}
