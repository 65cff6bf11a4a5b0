#include "job/hook_keys.h"

static void read_arguments(struct nj_schema *schema, const struct nj_node_pair *pair,
                           struct nj_job_hook *hook)
{
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    size_t n_arguments = pair->value->n_items;
    if (n_arguments == 0) {
        nj_schema_error(schema, pair->value->place, NULL, "'%s' is empty",
                        pair->key->text.data);
    }
    struct nj_text *arguments = nj_schema_take(schema, n_arguments, sizeof arguments[0]);
    for (size_t i = 0; i < n_arguments && arguments != NULL; i++) {
        struct nj_node_pair item = {pair->key, pair->value->items[i]};
        if (i == 0) {
            (void)nj_expect_filled_text(schema, &item, &arguments[i]);
        } else {
            (void)nj_expect_text(schema, &item, &arguments[i]);
        }
    }
    *hook = (struct nj_job_hook){NJ_HOOK_RUN, arguments, arguments == NULL ? 0 : n_arguments};
}

static void read_shell_text(struct nj_schema *schema, const struct nj_node_pair *pair,
                            struct nj_job_hook *hook)
{
    struct nj_text *text = nj_schema_take(schema, 1, sizeof *text);
    if (text != NULL && nj_expect_filled_text(schema, pair, text)) {
        *hook = (struct nj_job_hook){NJ_HOOK_SHELL, text, 1};
    }
}

/* What a hook's map says; judged together. */
struct draft {
    const struct nj_node_pair *run;
    const struct nj_node_pair *notify;
    bool uses_shell;
};

static void keep_run(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)schema;
    ((struct draft *)target)->run = pair;
}

static void read_notify(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    static const char *const names[] = {"desktop"};
    size_t index = 0;
    ((struct draft *)target)->notify = pair;
    (void)nj_expect_choice(schema, pair, names, 1, &index);
}

static void read_shell(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    (void)nj_expect_boolean(schema, pair, &((struct draft *)target)->uses_shell);
}

static const struct nj_key_rule rules[] = {
    {"run", keep_run},
    {"shell", read_shell},
    {"notify", read_notify},
};

static void read_map(struct nj_schema *schema, const struct nj_node_pair *pair,
                     struct nj_job_hook *hook)
{
    struct draft draft = {0};
    const struct nj_key_table keys = {.within = pair->key->text.data,
                                      .rules = rules,
                                      .n_rules = sizeof rules / sizeof rules[0]};
    nj_key_table_read(schema, pair->value, &keys, &draft);
    if ((draft.run == NULL) == (draft.notify == NULL)) {
        nj_schema_error(schema, pair->value->place, "write either 'run' or 'notify: desktop'",
                        "'%s' does not say what to do", pair->key->text.data);
    } else if (draft.notify != NULL) {
        hook->kind = NJ_HOOK_NOTIFY_DESKTOP;
    } else if (draft.uses_shell) {
        read_shell_text(schema, draft.run, hook);
    } else {
        read_arguments(schema, draft.run, hook);
    }
}

/* A plain text would need a shell, which must be asked for. */
void nj_hook_read(struct nj_schema *schema, const struct nj_node_pair *pair,
                  struct nj_job_hook *hook)
{
    if (pair->value->kind == NJ_NODE_MAP) {
        read_map(schema, pair, hook);
    } else if (pair->value->kind == NJ_NODE_SCALAR && pair->value->text.length_bytes > 0) {
        nj_schema_error(schema, pair->value->place,
                        "write [program, argument], or {run: ..., shell: true}",
                        "'%s' must be a list, not text", pair->key->text.data);
    } else {
        read_arguments(schema, pair, hook);
    }
}
