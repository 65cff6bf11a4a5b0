#include "job/key_table.h"

#include <stdio.h>
#include <string.h>

#include "job/schema.h"

enum {
    SUGGESTION_DISTANCE = 2, /* slips of the finger; more is another word */
    LONG_NAME_BYTES = 5,     /* in shorter ones two slips make another word */
    ABBREVIATION_BYTES = 4
};

const struct nj_key_rule *nj_key_table_find(const struct nj_key_table *table,
                                            struct nj_text name)
{
    for (size_t i = 0; i < table->n_rules; i++) {
        if (nj_text_equals(name, table->rules[i].name)) {
            return &table->rules[i];
        }
    }
    return NULL;
}

/* `temp` is short for one name only. */
static const char *completed_name(const struct nj_key_table *table, struct nj_text name)
{
    const char *completed = NULL;
    size_t n_found = 0;
    for (size_t i = 0; i < table->n_rules; i++) {
        struct nj_text candidate = nj_text_from(table->rules[i].name);
        if (name.length_bytes >= ABBREVIATION_BYTES &&
            name.length_bytes <= candidate.length_bytes &&
            memcmp(candidate.data, name.data, name.length_bytes) == 0) {
            completed = table->rules[i].name;
            n_found++;
        }
    }
    return n_found == 1 ? completed : NULL;
}

const char *nj_key_table_nearest(const struct nj_key_table *table, struct nj_text name)
{
    const char *nearest = NULL;
    unsigned best = (name.length_bytes < LONG_NAME_BYTES ? 1u : SUGGESTION_DISTANCE) + 1;
    for (size_t i = 0; i < table->n_rules; i++) {
        struct nj_text candidate = nj_text_from(table->rules[i].name);
        unsigned distance = nj_text_distance(name, candidate, best);
        if (distance < best && distance < candidate.length_bytes) {
            best = distance;
            nearest = table->rules[i].name;
        }
    }
    return nearest != NULL ? nearest : completed_name(table, name);
}

/* The map in which the key would be known. */
static const struct nj_key_table *home_of(const struct nj_schema *schema,
                                          const struct nj_key_table *table, struct nj_text name)
{
    for (size_t i = 0; i < table->n_inner; i++) {
        if (nj_key_table_find(table->inner[i], name) != NULL) {
            return table->inner[i];
        }
    }
    bool is_outer = schema->job_keys != NULL && schema->job_keys != table &&
                    nj_key_table_find(schema->job_keys, name) != NULL;
    return is_outer ? schema->job_keys : NULL;
}

enum { KEYS_SHOWN = 12, HINT_BYTES = 256 };

/* All keys of a map that has few: the one that is meant is among them. */
static void list_keys(const struct nj_key_table *table, char hint[HINT_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < table->n_rules && used < HINT_BYTES; i++) {
        int length = snprintf(hint + used, HINT_BYTES - used, "%s%s", i == 0 ? "known: " : ", ",
                              table->rules[i].name);
        used += length > 0 ? (size_t)length : 0;
    }
}

static void refuse_unknown(struct nj_schema *schema, const struct nj_key_table *table,
                           const struct nj_node *key)
{
    char hint[HINT_BYTES] = "";
    const char *nearest = nj_key_table_nearest(table, key->text);
    const struct nj_key_table *home = home_of(schema, table, key->text);
    bool is_number_tail = strspn(key->text.data, "0123456789") == key->text.length_bytes;
    if (is_number_tail && key->text.length_bytes > 0) {
        (void)snprintf(hint, sizeof hint, "the decimal sign is a point"); /* {top_p: 0,5} */
    } else if (home != NULL && home->within == NULL) {
        (void)snprintf(hint, sizeof hint, "it is a key of the job: do not indent it");
    } else if (home != NULL) {
        (void)snprintf(hint, sizeof hint, "it belongs under '%s'", home->within);
    } else if (nearest != NULL) {
        (void)snprintf(hint, sizeof hint, "did you mean '%s'?", nearest);
    } else if (table->n_rules <= KEYS_SHOWN) {
        list_keys(table, hint);
    }
    nj_schema_error(schema, key->place, hint[0] == '\0' ? NULL : hint, "unknown key '%s'%s%s",
                    key->text.data, table->within == NULL ? "" : " in ",
                    table->within == NULL ? "" : table->within);
}

static bool is_private(struct nj_text key)
{
    return key.length_bytes >= 2 && memcmp(key.data, "x-", 2) == 0;
}

/* What other tools call these keys, besides camelCase. */
static const struct {
    const char *written, *ours;
} aliases[] = {
    {"stopSequences", "stop"},
    {"stop_sequences", "stop"},
    {"maxOutputTokens", "max_tokens"},
    {"maxCompletionTokens", "max_tokens"},
    {"max_completion_tokens", "max_tokens"},
};

enum { ALIAS_BYTES = 64 };

static bool to_snake_case(struct nj_text name, char snake[ALIAS_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < name.length_bytes; i++) {
        bool is_upper = name.data[i] >= 'A' && name.data[i] <= 'Z';
        if (used + 3 > ALIAS_BYTES) {
            return false;
        }
        if (is_upper) {
            snake[used++] = '_';
        }
        snake[used++] = (char)(is_upper ? name.data[i] - 'A' + 'a' : name.data[i]);
    }
    snake[used] = '\0';
    return true;
}

/* As we would write it; `name` itself where we would not write it otherwise. */
static struct nj_text our_spelling(struct nj_text name, char snake[ALIAS_BYTES])
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (nj_text_equals(name, aliases[i].written)) {
            return nj_text_from(aliases[i].ours);
        }
    }
    return to_snake_case(name, snake) ? nj_text_from(snake) : name;
}

static const struct nj_key_rule *find_alias(const struct nj_key_table *table,
                                            struct nj_text name)
{
    char snake[ALIAS_BYTES];
    return nj_key_table_find(table, our_spelling(name, snake));
}

bool nj_keys_are_one(struct nj_text a, struct nj_text b)
{
    char snake_of_a[ALIAS_BYTES];
    char snake_of_b[ALIAS_BYTES];
    return nj_text_equal(our_spelling(a, snake_of_a), our_spelling(b, snake_of_b));
}

/* The pair under our name, for readers and for their complaints. NULL after a complaint. */
static const struct nj_node_pair *rename_pair(struct nj_schema *schema,
                                              const struct nj_node *map,
                                              const struct nj_node_pair *pair, const char *name)
{
    struct nj_node *key = nj_schema_take(schema, 1, sizeof *key);
    struct nj_node_pair *renamed = nj_schema_take(schema, 1, sizeof *renamed);
    if (key == NULL || renamed == NULL) {
        return NULL;
    }
    if (nj_node_get(map, name) != NULL) {
        nj_schema_error(schema, pair->key->place, "keep one of them", "'%s' stands beside '%s'",
                        pair->key->text.data, name);
        return NULL;
    }
    nj_diagnose(schema->diagnostics, NJ_SEVERITY_WARNING, pair->key->place, NULL,
                "'%s' is read as '%s'", pair->key->text.data, name);
    *key = *pair->key;
    key->text = nj_text_from(name);
    *renamed = (struct nj_node_pair){key, pair->value};
    return renamed;
}

static void read_pair(struct nj_schema *schema, const struct nj_node *map,
                      const struct nj_node_pair *pair, const struct nj_key_table *table,
                      void *target)
{
    const struct nj_key_rule *rule = nj_key_table_find(table, pair->key->text);
    if (rule == NULL && (rule = find_alias(table, pair->key->text)) != NULL) {
        pair = rename_pair(schema, map, pair, rule->name);
    }
    if (rule == NULL) {
        refuse_unknown(schema, table, pair->key);
    } else if (pair != NULL) {
        rule->read(schema, pair, target);
    }
}

void nj_key_table_read(struct nj_schema *schema, const struct nj_node *map,
                       const struct nj_key_table *table, void *target)
{
    for (size_t i = 0; i < map->n_pairs; i++) {
        if (!is_private(map->pairs[i].key->text)) {
            read_pair(schema, map, &map->pairs[i], table, target);
        }
    }
}
