/* Prompt files of GitHub Models: messages, modelParameters, testData, with {{variables}} like
 * ours. */
#include "job/import.h"

#include <string.h>

struct github {
    struct nj_schema *schema;
    struct nj_node *job;
};

static void put(struct github *github, const char *name, const struct nj_node *value)
{
    struct nj_node *changed = nj_import_put(github->schema, github->job, name, value);
    github->job = changed == NULL ? github->job : changed;
}

static void check_response_format(struct github *github, const struct nj_node_pair *pair)
{
    if (pair->value->kind != NJ_NODE_SCALAR || !nj_text_equals(pair->value->text, "text")) {
        nj_import_refuse(github->schema, pair->key);
    }
}

static void read_pair(struct github *github, const struct nj_node_pair *pair)
{
    static const struct {
        const char *theirs, *ours;
    } same[] = {{"name", "name"},
                {"description", "description"},
                {"messages", "messages"},
                {"modelParameters", "sampling"}};
    const struct nj_node *value = pair->value;
    struct nj_text key = pair->key->text;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (nj_text_equals(key, same[i].theirs)) {
            put(github, same[i].ours, value);
            return;
        }
    }
    if (nj_text_equals(key, "testData")) {
        if (value->kind != NJ_NODE_LIST || value->n_items > 0) {
            put(github, "rows", value);
        }
    } else if (nj_text_equals(key, "model")) {
        nj_import_warn(github->schema, value->place,
                       "the model of an imported file is not used");
    } else if (nj_text_equals(key, "evaluators")) {
        nj_import_warn(github->schema, pair->key->place, "'evaluators' are left aside");
    } else if (nj_text_equals(key, "responseFormat")) {
        check_response_format(github, pair);
    } else {
        nj_import_refuse(github->schema, pair->key);
    }
}

const struct nj_node *nj_import_github(struct nj_schema *schema, const struct nj_node *root)
{
    struct github github = {schema, nj_import_begin(schema, root->place)};
    for (size_t i = 0; i < root->n_pairs; i++) {
        read_pair(&github, &root->pairs[i]);
    }
    return schema->out_of_memory ? NULL : github.job;
}
