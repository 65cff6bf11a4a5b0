#include "job/running_keys.h"

#include <string.h>

#include "job/quantity.h"

enum { NICE_LIMIT = 19, SWEEPS_LIMIT = 1000000 };

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
    budget->max_output_tokens_place = pair->value->place;
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

const struct nj_key_table nj_budget_keys = {.within = "budget",
                                            .rules = budget_rules,
                                            .n_rules =
                                                sizeof budget_rules / sizeof budget_rules[0]};

void nj_budget_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    spec->budget.place = pair->key->place;
    if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &nj_budget_keys, &spec->budget);
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
    if (length > 1 && digits[length - 1] == ' ' && strchr("0123456789", digits[0]) != NULL) {
        nj_schema_error(schema, number.place, "write it without the space, such as 5%",
                        "'%s' must be a number or a percentage, not '%s'", pair->key->text.data,
                        pair->value->text.data);
        return;
    }
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

void nj_states_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"auto", "memory", "disk"};
    static const enum nj_job_states values[] = {NJ_JOB_STATES_AUTO, NJ_JOB_STATES_MEMORY,
                                                NJ_JOB_STATES_DISK};
    struct nj_job_spec *spec = target;
    size_t index = 0;
    if (nj_expect_choice(schema, pair, names, sizeof names / sizeof names[0], &index)) {
        spec->resources.states = values[index];
    }
}

void nj_batch_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_unsigned32(schema, pair, 1, NJ_BATCH_LIMIT, &spec->resources.batch);
}

void nj_threads_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_unsigned32(schema, pair, 1, NJ_THREADS_LIMIT, &spec->resources.threads);
}

void nj_prefix_cache_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_job_spec *spec = target;
    const struct nj_node *value = pair->value;
    if (value->kind == NJ_NODE_SCALAR &&
        (nj_text_equals(value->text, "off") || nj_text_equals(value->text, "false"))) {
        spec->resources.prefix_cache_bytes = UINT64_MAX;
        return;
    }
    (void)nj_expect_size(schema, pair, &spec->resources.prefix_cache_bytes);
}

void nj_nice_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    spec->resources.nice_place = pair->key->place;
    (void)nj_expect_unsigned32(schema, pair, 0, NICE_LIMIT, &spec->resources.nice);
}

/* --- snapshot --- */

/* "2 sweeps": 2; 0 for text that is no number of sweeps. */
static uint32_t sweeps_of(struct nj_text text)
{
    uint32_t n = 0;
    size_t place = 0;
    while (place < text.length_bytes && text.data[place] >= '0' && text.data[place] <= '9' &&
           n < SWEEPS_LIMIT) {
        n = n * 10 + (uint32_t)(text.data[place] - '0');
        place++;
    }
    struct nj_text rest = {.data = text.data + place,
                           .length_bytes = text.length_bytes - place};
    bool is_unit = nj_text_equals(rest, " sweeps") || nj_text_equals(rest, " sweep");
    return is_unit && n <= SWEEPS_LIMIT ? n : 0;
}

static void read_every(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_snapshot *snapshot = target;
    struct nj_text text;
    if (!nj_expect_text(schema, pair, &text)) {
        return;
    }
    snapshot->every_sweeps = sweeps_of(text);
    if (snapshot->every_sweeps > 0 || nj_text_equals(text, "auto")) {
        return;
    }
    if (!nj_duration_parse(text, &snapshot->every_ns) || snapshot->every_ns == 0) {
        nj_schema_error(schema, pair->value->place, "such as 10m or 500 sweeps",
                        "'every' must be auto, a duration or a number of sweeps, not '%s'",
                        text.data);
    }
}

static void read_compress(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_job_snapshot *snapshot = target;
    struct nj_text text;
    if (!nj_expect_text(schema, pair, &text)) {
        return;
    }
    if (nj_text_equals(text, "auto") || nj_text_equals(text, "true")) {
        snapshot->compress = NJ_COMPRESS_AUTO;
    } else if (nj_text_equals(text, "off") || nj_text_equals(text, "false")) {
        snapshot->compress = NJ_COMPRESS_OFF;
    } else if (text.length_bytes == 1 && text.data[0] >= '1' && text.data[0] <= '9') {
        snapshot->compress = text.data[0] - '0';
    } else {
        nj_schema_error(schema, pair->value->place, NULL,
                        "'compress' must be auto, off or a level from 1 to 9, not '%s'",
                        text.data);
    }
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

const struct nj_key_table nj_snapshot_keys = {.within = "snapshot",
                                              .rules = snapshot_rules,
                                              .n_rules = sizeof snapshot_rules /
                                                         sizeof snapshot_rules[0]};

void nj_snapshot_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_job_spec *spec = target;
    spec->snapshot.place = pair->key->place;
    if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &nj_snapshot_keys, &spec->snapshot);
    }
}
