#include "job/schedule_keys.h"

#include <string.h>

#include "job/clock_text.h"

enum { MINUTES_OF_DAY = 24 * 60 };

bool nj_window_parse(struct nj_text text, unsigned *start_minute, unsigned *end_minute)
{
    unsigned start = 0;
    unsigned end = 0;
    if (nj_text_equals(text, "always")) {
        *start_minute = 0;
        *end_minute = MINUTES_OF_DAY;
        return true;
    }
    if (!nj_take_end_of_day(&text, &start) || !nj_take_character(&text, "-") ||
        !nj_take_end_of_day(&text, &end) || text.length_bytes > 0 || start == MINUTES_OF_DAY ||
        start == end) {
        return false;
    }
    *start_minute = start;
    *end_minute = end;
    return true;
}

/* --- keys --- */

/* The values under a key: itself, or each of a list that is not empty. */
static size_t count_values(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    if (pair->value->kind != NJ_NODE_LIST) {
        return 1;
    }
    if (pair->value->n_items == 0) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' is empty",
                        pair->key->text.data);
    }
    return pair->value->n_items;
}

static struct nj_node_pair value_at(const struct nj_node_pair *pair, size_t index)
{
    bool is_list = pair->value->kind == NJ_NODE_LIST;
    return (struct nj_node_pair){pair->key, is_list ? pair->value->items[index] : pair->value};
}

static bool read_one_window(struct nj_schema *schema, const struct nj_node_pair *pair,
                            struct nj_window *window)
{
    struct nj_text text;
    if (!nj_expect_filled_text(schema, pair, &text)) {
        return false;
    }
    if (!nj_window_parse(text, &window->start_minute, &window->end_minute)) {
        nj_schema_error(schema, pair->value->place,
                        "write a window such as \"22:00-07:00\", or always",
                        "'%s' must be from one time of the day to another, not '%s'",
                        pair->key->text.data, text.data);
        return false;
    }
    return true;
}

static void read_window(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_hours *hours = target;
    size_t n_values = count_values(schema, pair);
    struct nj_window *windows = nj_schema_take(schema, n_values, sizeof windows[0]);
    size_t n_windows = 0;
    for (size_t i = 0; i < n_values && windows != NULL; i++) {
        struct nj_node_pair value = value_at(pair, i);
        n_windows += read_one_window(schema, &value, &windows[n_windows]) ? 1 : 0;
    }
    hours->windows = windows;
    hours->n_windows = n_windows;
}

static void read_days(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"mon", "tue", "wed", "thu", "fri", "sat", "sun"};
    struct nj_job_hours *hours = target;
    size_t n_values = count_values(schema, pair);
    hours->days = 0;
    for (size_t i = 0; i < n_values; i++) {
        struct nj_node_pair value = value_at(pair, i);
        size_t day = 0;
        if (nj_expect_choice(schema, &value, names, sizeof names / sizeof names[0], &day)) {
            hours->days |= 1U << day;
        }
    }
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
    struct nj_job_hours *hours = target;
    if (nj_expect_filled_text(schema, pair, &hours->timezone) &&
        !is_zone_name(hours->timezone)) {
        nj_schema_error(schema, pair->value->place, "write a name such as Europe/Berlin or UTC",
                        "'timezone' must be the name of a time zone, not '%s'",
                        hours->timezone.data);
    }
}

static void read_moment(struct nj_schema *schema, const struct nj_node_pair *pair,
                        struct nj_job_moment *moment)
{
    if (nj_expect_filled_text(schema, pair, &moment->text) &&
        !nj_moment_parse(moment->text, &moment->moment)) {
        nj_schema_error(schema, pair->value->place, nj_moment_hint,
                        "'%s' must be a time, not '%s'", pair->key->text.data,
                        moment->text.data);
    }
}

static void read_start_at(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    read_moment(schema, pair, &((struct nj_job_hours *)target)->start_at);
}

static void read_deadline(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    read_moment(schema, pair, &((struct nj_job_hours *)target)->deadline);
}

static void read_on_window_end(struct nj_schema *schema, const struct nj_node_pair *pair,
                               void *target)
{
    static const char *const names[] = {"pause", "finish_item", "finish_job"};
    struct nj_job_hours *hours = target;
    size_t index = 0;
    if (nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index)) {
        hours->on_window_end = (enum nj_window_end)index; /* in the order of the enum */
    }
}

static const struct nj_key_rule rules[] = {
    {"window", read_window},     {"days", read_days},
    {"timezone", read_timezone}, {"start_at", read_start_at},
    {"deadline", read_deadline}, {"on_window_end", read_on_window_end},
};

const struct nj_key_table nj_schedule_keys = {
    .within = "schedule", .rules = rules, .n_rules = sizeof rules / sizeof rules[0]};

/* Days without a window are whole days. */
static void open_whole_days(struct nj_job_hours *hours)
{
    static const struct nj_window whole_day = {0, MINUTES_OF_DAY};
    if (hours->n_windows == 0 && hours->days != NJ_EVERY_DAY) {
        hours->windows = &whole_day;
        hours->n_windows = 1;
    }
}

void nj_schedule_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_orders *orders = target;
    if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &nj_schedule_keys, &orders->hours);
        open_whole_days(&orders->hours);
    }
}
