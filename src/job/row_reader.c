#include "job/row_reader.h"

#include <stdlib.h>

#include "base/random.h"
#include "base/vector.h"
#include "job/csv.h"
#include "job/jsonl.h"
#include "job/prompt_keys.h"
#include "job/row_input.h"
#include "job/source_text.h"

enum { SHUFFLE_PURPOSE = 1 }; /* of the draw; sampling uses 0 */

/* Where a row stands, so that rows can be read in any order. */
struct row_start {
    uint64_t offset;
    uint32_t length_bytes;
    uint32_t line;
    uint32_t index;
};

struct nj_row_reader {
    const struct nj_row_source *source;
    struct nj_row_input input;
    struct nj_csv csv;
    struct nj_jsonl jsonl;
    struct nj_arena row_arena; /* of the current row */
    struct row_start *order;   /* of shuffled rows; else NULL */
    size_t n_order, order_capacity;
    uint64_t next_index;
    uint64_t n_given;
    bool is_at_end;
};

static bool is_table(const struct nj_row_source *source)
{
    return source->format == NJ_ROWS_CSV || source->format == NJ_ROWS_TSV;
}

/* A file that cannot be read is a mistake in the job file, found where it is named. */
static enum nj_status open_input(struct nj_row_reader *reader, const struct nj_file_system *fs,
                                 struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    struct nj_error why;
    enum nj_status status = nj_row_input_init(&reader->input, fs, reader->source->path, &why);
    if (status == NJ_E_MEMORY || status == NJ_E_PERMISSION) {
        return nj_fail(err, status, "%s", why.text);
    }
    if (status != NJ_OK) {
        nj_diagnose(diagnostics, NJ_SEVERITY_ERROR, reader->source->place,
                    nj_path_hint(reader->source->path), "%s", why.text);
        reader->is_at_end = true;
    } else {
        /* Behind a mark of UTF-8 there is no mark of UTF-16, whatever the bytes are. */
        reader->is_at_end = reader->input.begin == 0 &&
                            nj_source_refuse_utf16(nj_row_input_window(&reader->input),
                                                   reader->source->path, diagnostics);
    }
    return NJ_OK;
}

static enum nj_status begin(struct nj_row_reader *reader, const struct nj_file_system *fs,
                            struct nj_arena *arena, struct nj_diagnostics *diagnostics,
                            struct nj_error *err)
{
    const struct nj_row_source *source = reader->source;
    if (!is_table(source) && source->format != NJ_ROWS_JSONL) {
        return NJ_OK;
    }
    enum nj_status status = open_input(reader, fs, diagnostics, err);
    if (status != NJ_OK || reader->is_at_end) {
        return status;
    }
    if (source->format == NJ_ROWS_JSONL) {
        nj_jsonl_begin(&reader->jsonl, &reader->input);
        return NJ_OK;
    }
    bool is_usable = false;
    status = nj_csv_begin(&reader->csv, &reader->input, arena, source->delimiter, diagnostics,
                          &is_usable, err);
    reader->is_at_end = !is_usable;
    return status;
}

void nj_row_reader_close(struct nj_row_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    nj_row_input_deinit(&reader->input);
    nj_arena_deinit(&reader->row_arena);
    free(reader->order);
    free(reader);
}

bool nj_row_reader_columns(const struct nj_row_reader *reader, struct nj_variable_list *columns)
{
    if (!is_table(reader->source)) {
        return false;
    }
    *columns = (struct nj_variable_list){reader->csv.columns, reader->csv.n_columns};
    return true;
}

/* A job without rows has one, without columns. */
static void next_inline(struct nj_row_reader *reader, struct nj_row *row,
                        enum nj_row_outcome *outcome)
{
    const struct nj_row_source *source = reader->source;
    bool has_rows = source->format == NJ_ROWS_INLINE;
    uint64_t n_rows = has_rows ? source->n_inline_rows : 1;
    *outcome = reader->next_index < n_rows ? NJ_ROW_FOUND : NJ_ROW_NONE;
    if (has_rows && *outcome == NJ_ROW_FOUND) {
        row->place = source->inline_places[reader->next_index];
        row->columns = (struct nj_variable_list){source->inline_rows[reader->next_index],
                                                 source->inline_counts[reader->next_index]};
    }
}

static enum nj_status next_of_format(struct nj_row_reader *reader, bool wants_values,
                                     struct nj_diagnostics *diagnostics, struct nj_row *row,
                                     enum nj_row_outcome *outcome, struct nj_error *err)
{
    nj_arena_deinit(&reader->row_arena);
    if (is_table(reader->source)) {
        return nj_csv_next(&reader->csv, wants_values, &reader->row_arena, diagnostics, row,
                           outcome, err);
    }
    if (reader->source->format == NJ_ROWS_JSONL) {
        return nj_jsonl_next(&reader->jsonl, wants_values, &reader->row_arena, diagnostics, row,
                             outcome, err);
    }
    next_inline(reader, row, outcome);
    return NJ_OK;
}

/* --- rows in another order --- */

static void tell(const struct nj_row_reader *reader, struct row_start *start)
{
    if (is_table(reader->source)) {
        nj_csv_tell(&reader->csv, &start->offset, &start->line);
    } else {
        nj_jsonl_tell(&reader->jsonl, &start->offset, &start->line);
    }
}

static void seek(struct nj_row_reader *reader, const struct row_start *start)
{
    if (is_table(reader->source)) {
        nj_csv_seek(&reader->csv, start->offset, start->line, start->length_bytes);
    } else {
        nj_jsonl_seek(&reader->jsonl, start->offset, start->line, start->length_bytes);
    }
}

static enum nj_status add_start(struct nj_row_reader *reader, struct nj_error *err)
{
    if (reader->n_order == UINT32_MAX) {
        return nj_fail(err, NJ_E_INPUT, "shuffle the rows of %s: more than 2^32 rows",
                       reader->source->path);
    }
    enum nj_status status =
        nj_vector_reserve(&reader->order, &reader->order_capacity, sizeof reader->order[0],
                          reader->n_order + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    struct row_start *start = &reader->order[reader->n_order];
    *start = (struct row_start){.index = (uint32_t)reader->n_order};
    tell(reader, start);
    if (reader->n_order > 0) { /* blank lines between them are counted, and passed again */
        struct row_start *before = &reader->order[reader->n_order - 1];
        uint64_t length = start->offset - before->offset;
        before->length_bytes = length > UINT32_MAX ? UINT32_MAX : (uint32_t)length;
    }
    reader->n_order++;
    return NJ_OK;
}

static enum nj_status find_starts(struct nj_row_reader *reader,
                                  struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    for (;;) {
        struct nj_row row;
        enum nj_row_outcome outcome = NJ_ROW_NONE;
        enum nj_status status = next_of_format(reader, false, diagnostics, &row, &outcome, err);
        if (status != NJ_OK || outcome == NJ_ROW_NONE) {
            return status;
        }
        status = add_start(reader, err);
        if (status != NJ_OK) {
            return status;
        }
    }
}

/* Fisher and Yates, from the back. */
static void shuffle(struct nj_row_reader *reader)
{
    uint64_t seed = reader->source->shuffle_seed;
    for (size_t i = reader->n_order; i-- > 1;) {
        double draw = nj_draw_uniform(seed, 0, i, SHUFFLE_PURPOSE);
        size_t other = (size_t)(draw * (double)(i + 1)); /* below i + 1: draws are below 1 */
        struct row_start kept = reader->order[i];
        reader->order[i] = reader->order[other];
        reader->order[other] = kept;
    }
}

/* Reads the file once for where its rows begin; after complaints there is no order. */
static enum nj_status find_order(struct nj_row_reader *reader,
                                 struct nj_diagnostics *diagnostics, struct nj_error *err)
{
    size_t n_errors = diagnostics->n_errors;
    enum nj_status status = find_starts(reader, diagnostics, err);
    if (status != NJ_OK) {
        return status;
    }
    reader->is_at_end = diagnostics->n_errors > n_errors || reader->n_order == 0;
    shuffle(reader);
    return NJ_OK;
}

enum nj_status nj_row_reader_open(const struct nj_row_source *source,
                                  const struct nj_file_system *fs, struct nj_arena *arena,
                                  struct nj_diagnostics *diagnostics,
                                  struct nj_row_reader **reader, struct nj_error *err)
{
    struct nj_row_reader *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open the rows: out of memory");
    }
    opened->source = source;
    opened->input.fd = -1;
    enum nj_status status = begin(opened, fs, arena, diagnostics, err);
    if (status == NJ_OK && source->has_shuffle_seed && !opened->is_at_end) {
        status = find_order(opened, diagnostics, err);
    }
    if (status != NJ_OK) {
        nj_row_reader_close(opened);
        return status;
    }
    *reader = opened;
    return NJ_OK;
}

static enum nj_status next_shuffled(struct nj_row_reader *reader,
                                    struct nj_diagnostics *diagnostics, struct nj_row *row,
                                    enum nj_row_outcome *outcome, struct nj_error *err)
{
    const struct nj_row_source *source = reader->source;
    uint64_t position = source->offset + reader->n_given;
    *outcome = NJ_ROW_NONE;
    if (reader->is_at_end || position >= reader->n_order ||
        (source->limit > 0 && reader->n_given == source->limit)) {
        return NJ_OK;
    }
    const struct row_start *start = &reader->order[position];
    seek(reader, start);
    *row = (struct nj_row){.index = start->index};
    reader->n_given++;
    return next_of_format(reader, true, diagnostics, row, outcome, err);
}

/* Rows before the offset are counted and not judged. */
enum nj_status nj_row_reader_next(struct nj_row_reader *reader,
                                  struct nj_diagnostics *diagnostics, struct nj_row *row,
                                  enum nj_row_outcome *outcome, struct nj_error *err)
{
    const struct nj_row_source *source = reader->source;
    if (source->has_shuffle_seed) {
        return next_shuffled(reader, diagnostics, row, outcome, err);
    }
    *outcome = NJ_ROW_NONE;
    bool limit_reached = source->limit > 0 && reader->n_given == source->limit;
    while (!reader->is_at_end && !limit_reached) {
        *row = (struct nj_row){.index = reader->next_index};
        bool is_wanted = reader->next_index >= source->offset;
        enum nj_status status =
            next_of_format(reader, is_wanted, diagnostics, row, outcome, err);
        if (status != NJ_OK) {
            return status;
        }
        reader->next_index++;
        reader->is_at_end = *outcome == NJ_ROW_NONE;
        if (is_wanted) {
            reader->n_given++;
            break;
        }
    }
    return NJ_OK;
}
