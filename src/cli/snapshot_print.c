#include "cli/snapshot_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/vector.h"
#include "cli/clean_text.h"
#include "cli/complaint.h"
#include "cli/exit_code.h"
#include "cli/words.h"
#include "tools/sheet.h"

enum { DOCUMENT_VERSION = 1, CELL_BYTES = 32, N_COLUMNS = 8 };

static void write_count(struct nj_json_writer *writer, const char *key, uint64_t value)
{
    nj_json_key(writer, key);
    nj_json_write_unsigned(writer, value);
}

static void write_string(struct nj_json_writer *writer, const char *key, const char *value)
{
    nj_json_key(writer, key);
    nj_json_write_string(writer, value);
}

static void begin_document(struct nj_json_writer *writer)
{
    nj_json_writer_init(writer);
    nj_json_begin_object(writer);
    write_count(writer, "version", DOCUMENT_VERSION);
}

/* How many times smaller the stored form is. */
static double ratio_of(uint64_t raw_bytes, uint64_t stored_bytes)
{
    return stored_bytes > 0 ? (double)raw_bytes / (double)stored_bytes : 0.0;
}

/* --- ls --- */

void nj_snapshot_table_init(struct nj_snapshot_table *table, bool as_json)
{
    struct nj_clock clock = nj_clock_system();
    *table = (struct nj_snapshot_table){.as_json = as_json,
                                        .now_unix_ms = clock.unix_ms(clock.context)};
    if (as_json) {
        begin_document(&table->json);
        nj_json_key(&table->json, "segments");
        nj_json_begin_array(&table->json);
    }
}

void nj_snapshot_table_deinit(struct nj_snapshot_table *table)
{
    free(table->rows);
    if (table->as_json) {
        nj_json_writer_deinit(&table->json);
    }
}

static void write_info(struct nj_json_writer *writer, const struct nj_snapshot_info *info)
{
    char time[NJ_CLOCK_TEXT_BYTES];
    write_string(writer, "file", info->file);
    write_count(writer, "item_index", info->item_index);
    write_count(writer, "sample", info->sample);
    write_count(writer, "generation", info->generation);
    write_count(writer, "previous", info->previous);
    write_string(writer, "state", nj_snapshot_use_name(info->use));
    nj_json_key(writer, "is_in_journal");
    nj_json_write_boolean(writer, info->is_in_journal);
    write_count(writer, "positions", info->n_positions);
    write_count(writer, "first_position", info->first_position);
    write_count(writer, "tokens", info->n_tokens);
    write_count(writer, "prompt_tokens", info->n_prompt_tokens);
    write_count(writer, "file_bytes", info->file_bytes);
    write_count(writer, "raw_bytes", info->raw_bytes);
    write_count(writer, "stored_bytes", info->stored_bytes);
    write_string(writer, "time", nj_clock_format(info->written_unix_ms, time));
    nj_json_key(writer, "time_unix");
    nj_json_write_number(writer, (double)info->written_unix_ms / 1000.0);
    write_string(writer, "complaint", info->complaint);
}

enum nj_status nj_snapshot_table_add(void *context, const struct nj_snapshot_info *info,
                                     struct nj_error *err)
{
    struct nj_snapshot_table *table = context;
    if (table->as_json) {
        nj_json_begin_object(&table->json);
        write_info(&table->json, info);
        nj_json_end_object(&table->json);
        return NJ_OK;
    }
    enum nj_status status = nj_vector_reserve(&table->rows, &table->capacity,
                                              sizeof *table->rows, table->n_rows + 1, err);
    if (status == NJ_OK) {
        table->rows[table->n_rows++] = *info;
    }
    return status;
}

/* "4s", "12m", "3h", "2d". */
static void write_age(const struct nj_snapshot_table *table,
                      const struct nj_snapshot_info *info, char cell[CELL_BYTES])
{
    int64_t seconds = (table->now_unix_ms - info->written_unix_ms) / 1000;
    if (info->written_unix_ms == 0 || seconds < 0) {
        (void)snprintf(cell, CELL_BYTES, "-");
    } else if (seconds < 120) {
        (void)snprintf(cell, CELL_BYTES, "%" PRId64 "s", seconds);
    } else if (seconds < 7200) {
        (void)snprintf(cell, CELL_BYTES, "%" PRId64 "m", seconds / 60);
    } else if (seconds < 172800) {
        (void)snprintf(cell, CELL_BYTES, "%" PRId64 "h", seconds / 3600);
    } else {
        (void)snprintf(cell, CELL_BYTES, "%" PRId64 "d", seconds / 86400);
    }
}

static void fill_row(const struct nj_snapshot_table *table, const struct nj_snapshot_info *info,
                     char cells[N_COLUMNS][CELL_BYTES])
{
    (void)snprintf(cells[0], CELL_BYTES, "%" PRIu64, info->item_index);
    (void)snprintf(cells[1], CELL_BYTES, "%" PRIu64, info->generation);
    (void)snprintf(cells[2], CELL_BYTES, "%" PRIu32, info->n_positions);
    (void)snprintf(cells[3], CELL_BYTES, "%" PRIu32, info->n_tokens);
    (void)snprintf(cells[4], CELL_BYTES, "%" PRIu64, info->file_bytes);
    (void)snprintf(cells[5], CELL_BYTES, "%.2f", ratio_of(info->raw_bytes, info->stored_bytes));
    write_age(table, info, cells[6]);
    (void)snprintf(cells[7], CELL_BYTES, "%s", nj_snapshot_use_name(info->use));
}

static void print_row(FILE *file, char cells[N_COLUMNS][CELL_BYTES],
                      const int widths[N_COLUMNS])
{
    for (int column = 0; column < N_COLUMNS; column++) {
        bool is_last = column == N_COLUMNS - 1;
        (void)fprintf(file, "%s%*s", column == 0 ? "" : "  ", is_last ? 0 : widths[column],
                      cells[column]);
    }
}

static void print_rows(const struct nj_snapshot_table *table, FILE *file)
{
    char cells[N_COLUMNS][CELL_BYTES] = {"ITEM",  "GENERATION", "POSITIONS", "TOKENS",
                                         "BYTES", "RATIO",      "AGE",       "STATE"};
    int widths[N_COLUMNS];
    for (int column = 0; column < N_COLUMNS; column++) {
        widths[column] = (int)strlen(cells[column]);
    }
    char row[N_COLUMNS][CELL_BYTES];
    for (size_t i = 0; i < table->n_rows; i++) {
        fill_row(table, &table->rows[i], row);
        for (int column = 0; column < N_COLUMNS; column++) {
            int width = (int)strlen(row[column]);
            widths[column] = width > widths[column] ? width : widths[column];
        }
    }
    print_row(file, cells, widths);
    (void)fputc('\n', file);
    for (size_t i = 0; i < table->n_rows; i++) {
        const struct nj_snapshot_info *info = &table->rows[i];
        fill_row(table, info, row);
        print_row(file, row, widths);
        if (info->complaint[0] != '\0') {
            (void)fprintf(file, ": %s: ", info->file);
            nj_clean_print_line(file, nj_text_from(info->complaint));
        }
        (void)fputc('\n', file);
    }
}

int nj_snapshot_table_print(struct nj_snapshot_table *table, FILE *file)
{
    if (table->as_json) {
        nj_json_end_array(&table->json);
        nj_json_end_object(&table->json);
        return nj_json_print(&table->json, file);
    }
    if (table->n_rows == 0) {
        nj_clean_complain("no item has a state here: none is under way, or none was kept yet");
    } else {
        print_rows(table, file);
    }
    return NJ_EXIT_OK;
}

/* --- show --- */

static void write_section(struct nj_sheet *sheet, const struct nj_snapshot_section *section)
{
    struct nj_json_writer *json = &sheet->json;
    if (!sheet->is_json) {
        char layer[CELL_BYTES] = "";
        if (section->has_layer) {
            (void)snprintf(layer, sizeof layer, "layer %" PRIu32, section->layer);
        }
        (void)fprintf(sheet->out,
                      "  %-12s %-10s %5" PRIu32 " records, %5" PRIu32 " packed  %12" PRIu64
                      " -> %12" PRIu64 " bytes  %6.2f\n",
                      section->name, layer, section->n_records, section->n_packed,
                      section->raw_bytes, section->stored_bytes,
                      ratio_of(section->raw_bytes, section->stored_bytes));
        return;
    }
    nj_json_begin_object(json);
    write_string(json, "name", section->name);
    nj_json_key(json, "layer");
    if (section->has_layer) {
        nj_json_write_unsigned(json, section->layer);
    } else {
        nj_json_write_null(json);
    }
    write_count(json, "records", section->n_records);
    write_count(json, "packed_records", section->n_packed);
    write_count(json, "raw_bytes", section->raw_bytes);
    write_count(json, "stored_bytes", section->stored_bytes);
    nj_json_end_object(json);
}

static void write_sections(struct nj_sheet *sheet, const struct nj_snapshot_details *details)
{
    if (sheet->is_json) {
        nj_json_key(&sheet->json, "sections");
        nj_json_begin_array(&sheet->json);
    } else {
        (void)fprintf(sheet->out, "\nSections\n");
    }
    for (size_t i = 0; i < details->n_sections; i++) {
        write_section(sheet, &details->sections[i]);
    }
    if (sheet->is_json) {
        nj_json_end_array(&sheet->json);
    }
}

static void write_state(struct nj_sheet *sheet, const struct nj_snapshot_details *details)
{
    const struct nj_snapshot_info *info = &details->info;
    char time[NJ_CLOCK_TEXT_BYTES];
    nj_sheet_begin_section(sheet, "segment", "Segment");
    nj_sheet_text(sheet, "file", "file", info->file);
    nj_sheet_text(sheet, "state", "state", nj_snapshot_use_name(info->use));
    nj_sheet_text(sheet, "complaint", "complaint",
                  info->complaint[0] != '\0' || sheet->is_json ? info->complaint : "none");
    nj_sheet_count(sheet, "item_index", "item", info->item_index);
    nj_sheet_count(sheet, "sample", "sample", info->sample);
    nj_sheet_count(sheet, "generation", "generation", info->generation);
    nj_sheet_count(sheet, "previous", "previous (0: a base)", info->previous);
    nj_sheet_text(sheet, "time", "written", nj_clock_format(info->written_unix_ms, time));
    nj_sheet_count(sheet, "format_version", "format version", details->format_version);
    nj_sheet_count(sheet, "file_bytes", "bytes of the file", info->file_bytes);
    nj_sheet_count(sheet, "positions", "positions read", info->n_positions);
    nj_sheet_count(sheet, "first_position", "latent cache from", info->first_position);
    nj_sheet_count(sheet, "layers", "layers", details->n_layers);
    nj_sheet_count(sheet, "recurrent_layers", "of these recurrent",
                   details->n_recurrent_layers);
    nj_sheet_count(sheet, "layer_values", "values of a recurrent layer", details->layer_values);
    nj_sheet_count(sheet, "position_values", "values of a position", details->position_values);
    nj_sheet_end_section(sheet);
}

static void write_fingerprint(struct nj_sheet *sheet, const struct nj_snapshot_details *details)
{
    nj_sheet_begin_section(sheet, "fingerprint", "Fingerprint");
    nj_sheet_text(sheet, "weights", "weights", details->weights);
    nj_sheet_text(sheet, "chat_template", "chat template",
                  details->chat_template[0] != '\0' || sheet->is_json ? details->chat_template
                                                                      : "none");
    nj_sheet_text(sheet, "item_digest", "item", details->item_digest);
    nj_sheet_count(sheet, "numerics_version", "numerics version", details->numerics_version);
    nj_sheet_number(sheet, "latent_norm_eps", "latent norm epsilon", details->latent_norm_eps);
    nj_sheet_end_section(sheet);
}

static void write_text_state(struct nj_sheet *sheet, const struct nj_snapshot_details *details)
{
    const struct nj_snapshot_info *info = &details->info;
    nj_sheet_begin_section(sheet, "text", "Sampler and text");
    nj_sheet_count(sheet, "seed", "seed", details->seed);
    nj_sheet_count(sheet, "tokens", "tokens", info->n_tokens);
    nj_sheet_count(sheet, "prompt_tokens", "of these the prompt's", info->n_prompt_tokens);
    nj_sheet_count(sheet, "reasoning_tokens", "of these reasoning",
                   details->n_reasoning_tokens);
    nj_sheet_text(sheet, "part", "part of the chat", details->part);
    nj_sheet_count(sheet, "tag_tokens", "tokens of an open tag", details->n_tag_tokens);
    nj_sheet_count(sheet, "pending_bytes", "bytes of half a character",
                   details->n_pending_bytes);
    nj_sheet_count(sheet, "held_bytes", "held for a stop string", details->n_held_bytes);
    nj_sheet_count(sheet, "response_bytes", "bytes of response", details->response_bytes);
    nj_sheet_count(sheet, "reasoning_bytes", "bytes of reasoning", details->reasoning_bytes);
    nj_sheet_text(sheet, "output_sha256", "SHA-256 of both", details->output_sha256);
    nj_sheet_end_section(sheet);
}

enum nj_status nj_snapshot_details_print(const struct nj_snapshot_details *details,
                                         bool as_json, FILE *file, struct nj_error *err)
{
    struct nj_sheet sheet;
    char *text = NULL;
    size_t n_bytes = 0;
    enum nj_status status = nj_sheet_init(&sheet, as_json, err);
    if (status != NJ_OK) {
        return status;
    }
    write_state(&sheet, details);
    write_fingerprint(&sheet, details);
    write_text_state(&sheet, details);
    write_sections(&sheet, details);
    status = nj_sheet_finish(&sheet, &text, &n_bytes, err);
    nj_sheet_deinit(&sheet);
    if (status == NJ_OK && as_json) {
        (void)fwrite(text, 1, n_bytes, file); /* checked at the end */
    } else if (status == NJ_OK) {
        size_t n_blank = text[0] == '\n' ? 1 : 0; /* a section begins with one */
        nj_clean_print(file, (struct nj_text){text + n_blank, n_bytes - n_blank});
    }
    free(text);
    return status;
}

/* --- verify --- */

void nj_snapshot_findings_init(struct nj_snapshot_findings *findings, bool as_json, FILE *file)
{
    *findings = (struct nj_snapshot_findings){.as_json = as_json, .file = file};
    if (as_json) {
        begin_document(&findings->json);
        nj_json_key(&findings->json, "findings");
        nj_json_begin_array(&findings->json);
    }
}

void nj_snapshot_findings_deinit(struct nj_snapshot_findings *findings)
{
    if (findings->as_json) {
        nj_json_writer_deinit(&findings->json);
    }
}

static void write_place(struct nj_json_writer *writer, const char *key, bool has_place,
                        uint64_t value)
{
    nj_json_key(writer, key);
    if (has_place) {
        nj_json_write_unsigned(writer, value);
    } else {
        nj_json_write_null(writer);
    }
}

enum nj_status nj_snapshot_findings_add(void *context,
                                        const struct nj_snapshot_finding *finding,
                                        struct nj_error *err)
{
    struct nj_snapshot_findings *findings = context;
    (void)err;
    if (findings->as_json) {
        struct nj_json_writer *json = &findings->json;
        nj_json_begin_object(json);
        write_string(json, "file", finding->file);
        write_place(json, "record", finding->has_place, finding->record);
        write_place(json, "offset", finding->has_place, finding->offset_bytes);
        write_string(json, "message", finding->text);
        nj_json_end_object(json);
        return NJ_OK;
    }
    nj_clean_print_line(findings->file, nj_text_from(finding->file));
    if (finding->has_place) {
        (void)fprintf(findings->file, ", record %" PRIu64 " at byte %" PRIu64, finding->record,
                      finding->offset_bytes);
    }
    (void)fputs(": ", findings->file);
    nj_clean_print_line(findings->file, nj_text_from(finding->text));
    (void)fputc('\n', findings->file);
    return NJ_OK;
}

int nj_snapshot_findings_end(struct nj_snapshot_findings *findings,
                             const struct nj_snapshot_verification *sum)
{
    char files[NJ_WORDS_BYTES];
    char records[NJ_WORDS_BYTES];
    char restorable[NJ_WORDS_BYTES];
    char complaints[NJ_WORDS_BYTES];
    if (findings->as_json) {
        struct nj_json_writer *json = &findings->json;
        nj_json_end_array(json);
        write_count(json, "files", sum->n_files);
        write_count(json, "records", sum->n_records);
        write_count(json, "bytes", sum->n_bytes);
        write_count(json, "restorable", sum->n_restorable);
        nj_json_end_object(json);
        return nj_json_print(json, findings->file);
    }
    (void)fprintf(
        stderr, "nightjar: %s, %s, %.1f MB read; %s can be restored; %s\n",
        nj_words_count(sum->n_files, "file", files),
        nj_words_count(sum->n_records, "record", records), (double)sum->n_bytes * 1e-6,
        nj_words_count(sum->n_restorable, "state", restorable),
        sum->n_findings == 0 ? "all is sound"
                             : nj_words_count(sum->n_findings, "complaint", complaints));
    return NJ_EXIT_OK;
}

/* --- export and import --- */

static int print_carried_as_json(const struct nj_snapshot_carried *carried, const char *file,
                                 const char *run_folder)
{
    struct nj_json_writer writer;
    begin_document(&writer);
    write_string(&writer, "file", file);
    write_count(&writer, "files", carried->n_files);
    write_count(&writer, "bytes", carried->n_bytes);
    write_count(&writer, "segments", carried->n_segments);
    if (run_folder != NULL) {
        write_string(&writer, "folder", run_folder);
        write_string(&writer, "job_file", carried->job_file);
        write_string(&writer, "flags", carried->flags);
    }
    nj_json_end_object(&writer);
    int code = nj_json_print(&writer, stdout);
    nj_json_writer_deinit(&writer);
    return code;
}

int nj_snapshot_carried_print(const struct nj_snapshot_carried *carried, const char *file,
                              const char *run_folder, bool as_json)
{
    char files[NJ_WORDS_BYTES];
    char segments[NJ_WORDS_BYTES];
    if (as_json) {
        return print_carried_as_json(carried, file, run_folder);
    }
    (void)fprintf(stderr, "nightjar: %s, %s of them states, %.1f MB\n",
                  nj_words_count(carried->n_files, "file", files),
                  nj_words_number(carried->n_segments, segments),
                  (double)carried->n_bytes * 1e-6);
    if (run_folder != NULL) {
        (void)fputs("nightjar: go on with, and the model of this machine: nightjar run ",
                    stderr);
        nj_clean_print_line(stderr, nj_text_from(carried->job_file));
        (void)fputs(" --out ", stderr);
        nj_clean_print_line(stderr, nj_text_from(run_folder));
        (void)fputs(" --model DIR ", stderr);
        nj_clean_print_line(stderr, nj_text_from(carried->flags));
        (void)fputc('\n', stderr);
    }
    nj_clean_print_line(stdout, nj_text_from(run_folder != NULL ? run_folder : file));
    (void)fputc('\n', stdout);
    return NJ_EXIT_OK;
}
