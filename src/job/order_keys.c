#include "job/order_keys.h"

#include <string.h>

/* --- retry --- */

static void read_attempts(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_job_retry *retry = target;
    (void)nj_expect_unsigned32(schema, pair, 1, NJ_ATTEMPTS_LIMIT, &retry->max_attempts);
}

static void read_backoff(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    (void)nj_expect_duration(schema, pair, &((struct nj_job_retry *)target)->backoff_ns);
}

static void read_factor(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_retry *retry = target;
    (void)nj_expect_number(schema, pair, 1, false, 100, &retry->factor);
}

static void read_most(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)nj_expect_duration(schema, pair, &((struct nj_job_retry *)target)->most_ns);
}

static const struct nj_key_rule retry_rules[] = {
    {"max_attempts", read_attempts},
    {"backoff", read_backoff},
    {"factor", read_factor},
    {"max", read_most},
};
static const struct nj_key_table retry_keys = {.within = "retry",
                                               .rules = retry_rules,
                                               .n_rules =
                                                   sizeof retry_rules / sizeof retry_rules[0]};

void nj_retry_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &retry_keys,
                          &((struct nj_job_orders *)target)->retry);
    }
}

/* --- priority --- */

static void read_priority_number(struct nj_schema *schema, const struct nj_node_pair *pair,
                                 struct nj_text text, int *priority)
{
    double number = 0;
    if (!nj_expect_number(schema, pair, -NJ_PRIORITY_LIMIT, false, NJ_PRIORITY_LIMIT,
                          &number)) {
        return;
    }
    if (strpbrk(text.data, ".eE") != NULL) {
        nj_schema_error(schema, pair->value->place, NULL,
                        "'priority' must be a whole number, not %s", text.data);
        return;
    }
    *priority = (int)number;
}

void nj_priority_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"high", "normal", "low"};
    static const int values[] = {NJ_PRIORITY_HIGH, NJ_PRIORITY_NORMAL, NJ_PRIORITY_LOW};
    struct nj_job_orders *orders = target;
    struct nj_text text;
    size_t index = 0;
    if (!nj_expect_filled_text(schema, pair, &text)) {
        return;
    }
    if (text.data[0] == '-' || (text.data[0] >= '0' && text.data[0] <= '9')) {
        read_priority_number(schema, pair, text, &orders->priority);
    } else if (nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index)) {
        orders->priority = values[index];
    }
}

/* --- after --- */

static void read_job(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)nj_expect_filled_text(schema, pair, &((struct nj_job_after *)target)->job);
}

static void read_when(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"ok", "any", "fail"};
    struct nj_job_after *after = target;
    size_t index = 0;
    if (nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index)) {
        after->when = (enum nj_after_when)index; /* in the order of the enum */
    }
}

static const struct nj_key_rule after_rules[] = {{"job", read_job}, {"when", read_when}};
static const struct nj_key_table after_keys = {.within = "after",
                                               .rules = after_rules,
                                               .n_rules =
                                                   sizeof after_rules / sizeof after_rules[0]};

static void read_one_after(struct nj_schema *schema, const struct nj_node_pair *pair,
                           struct nj_job_after *after)
{
    if (pair->value->kind != NJ_NODE_MAP) {
        read_job(schema, pair, after);
        return;
    }
    nj_key_table_read(schema, pair->value, &after_keys, after);
    if (nj_node_get(pair->value, "job") == NULL) {
        nj_schema_error(schema, pair->value->place, NULL, "'after' names no 'job'");
    }
}

void nj_after_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_orders *orders = target;
    bool is_list = pair->value->kind == NJ_NODE_LIST;
    size_t n_after = is_list ? pair->value->n_items : 1;
    struct nj_job_after *after = nj_schema_take(schema, n_after, sizeof after[0]);
    for (size_t i = 0; i < n_after && after != NULL; i++) {
        struct nj_node_pair item = {pair->key, is_list ? pair->value->items[i] : pair->value};
        read_one_after(schema, &item, &after[i]);
    }
    orders->after = after;
    orders->n_after = after == NULL ? 0 : n_after;
}
