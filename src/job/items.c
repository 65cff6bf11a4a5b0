#include "job/items.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "job/item_seed.h"
#include "job/matrix.h"
#include "job/prompt_files.h"
#include "job/row_reader.h"
#include "job/sampling_keys.h"
#include "job/single_braces.h"
#include "job/unknown_names.h"
#include "job/variables.h"

/* A prompt of which some rows leave nothing. */
struct empty_prompt {
    struct nj_place first_row;
    uint64_t n_rows;
};

struct nj_item_iterator {
    const struct nj_job_spec *spec;
    uint64_t job_seed;
    struct nj_arena arena; /* lives as long as the iterator: header, prompt files */
    const struct nj_prompt_template *prompts; /* the spec's, with the files that they name */
    struct nj_row_reader *reader;
    struct nj_row row;
    bool has_row;
    uint32_t next_prompt; /* for the present row */
    size_t next_cell;     /* for the present prompt */
    uint64_t next_repeat; /* for the present cell */
    uint64_t n_repeats;
    uint32_t next_sample; /* of the present item */
    bool ignores_samples; /* gives the first sample only */
    uint64_t next_index;
    uint64_t n_rows;                  /* taken so far */
    struct nj_unknown_names *unknown; /* gathers them; NULL: they are told at once */
    struct empty_prompt *empty;       /* of each prompt, likewise */
};

/* --- opening --- */

/* With a header (or no rows at all) unknown names are known before the first row, and said
 * once instead of for each. */
static enum nj_status check_names(struct nj_item_iterator *iterator,
                                  struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    const struct nj_job_spec *spec = iterator->spec;
    struct nj_variable_list columns = {0};
    struct nj_unknown_names unknown = {.arena = &iterator->arena};
    bool is_known = nj_row_reader_columns(iterator->reader, &columns);
    if (!is_known && spec->rows.format != NJ_ROWS_NONE) {
        return NJ_OK;
    }
    struct nj_scope scope = {.row = columns,
                             .job = {spec->vars, spec->n_vars},
                             .index_text = nj_text_from("0"),
                             .id_text = nj_text_from("0"),
                             .arena = &iterator->arena};
    if (!nj_matrix_variables(&spec->matrix, 0, &iterator->arena, &scope.matrix)) {
        return nj_arena_fail(&iterator->arena, "check variables", err);
    }
    for (size_t i = 0; i < spec->n_prompts; i++) {
        scope.prompt =
            (struct nj_variable_list){iterator->prompts[i].vars, iterator->prompts[i].n_vars};
        nj_unknown_names_look(&unknown, &scope, spec, &iterator->prompts[i]);
        nj_single_braces_warn(&scope, &iterator->prompts[i], diagnostics);
    }
    nj_unknown_names_tell(&unknown, 0, diagnostics);
    return unknown.out_of_memory ? nj_arena_fail(&iterator->arena, "check variables", err)
                                 : NJ_OK;
}

static enum nj_status prepare(struct nj_item_iterator *iterator,
                              const struct nj_file_system *fs,
                              struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    enum nj_status status = nj_prompt_files_load(iterator->spec, fs, &iterator->arena,
                                                 diagnostics, &iterator->prompts, err);
    if (status != NJ_OK) {
        return status;
    }
    size_t n_errors = diagnostics->n_errors;
    status = nj_row_reader_open(&iterator->spec->rows, fs, &iterator->arena, diagnostics,
                                &iterator->reader, err);
    if (status != NJ_OK || diagnostics->n_errors > n_errors) {
        return status; /* without its header every name would be unknown */
    }
    return check_names(iterator, diagnostics, err);
}

/* Complaints go to `diagnostics` and do not fail the call. */
static enum nj_status open_iterator(const struct nj_job_spec *spec,
                                    const struct nj_file_system *fs, uint64_t job_seed,
                                    struct nj_diagnostics *diagnostics,
                                    struct nj_item_iterator **iterator, struct nj_error *err)
{
    struct nj_item_iterator *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open the items: out of memory");
    }
    opened->spec = spec;
    opened->job_seed = job_seed;
    opened->n_repeats = spec->repeat;
    enum nj_status status = prepare(opened, fs, diagnostics, err);
    if (status != NJ_OK) {
        nj_item_iterator_close(opened);
        return status;
    }
    *iterator = opened;
    return NJ_OK;
}

enum nj_status nj_item_iterator_open(const struct nj_job_spec *spec,
                                     const struct nj_file_system *fs, uint64_t job_seed,
                                     struct nj_item_iterator **iterator, struct nj_error *err)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_item_iterator *opened = NULL;
    nj_diagnostics_init(&diagnostics, &arena);
    enum nj_status status = open_iterator(spec, fs, job_seed, &diagnostics, &opened, err);
    if (status == NJ_OK) {
        status = nj_diagnostics_status(&diagnostics, err);
    }
    if (status == NJ_OK) {
        *iterator = opened;
        opened = NULL;
    }
    nj_item_iterator_close(opened);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return status;
}

void nj_item_iterator_close(struct nj_item_iterator *iterator)
{
    if (iterator == NULL) {
        return;
    }
    nj_row_reader_close(iterator->reader);
    nj_arena_deinit(&iterator->arena);
    free(iterator);
}

/* --- one item --- */

/* What rendering an item needs besides the item. */
struct rendering {
    struct nj_item_iterator *iterator;
    const struct nj_prompt_template *prompt;
    struct nj_arena *arena;
    struct nj_diagnostics *diagnostics;
    struct nj_scope scope;
    bool has_unknown; /* a name: what was rendered is not whole */
    bool out_of_memory;
};

static void render(struct rendering *rendering, const struct nj_template *compiled,
                   struct nj_text *text)
{
    const struct nj_template_values values = {&rendering->scope, nj_scope_find};
    const struct nj_template_part *unknown = NULL;
    enum nj_status status =
        nj_template_render(compiled, &values, rendering->arena, text, &unknown);
    if (status == NJ_E_MEMORY || rendering->scope.out_of_memory) {
        rendering->out_of_memory = true;
    } else if (status != NJ_OK) {
        rendering->has_unknown = true;
        if (rendering->iterator->unknown == NULL) {
            nj_unknown_names_complain(&rendering->scope, unknown, rendering->diagnostics);
        }
    }
}

static void *take(struct rendering *rendering, size_t count, size_t item_bytes)
{
    void *memory = nj_arena_take_array(rendering->arena, count, item_bytes);
    rendering->out_of_memory |= memory == NULL;
    return memory;
}

static void begin_scope(struct rendering *rendering, uint64_t index)
{
    struct nj_item_iterator *iterator = rendering->iterator;
    bool has_rows = iterator->spec->rows.format != NJ_ROWS_NONE;
    enum { DIGITS = 24 };
    char *text = take(rendering, DIGITS, 1);
    int length = text == NULL ? 0 : snprintf(text, DIGITS, "%" PRIu64, index);
    rendering->scope =
        (struct nj_scope){.row = iterator->row.columns,
                          .prompt = {rendering->prompt->vars, rendering->prompt->n_vars},
                          .job = {iterator->spec->vars, iterator->spec->n_vars},
                          .index_text = {text, (size_t)length},
                          .row_place = has_rows ? &iterator->row.place : NULL,
                          .arena = rendering->arena};
    rendering->out_of_memory |=
        !nj_matrix_variables(&iterator->spec->matrix, iterator->next_cell, rendering->arena,
                             &rendering->scope.matrix);
}

static void render_names(struct rendering *rendering, struct nj_item *item)
{
    const struct nj_job_spec *spec = rendering->iterator->spec;
    item->id = rendering->scope.index_text;
    if (spec->id_template.length_bytes > 0) {
        render(rendering, &spec->id_compiled, &item->id);
    } else if (rendering->prompt->id.length_bytes > 0) {
        render(rendering, &rendering->prompt->id_compiled, &item->id);
    }
    rendering->scope.id_text = item->id;
    if (spec->filename_template.length_bytes > 0) {
        render(rendering, &spec->filename_compiled, &item->filename);
    }
}

static void render_messages(struct rendering *rendering, struct nj_item *item)
{
    const struct nj_prompt_template *prompt = rendering->prompt;
    size_t n_own = prompt->n_messages > 0 ? prompt->n_messages : 1;
    item->messages = take(rendering, n_own + 1, sizeof item->messages[0]);
    if (item->messages == NULL) {
        return;
    }
    if (prompt->has_system) {
        struct nj_item_message *system = &item->messages[item->n_messages++];
        system->role = NJ_JOB_ROLE_SYSTEM;
        render(rendering, &prompt->system_compiled, &system->content);
    }
    if (prompt->n_messages == 0) {
        struct nj_item_message *user = &item->messages[item->n_messages++];
        user->role = NJ_JOB_ROLE_USER;
        render(rendering, &prompt->prompt_compiled, &user->content);
    }
    for (size_t i = 0; i < prompt->n_messages; i++) {
        struct nj_item_message *message = &item->messages[item->n_messages++];
        message->role = prompt->messages[i].role;
        render(rendering, &prompt->messages[i].compiled, &message->content);
    }
}

static void tell_empty_prompt(const struct nj_prompt_template *prompt,
                              const struct empty_prompt *empty,
                              struct nj_diagnostics *diagnostics)
{
    static const char hint[] = "without a chat frame the model needs some text";
    if (empty->n_rows == 0) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, prompt->place, hint, "the prompt is empty");
    } else if (empty->n_rows == 1) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, prompt->place, hint,
                    "the prompt is empty for the row at %s:%u", empty->first_row.file,
                    empty->first_row.line);
    } else {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, prompt->place, hint,
                    "the prompt is empty for %" PRIu64 " rows, the first at %s:%u",
                    empty->n_rows, empty->first_row.file, empty->first_row.line);
    }
}

/* Without a frame an empty prompt has no tokens, and nothing can follow nothing. */
static void render_bare_prompt(struct rendering *rendering, struct nj_item *item)
{
    render(rendering, &rendering->prompt->prompt_compiled, &item->prompt);
    if (item->prompt.length_bytes > 0 || rendering->has_unknown) {
        return;
    }
    struct nj_item_iterator *iterator = rendering->iterator;
    struct empty_prompt one = {.n_rows = 0};
    struct empty_prompt *empty =
        iterator->empty == NULL ? &one : &iterator->empty[iterator->next_prompt];
    if (rendering->scope.row_place != NULL && empty->n_rows++ == 0) {
        empty->first_row = *rendering->scope.row_place;
    }
    if (empty == &one || rendering->scope.row_place == NULL) {
        tell_empty_prompt(rendering->prompt, empty, rendering->diagnostics);
    }
}

/* A copy of the prompt's sampling that belongs to the item. */
static struct nj_sampling *own_sampling(struct rendering *rendering, struct nj_item *item)
{
    struct nj_sampling *own = take(rendering, 1, sizeof *own);
    if (own != NULL) {
        *own = *item->sampling;
        item->sampling = own;
    }
    return own;
}

static bool sets_sampling(const struct nj_variable_list *columns)
{
    for (size_t i = 0; i < columns->n_items; i++) {
        if (nj_sampling_column_key(columns->items[i].name).data != NULL) {
            return true;
        }
    }
    return false;
}

/* The prompt's, then what the row says, then what the matrix says. */
static void choose_sampling(struct rendering *rendering, struct nj_item *item)
{
    const struct nj_item_iterator *iterator = rendering->iterator;
    const struct nj_row *row = &iterator->row;
    const struct nj_matrix *matrix = &iterator->spec->matrix;
    /* The spec's own, which lives longer than the iterator. */
    item->sampling = &iterator->spec->prompts[item->prompt_index].sampling;
    if (!sets_sampling(&row->columns) && !nj_matrix_has_settings(matrix)) {
        return;
    }
    struct nj_sampling *own = own_sampling(rendering, item);
    struct nj_schema schema = {.arena = rendering->arena,
                               .diagnostics = rendering->diagnostics};
    for (size_t i = 0; own != NULL && i < row->columns.n_items; i++) {
        nj_sampling_set_from_column(&schema, &row->columns.items[i], row->place, own);
    }
    if (own != NULL) {
        nj_matrix_set_sampling(matrix, iterator->next_cell, &schema, own);
    }
    rendering->out_of_memory |= schema.out_of_memory;
}

/* A written seed is used as it is, so that one prompt can be reproduced alone; only repeats
 * must differ from each other. */
static enum nj_status choose_seed(const struct nj_item_iterator *iterator, struct nj_item *item,
                                  struct nj_error *err)
{
    if (item->sampling->has_seed) {
        item->seed = (item->sampling->seed + item->repeat_index) & NJ_SEED_MOST;
        return NJ_OK;
    }
    struct nj_item_identity identity = {.prompt_index = item->prompt_index,
                                        .row_index = item->row_index,
                                        .cell_index = item->matrix_index,
                                        .repeat_index = item->repeat_index};
    return nj_item_seed(iterator->job_seed, &identity, &item->seed, err);
}

static struct nj_text choose_model(const struct rendering *rendering)
{
    const struct nj_item_iterator *iterator = rendering->iterator;
    struct nj_text model = nj_matrix_model(&iterator->spec->matrix, iterator->next_cell);
    if (model.length_bytes == 0) {
        model = rendering->prompt->model;
    }
    return model.length_bytes == 0 ? iterator->spec->model : model;
}

static void render_content(struct rendering *rendering, struct nj_item *item)
{
    const struct nj_prompt_template *prompt = rendering->prompt;
    item->uses_chat = prompt->uses_chat;
    item->ids = prompt->ids;
    item->n_ids = prompt->n_ids;
    if (prompt->uses_chat) {
        render_messages(rendering, item);
    } else if (prompt->n_ids == 0) {
        render_bare_prompt(rendering, item);
    }
}

static enum nj_status render_item(struct nj_item_iterator *iterator, struct nj_arena *arena,
                                  struct nj_diagnostics *diagnostics, struct nj_item *item,
                                  struct nj_error *err)
{
    struct rendering rendering = {.iterator = iterator,
                                  .prompt = &iterator->prompts[iterator->next_prompt],
                                  .arena = arena,
                                  .diagnostics = diagnostics};
    *item = (struct nj_item){.index = iterator->next_index,
                             .place = iterator->spec->rows.format != NJ_ROWS_NONE
                                          ? iterator->row.place
                                          : rendering.prompt->place,
                             .prompt_index = iterator->next_prompt,
                             .row_index = iterator->row.index,
                             .repeat_index = iterator->next_repeat,
                             .sample = iterator->next_sample,
                             .model = choose_model(&rendering)};
    if (iterator->spec->matrix.n_cells > 0) {
        item->matrix_index = iterator->spec->matrix.indices[iterator->next_cell];
    }
    begin_scope(&rendering, item->index);
    render_names(&rendering, item);
    render_content(&rendering, item);
    choose_sampling(&rendering, item);
    if (rendering.has_unknown && iterator->unknown != NULL) {
        nj_unknown_names_look(iterator->unknown, &rendering.scope, iterator->spec,
                              rendering.prompt);
        rendering.out_of_memory |= iterator->unknown->out_of_memory;
    }
    item->vars = nj_scope_flatten(&rendering.scope, &item->n_vars);
    if (rendering.out_of_memory || rendering.scope.out_of_memory) {
        return nj_arena_fail(arena, "render an item", err);
    }
    return choose_seed(iterator, item, err);
}

/* Counts one digit of rows, prompts, cells and repeats, repeats fastest. */
static void move_on(struct nj_item_iterator *iterator)
{
    iterator->next_index++;
    if (++iterator->next_repeat < iterator->n_repeats) {
        return;
    }
    iterator->next_repeat = 0;
    if (++iterator->next_cell < iterator->spec->matrix.n_cells) {
        return;
    }
    iterator->next_cell = 0;
    if (++iterator->next_prompt < iterator->spec->n_prompts) {
        return;
    }
    iterator->next_prompt = 0;
    iterator->has_row = false;
}

static void move_on_to_sample(struct nj_item_iterator *iterator, uint32_t n_samples)
{
    if (!iterator->ignores_samples && ++iterator->next_sample < n_samples) {
        return;
    }
    iterator->next_sample = 0;
    move_on(iterator);
}

/* The window and arena of a row live only until the next row; items may live longer. */
static bool copy_text(struct nj_arena *arena, struct nj_text *text)
{
    text->data = nj_arena_copy_text(arena, text->data, text->length_bytes);
    return text->data != NULL;
}

static enum nj_status detach(struct nj_item *item, struct nj_arena *arena, struct nj_error *err)
{
    for (size_t i = 0; i < item->n_vars; i++) {
        if (!copy_text(arena, &item->vars[i].name) || !copy_text(arena, &item->vars[i].value)) {
            return nj_arena_fail(arena, "render an item", err);
        }
    }
    return NJ_OK;
}

/* The next item; with a complaint in `diagnostics` it is not usable, and the next call goes on
 * behind it. */
static enum nj_status next_item(struct nj_item_iterator *iterator, struct nj_arena *arena,
                                struct nj_diagnostics *diagnostics, struct nj_item *item,
                                bool *has_item, struct nj_error *err)
{
    uint64_t limit = iterator->spec->item_limit;
    *has_item = limit == 0 || iterator->next_index < limit;
    if (*has_item && !iterator->has_row) {
        enum nj_row_outcome outcome = NJ_ROW_NONE;
        enum nj_status status =
            nj_row_reader_next(iterator->reader, diagnostics, &iterator->row, &outcome, err);
        *has_item = outcome != NJ_ROW_NONE;
        if (status != NJ_OK || outcome != NJ_ROW_FOUND) {
            return status;
        }
        iterator->has_row = true;
        iterator->n_rows++;
    }
    if (!*has_item) {
        return NJ_OK;
    }
    size_t n_errors = diagnostics->n_errors;
    enum nj_status status = render_item(iterator, arena, diagnostics, item, err);
    if (status == NJ_OK) {
        status = detach(item, arena, err);
    }
    bool is_usable = status == NJ_OK && diagnostics->n_errors == n_errors;
    move_on_to_sample(iterator, is_usable ? item->sampling->n : 1);
    return status;
}

enum nj_status nj_item_iterator_next(struct nj_item_iterator *iterator, struct nj_arena *arena,
                                     struct nj_item *item, bool *has_item, struct nj_error *err)
{
    struct nj_arena complaints = {0};
    struct nj_diagnostics diagnostics;
    nj_diagnostics_init(&diagnostics, &complaints);
    struct nj_item found = {0};
    bool has_found = false;
    enum nj_status status = next_item(iterator, arena, &diagnostics, &found, &has_found, err);
    if (status == NJ_OK) {
        status = nj_diagnostics_status(&diagnostics, err);
    }
    if (status == NJ_OK) {
        *has_item = has_found;
        *item = found;
    }
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&complaints);
    return status;
}

/* --- checking all --- */

/* After complaints about the prompts themselves, items would only repeat them: rows alone are
 * walked then. */
static enum nj_status check_rows(struct nj_item_iterator *iterator,
                                 struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    enum nj_row_outcome outcome = NJ_ROW_FOUND;
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && outcome != NJ_ROW_NONE) {
        status =
            nj_row_reader_next(iterator->reader, diagnostics, &iterator->row, &outcome, err);
    }
    return status;
}

/* Repeats and samples differ in nothing that could be wrong, so one of each is looked at. */
static enum nj_status check_each(struct nj_item_iterator *iterator,
                                 struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    bool has_item = true;
    enum nj_status status = NJ_OK;
    struct nj_unknown_names unknown = {.arena = &iterator->arena};
    size_t n_prompts = iterator->spec->n_prompts;
    struct empty_prompt *empty =
        nj_arena_take_array(&iterator->arena, n_prompts, sizeof empty[0]);
    if (empty == NULL) {
        return nj_arena_fail(&iterator->arena, "check the items", err);
    }
    memset(empty, 0, n_prompts * sizeof empty[0]);
    iterator->n_repeats = 1;
    iterator->ignores_samples = true;
    iterator->unknown = &unknown;
    iterator->empty = empty;
    while (status == NJ_OK && has_item) {
        struct nj_arena arena = {0};
        struct nj_item item;
        status = next_item(iterator, &arena, diagnostics, &item, &has_item, err);
        nj_arena_deinit(&arena);
    }
    iterator->unknown = NULL;
    iterator->empty = NULL;
    nj_unknown_names_tell(&unknown, iterator->n_rows, diagnostics);
    for (size_t i = 0; i < n_prompts; i++) {
        if (empty[i].n_rows > 0) {
            tell_empty_prompt(&iterator->prompts[i], &empty[i], diagnostics);
        }
    }
    return status;
}

/* False when there are too many to count. */
static bool count_items(const struct nj_item_iterator *iterator, uint64_t *n_items)
{
    uint64_t limit = iterator->spec->item_limit;
    bool fits = nj_multiply_u64(iterator->next_index, iterator->spec->repeat, n_items) &&
                *n_items <= INT64_MAX;
    if (limit > 0 && (!fits || *n_items > limit)) {
        *n_items = limit;
        fits = true;
    }
    return fits;
}

enum nj_status nj_items_check(const struct nj_job_spec *spec, const struct nj_file_system *fs,
                              struct nj_diagnostics *diagnostics, uint64_t *n_items,
                              struct nj_error *err)
{
    struct nj_item_iterator *iterator = NULL;
    size_t n_errors = diagnostics->n_errors;
    enum nj_status status = open_iterator(spec, fs, 0, diagnostics, &iterator, err);
    if (status != NJ_OK) {
        return status;
    }
    assert(iterator != NULL);
    status = diagnostics->n_errors > n_errors ? check_rows(iterator, diagnostics, err)
                                              : check_each(iterator, diagnostics, err);
    uint64_t n_found = 0;
    bool is_countable = count_items(iterator, &n_found);
    nj_item_iterator_close(iterator);
    if (status != NJ_OK) {
        return status;
    }
    if (!is_countable) {
        return nj_fail(err, NJ_E_INPUT, "%s: the job has more than 2^63 items",
                       spec->source_path);
    }
    if (n_found == 0 && diagnostics->n_errors == 0) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, spec->rows.place,
                    spec->rows.offset > 0 ? "'offset' may pass over all there are" : NULL,
                    "there are no rows, so the job has nothing to do");
    }
    status = nj_diagnostics_status(diagnostics, err);
    if (status == NJ_OK) {
        *n_items = n_found;
    }
    return status;
}
