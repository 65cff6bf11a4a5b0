#include "job/daemon_keys.h"

#include "unit/job/reading.h"

#define HEAD "nightjar: 1\nprompt: x\n"

static void what_only_the_daemon_obeys_is_listed_in_file_order(void)
{
    struct reading reading;
    read_text(&reading,
              HEAD "power: {on_battery: pause, inhibit_sleep: true, min_battery: 20}\n"
                   "schedule: {window: always}\n"
                   "guards: {load_below: 1.5, temperature_below: 80, user_idle_for: 10m}\n"
                   "preempt: true\ngroup_by_prefix: false\n"
                   "retry: {max_attempts: 3, backoff: 30s, factor: 2, max: 15m}\n"
                   "priority: -5\nafter: [a, {job: b, when: any}]\n"
                   "on_done: [notify-send, \"\"]\non_failed: {run: \"a | b\", shell: true}\n"
                   "on_item_failed: {notify: desktop}\non_paused: {run: [x]}\n");
    REQUIRE_OK(reading.status, &reading.error);
    static const char *const names[] = {
        "power",    "schedule", "guards",  "preempt",   "group_by_prefix", "retry",
        "priority", "after",    "on_done", "on_failed", "on_item_failed",  "on_paused"};
    REQUIRE(reading.spec->n_daemon_keys == sizeof names / sizeof names[0]);
    for (size_t i = 0; i < reading.spec->n_daemon_keys; i++) {
        CHECK_TEXT(reading.spec->daemon_keys[i].name, names[i]);
        CHECK_EQ(reading.spec->daemon_keys[i].place.line, i + 3);
    }
    close_reading(&reading);
}

static void priorities_are_words_or_numbers_and_after_may_be_one_name(void)
{
    static const char *const good[] = {"priority: high",   "priority: normal", "priority: low",
                                       "priority: 100",    "priority: -100",   "priority: 0",
                                       "after: summaries", "after: {job: x}",  "after: []"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[128];
        (void)snprintf(text, sizeof text, HEAD "%s\n", good[i]);
        CHECK_COMPLAINTS(text, "");
    }
}

static void mistakes_are_found_though_run_would_ignore_the_key(void)
{
    static const struct {
        const char *line, *complaint;
    } cases[] = {
        {"power: {on_battery: stop}", "21: 'on_battery' must be pause, run or throttle, not "
                                      "'stop'"},
        {"power: {inhibit_sleep: yes}", "24: 'inhibit_sleep' must be true or false, not 'yes', "
                                        "write true"},
        {"power: {min_battery: 120}", "22: 'min_battery' must be from 0 to 100, not 120"},
        {"guards: {load_below: 0}",
         "22: 'load_below' must be above 0 and at most 10000, not 0"},
        {"guards: {user_idle: 5m}", "10: unknown key 'user_idle' in guards, known: load_below, "
                                    "temperature_below, user_idle_for"},
        {"retry: {max_attempts: 0}", "23: 'max_attempts' must be from 1 to 100, not 0"},
        {"retry: {backoff: 30}", "18: 'backoff' must be a duration, not '30', write a number "
                                 "and a unit, such as 30s, 15m, 20h or 1h30m"},
        {"retry: 3", "8: 'retry' must be a map, not text"},
        {"priority: urgent", "11: 'priority' must be high, normal or low, not 'urgent'"},
        {"priority: 101", "11: 'priority' must be from -100 to 100, not 101"},
        {"priority: 1.5", "11: 'priority' must be a whole number, not 1.5"},
        {"after: [{when: ok}]", "9: 'after' names no 'job'"},
        {"after: [{job: x, when: done}]", "24: 'when' must be ok, any or fail, not 'done'"},
        {"preempt: 1", "10: 'preempt' must be true or false, not '1', write true"},
        {"on_done: notify-send", "10: 'on_done' must be a list, not text, write [program, "
                                 "argument], or {run: ..., shell: true}"},
        {"on_done: []", "10: 'on_done' is empty"},
        {"on_done: [\"\"]", "11: 'on_done' is empty"},
        {"on_done: {notify: mail}", "19: 'notify' must be desktop, not 'mail'"},
        {"on_done: {shell: true}", "10: 'on_done' does not say what to do, write either 'run' "
                                   "or 'notify: desktop'"},
        {"on_done: {run: x}", "16: 'run' must be a list, not text"},
        {"on_done: {rum: x, notify: desktop}",
         "11: unknown key 'rum' in on_done, did you mean 'run'?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        char wanted[256];
        (void)snprintf(text, sizeof text, HEAD "%s\n", cases[i].line);
        (void)snprintf(wanted, sizeof wanted, "job.yaml:3:%s", cases[i].complaint);
        CHECK_COMPLAINTS(text, wanted);
    }
}

int main(void)
{
    RUN(what_only_the_daemon_obeys_is_listed_in_file_order);
    RUN(priorities_are_words_or_numbers_and_after_may_be_one_name);
    RUN(mistakes_are_found_though_run_would_ignore_the_key);
    return test_result();
}
