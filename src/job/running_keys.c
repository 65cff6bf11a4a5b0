#include "job/running_keys.h"

enum { BATCH_LIMIT = 65536, THREADS_LIMIT = 1024, NICE_LIMIT = 19 };

void nj_context_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_unsigned32(schema, pair, 1, INT32_MAX, &spec->context);
}

/* --- budget --- */

static void read_max_items(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target)
{
    struct nj_job_budget *budget = target;
    (void)nj_expect_unsigned(schema, pair, 1, INT64_MAX, &budget->max_items);
}

static void read_max_output_tokens(struct nj_schema *schema, const struct nj_node_pair *pair,
                                   void *target)
{
    struct nj_job_budget *budget = target;
    (void)nj_expect_unsigned(schema, pair, 1, INT64_MAX, &budget->max_output_tokens);
}

static void read_max_runtime(struct nj_schema *schema, const struct nj_node_pair *pair,
                             void *target)
{
    struct nj_job_budget *budget = target;
    (void)nj_expect_duration(schema, pair, &budget->max_runtime_ns);
}

static void read_item_timeout(struct nj_schema *schema, const struct nj_node_pair *pair,
                              void *target)
{
    struct nj_job_budget *budget = target;
    (void)nj_expect_duration(schema, pair, &budget->item_timeout_ns);
}

static const struct nj_key_rule budget_rules[] = {
    {"max_items", read_max_items},
    {"max_output_tokens", read_max_output_tokens},
    {"max_runtime", read_max_runtime},
    {"item_timeout", read_item_timeout},
};

static const struct nj_key_table budget_keys = {.within = "budget",
                                                .rules = budget_rules,
                                                .n_rules = sizeof budget_rules /
                                                           sizeof budget_rules[0]};

void nj_budget_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    spec->budget.place = pair->key->place;
    if (nj_expect_map(schema, pair)) {
        nj_schema_read_map(schema, pair->value, &budget_keys, &spec->budget);
    }
}

/* --- stop_on_failures --- */

/* The value without its percent sign, for the reader of numbers. */
static void read_percent(struct nj_schema *schema, const struct nj_node_pair *pair,
                         struct nj_job_failure_limit *limit)
{
    size_t length = pair->value->text.length_bytes - 1;
    char *digits = nj_arena_copy_text(schema->arena, pair->value->text.data, length);
    if (digits == NULL) {
        schema->out_of_memory = true;
        return;
    }
    struct nj_node number = *pair->value;
    number.text = (struct nj_text){digits, length};
    number.is_plain = true; /* quotes around 5% are no mistake */
    struct nj_node_pair percent = {pair->key, &number};
    (void)nj_expect_number(schema, &percent, 0, true, 100, &limit->percent);
}

void nj_stop_on_failures_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                              void *target)
{
    struct nj_job_failure_limit *limit = &((struct nj_job_spec *)target)->stop_on_failures;
    const struct nj_node *value = pair->value;
    limit->place = pair->key->place;
    if (value->kind == NJ_NODE_SCALAR && value->text.length_bytes > 1 &&
        value->text.data[value->text.length_bytes - 1] == '%') {
        read_percent(schema, pair, limit);
    } else {
        (void)nj_expect_unsigned(schema, pair, 1, INT64_MAX, &limit->count);
    }
}

/* --- resources --- */

void nj_memory_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_size(schema, pair, &spec->resources.memory_bytes);
}

void nj_batch_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_unsigned32(schema, pair, 1, BATCH_LIMIT, &spec->resources.batch);
}

void nj_threads_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_unsigned32(schema, pair, 1, THREADS_LIMIT, &spec->resources.threads);
}

void nj_nice_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    spec->resources.nice_place = pair->key->place;
    (void)nj_expect_unsigned32(schema, pair, 0, NICE_LIMIT, &spec->resources.nice);
}

/* --- snapshot --- */

static void read_every(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_snapshot *snapshot = target;
    (void)nj_expect_duration(schema, pair, &snapshot->every_ns);
}

static void read_compress(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_job_snapshot *snapshot = target;
    snapshot->has_compress = nj_expect_boolean(schema, pair, &snapshot->compress);
}

static void read_write_budget(struct nj_schema *schema, const struct nj_node_pair *pair,
                              void *target)
{
    struct nj_job_snapshot *snapshot = target;
    (void)nj_expect_size(schema, pair, &snapshot->write_budget_bytes);
}

static const struct nj_key_rule snapshot_rules[] = {
    {"every", read_every},
    {"compress", read_compress},
    {"write_budget", read_write_budget},
};

static const struct nj_key_table snapshot_keys = {.within = "snapshot",
                                                  .rules = snapshot_rules,
                                                  .n_rules = sizeof snapshot_rules /
                                                             sizeof snapshot_rules[0]};

void nj_snapshot_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    spec->snapshot.place = pair->key->place;
    if (nj_expect_map(schema, pair)) {
        nj_schema_read_map(schema, pair->value, &snapshot_keys, &spec->snapshot);
    }
}
