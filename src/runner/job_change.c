#include "runner/job_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "job/spec_yaml.h"
#include "runner/item_change.h"
#include "runner/line_reader.h"
#include "runner/survey.h"

static bool digests_equal(const struct nj_digest *a, const struct nj_digest *b)
{
    return memcmp(a->bytes, b->bytes, NJ_DIGEST_BYTES) == 0;
}

static void write_text(const struct nj_item *item, const char *what,
                       char text[NJ_JOB_CHANGE_BYTES])
{
    int id_length = item->id.length_bytes < 60 ? (int)item->id.length_bytes : 60;
    (void)snprintf(text, NJ_JOB_CHANGE_BYTES, "item %llu (%.*s): %s",
                   (unsigned long long)item->index, id_length,
                   item->id.data != NULL ? item->id.data : "", what);
}

/* The earlier job, read again. */
struct earlier_job {
    struct nj_arena arena;
    struct nj_diagnostics diagnostics;
    const struct nj_job_spec *spec;
    struct nj_ledger ledger;
    struct nj_item_source source;
};

/* The job of today's name in the folder's copy of the job file. */
static enum nj_status read_spec(const struct nj_job_change *change, struct earlier_job *earlier)
{
    struct nj_bytes content;
    struct nj_job_specs specs = {0};
    const struct nj_job_spec *now = change->setting->spec;
    enum nj_status status =
        nj_file_read_whole(change->fs, change->directory_fd, "spec.yaml",
                           NJ_JOB_FILE_LIMIT_BYTES, &earlier->arena, &content, NULL);
    if (status == NJ_OK) {
        status = nj_job_specs_read(now->source_path, content, NULL, &earlier->arena,
                                   &earlier->diagnostics, &specs, NULL);
    }
    for (size_t i = 0; i < specs.n_items && status == NJ_OK; i++) {
        if (earlier->spec == NULL || nj_text_equal(specs.items[i]->name, now->name)) {
            earlier->spec = specs.items[i];
        }
    }
    return status == NJ_OK && earlier->spec == NULL ? NJ_E_NOT_FOUND : status;
}

/* Whether the job that was read is the one that was run. */
static bool is_proved(const struct nj_job_change *change, struct earlier_job *earlier)
{
    struct nj_survey survey;
    struct nj_prompt_setting setting = *change->setting;
    uint64_t job_seed =
        earlier->spec->has_job_seed ? earlier->spec->job_seed : change->earlier->job_seed;
    setting.spec = earlier->spec;
    const struct nj_survey_options options = {.setting = &setting,
                                              .fs = change->fs,
                                              .job_seed = job_seed,
                                              .complaints = &earlier->diagnostics};
    earlier->source =
        (struct nj_item_source){.spec = earlier->spec, .fs = change->fs, .job_seed = job_seed};
    return nj_survey_run(&options, &earlier->ledger, &survey, NULL) == NJ_OK &&
           survey.n_items == change->earlier->n_items &&
           digests_equal(&survey.items, &change->earlier->items);
}

static void describe_item(const struct nj_job_change *change, struct earlier_job *earlier,
                          uint64_t index, char text[NJ_JOB_CHANGE_BYTES])
{
    struct nj_arena arena = {0};
    struct nj_item before;
    struct nj_item now;
    char what[NJ_ITEM_CHANGE_BYTES];
    const struct nj_item_of_job old_one = {.item = &before, .spec = earlier->spec};
    const struct nj_item_of_job new_one = {.item = &now, .spec = change->setting->spec};
    if (nj_item_source_read(&earlier->source, index, &arena, &before, NULL) == NJ_OK &&
        nj_item_source_read(change->source, index, &arena, &now, NULL) == NJ_OK &&
        nj_item_change_describe(&old_one, &new_one, what)) {
        write_text(&now, what, text);
    }
    nj_arena_deinit(&arena);
}

static void compare_jobs(const struct nj_job_change *change, struct earlier_job *earlier,
                         char text[NJ_JOB_CHANGE_BYTES])
{
    const struct nj_ledger *before = &earlier->ledger;
    const struct nj_ledger *now = change->ledger;
    for (uint64_t i = 0; i < before->n_items && i < now->n_items; i++) {
        if (!digests_equal(&before->items[i].digest, &now->items[i].digest)) {
            describe_item(change, earlier, i, text);
            return;
        }
    }
}

static void describe_from_spec(const struct nj_job_change *change,
                               char text[NJ_JOB_CHANGE_BYTES])
{
    struct earlier_job earlier = {0};
    nj_diagnostics_init(&earlier.diagnostics, &earlier.arena);
    if (read_spec(change, &earlier) == NJ_OK && is_proved(change, &earlier)) {
        compare_jobs(change, &earlier, text);
    }
    nj_item_source_deinit(&earlier.source);
    nj_ledger_deinit(&earlier.ledger);
    nj_diagnostics_deinit(&earlier.diagnostics);
    nj_arena_deinit(&earlier.arena);
}

/* What each item was in the earlier job, by its latest result since `first_generation`, as far
 * as there is one. */
static void note_results(const struct nj_job_change *change, uint32_t first_generation,
                         const struct nj_found_result **of_item)
{
    const struct nj_findings *findings = change->findings;
    memset(of_item, 0, change->ledger->n_items * sizeof(const struct nj_found_result *));
    for (size_t i = 0; i < findings->n_results; i++) {
        const struct nj_found_result *result = &findings->results[i];
        if (result->generation >= first_generation &&
            result->item_index < change->earlier->n_items &&
            result->item_index < change->ledger->n_items) {
            of_item[result->item_index] = result;
        }
    }
}

/* Whether the earlier job was what these results say, and where none says anything what the
 * item is today: then its digest comes out. */
static bool are_proved(const struct nj_job_change *change,
                       const struct nj_found_result *const *of_item)
{
    struct nj_digest items = {{0}};
    const struct nj_ledger *ledger = change->ledger;
    enum nj_status status = ledger->n_items < change->earlier->n_items ? NJ_E_NOT_FOUND : NJ_OK;
    for (uint64_t i = 0; i < change->earlier->n_items && status == NJ_OK; i++) {
        bool is_told = of_item[i] != NULL && of_item[i]->is_ok;
        status = nj_items_chain(
            &items, is_told ? &of_item[i]->item_digest : &ledger->items[i].digest, NULL);
    }
    return status == NJ_OK && digests_equal(&items, &change->earlier->items);
}

/* The answer of the first item that changed. NULL: none, or, unless the results prove what the
 * job was, an item before it that left none may have changed as well. */
static const struct nj_found_result *first_changed(const struct nj_job_change *change,
                                                   const struct nj_found_result *const *of_item,
                                                   bool is_proof)
{
    const struct nj_ledger *ledger = change->ledger;
    for (uint64_t i = 0; i < ledger->n_items; i++) {
        const struct nj_found_result *result = of_item[i];
        bool is_same =
            result != NULL && digests_equal(&result->item_digest, &ledger->items[i].digest);
        if (!is_same && result != NULL && result->is_ok) {
            return result;
        }
        if (!is_same && !is_proof) {
            return NULL;
        }
    }
    return NULL;
}

/* Rows that were appended began a new generation, and results of those before it still tell of
 * the same job; results from before a restart tell of another. Whose they are is proved by the
 * job's digest. Without the proof only those of the last generation are believed. */
static const struct nj_found_result *find_changed(const struct nj_job_change *change)
{
    const struct nj_found_result *first = NULL;
    const struct nj_found_result **of_item =
        calloc(change->ledger->n_items + 1, sizeof(const struct nj_found_result *));
    if (of_item == NULL) {
        return NULL;
    }
    note_results(change, 0, of_item);
    bool is_proof = are_proved(change, of_item);
    if (!is_proof) {
        note_results(change, change->earlier->generation, of_item);
        is_proof = are_proved(change, of_item);
    }
    first = first_changed(change, of_item, is_proof);
    free(of_item);
    return first;
}

static bool describe_line_vars(const struct nj_json_value *vars, const struct nj_item *now,
                               char what[NJ_ITEM_CHANGE_BYTES])
{
    for (size_t i = 0; i < now->n_vars; i++) {
        struct nj_text name = {0};
        struct nj_text value = {0};
        char field[100];
        const struct nj_json_value *member = nj_json_member(vars, i, &name);
        if (!nj_json_as_text(member, &value) || !nj_text_equal(name, now->vars[i].name)) {
            return nj_text_change_describe("vars", name, now->vars[i].name, what);
        }
        (void)snprintf(field, sizeof field, "vars.%.*s", (int)name.length_bytes, name.data);
        if (nj_text_change_describe(field, value, now->vars[i].value, what)) {
            return true;
        }
    }
    return false;
}

static bool prompt_differs(const struct nj_job_change *change, const struct nj_json_value *line,
                           const struct nj_item *now)
{
    struct nj_token_list ids = {0};
    struct nj_digest digest;
    struct nj_text before = {0};
    char hex[NJ_DIGEST_HEX_BYTES] = "";
    if (nj_prompt_build(change->setting, now, &ids, NULL) == NJ_OK &&
        nj_prompt_ids_digest(&ids, &digest, NULL) == NJ_OK) {
        nj_digest_to_hex(&digest, hex);
    }
    nj_token_list_deinit(&ids);
    return nj_json_as_text(nj_json_get(line, "prompt_sha256"), &before) &&
           !nj_text_equals(before, hex);
}

/* What the result line of the earlier item tells. */
static void describe_from_line(const struct nj_job_change *change,
                               const struct nj_json_value *line, const struct nj_item *now,
                               char text[NJ_JOB_CHANGE_BYTES])
{
    char what[NJ_ITEM_CHANGE_BYTES] = "its sampling options, seed or thinking differ";
    struct nj_text id = {0};
    (void)nj_json_as_text(nj_json_get(line, "id"), &id);
    if (!nj_text_change_describe("id", id, now->id, what) &&
        !describe_line_vars(nj_json_get(line, "vars"), now, what) &&
        prompt_differs(change, line, now)) {
        (void)snprintf(what, sizeof what, "its prompt differs");
    }
    write_text(now, what, text);
}

static void describe_from_results(const struct nj_job_change *change,
                                  char text[NJ_JOB_CHANGE_BYTES])
{
    const struct nj_found_result *changed = find_changed(change);
    if (changed == NULL) {
        return;
    }
    struct nj_arena arena = {0};
    struct nj_item now;
    struct nj_json *document = NULL;
    struct nj_line_reader reader = {.fs = change->fs, .directory_fd = change->directory_fd};
    struct nj_text line = {.length_bytes = changed->line.n_bytes};
    if (nj_line_reader_read(&reader, changed->line, &line.data, NULL) == NJ_OK &&
        nj_json_parse(line, "results.log", &document, NULL) == NJ_OK &&
        nj_item_source_read(change->source, changed->item_index, &arena, &now, NULL) == NJ_OK) {
        describe_from_line(change, nj_json_root(document), &now, text);
    }
    nj_json_destroy(document);
    nj_line_reader_deinit(&reader);
    nj_arena_deinit(&arena);
}

void nj_job_change_describe(const struct nj_job_change *change, char text[NJ_JOB_CHANGE_BYTES])
{
    text[0] = '\0';
    describe_from_spec(change, text);
    if (text[0] == '\0') {
        describe_from_results(change, text);
    }
}
