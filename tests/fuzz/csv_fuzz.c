/* Any bytes as a CSV file.
 *
 * Reading in small pieces must give what reading at once gives. What is read without a
 * complaint is written as CSV with every value quoted, and must then be read as the same rows.
 */
#include "fuzz/memory_rows.h"
#include "job/row_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

struct bytes {
    char *data;
    size_t length, capacity;
};

static void put(struct bytes *bytes, char character)
{
    if (bytes->length == bytes->capacity) {
        bytes->capacity = 2 * bytes->capacity + 64;
        bytes->data = realloc(bytes->data, bytes->capacity);
        require(bytes->data != NULL);
    }
    bytes->data[bytes->length++] = character;
}

static void put_quoted(struct bytes *bytes, struct nj_text text)
{
    put(bytes, '"');
    for (size_t i = 0; i < text.length_bytes; i++) {
        if (text.data[i] == '"') {
            put(bytes, '"');
        }
        put(bytes, text.data[i]);
    }
    put(bytes, '"');
}

static void put_line(struct bytes *bytes, struct nj_variable_list columns, bool names)
{
    for (size_t i = 0; i < columns.n_items; i++) {
        if (i > 0) {
            put(bytes, ',');
        }
        put_quoted(bytes, names ? columns.items[i].name : columns.items[i].value);
    }
    put(bytes, '\n');
}

static struct bytes written_again(const struct nj_row_source *source, struct memory_file *file)
{
    struct bytes bytes = {0};
    struct nj_file_system fs = memory_file_system(file);
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_row_reader *reader = NULL;
    struct nj_variable_list columns;
    nj_diagnostics_init(&diagnostics, &arena);
    require(nj_row_reader_open(source, &fs, &arena, &diagnostics, &reader, NULL) == NJ_OK);
    require(nj_row_reader_columns(reader, &columns));
    put_line(&bytes, columns, true);
    struct nj_row row;
    enum nj_row_outcome outcome = NJ_ROW_FOUND;
    for (;;) {
        require(nj_row_reader_next(reader, &diagnostics, &row, &outcome, NULL) == NJ_OK);
        if (outcome == NJ_ROW_NONE) {
            break;
        }
        require(row.columns.n_items == columns.n_items);
        put_line(&bytes, row.columns, false);
    }
    nj_row_reader_close(reader);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return bytes;
}

static void check_round_trip(const struct nj_row_source *source, struct memory_file *file,
                             struct nj_text rows)
{
    struct bytes bytes = written_again(source, file);
    struct memory_file again = {(const uint8_t *)bytes.data, bytes.length, SIZE_MAX};
    struct nj_json_writer writer;
    struct nj_text rows_again;
    nj_json_writer_init(&writer);
    require(write_rows(source, &again, &writer) == 0);
    require(nj_json_finish(&writer, &rows_again, NULL) == NJ_OK);
    require(nj_text_equal(rows, rows_again));
    nj_json_writer_deinit(&writer);
    free(bytes.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    if (length_bytes == 0) {
        return 0;
    }
    struct nj_row_source source = {.format = NJ_ROWS_CSV, .path = "rows", .delimiter = ','};
    struct nj_json_writer writer;
    struct nj_text rows;
    if (read_in_two_ways(&source, data, length_bytes, &writer) == 0) {
        struct memory_file file = {data + 1, length_bytes - 1, SIZE_MAX};
        require(nj_json_finish(&writer, &rows, NULL) == NJ_OK);
        check_round_trip(&source, &file, rows);
    }
    nj_json_writer_deinit(&writer);
    return 0;
}
