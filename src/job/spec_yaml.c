#include "job/spec_yaml.h"

#include <string.h>

#include "job/job_keys.h"
#include "job/schema.h"
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

static bool is_empty(const struct nj_node *root)
{
    return root->kind == NJ_NODE_SCALAR && root->text.length_bytes == 0;
}

static bool is_job(struct nj_schema *schema, const struct nj_node *root, size_t n_documents)
{
    static const char hint[] = "a job begins with 'nightjar: 1'";
    if (root->is_reported) {
        return false;
    }
    if (is_empty(root) && n_documents > 1) {
        nj_schema_error(schema, root->place, hint, "no job in this document");
    } else if (is_empty(root)) {
        nj_schema_error(schema, (struct nj_place){schema->path, 0, 0}, hint, "no job in file");
    } else if (root->kind != NJ_NODE_MAP) {
        nj_schema_error(schema, root->place, hint, "a job is a map of keys, not %s",
                        nj_node_kind_name(root));
    }
    return root->kind == NJ_NODE_MAP;
}

static const struct nj_job_spec *read_one(struct nj_schema *schema, const struct nj_node *root,
                                          const struct nj_job_overrides *overrides)
{
    struct nj_job_spec *spec = nj_schema_take(schema, 1, sizeof *spec);
    if (spec == NULL) {
        return NULL;
    }
    if (overrides != NULL) {
        root = nj_overrides_apply(overrides, schema, root);
    }
    if (root == NULL) {
        return spec; /* memory ran out, or there was a complaint */
    }
    nj_job_read(schema, root, spec);
    if (overrides != NULL && overrides->limit > 0 &&
        (spec->item_limit == 0 || overrides->limit < spec->item_limit)) {
        spec->item_limit = overrides->limit;
    }
    return spec;
}

/* Each job has a folder of its own, called by its name. */
static void check_names(struct nj_schema *schema, const struct nj_job_spec *const *specs,
                        const struct nj_documents *documents)
{
    for (size_t i = 1; i < documents->n_roots; i++) {
        for (size_t k = 0; k < i; k++) {
            if (specs[k]->name.length_bytes > 0 &&
                nj_text_equal(specs[i]->name, specs[k]->name)) {
                nj_schema_error(schema, documents->roots[i]->place,
                                "give each job of the file its own 'name'",
                                "a second job is called '%.*s'",
                                (int)specs[i]->name.length_bytes, specs[i]->name.data);
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
        bool is_usable = is_job(schema, documents->roots[i], documents->n_roots);
        are_jobs = are_jobs && is_usable;
        read[i] = is_usable ? read_one(schema, documents->roots[i], overrides) : NULL;
        are_jobs = are_jobs && read[i] != NULL;
    }
    if (are_jobs) {
        check_names(schema, read, documents);
        *specs = (struct nj_job_specs){read, documents->n_roots};
    }
}

/* `most` documents; more are a complaint. */
static enum nj_status read_file(const char *path, struct nj_bytes content, size_t most,
                                const struct nj_job_overrides *overrides,
                                struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                                struct nj_job_specs *specs, struct nj_error *err)
{
    struct nj_schema schema = {.path = nj_arena_copy_text(arena, path, strlen(path)),
                               .source = {(const char *)content.data, content.length_bytes},
                               .arena = arena,
                               .diagnostics = diagnostics};
    struct nj_documents documents = {0};
    struct nj_job_specs found = {0};
    if (schema.path == NULL) {
        return nj_arena_fail(arena, path, err);
    }
    enum nj_status status = fits(&schema) ? nj_yaml_tree_read(schema.path, schema.source, arena,
                                                              diagnostics, &documents, err)
                                          : NJ_OK;
    if (status != NJ_OK) {
        return status;
    }
    if (documents.n_roots > most) {
        nj_schema_error(&schema, documents.roots[most]->place, "put each job into its own file",
                        "several jobs in one file are not supported here");
        documents.n_roots = most;
    } else if (documents.n_roots == 0 && diagnostics->n_errors == 0) {
        nj_schema_error(&schema, (struct nj_place){schema.path, 0, 0},
                        "a job begins with 'nightjar: 1'", "no job in file");
    }
    read_all(&schema, &documents, overrides, &found);
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
    if (status == NJ_OK) {
        *spec = specs.items[0];
    }
    return status;
}
