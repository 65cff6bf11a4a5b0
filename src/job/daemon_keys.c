#include "job/daemon_keys.h"

#include <assert.h>
#include <string.h>

#include "job/schedule_keys.h"

enum { ATTEMPTS_LIMIT = 100, PRIORITY_LIMIT = 100 };

/* Of what is only checked, the value itself is dropped. */
static void check_boolean(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    bool value = false;
    (void)target;
    (void)nj_expect_boolean(schema, pair, &value);
}

static void check_duration(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target)
{
    uint64_t duration_ns = 0;
    (void)target;
    (void)nj_expect_duration(schema, pair, &duration_ns);
}

#define CHECK_NUMBER(NAME, LEAST, IS_OPEN, MOST)                                               \
    static void NAME(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)  \
    {                                                                                          \
        double value = 0;                                                                      \
        (void)target;                                                                          \
        (void)nj_expect_number(schema, pair, LEAST, IS_OPEN, MOST, &value);                    \
    }

static void check_map(struct nj_schema *schema, const struct nj_node_pair *pair,
                      const struct nj_key_rule *rules, size_t n_rules)
{
    const struct nj_key_table keys = {
        .within = pair->key->text.data, .rules = rules, .n_rules = n_rules};
    if (nj_expect_map(schema, pair)) {
        nj_schema_read_map(schema, pair->value, &keys, NULL);
    }
}

/* --- power and guards --- */

static void check_on_battery(struct nj_schema *schema, const struct nj_node_pair *pair,
                             void *target)
{
    static const char *const names[] = {"pause", "run", "throttle"};
    size_t index = 0;
    (void)target;
    (void)nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index);
}

CHECK_NUMBER(check_percent, 0, false, 100)
CHECK_NUMBER(check_load, 0, true, 10000)
CHECK_NUMBER(check_temperature, 0, true, 150) /* degrees Celsius */

static const struct nj_key_rule power_rules[] = {
    {"on_battery", check_on_battery},
    {"inhibit_sleep", check_boolean},
    {"min_battery", check_percent},
};
static void check_power(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)target;
    check_map(schema, pair, power_rules, sizeof power_rules / sizeof power_rules[0]);
}

static const struct nj_key_rule guard_rules[] = {
    {"load_below", check_load},
    {"temperature_below", check_temperature},
    {"user_idle_for", check_duration},
};
static void check_guards(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    (void)target;
    check_map(schema, pair, guard_rules, sizeof guard_rules / sizeof guard_rules[0]);
}

/* --- retry and priority --- */

static void check_attempts(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target)
{
    uint64_t value = 0;
    (void)target;
    (void)nj_expect_unsigned(schema, pair, 1, ATTEMPTS_LIMIT, &value);
}

CHECK_NUMBER(check_factor, 1, false, 100)

static const struct nj_key_rule retry_rules[] = {
    {"max_attempts", check_attempts},
    {"backoff", check_duration},
    {"factor", check_factor},
    {"max", check_duration},
};
static void check_retry(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)target;
    check_map(schema, pair, retry_rules, sizeof retry_rules / sizeof retry_rules[0]);
}

/* Higher runs sooner. */
static void check_priority(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target)
{
    static const char *const names[] = {"high", "normal", "low"};
    struct nj_text text;
    double number = 0;
    size_t index = 0;
    (void)target;
    if (!nj_expect_filled_text(schema, pair, &text)) {
        return;
    }
    bool is_number = text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9');
    if (!is_number) {
        (void)nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index);
    } else if (nj_expect_number(schema, pair, -PRIORITY_LIMIT, false, PRIORITY_LIMIT,
                                &number) &&
               strpbrk(text.data, ".eE") != NULL) {
        nj_schema_error(schema, pair->value->place, NULL,
                        "'priority' must be a whole number, not %s", text.data);
    }
}

/* --- after --- */

static void check_name(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_text text;
    (void)target;
    (void)nj_expect_filled_text(schema, pair, &text);
}

static void check_when(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"ok", "any", "fail"};
    size_t index = 0;
    (void)target;
    (void)nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index);
}

static const struct nj_key_rule after_rules[] = {
    {"job", check_name},
    {"when", check_when},
};
static void check_after_map(struct nj_schema *schema, const struct nj_node_pair *pair,
                            void *target)
{
    (void)target;
    check_map(schema, pair, after_rules, sizeof after_rules / sizeof after_rules[0]);
}

static void check_one_after(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    if (pair->value->kind != NJ_NODE_MAP) {
        check_name(schema, pair, NULL);
        return;
    }
    check_after_map(schema, pair, NULL);
    if (nj_node_get(pair->value, "job") == NULL) {
        nj_schema_error(schema, pair->value->place, NULL, "'after' names no 'job'");
    }
}

static void check_after(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)target;
    if (pair->value->kind != NJ_NODE_LIST) {
        check_one_after(schema, pair);
        return;
    }
    for (size_t i = 0; i < pair->value->n_items; i++) {
        struct nj_node_pair item = {pair->key, pair->value->items[i]};
        check_one_after(schema, &item);
    }
}

/* --- hooks --- */

static void check_arguments(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    if (pair->value->n_items == 0) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' is empty",
                        pair->key->text.data);
    }
    for (size_t i = 0; i < pair->value->n_items; i++) {
        struct nj_node_pair item = {pair->key, pair->value->items[i]};
        struct nj_text text;
        if (i == 0) {
            (void)nj_expect_filled_text(schema, &item, &text);
        } else {
            (void)nj_expect_text(schema, &item, &text);
        }
    }
}

/* What a hook's map says; judged together. */
struct hook {
    const struct nj_node_pair *run;
    const struct nj_node_pair *notify;
    bool uses_shell;
};

static void keep_run(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)schema;
    ((struct hook *)target)->run = pair;
}

static void read_notify(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"desktop"};
    size_t index = 0;
    ((struct hook *)target)->notify = pair;
    (void)nj_expect_choice(schema, pair, names, 1, &index);
}

static void read_shell(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)nj_expect_boolean(schema, pair, &((struct hook *)target)->uses_shell);
}

static const struct nj_key_rule hook_rules[] = {
    {"run", keep_run},
    {"shell", read_shell},
    {"notify", read_notify},
};

static void check_hook_map(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    struct hook hook = {0};
    const struct nj_key_table keys = {.within = pair->key->text.data,
                                      .rules = hook_rules,
                                      .n_rules = sizeof hook_rules / sizeof hook_rules[0]};
    struct nj_text text;
    nj_schema_read_map(schema, pair->value, &keys, &hook);
    if ((hook.run == NULL) == (hook.notify == NULL)) {
        nj_schema_error(schema, pair->value->place, "write either 'run' or 'notify: desktop'",
                        "'%s' does not say what to do", pair->key->text.data);
    } else if (hook.run != NULL && hook.uses_shell) {
        (void)nj_expect_filled_text(schema, hook.run, &text);
    } else if (hook.run != NULL) {
        check_arguments(schema, hook.run);
    }
}

/* A program and its arguments; a map says more. A plain text would need a shell, which must be
 * asked for. */
static void check_hook(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)target;
    if (pair->value->kind == NJ_NODE_MAP) {
        check_hook_map(schema, pair);
    } else if (pair->value->kind == NJ_NODE_SCALAR && pair->value->text.length_bytes > 0) {
        nj_schema_error(schema, pair->value->place,
                        "write [program, argument], or {run: ..., shell: true}",
                        "'%s' must be a list, not text", pair->key->text.data);
    } else {
        check_arguments(schema, pair);
    }
}

/* --- all --- */

static const struct nj_key_rule rules[] = {
    {"schedule", nj_schedule_read},
    {"power", check_power},
    {"guards", check_guards},
    {"preempt", check_boolean},
    {"group_by_prefix", check_boolean},
    {"retry", check_retry},
    {"priority", check_priority},
    {"after", check_after},
    {"on_done", check_hook},
    {"on_failed", check_hook},
    {"on_item_failed", check_hook},
    {"on_paused", check_hook},
};

static const struct nj_key_table keys = {.rules = rules,
                                         .n_rules = sizeof rules / sizeof rules[0]};

void nj_daemon_key_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    const struct nj_key_rule *rule = nj_key_table_find(&keys, pair->key->text);
    assert(rule != NULL && spec->n_daemon_keys < NJ_DAEMON_KEYS_LIMIT);
    rule->read(schema, pair, NULL);
    spec->daemon_keys[spec->n_daemon_keys++] =
        (struct nj_daemon_key){rule->name, pair->key->place};
}
