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

static void what_the_daemon_obeys_is_kept(void)
{
    struct reading reading;
    read_text(&reading, HEAD "preempt: true\ngroup_by_prefix: true\npriority: high\n"
                             "retry: {max_attempts: 5, backoff: 10s, factor: 3, max: 1m}\n"
                             "after: [a, {job: b c, when: any}]\n"
                             "on_done: [notify-send, \"\"]\n"
                             "on_failed: {run: \"a | b\", shell: true}\n"
                             "on_item_failed: {notify: desktop}\n");
    REQUIRE_OK(reading.status, &reading.error);
    const struct nj_job_orders *orders = &reading.spec->orders;
    CHECK(orders->preempts && orders->groups_by_prefix);
    CHECK_EQ(orders->priority, NJ_PRIORITY_HIGH);
    CHECK_EQ(orders->retry.max_attempts, 5);
    CHECK_EQ(orders->retry.backoff_ns, 10000000000);
    CHECK_NEAR(orders->retry.factor, 3, 0);
    CHECK_EQ(orders->retry.most_ns, 60000000000);
    REQUIRE(orders->n_after == 2);
    CHECK_TEXT(shown(orders->after[0].job), "a");
    CHECK_EQ(orders->after[0].when, NJ_AFTER_OK);
    CHECK_TEXT(shown(orders->after[1].job), "b c");
    CHECK_EQ(orders->after[1].when, NJ_AFTER_ANY);
    const struct nj_job_hook *hooks = orders->hooks;
    CHECK_EQ(hooks[NJ_HOOK_ON_DONE].kind, NJ_HOOK_RUN);
    REQUIRE(hooks[NJ_HOOK_ON_DONE].n_arguments == 2);
    CHECK_TEXT(shown(hooks[NJ_HOOK_ON_DONE].arguments[0]), "notify-send");
    CHECK_TEXT(shown(hooks[NJ_HOOK_ON_DONE].arguments[1]), "");
    CHECK_EQ(hooks[NJ_HOOK_ON_FAILED].kind, NJ_HOOK_SHELL);
    CHECK_TEXT(shown(hooks[NJ_HOOK_ON_FAILED].arguments[0]), "a | b");
    CHECK_EQ(hooks[NJ_HOOK_ON_ITEM_FAILED].kind, NJ_HOOK_NOTIFY_DESKTOP);
    CHECK_EQ(hooks[NJ_HOOK_ON_PAUSED].kind, NJ_HOOK_NONE);
    close_reading(&reading);
}

static void a_number_is_a_priority_too(void)
{
    static const struct {
        const char *line;
        int priority;
    } cases[] = {{"", 0}, {"priority: low\n", -50}, {"priority: -7\n", -7}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct reading reading;
        char text[128];
        (void)snprintf(text, sizeof text, HEAD "%s", cases[i].line);
        read_text(&reading, text);
        REQUIRE_OK(reading.status, &reading.error);
        CHECK_EQ(reading.spec->orders.priority, cases[i].priority);
        close_reading(&reading);
    }
}

static void pauses_between_attempts_grow_up_to_a_limit(void)
{
    struct nj_job_retry retry = nj_job_orders_default().retry;
    static const uint64_t second_ns = 1000000000;
    CHECK_EQ(retry.max_attempts, 3);
    CHECK_EQ(nj_job_retry_pause_ns(&retry, 1, 0.5), 30 * second_ns);
    CHECK_EQ(nj_job_retry_pause_ns(&retry, 2, 0.5), 60 * second_ns);
    CHECK_EQ(nj_job_retry_pause_ns(&retry, 1, 0), 24 * second_ns);
    CHECK(nj_job_retry_pause_ns(&retry, 1, 0.999) < 36 * second_ns);
    CHECK_EQ(nj_job_retry_pause_ns(&retry, UINT32_MAX, 0.5), 15 * 60 * second_ns);
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
        {"guards: {user_idle: 5m}",
         "10: unknown key 'user_idle' in guards, did you mean 'user_idle_for'?"},
        {"retry: {max_attempts: 0}", "23: 'max_attempts' must be from 1 to 100, not 0"},
        {"retry: {backoff: 30}", "18: 'backoff' must be a duration, not '30', write a number "
                                 "and a unit, such as 30s, 15m, 20h or 1h30m"},
        {"retry: 3", "8: 'retry' must be a map, not text, write {key: value}, or such lines "
                     "below it, indented"},
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
        {"on_done: {run: x}",
         "16: 'run' must be a list, not text, write [one, two], or lines that begin with '- '"},
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
    RUN(what_the_daemon_obeys_is_kept);
    RUN(a_number_is_a_priority_too);
    RUN(pauses_between_attempts_grow_up_to_a_limit);
    RUN(priorities_are_words_or_numbers_and_after_may_be_one_name);
    RUN(mistakes_are_found_though_run_would_ignore_the_key);
    return test_result();
}
