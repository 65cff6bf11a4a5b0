#include "job/output_keys.h"

#include "job/prompt_keys.h"

static void read_directory(struct nj_schema *schema, const struct nj_node_pair *pair,
                           void *target)
{
    struct nj_job_spec *spec = target;
    spec->output_directory = nj_expect_path(schema, pair);
}

static void read_formats(struct nj_schema *schema, const struct nj_node_pair *pair,
                         void *target)
{
    static const char *const names[] = {"jsonl", "markdown", "csv"};
    struct nj_job_spec *spec = target;
    spec->formats_place = pair->key->place;
    if (!nj_expect_list(schema, pair)) {
        return;
    }
    for (size_t i = 0; i < pair->value->n_items; i++) {
        struct nj_node_pair item = {pair->key, pair->value->items[i]};
        size_t index = 0;
        if (nj_expect_choice(schema, &item, names, sizeof names / sizeof names[0], &index)) {
            spec->output_formats |= 1U << index; /* names stand in the order of the bits */
        }
    }
}

static void read_filename(struct nj_schema *schema, const struct nj_node_pair *pair,
                          void *target)
{
    struct nj_job_spec *spec = target;
    (void)nj_expect_template(schema, pair, &spec->filename_template, &spec->filename_compiled);
}

static const struct nj_key_rule rules[] = {
    {"dir", read_directory},
    {"formats", read_formats},
    {"filename", read_filename},
};

const struct nj_key_table nj_output_keys = {
    .within = "output", .rules = rules, .n_rules = sizeof rules / sizeof rules[0]};

void nj_output_read(struct nj_schema *schema, const struct nj_node_pair *pair, void *target)
{
    if (nj_expect_map(schema, pair)) {
        nj_key_table_read(schema, pair->value, &nj_output_keys, target);
    }
}
