#include "job/sampling_keys.h"

#include <string.h>

static const char column_prefix[] = "sampling.";

struct nj_sampling nj_sampling_default(void)
{
    return (struct nj_sampling){.temperature = 1.0, .top_p = 1.0, .max_tokens = 512};
}

static void read_temperature(struct nj_schema *schema, const struct nj_node_pair *pair,
                             void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_number(schema, pair, 0, false, 100, &sampling->temperature);
}

static void read_top_p(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_number(schema, pair, 0, true, 1, &sampling->top_p);
}

static void read_top_k(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    uint64_t value = 0;
    if (nj_expect_unsigned(schema, pair, 0, INT32_MAX, &value)) {
        sampling->top_k = (uint32_t)value;
    }
}

static void read_max_tokens(struct nj_schema *schema, const struct nj_node_pair *pair,
                            void *target)
{
    struct nj_sampling *sampling = target;
    uint64_t value = 0;
    if (nj_expect_unsigned(schema, pair, 1, INT32_MAX, &value)) {
        sampling->max_tokens = (uint32_t)value;
    }
}

static void read_seed(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    if (nj_expect_unsigned(schema, pair, 0, UINT64_MAX, &sampling->seed)) {
        sampling->has_seed = true;
    }
}

static bool read_stop_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                           struct nj_text *text)
{
    struct nj_text found;
    if (!nj_expect_filled_text(schema, pair, &found)) {
        return false;
    }
    if (found.length_bytes > NJ_STOP_STRING_LIMIT_BYTES) {
        nj_schema_error(schema, pair->value->place, NULL,
                        "'stop' text of %zu bytes, at most %d are allowed", found.length_bytes,
                        NJ_STOP_STRING_LIMIT_BYTES);
        return false;
    }
    *text = found;
    return true;
}

/* One text, or a list of them; the list replaces what held before. */
static void read_stop(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    const struct nj_node *value = pair->value;
    const struct nj_node *const *items = value->kind == NJ_NODE_LIST
                                             ? (const struct nj_node *const *)value->items
                                             : &pair->value;
    size_t n_items = value->kind == NJ_NODE_LIST ? value->n_items : 1;
    if (n_items > NJ_STOP_STRINGS_LIMIT) {
        nj_schema_error(schema, value->place, NULL,
                        "'stop' has %zu texts, at most %d are allowed", n_items,
                        NJ_STOP_STRINGS_LIMIT);
        return;
    }
    struct nj_text *texts = nj_schema_take(schema, n_items, sizeof texts[0]);
    size_t n_texts = 0;
    for (size_t i = 0; texts != NULL && i < n_items; i++) {
        struct nj_node_pair item = {pair->key, items[i]};
        n_texts += read_stop_text(schema, &item, &texts[n_texts]) ? 1 : 0;
    }
    sampling->stop = texts;
    sampling->n_stop = n_texts;
}

static const struct nj_key_rule rules[] = {
    {"temperature", read_temperature},
    {"top_p", read_top_p},
    {"top_k", read_top_k},
    {"max_tokens", read_max_tokens},
    {"seed", read_seed},
    {"stop", read_stop},
    {"min_p", NULL},
    {"stop_token_ids", NULL},
    {"n", NULL},
    {"presence_penalty", NULL},
    {"frequency_penalty", NULL},
    {"repeat_penalty", NULL},
    {"logit_bias", NULL},
    {"logprobs", NULL},
    {"response_format", NULL},
};

const struct nj_key_table nj_sampling_keys = {
    .within = "sampling", .rules = rules, .n_rules = sizeof rules / sizeof rules[0]};

void nj_sampling_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    if (nj_expect_map(schema, pair)) {
        nj_schema_read_map(schema, pair->value, &nj_sampling_keys, target);
    }
}

struct nj_text nj_sampling_column_key(struct nj_text column)
{
    size_t length = sizeof column_prefix - 1;
    if (column.length_bytes < length || memcmp(column.data, column_prefix, length) != 0) {
        return (struct nj_text){0};
    }
    return (struct nj_text){column.data + length, column.length_bytes - length};
}

void nj_sampling_check_column(struct nj_schema *schema, struct nj_text column,
                              struct nj_place place)
{
    if (nj_text_equals(column, "sampling")) {
        nj_schema_error(schema, place, "write a column 'sampling.temperature' and so on",
                        "column 'sampling' sets nothing");
        return;
    }
    struct nj_text key = nj_sampling_column_key(column);
    if (key.data == NULL) {
        return;
    }
    const struct nj_key_rule *rule = nj_key_table_find(&nj_sampling_keys, key);
    int length = (int)(column.length_bytes < 64 ? column.length_bytes : 64);
    if (rule == NULL) {
        nj_schema_error(schema, place, NULL, "column '%.*s' names no sampling setting", length,
                        column.data);
    } else if (rule->read == NULL) {
        nj_schema_error(schema, place, "remove it", "column '%.*s' is not supported yet",
                        length, column.data);
    }
}

void nj_sampling_set_from_column(struct nj_schema *schema, const struct nj_variable *column,
                                 struct nj_place place, struct nj_sampling *sampling)
{
    struct nj_text key = nj_sampling_column_key(column->name);
    if (key.data == NULL || column->value.length_bytes == 0) {
        return;
    }
    const struct nj_key_rule *rule = nj_key_table_find(&nj_sampling_keys, key);
    if (rule == NULL || rule->read == NULL) {
        return; /* nj_sampling_check_column has said so */
    }
    /* Messages print names and values as C strings. */
    char *name =
        nj_arena_copy_text(schema->arena, column->name.data, column->name.length_bytes);
    char *text =
        nj_arena_copy_text(schema->arena, column->value.data, column->value.length_bytes);
    if (name == NULL || text == NULL) {
        schema->out_of_memory = true;
        return;
    }
    struct nj_node key_node = {.place = place, .text = {name, column->name.length_bytes}};
    struct nj_node value = {
        .place = place, .text = {text, column->value.length_bytes}, .is_plain = true};
    struct nj_node_pair pair = {&key_node, &value};
    rule->read(schema, &pair, sampling);
}
