#include "job/prompt_keys.h"

#include <stdio.h>
#include <string.h>

#include "job/sampling_keys.h"
#include "job/variables.h"

const char *nj_path_hint(const char *path)
{
    return strpbrk(path, "*?") != NULL ? "patterns are not written out: name one file" : NULL;
}

void nj_refuse_shell_path(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    static const char *const begins[] = {"~/", "$HOME/", "${HOME}/"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
        if (strncmp(pair->value->text.data, begins[i], strlen(begins[i])) == 0) {
            nj_schema_error(schema, pair->value->place, "write the whole path",
                            "'%s' begins with %s, which only a shell knows",
                            pair->key->text.data, begins[i]);
        }
    }
}

const char *nj_expect_path(struct nj_schema *schema, const struct nj_node_pair *pair)
{
    struct nj_text text;
    if (!nj_expect_filled_text(schema, pair, &text)) {
        return NULL;
    }
    if (memchr(text.data, '\0', text.length_bytes) != NULL) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' has a NUL character",
                        pair->key->text.data);
        return NULL;
    }
    nj_refuse_shell_path(schema, pair);
    const char *slash = strrchr(schema->path, '/');
    size_t folder_length =
        slash == NULL || text.data[0] == '/' ? 0 : (size_t)(slash - schema->path) + 1;
    char *path = nj_schema_take(schema, folder_length + text.length_bytes + 1, 1);
    if (path != NULL) {
        memcpy(path, schema->path, folder_length);
        memcpy(path + folder_length, text.data, text.length_bytes);
    }
    return path;
}

void nj_vars_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                  const struct nj_variable **vars, size_t *n_vars)
{
    if (!nj_expect_map(schema, pair)) {
        return;
    }
    const struct nj_node *map = pair->value;
    struct nj_variable *found = nj_schema_take(schema, map->n_pairs, sizeof found[0]);
    size_t n_found = 0;
    for (size_t i = 0; found != NULL && i < map->n_pairs; i++) {
        const struct nj_node *key = map->pairs[i].key;
        if (nj_variable_is_built_in(key->text)) {
            nj_schema_error(schema, key->place, "choose another name",
                            "'%s' is a built-in variable", key->text.data);
        } else if (nj_expect_prose(schema, &map->pairs[i], &found[n_found].value)) {
            found[n_found++].name = key->text;
        }
    }
    if (found != NULL) {
        nj_variables_sort(found, n_found);
        *vars = found;
        *n_vars = n_found;
    }
}

/* --- messages --- */

/* In the order of the enum. */
static const char *const role_names[] = {"system", "user", "assistant"};

static void read_role(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    struct nj_message_template *message = target;
    size_t index = 0;
    if (nj_expect_choice(schema, pair, role_names, sizeof role_names / sizeof role_names[0],
                         &index)) {
        message->role = (enum nj_job_role)index;
    }
}

static void read_content(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    struct nj_message_template *message = target;
    (void)nj_expect_template(schema, pair, &message->content, &message->compiled);
}

static const struct nj_key_rule message_rules[] = {
    {"role", read_role},
    {"content", read_content},
};

static const struct nj_key_table message_keys = {.within = "messages",
                                                 .rules = message_rules,
                                                 .n_rules = sizeof message_rules /
                                                            sizeof message_rules[0]};

/* `- user: Hello` is how people abbreviate it. */
static bool is_role_alone(const struct nj_node *map)
{
    for (size_t i = 0; i < sizeof role_names / sizeof role_names[0]; i++) {
        if (map->n_pairs == 1 && nj_text_equals(map->pairs[0].key->text, role_names[i])) {
            return true;
        }
    }
    return false;
}

static void read_message(struct nj_schema *schema, const struct nj_node_pair *item,
                         struct nj_message_template *message)
{
    message->place = item->value->place;
    if (!nj_expect_map(schema, item)) {
        return;
    }
    if (is_role_alone(item->value)) {
        const char *role = item->value->pairs[0].key->text.data;
        char hint[64];
        (void)snprintf(hint, sizeof hint, "write {role: %s, content: ...}", role);
        nj_schema_error(schema, item->value->place, hint, "'%s' is a role and no key", role);
        return;
    }
    nj_key_table_read(schema, item->value, &message_keys, message);
    for (size_t i = 0; i < message_keys.n_rules; i++) {
        if (nj_node_get(item->value, message_rules[i].name) == NULL) {
            nj_schema_error(schema, item->value->place, NULL, "message without '%s'",
                            message_rules[i].name);
        }
    }
}

static void check_order(struct nj_schema *schema, const struct nj_message_template *messages,
                        size_t n_messages)
{
    for (size_t i = 1; i < n_messages; i++) {
        if (messages[i].role == NJ_JOB_ROLE_SYSTEM) {
            nj_schema_error(schema, messages[i].place, NULL,
                            "a system message must be the first");
        }
    }
    const struct nj_message_template *last = &messages[n_messages - 1];
    if (last->role != NJ_JOB_ROLE_USER) {
        nj_schema_error(schema, last->place, "it is what the model answers",
                        "the last message must have the role user");
    }
}

static void read_messages(struct nj_schema *schema, const struct nj_node_pair *pair,
                          struct nj_prompt_template *prompt)
{
    const struct nj_node *list = pair->value;
    if (list->kind != NJ_NODE_LIST && !list->is_reported) {
        nj_schema_error(schema, list->place, "write [{role: user, content: ...}]",
                        "'messages' must be a list, not %s", nj_node_kind_name(list));
        return;
    }
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    if (list->n_items == 0) {
        nj_schema_error(schema, list->place, NULL, "'messages' is empty");
        return;
    }
    struct nj_message_template *messages =
        nj_schema_take(schema, list->n_items, sizeof messages[0]);
    if (messages == NULL) {
        return;
    }
    size_t n_errors = schema->diagnostics->n_errors;
    for (size_t i = 0; i < list->n_items; i++) {
        struct nj_node_pair item = {pair->key, list->items[i]};
        read_message(schema, &item, &messages[i]);
    }
    if (schema->diagnostics->n_errors == n_errors) {
        check_order(schema, messages, list->n_items);
    }
    prompt->messages = messages;
    prompt->n_messages = list->n_items;
}

/* --- token ids --- */

static void read_ids(struct nj_schema *schema, const struct nj_node_pair *pair,
                     struct nj_prompt_template *prompt)
{
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    const struct nj_node *list = pair->value;
    if (list->n_items == 0) {
        nj_schema_error(schema, list->place, NULL, "'ids' is empty");
        return;
    }
    nj_token *ids = nj_schema_take(schema, list->n_items, sizeof ids[0]);
    for (size_t i = 0; ids != NULL && i < list->n_items; i++) {
        struct nj_node_pair item = {pair->key, list->items[i]};
        uint64_t id = 0;
        if (nj_expect_unsigned(schema, &item, 0, INT32_MAX, &id)) {
            ids[i] = (nj_token)id;
        }
    }
    prompt->ids = ids;
    prompt->n_ids = ids == NULL ? 0 : list->n_items;
}

/* --- what goes together --- */

/* The forms that are given; exactly one is wanted. */
static size_t forms_given(const struct nj_prompt_draft *draft,
                          const struct nj_node_pair *given[4])
{
    const struct nj_node_pair *const forms[] = {draft->prompt, draft->messages, draft->ids,
                                                draft->file};
    size_t n_given = 0;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (forms[i] != NULL) {
            given[n_given++] = forms[i];
        }
    }
    return n_given;
}

static void check_one_form(struct nj_schema *schema, const struct nj_prompt_draft *draft,
                           struct nj_place place)
{
    const struct nj_node_pair *given[4];
    size_t n_given = forms_given(draft, given);
    if (n_given == 0) {
        nj_schema_error(schema, place, "add prompt, messages, ids or file",
                        "this entry has no prompt");
    }
    for (size_t i = 1; i < n_given; i++) {
        nj_schema_error(schema, given[i]->key->place, "keep one of them",
                        "'%s' stands beside '%s'", given[i]->key->text.data,
                        given[0]->key->text.data);
    }
}

static void refuse_beside(struct nj_schema *schema, const struct nj_node_pair *pair,
                          const char *other)
{
    if (pair != NULL) {
        nj_schema_error(schema, pair->key->place, "remove one of them",
                        "'%s' cannot be combined with %s", pair->key->text.data, other);
    }
}

/* Ids are fed as they are, and so is the text without a chat frame: nothing can be put around
 * them, and what a person wrote for that must not be dropped silently. */
static void check_frame(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                        const struct nj_prompt_draft *draft,
                        const struct nj_prompt_template *prompt)
{
    bool own_chat = draft->chat != NULL && !prompt->uses_chat;
    if (draft->ids != NULL) {
        refuse_beside(schema, draft->system, "'ids'");
        refuse_beside(schema, prompt->uses_chat ? draft->chat : NULL, "'ids'");
        if (draft->system == NULL) {
            refuse_beside(schema, defaults->system == NULL ? NULL : draft->ids,
                          "the 'system' of the job");
        }
        return;
    }
    if (prompt->uses_chat) {
        return;
    }
    refuse_beside(schema, draft->messages, "'chat: false'");
    refuse_beside(schema, draft->system, "'chat: false'");
    if (draft->system == NULL && own_chat) {
        refuse_beside(schema, defaults->system == NULL ? NULL : draft->chat,
                      "the 'system' of the job");
    }
}

static void choose_system(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                          const struct nj_prompt_draft *draft,
                          struct nj_prompt_template *prompt)
{
    bool begins_with_system =
        prompt->n_messages > 0 && prompt->messages[0].role == NJ_JOB_ROLE_SYSTEM;
    if (draft->system != NULL) {
        if (begins_with_system) {
            refuse_beside(schema, draft->system, "a system message");
        }
        prompt->has_system = nj_expect_template(schema, draft->system, &prompt->system,
                                                &prompt->system_compiled);
    } else if (defaults->system != NULL && !begins_with_system && prompt->uses_chat) {
        prompt->has_system = true;
        prompt->system = defaults->system_text;
        prompt->system_compiled = defaults->system_compiled;
    }
}

static void read_forms(struct nj_schema *schema, const struct nj_prompt_draft *draft,
                       struct nj_prompt_template *prompt)
{
    if (draft->prompt != NULL && draft->prompt->value->kind == NJ_NODE_LIST) {
        nj_schema_error(schema, draft->prompt->value->place,
                        "several prompts stand under 'prompts'",
                        "'prompt' must be text, not a list");
    } else if (draft->prompt != NULL) {
        prompt->has_prompt = nj_expect_template(schema, draft->prompt, &prompt->prompt,
                                                &prompt->prompt_compiled);
    }
    if (draft->file != NULL) {
        prompt->has_prompt = true;
        prompt->prompt_path = nj_expect_path(schema, draft->file);
        prompt->prompt_path_place = draft->file->value->place;
    }
    if (draft->messages != NULL) {
        read_messages(schema, draft->messages, prompt);
    }
    if (draft->ids != NULL) {
        read_ids(schema, draft->ids, prompt);
    }
}

static void read_draft(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                       const struct nj_prompt_draft *draft, struct nj_prompt_template *prompt)
{
    prompt->sampling = defaults->sampling;
    prompt->uses_chat = defaults->uses_chat;
    if (draft->id != NULL) {
        (void)nj_expect_template(schema, draft->id, &prompt->id, &prompt->id_compiled);
    }
    if (draft->vars != NULL) {
        nj_vars_read(schema, draft->vars, &prompt->vars, &prompt->n_vars);
    }
    if (draft->sampling != NULL) {
        nj_sampling_read(schema, draft->sampling, &prompt->sampling);
    }
    if (draft->chat != NULL) {
        (void)nj_expect_boolean(schema, draft->chat, &prompt->uses_chat);
    }
    if (draft->model != NULL) {
        prompt->model_place = draft->model->value->place;
        if (nj_expect_filled_text(schema, draft->model, &prompt->model)) {
            nj_refuse_shell_path(schema, draft->model);
        }
    }
    read_forms(schema, draft, prompt);
    check_one_form(schema, draft, prompt->place);
    check_frame(schema, defaults, draft, prompt);
    prompt->uses_chat = prompt->uses_chat && draft->ids == NULL;
    choose_system(schema, defaults, draft, prompt);
}

void nj_prompt_read_single(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                           const struct nj_prompt_draft *draft,
                           struct nj_prompt_template *prompt)
{
    const struct nj_node_pair *given[4];
    prompt->place = forms_given(draft, given) > 0 ? given[0]->value->place
                                                  : (struct nj_place){schema->path, 1, 1};
    read_draft(schema, defaults, draft, prompt);
}

/* --- the list --- */

/* Which keys stand in an entry must be known before any can be judged, so they are only kept.
 */
#define KEEP(NAME)                                                                             \
    static void keep_##NAME(struct nj_schema *schema, const struct nj_node_pair *pair,         \
                            void *target)                                                      \
    {                                                                                          \
        (void)schema;                                                                          \
        ((struct nj_prompt_draft *)target)->NAME = pair;                                       \
    }
KEEP(id)
KEEP(prompt)
KEEP(messages)
KEEP(ids)
KEEP(file)
KEEP(system)
KEEP(vars)
KEEP(sampling)
KEEP(chat)
KEEP(model)

static const struct nj_key_rule entry_rules[] = {
    {"id", keep_id},       {"prompt", keep_prompt},     {"messages", keep_messages},
    {"ids", keep_ids},     {"file", keep_file},         {"system", keep_system},
    {"vars", keep_vars},   {"sampling", keep_sampling}, {"chat", keep_chat},
    {"model", keep_model},
};

static const struct nj_key_table *const entry_inner_keys[] = {&nj_sampling_keys};

static const struct nj_key_table entry_keys = {.within = "prompts",
                                               .rules = entry_rules,
                                               .n_rules =
                                                   sizeof entry_rules / sizeof entry_rules[0],
                                               .inner = entry_inner_keys,
                                               .n_inner = 1};

/* An entry is a text, or a map that begins with one of several forms. */
void nj_prompt_read_entry(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                          const struct nj_node_pair *item, struct nj_prompt_template *prompt)
{
    struct nj_prompt_draft draft = {0};
    prompt->place = item->value->place;
    if (item->value->kind == NJ_NODE_SCALAR) {
        draft.prompt = item;
    } else if (nj_expect_map(schema, item)) {
        nj_key_table_read(schema, item->value, &entry_keys, &draft);
    } else {
        return;
    }
    read_draft(schema, defaults, &draft, prompt);
}

void nj_prompts_read(struct nj_schema *schema, const struct nj_prompt_defaults *defaults,
                     const struct nj_node_pair *pair, struct nj_job_spec *spec)
{
    if (pair->value->kind == NJ_NODE_SCALAR && pair->value->text.length_bytes > 0) {
        nj_schema_error(schema, pair->value->place, "a single one stands under 'prompt'",
                        "'prompts' must be a list, not text");
        return;
    }
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    const struct nj_node *list = pair->value;
    if (list->n_items == 0) {
        nj_schema_error(schema, list->place, NULL, "'prompts' is empty");
        return;
    }
    struct nj_prompt_template *prompts =
        nj_schema_take(schema, list->n_items, sizeof prompts[0]);
    for (size_t i = 0; prompts != NULL && i < list->n_items; i++) {
        struct nj_node_pair item = {pair->key, list->items[i]};
        nj_prompt_read_entry(schema, defaults, &item, &prompts[i]);
    }
    spec->prompts = prompts;
    spec->n_prompts = prompts == NULL ? 0 : list->n_items;
}
