#include "job/sampling_keys.h"
#include "job/item_seed.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char column_prefix[] = "sampling.";

struct nj_sampling nj_sampling_default(void)
{
    return (struct nj_sampling){
        .temperature = 1.0, .top_p = 1.0, .repeat_penalty = 1.0, .max_tokens = 512, .n = 1};
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

static void read_min_p(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_number(schema, pair, 0, false, 1, &sampling->min_p);
}

static void read_presence_penalty(struct nj_schema *schema, const struct nj_node_pair *pair,
                                  void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_number(schema, pair, -2, false, 2, &sampling->presence_penalty);
}

static void read_frequency_penalty(struct nj_schema *schema, const struct nj_node_pair *pair,
                                   void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_number(schema, pair, -2, false, 2, &sampling->frequency_penalty);
}

static void read_repeat_penalty(struct nj_schema *schema, const struct nj_node_pair *pair,
                                void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_number(schema, pair, 0, true, 10, &sampling->repeat_penalty);
}

static void read_top_k(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_unsigned32(schema, pair, 0, INT32_MAX, &sampling->top_k);
}

static void read_max_tokens(struct nj_schema *schema, const struct nj_node_pair *pair,
                            void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_unsigned32(schema, pair, 1, INT32_MAX, &sampling->max_tokens);
}

static void read_n(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    (void)nj_expect_unsigned32(schema, pair, 1, NJ_SAMPLES_LIMIT, &sampling->n);
}

static void read_seed(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    if (nj_expect_unsigned(schema, pair, 0, NJ_SEED_MOST, &sampling->seed)) {
        sampling->has_seed = true;
    }
}

static bool read_stop_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                           struct nj_text *text)
{
    struct nj_text found;
    if (!nj_expect_text(schema, pair, &found)) {
        return false;
    }
    if (found.length_bytes == 0) {
        nj_schema_error(schema, pair->value->place,
                        "leave it out, or name a text that ends the answer", "'%s' is empty",
                        pair->key->text.data);
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

/* One value, or a list of them, as pairs under the same key. */
static bool spread(struct nj_schema *schema, const struct nj_node_pair *pair, size_t limit,
                   const char *what, struct nj_node_pair **items, size_t *n_items)
{
    const struct nj_node *value = pair->value;
    size_t n_found = value->kind == NJ_NODE_LIST ? value->n_items : 1;
    if (n_found > limit) {
        nj_schema_error(schema, value->place, NULL, "'%s' has %zu %s, at most %zu are allowed",
                        pair->key->text.data, n_found, what, limit);
        return false;
    }
    struct nj_node_pair *found = nj_schema_take(schema, n_found, sizeof found[0]);
    for (size_t i = 0; found != NULL && i < n_found; i++) {
        const struct nj_node *item = value->kind == NJ_NODE_LIST ? value->items[i] : value;
        found[i] = (struct nj_node_pair){pair->key, item};
    }
    *items = found;
    *n_items = n_found;
    return found != NULL;
}

/* One text, or a list of them; the list replaces what held before. */
static void read_stop(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_sampling *sampling = target;
    struct nj_node_pair *items = NULL;
    size_t n_items = 0;
    if (!spread(schema, pair, NJ_STOP_STRINGS_LIMIT, "texts", &items, &n_items)) {
        return;
    }
    struct nj_text *texts = nj_schema_take(schema, n_items, sizeof texts[0]);
    size_t n_texts = 0;
    for (size_t i = 0; texts != NULL && i < n_items; i++) {
        n_texts += read_stop_text(schema, &items[i], &texts[n_texts]) ? 1 : 0;
    }
    sampling->stop = texts;
    sampling->n_stop = n_texts;
}

static int by_token(const void *left, const void *right)
{
    const nj_token *a = left;
    const nj_token *b = right;
    return (*a > *b) - (*a < *b);
}

static size_t sort_tokens(nj_token *tokens, size_t n_tokens)
{
    size_t n_kept = 0;
    if (n_tokens > 1) {
        qsort(tokens, n_tokens, sizeof tokens[0], by_token);
    }
    for (size_t i = 0; i < n_tokens; i++) {
        if (n_kept == 0 || tokens[n_kept - 1] != tokens[i]) {
            tokens[n_kept++] = tokens[i];
        }
    }
    return n_kept;
}

/* One id, or a list of them; the list replaces what held before. */
static void read_stop_tokens(struct nj_schema *schema, const struct nj_node_pair *pair,
                             void *target)
{
    struct nj_sampling *sampling = target;
    struct nj_node_pair *items = NULL;
    size_t n_items = 0;
    if (!spread(schema, pair, NJ_STOP_TOKENS_LIMIT, "ids", &items, &n_items)) {
        return;
    }
    nj_token *tokens = nj_schema_take(schema, n_items, sizeof tokens[0]);
    size_t n_tokens = 0;
    for (size_t i = 0; tokens != NULL && i < n_items; i++) {
        uint32_t token = 0;
        if (nj_expect_unsigned32(schema, &items[i], 0, INT32_MAX, &token)) {
            tokens[n_tokens++] = (nj_token)token;
        }
    }
    sampling->stop_tokens = tokens;
    sampling->n_stop_tokens = sort_tokens(tokens, n_tokens);
}

static int by_biased_token(const void *left, const void *right)
{
    const struct nj_logit_bias *a = left;
    const struct nj_logit_bias *b = right;
    return (a->token > b->token) - (a->token < b->token);
}

/* A key of the map as a number; quotes around it are no mistake, JSON demands them. */
static bool read_biased_token(struct nj_schema *schema, const struct nj_node_pair *outer,
                              const struct nj_node *key, nj_token *token)
{
    struct nj_node number = *key;
    struct nj_node_pair pair = {outer->key, &number};
    uint32_t found = 0;
    number.is_plain = true;
    if (key->text.length_bytes == 0 ||
        strspn(key->text.data, "0123456789") != key->text.length_bytes) {
        nj_schema_error(schema, key->place,
                        "'nightjar describe MODEL' tells how many there are",
                        "the keys of '%s' are token ids, '%s' is none", outer->key->text.data,
                        key->text.data);
        return false;
    }
    if (!nj_expect_unsigned32(schema, &pair, 0, INT32_MAX, &found)) {
        return false;
    }
    *token = (nj_token)found;
    return true;
}

/* Token ids and what is added to them; the map replaces what held before. Keys are unique as
 * texts, and a number has one spelling. */
static void read_logit_bias(struct nj_schema *schema, const struct nj_node_pair *pair,
                            void *target)
{
    struct nj_sampling *sampling = target;
    if (!nj_expect_map(schema, pair)) {
        return;
    }
    const struct nj_node *map = pair->value;
    if (map->n_pairs > NJ_LOGIT_BIASES_LIMIT) {
        nj_schema_error(schema, map->place, NULL,
                        "'logit_bias' has %zu tokens, at most %d are allowed", map->n_pairs,
                        NJ_LOGIT_BIASES_LIMIT);
        return;
    }
    struct nj_logit_bias *biases = nj_schema_take(schema, map->n_pairs, sizeof biases[0]);
    size_t n_biases = 0;
    for (size_t i = 0; biases != NULL && i < map->n_pairs; i++) {
        struct nj_logit_bias *bias = &biases[n_biases];
        struct nj_node_pair value = {pair->key, map->pairs[i].value};
        bool is_token = read_biased_token(schema, pair, map->pairs[i].key, &bias->token);
        bool is_bias = nj_expect_number(schema, &value, -100, false, 100, &bias->bias);
        n_biases += is_token && is_bias ? 1 : 0;
    }
    if (n_biases > 1) {
        qsort(biases, n_biases, sizeof biases[0], by_biased_token);
    }
    sampling->logit_biases = biases;
    sampling->n_logit_biases = n_biases;
}

/* true: of the chosen token only; a number: and of so many of the likeliest. */
static void read_logprobs(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_sampling *sampling = target;
    const struct nj_node *value = pair->value;
    bool is_word = value->kind == NJ_NODE_SCALAR && value->text.length_bytes > 0 &&
                   strchr("tTfF", value->text.data[0]) != NULL;
    bool is_number = value->kind != NJ_NODE_SCALAR || value->text.length_bytes == 0 ||
                     strchr("+-.0123456789", value->text.data[0]) != NULL;
    if (!is_word && !is_number && value->is_plain) {
        nj_schema_error(schema, value->place, "true records them, 5 also the 5 likeliest",
                        "'%s' must be true, false or a number, not '%s'", pair->key->text.data,
                        value->text.data);
    } else if (is_word) {
        if (nj_expect_boolean(schema, pair, &sampling->wants_logprobs)) {
            sampling->n_top_logprobs = 0;
        }
    } else if (nj_expect_unsigned32(schema, pair, 0, NJ_TOP_LOGPROBS_LIMIT,
                                    &sampling->n_top_logprobs)) {
        sampling->wants_logprobs = true;
    }
}

void nj_response_format_refuse(struct nj_schema *schema, const struct nj_node_pair *pair,
                               void *target)
{
    (void)target;
    nj_schema_error(schema, pair->key->place, "remove it, and ask for the form in the prompt",
                    "'response_format' is not supported: nothing would hold the answer to it");
}

static const struct nj_key_rule rules[] = {
    {"temperature", read_temperature},
    {"top_p", read_top_p},
    {"top_k", read_top_k},
    {"min_p", read_min_p},
    {"presence_penalty", read_presence_penalty},
    {"frequency_penalty", read_frequency_penalty},
    {"repeat_penalty", read_repeat_penalty},
    {"logit_bias", read_logit_bias},
    {"max_tokens", read_max_tokens},
    {"seed", read_seed},
    {"n", read_n},
    {"stop", read_stop},
    {"stop_token_ids", read_stop_tokens},
    {"logprobs", read_logprobs},
    {"response_format", nj_response_format_refuse},
};

const struct nj_key_table nj_sampling_keys = {
    .within = "sampling", .rules = rules, .n_rules = sizeof rules / sizeof rules[0]};

void nj_sampling_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &nj_sampling_keys, target);
    }
}

const char *nj_sampling_setting_hint(struct nj_text key, char hint[NJ_SETTING_HINT_BYTES])
{
    const char *nearest = nj_key_table_nearest(&nj_sampling_keys, key);
    if (nearest == NULL) {
        return "such as sampling.temperature or sampling.max_tokens";
    }
    (void)snprintf(hint, NJ_SETTING_HINT_BYTES, "did you mean 'sampling.%s'?", nearest);
    return hint;
}

struct nj_text nj_sampling_column_key(struct nj_text column)
{
    size_t length = sizeof column_prefix - 1;
    if (column.length_bytes < length || memcmp(column.data, column_prefix, length) != 0) {
        return (struct nj_text){0};
    }
    return (struct nj_text){column.data + length, column.length_bytes - length};
}

void nj_sampling_set(struct nj_schema *schema, const struct nj_node_pair *pair,
                     struct nj_sampling *sampling)
{
    const struct nj_key_rule *rule =
        nj_key_table_find(&nj_sampling_keys, nj_sampling_column_key(pair->key->text));
    assert(rule != NULL);
    rule->read(schema, pair, sampling);
}

/* A cell is one text, so what needs a map has no place in it. */
static bool fits_a_column(const struct nj_key_rule *rule)
{
    return rule->read != read_logit_bias && rule->read != nj_response_format_refuse;
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
        char hint[NJ_SETTING_HINT_BYTES];
        nj_schema_error(schema, place, nj_sampling_setting_hint(key, hint),
                        "column '%.*s' names no sampling setting", length, column.data);
    } else if (!fits_a_column(rule)) {
        nj_schema_error(schema, place, "remove it", "column '%.*s' cannot be set by a row",
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
    if (rule == NULL || !fits_a_column(rule)) {
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
