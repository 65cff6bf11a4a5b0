#include "job/spec_yaml.h"

#include <string.h>

#include "job/equal_answers.h"
#include "job/import.h"
#include "job/job_keys.h"
#include "job/schema.h"
#include "job/unused_names.h"
#include "job/yaml_tree.h"

static bool fits(struct nj_schema *schema)
{
    if (schema->source.length_bytes <= NJ_JOB_FILE_LIMIT_BYTES) {
        return true;
    }
    nj_schema_error(
        schema, (struct nj_place){schema->path, 0, 0}, "put the rows into a CSV or JSONL file",
        "the file has %zu bytes, at most 16 MiB are read", schema->source.length_bytes);
    return false;
}

static const char job_hint[] = "a job begins with 'nightjar: 1'";

static bool is_empty(const struct nj_node *root)
{
    return root->kind == NJ_NODE_SCALAR && root->is_plain && !root->is_reported &&
           root->text.length_bytes == 0;
}

/* A line of `---` at the end begins a document with nothing in it: no job, and no mistake. */
static void drop_empty(struct nj_documents *documents)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < documents->n_roots; i++) {
        if (!is_empty(documents->roots[i])) {
            documents->roots[n_kept++] = documents->roots[i];
        }
    }
    documents->n_roots = n_kept;
}

static bool is_job(struct nj_schema *schema, const struct nj_node *root)
{
    if (root->is_reported) {
        return false;
    }
    if (root->kind != NJ_NODE_MAP) {
        nj_schema_error(schema, root->place, job_hint, "a job is a map of keys, not %s",
                        nj_node_kind_name(root));
    }
    return root->kind == NJ_NODE_MAP;
}

/* The job's tree, whosever file it is. Behind complaints it is read all the same, so that the
 * others are told too. NULL without memory. */
static const struct nj_node *import(struct nj_schema *schema, const struct nj_node *root)
{
    enum nj_import kind = nj_import_detect(schema->path, root);
    schema->is_import = kind != NJ_IMPORT_NONE;
    switch (kind) {
    case NJ_IMPORT_GITHUB:
        return nj_import_github(schema, root);
    case NJ_IMPORT_PROMPTFOO:
        return nj_import_promptfoo(schema, root);
    case NJ_IMPORT_LLM:
        return nj_import_llm(schema, root);
    case NJ_IMPORT_OPENAI_BATCH:
    case NJ_IMPORT_NONE:
        break;
    }
    return root;
}

/* `prompts` is NULL for a tree that has its own. */
static const struct nj_job_spec *read_one(struct nj_schema *schema, const struct nj_node *root,
                                          nj_prompts_reader *prompts,
                                          const struct nj_job_overrides *overrides)
{
    struct nj_job_spec *spec = nj_schema_take(schema, 1, sizeof *spec);
    if (spec == NULL) {
        return NULL;
    }
    if (root != NULL && overrides != NULL) {
        root = nj_overrides_apply(overrides, schema, root);
    }
    if (root == NULL) {
        return spec; /* memory ran out, or there was a complaint */
    }
    nj_job_read(schema, root, prompts, spec);
    nj_equal_answers_warn(schema, root, spec);
    if (overrides != NULL && overrides->limit > 0 &&
        (spec->item_limit == 0 || overrides->limit < spec->item_limit)) {
        spec->item_limit = overrides->limit;
    }
    return spec;
}

/* A space is a dash in the name of a folder. */
static bool name_the_same_folder(struct nj_text a, struct nj_text b)
{
    if (a.length_bytes != b.length_bytes || a.length_bytes == 0) {
        return false;
    }
    for (size_t i = 0; i < a.length_bytes; i++) {
        char of_a = (char)(a.data[i] == ' ' ? '-' : a.data[i]);
        char of_b = (char)(b.data[i] == ' ' ? '-' : b.data[i]);
        if (of_a != of_b) {
            return false;
        }
    }
    return true;
}

static void refuse_name(struct nj_schema *schema, const struct nj_node *root,
                        struct nj_text name, struct nj_text earlier)
{
    static const char hint[] = "give each job of the file its own 'name'";
    const struct nj_node *written = nj_node_get(root, "name");
    struct nj_place place = written == NULL ? root->place : written->place;
    if (nj_text_equal(name, earlier)) {
        nj_schema_error(schema, place, hint, "a second job is called '%.*s'",
                        (int)name.length_bytes, name.data);
    } else {
        nj_schema_error(schema, place, hint, "'%.*s' has the same folder as job '%.*s'",
                        (int)name.length_bytes, name.data, (int)earlier.length_bytes,
                        earlier.data);
    }
}

/* Each job has a folder of its own, called by its name. */
static void check_names(struct nj_schema *schema, const struct nj_job_spec *const *specs,
                        const struct nj_documents *documents)
{
    for (size_t i = 1; i < documents->n_roots; i++) {
        for (size_t k = 0; k < i; k++) {
            if (name_the_same_folder(specs[i]->name, specs[k]->name)) {
                refuse_name(schema, documents->roots[i], specs[i]->name, specs[k]->name);
                break;
            }
        }
    }
}

static void read_all(struct nj_schema *schema, const struct nj_documents *documents,
                     const struct nj_job_overrides *overrides, struct nj_job_specs *specs)
{
    const struct nj_job_spec **read =
        nj_schema_take(schema, documents->n_roots, sizeof(struct nj_job_spec *));
    bool are_jobs = read != NULL;
    for (size_t i = 0; i < documents->n_roots && read != NULL; i++) {
        const struct nj_node *root = documents->roots[i];
        bool is_usable = is_job(schema, root);
        read[i] = is_usable ? read_one(schema, import(schema, root), NULL, overrides) : NULL;
        are_jobs = are_jobs && read[i] != NULL;
    }
    if (are_jobs) {
        check_names(schema, read, documents);
        nj_unused_names_warn(schema, read, documents->n_roots, overrides);
        *specs = (struct nj_job_specs){read, documents->n_roots};
    }
}

/* `most` documents; more are a complaint. */
static enum nj_status read_documents(struct nj_schema *schema, size_t most,
                                     const struct nj_job_overrides *overrides,
                                     struct nj_job_specs *specs, struct nj_error *err)
{
    struct nj_documents documents = {0};
    enum nj_status status = nj_yaml_tree_read(schema->path, schema->source, schema->arena,
                                              schema->diagnostics, &documents, err);
    if (status != NJ_OK) {
        return status;
    }
    drop_empty(&documents);
    if (documents.n_roots > most) {
        nj_schema_error(schema, documents.roots[most]->place, "put each job into its own file",
                        "several jobs in one file are not supported here");
        documents.n_roots = most;
    } else if (documents.n_roots == 0 && schema->diagnostics->n_errors == 0) {
        nj_schema_error(schema, (struct nj_place){schema->path, 0, 0}, job_hint,
                        "no job in file");
    }
    read_all(schema, &documents, overrides, specs);
    return NJ_OK;
}

static void read_batch(struct nj_schema *schema, const struct nj_job_overrides *overrides,
                       struct nj_job_specs *specs)
{
    const struct nj_job_spec **read = nj_schema_take(schema, 1, sizeof(struct nj_job_spec *));
    if (read != NULL) {
        read[0] =
            read_one(schema, nj_import_openai(schema), nj_import_openai_prompts, overrides);
        nj_unused_names_warn(schema, read, 1, overrides);
        *specs = (struct nj_job_specs){read, 1};
    }
}

static enum nj_status read_file(const char *path, struct nj_bytes content, size_t most,
                                const struct nj_job_overrides *overrides,
                                struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                struct nj_job_specs *specs, struct nj_error *err)
{
    struct nj_schema schema = {.path = nj_arena_copy_text(arena, path, strlen(path)),
                               .source = {(const char *)content.data, content.length_bytes},
                               .arena = arena,
                               .diagnostics = diagnostics};
    struct nj_job_specs found = {0};
    enum nj_status status = NJ_OK;
    if (schema.path == NULL) {
        return nj_arena_fail(arena, path, err);
    }
    if (!fits(&schema)) {
        return nj_diagnostics_status(diagnostics, err);
    }
    if (nj_import_is_openai_batch(path)) {
        read_batch(&schema, overrides, &found);
    } else {
        status = read_documents(&schema, most, overrides, &found, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (schema.out_of_memory) {
        return nj_arena_fail(arena, path, err);
    }
    status = nj_diagnostics_status(diagnostics, err);
    if (status == NJ_OK) {
        *specs = found;
    }
    return status;
}

enum nj_status nj_job_specs_read(const char *path, struct nj_bytes content,
                                 const struct nj_job_overrides *overrides,
                                 struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                 struct nj_job_specs *specs, struct nj_error *err)
{
    return read_file(path, content, SIZE_MAX, overrides, arena, diagnostics, specs, err);
}

enum nj_status nj_job_spec_read(const char *path, struct nj_bytes content,
                                struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                const struct nj_job_spec **spec, struct nj_error *err)
{
    struct nj_job_specs specs = {0};
    enum nj_status status = read_file(path, content, 1, NULL, arena, diagnostics, &specs, err);
    if (status == NJ_OK && specs.items != NULL) {
        *spec = specs.items[0];
    }
    return status;
}
