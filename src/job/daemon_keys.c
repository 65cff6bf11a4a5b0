#include "job/daemon_keys.h"

#include <assert.h>

#include "job/hook_keys.h"
#include "job/order_keys.h"
#include "job/schedule_keys.h"

/* Of what is only checked (power and guards), the value itself is dropped. */
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
        nj_key_table_read(schema, pair->value, &keys, NULL);
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

/* --- all --- */

static void read_preempt(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    (void)nj_expect_boolean(schema, pair, &((struct nj_job_orders *)target)->preempts);
}

static void read_group_by_prefix(struct nj_schema *schema, const struct nj_node_pair *pair,
                                 void *target)
{
    (void)nj_expect_boolean(schema, pair, &((struct nj_job_orders *)target)->groups_by_prefix);
}

#define READ_HOOK(NAME, OCCASION)                                                              \
    static void NAME(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)  \
    {                                                                                          \
        nj_hook_read(schema, pair, &((struct nj_job_orders *)target)->hooks[OCCASION]);        \
    }
READ_HOOK(read_on_done, NJ_HOOK_ON_DONE)
READ_HOOK(read_on_failed, NJ_HOOK_ON_FAILED)
READ_HOOK(read_on_item_failed, NJ_HOOK_ON_ITEM_FAILED)
READ_HOOK(read_on_paused, NJ_HOOK_ON_PAUSED)

static const struct nj_key_rule rules[] = {
    {"schedule", nj_schedule_read},
    {"power", check_power},
    {"guards", check_guards},
    {"preempt", read_preempt},
    {"group_by_prefix", read_group_by_prefix},
    {"retry", nj_retry_read},
    {"priority", nj_priority_read},
    {"after", nj_after_read},
    {"on_done", read_on_done},
    {"on_failed", read_on_failed},
    {"on_item_failed", read_on_item_failed},
    {"on_paused", read_on_paused},
};

static const struct nj_key_table keys = {.rules = rules,
                                         .n_rules = sizeof rules / sizeof rules[0]};

void nj_daemon_key_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    const struct nj_key_rule *rule = nj_key_table_find(&keys, pair->key->text);
    assert(rule != NULL && spec->n_daemon_keys < NJ_DAEMON_KEYS_LIMIT);
    rule->read(schema, pair, &spec->orders);
    spec->daemon_keys[spec->n_daemon_keys++] =
        (struct nj_daemon_key){rule->name, pair->key->place};
}
