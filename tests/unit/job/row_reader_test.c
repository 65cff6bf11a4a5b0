#include "job/row_reader.h"

#include <errno.h>
#include <string.h>

#include "support/failing_malloc.h"
#include "support/faulty_files.h"
#include "unit/job/reading.h"
#include "unit/job/rows_on_disk.h"

enum { TEXT_BYTES = 8192 };

/* All rows as "index:line a=1 b=2|", and all complaints, with the folder left out. */
struct rows {
    char text[TEXT_BYTES];
    char complaints[TEXT_BYTES];
    enum nj_status status;
    struct nj_error error;
};

static void add_row(struct rows *rows, const struct nj_row *row)
{
    size_t used = strlen(rows->text);
    used += (size_t)snprintf(rows->text + used, TEXT_BYTES - used, "%u:%u",
                             (unsigned)row->index, row->place.line);
    for (size_t i = 0; i < row->columns.n_items; i++) {
        const struct nj_variable *column = &row->columns.items[i];
        used += (size_t)snprintf(rows->text + used, TEXT_BYTES - used, " %s=%s%s",
                                 shown(column->name), column->is_json ? "json " : "",
                                 shown(column->value));
    }
    (void)snprintf(rows->text + used, TEXT_BYTES - used, "|");
}

static void add_complaints(struct rows *rows, const struct nj_diagnostics *diagnostics)
{
    size_t used = 0;
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        char text[1024];
        (void)nj_diagnostic_format(&diagnostics->items[i], text, sizeof text);
        const char *folder = strstr(text, test_folder());
        const char *rest = folder == NULL ? text : folder + strlen(test_folder()) + 1;
        used += (size_t)snprintf(rows->complaints + used, TEXT_BYTES - used, "%s%s",
                                 i == 0 ? "" : "\n", rest);
    }
}

static void read_all(struct rows *rows, const struct nj_row_source *source,
                     const struct nj_file_system *fs)
{
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_row_reader *reader = NULL;
    *rows = (struct rows){.status = NJ_OK};
    nj_diagnostics_init(&diagnostics, &arena);
    rows->status = nj_row_reader_open(source, fs, &arena, &diagnostics, &reader, &rows->error);
    enum nj_row_outcome outcome = NJ_ROW_FOUND;
    while (rows->status == NJ_OK && outcome != NJ_ROW_NONE) {
        struct nj_row row;
        rows->status = nj_row_reader_next(reader, &diagnostics, &row, &outcome, &rows->error);
        if (rows->status == NJ_OK && outcome == NJ_ROW_FOUND) {
            add_row(rows, &row);
        }
    }
    add_complaints(rows, &diagnostics);
    if (diagnostics.out_of_memory) {
        rows->status = NJ_E_MEMORY;
    }
    nj_row_reader_close(reader);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static struct nj_row_source source_of(enum nj_row_format format)
{
    return (struct nj_row_source){.format = format,
                                  .path = path_in_folder("rows"),
                                  .place = {"job.yaml", 3, 7},
                                  .delimiter = format == NJ_ROWS_TSV ? '\t' : ','};
}

static void check_bytes(enum nj_row_format format, const char *content, size_t length,
                        const char *wanted_rows, const char *wanted_complaints)
{
    struct rows rows;
    write_file("rows", content, length);
    struct nj_row_source source = source_of(format);
    read_all(&rows, &source, nj_file_system_real());
    CHECK_EQ(rows.status, NJ_OK);
    CHECK_TEXT(rows.text, wanted_rows);
    CHECK_TEXT(rows.complaints, wanted_complaints);
}

static void check_csv(const char *content, const char *rows, const char *complaints)
{
    check_bytes(NJ_ROWS_CSV, content, strlen(content), rows, complaints);
}

static void check_jsonl(const char *content, const char *rows, const char *complaints)
{
    check_bytes(NJ_ROWS_JSONL, content, strlen(content), rows, complaints);
}

static void csv_values_are_text_and_columns_are_sorted_by_name(void)
{
    check_csv("name,age\nAda,036\nBob, 1.10 \n",
              "0:2 age=036 name=Ada|1:3 age= 1.10  name=Bob|", "");
    check_csv("b,a\n1,2", "0:2 a=2 b=1|", "");
    check_csv("a,b\n,\n\"\",x\n", "0:2 a= b=|1:3 a= b=x|", "");
    check_csv("country\nNO\nno\n", "0:2 country=NO|1:3 country=no|", "");
}

static void csv_with_mark_crlf_and_quotes_is_read_as_rfc_4180_says(void)
{
    check_csv("\xEF\xBB\xBF\"a\",b\r\n\"x, \"\"y\"\"\",\"two\r\nlines\"\r\n3,4\r\n",
              "0:2 a=x, \"y\" b=two\r\nlines|1:4 a=3 b=4|", "");
    check_csv("a\n\"\"\"\"\n\"\"\"a\"\"\"\n", "0:2 a=\"|1:3 a=\"a\"|", "");
}

static void empty_lines_hold_no_row_but_a_quoted_nothing_does(void)
{
    check_csv("a\n\n1\n\r\n\"\"\n\n", "0:3 a=1|1:5 a=|", "");
}

static void tsv_differs_only_in_its_delimiter(void)
{
    check_bytes(NJ_ROWS_TSV, "a\tb\nx,y\t\"q\tr\"\n", 14, "0:2 a=x,y b=q\tr|", "");
}

static void a_bad_csv_row_has_its_line_and_the_next_rows_are_still_read(void)
{
    static const char content[] = "a,b\n1\n1,2,3\nx,y\"z\n\"h\"i,j\nk,caf\xE9\nl,m\0\no\rp,q\n"
                                  "ok,fine\n\"open,never\n";
    check_bytes(
        NJ_ROWS_CSV, content, sizeof content - 1, "7:9 a=ok b=fine|",
        "rows:2:1: the row has 1 value, the header has 2, quote values that contain the "
        "delimiter\n"
        "rows:3:1: the row has 3 values, the header has 2, quote values that contain the "
        "delimiter\n"
        "rows:4:4: quote inside an unquoted value, quote the whole value and write its quotes "
        "as \"\"\n"
        "rows:5:4: text behind a closing quote, write a quote inside quotes as \"\"\n"
        "rows:6:6: byte 0xE9 is not UTF-8 text, save the file as UTF-8\n"
        "rows:7:4: NUL byte in a row, save the file as UTF-8 text\n"
        "rows:8:2: carriage return without line feed, end lines with LF or CRLF\n"
        "rows:10:1: the quote that opens here is never closed, write a quote inside quotes as "
        "\"\"");
}

static void a_place_inside_a_row_of_several_lines_counts_them(void)
{
    check_csv("a,b\n\"x\ny\",z\"\n", "",
              "rows:3:5: quote inside an unquoted value, quote the whole value and write its "
              "quotes as \"\"");
}

static void a_bad_header_leaves_no_rows(void)
{
    check_csv("", "", "rows: the row file is empty, its first line must name the columns");
    check_csv("\xEF\xBB\xBF\n\n", "",
              "rows: the row file is empty, its first line must name the columns");
    check_csv(
        "a,,a,_id,sampling.foo,sampling.logit_bias,sampling\n1,2,3,4,5,6,7\n", "",
        "rows:1: column 2 of the header has no name, name it, or remove what parts it from the "
        "others\n"
        "rows:1: column '_id' has the name of a built-in variable, rename the column\n"
        "rows:1: column 'sampling.foo' names no sampling setting, such as sampling.temperature "
        "or sampling.max_tokens\n"
        "rows:1: column 'sampling.logit_bias' cannot be set by a row, remove it\n"
        "rows:1: column 'sampling' sets nothing, write a column 'sampling.temperature' and "
        "so on\n"
        "rows:1: column 'a' stands twice in the header, rename one of them");
    check_csv(
        "\"a\n", "",
        "rows:1:1: the quote that opens here is never closed, write a quote inside quotes "
        "as \"\"");
}

static void jsonl_values_print_as_they_were_written(void)
{
    check_jsonl("\xEF\xBB\xBF{\"s\":\"\\u00e9\\n\",\"n\":1.10,\"t\":true,\"z\":null}\r\n"
                "\n \t\n"
                "{\"o\": {\"a\": [1, 2.0]}, \"l\": []}",
                "0:1 n=1.10 s=\xC3\xA9\n t=true z=null|1:4 l=json [] o=json {\"a\":[1,2.0]}|",
                "");
    check_jsonl("{}\n", "0:1|", "");
    check_jsonl("", "", "");
}

static void a_bad_jsonl_line_has_its_column_and_the_next_lines_are_still_read(void)
{
    check_jsonl(
        "{\"a\":1,}\n[1]\n{\"a\":1} x\n{\"a\":\"\\ud83d\"}\n{\"b\":1,\"a\":2,\"b\":3}\n"
        "{\"a\":01}\n{\"name\":\"caf\xE9\"}\n{\"\":1}\n{\"_id\":1}\n"
        "{\"sampling\":{}}\n{\"ok\":1}\n{\"a\":\"b",
        "10:11 ok=1|",
        "rows:1:8: name in double quotes expected, remove the comma before it\n"
        "rows:2:1: a row must be a JSON object, write one object on each line, without a list\n"
        "rows:3:9: text behind the object, write one object on each line\n"
        "rows:4:7: escape that names no character\n"
        "rows:5:1: name 'b' stands twice in the object\n"
        "rows:6:7: ',' or '}' expected\n"
        "rows:7:13: byte 0xE9 is not UTF-8 text, save the file as UTF-8\n"
        "rows:8:2: member without a name\n"
        "rows:9:2: member with the name of a built-in variable, rename it\n"
        "rows:10:2: column 'sampling' sets nothing, write a column "
        "'sampling.temperature' and so on\n"
        "rows:12:6: string that never ends");
}

/* What ends too early is a mistake of its own line, not of the next. */
static void a_jsonl_line_that_ends_too_early_is_told_at_its_own_end(void)
{
    check_jsonl("{\"a\":1\n{\"a\":2}\n", "1:2 a=2|", "rows:1:7: ',' or '}' expected");
    check_jsonl(
        "{\"a\":1,  \r\n{\"a\":2}\n", "1:2 a=2|",
        "rows:1:10: name in double quotes expected, write the whole object on one line");
    check_jsonl("{\"a\":\n\n{\"a\":2}\n", "1:3 a=2|", "rows:1:6: value expected");
    check_jsonl("{\"a\"\n", "", "rows:1:5: ':' expected");
    check_jsonl("{\"a\":[1,\n", "", "rows:1:9: value expected");
    check_jsonl("{\"a\":\"x\n\"}\n", "",
                "rows:1:6: string that never ends\nrows:2:1: a row must be a JSON object");
    check_jsonl("{\"a\":\"x\r\n", "", "rows:1:6: string that never ends");
}

static void a_header_with_another_delimiter_is_warned_of(void)
{
    check_csv("a;b\n1;2\n", "0:2 a;b=1;2|",
              "rows:1: warning: the header has ';' and only one column, if it parts columns, "
              "write rows: {file: ..., delimiter: \";\"}");
    check_csv("a\tb\n", "",
              "rows:1: warning: the header has a tab and only one column, if it parts columns, "
              "write rows: {file: ..., format: tsv}");
    check_bytes(NJ_ROWS_TSV, "a,b\n", 4, "",
                "rows:1: warning: the header has ',' and only one column, if it parts columns, "
                "write rows: {file: ..., format: csv}");
    check_csv("\"a;b\"\n1\n", "0:2 a;b=1|", "");
    check_csv("a,b;c\n1,2\n", "0:2 a=1 b;c=2|", "");
}

static void offset_and_limit_choose_rows_and_leave_their_indices(void)
{
    struct rows rows;
    write_file("rows", "a\n0\n1\nbad,row\n3\n4\n", 18);
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    source.offset = 3;
    source.limit = 1;
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "3:5 a=3|");
    CHECK_TEXT(rows.complaints, "");

    source.offset = 9;
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "");

    write_file("rows", "{\"a\":0}\n\nnot json\n{\"a\":2}\n{\"a\":3}\n", 34);
    source = source_of(NJ_ROWS_JSONL);
    source.offset = 2;
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "2:4 a=2|3:5 a=3|");
    CHECK_TEXT(rows.complaints, "");
}

static void a_job_without_rows_has_one_without_columns(void)
{
    struct rows rows;
    struct nj_row_source source = {.format = NJ_ROWS_NONE};
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "0:0|");
}

static void a_file_that_cannot_be_opened_is_a_mistake_where_it_is_named(void)
{
    struct rows rows;
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    source.path = "/nowhere/at all.csv";
    read_all(&rows, &source, nj_file_system_real());
    CHECK_EQ(rows.status, NJ_OK);
    CHECK_TEXT(rows.complaints,
               "job.yaml:3:7: open /nowhere/at all.csv: No such file or directory");
}

/* Writes over what is there, without an end. */
static void put(char *content, const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        content[i] = text[i];
    }
}

/* A row longer than the first window, and one that a window's end cuts in two. */
static void rows_may_be_longer_than_one_read(void)
{
    enum { LONG = 300000 };
    static char content[LONG + 64];
    memset(content, 'x', sizeof content);
    put(content, "a,b\n\"");
    put(content + 5 + LONG, "\",1\n2,3\n");
    write_file("rows", content, 5 + LONG + 8);

    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_row_reader *reader = NULL;
    struct nj_row row;
    enum nj_row_outcome outcome;
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    nj_diagnostics_init(&diagnostics, &arena);
    CHECK_EQ(
        nj_row_reader_open(&source, nj_file_system_real(), &arena, &diagnostics, &reader, NULL),
        NJ_OK);
    CHECK_EQ(nj_row_reader_next(reader, &diagnostics, &row, &outcome, NULL), NJ_OK);
    CHECK_EQ(row.columns.items[0].value.length_bytes, LONG);
    CHECK_EQ(nj_row_reader_next(reader, &diagnostics, &row, &outcome, NULL), NJ_OK);
    CHECK_TEXT(shown(row.columns.items[1].value), "3");
    nj_row_reader_close(reader);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
}

static void a_row_of_more_than_16_mib_is_refused(void)
{
    static char content[16 * 1024 * 1024 + 16];
    size_t length = sizeof content;
    memset(content, 'x', length);
    put(content, "a\n1\n");
    check_bytes(NJ_ROWS_CSV, content, length, "0:2 a=1|",
                "rows:3:1: a row of more than 16 MiB");
    content[4] = '"';
    check_bytes(NJ_ROWS_CSV, content, length, "0:2 a=1|",
                "rows:3:1: the quote that opens here is not closed within 16 MiB");
    put(content, "{ }\n");
    check_bytes(NJ_ROWS_JSONL, content, length, "0:1|", "rows:2:1: a row of more than 16 MiB");
}

static const char table[] = "a,b\n\"x\ny\",z\nu,\"v\"\"w\"\n";
static const char table_rows[] = "0:2 a=x\ny b=z|1:4 a=u b=v\"w|";

static void reads_that_come_in_halves_change_nothing(void)
{
    struct faulty_files faulty;
    faulty_files_init(&faulty, nj_file_system_real());
    write_file("rows", table, sizeof table - 1);
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    bool fired = true;
    for (unsigned long n = 1; fired; n++) {
        struct rows rows;
        faulty_files_reset(&faulty);
        faulty_files_cut(&faulty, FAULTY_READ, n);
        read_all(&rows, &source, &faulty.table);
        fired = faulty_files_fired(&faulty);
        CHECK_EQ(rows.status, NJ_OK);
        CHECK_TEXT(rows.text, table_rows);
    }
}

static void a_failing_read_is_reported_and_nothing_half_read(void)
{
    struct faulty_files faulty;
    faulty_files_init(&faulty, nj_file_system_real());
    write_file("rows", table, sizeof table - 1);
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    for (unsigned long n = 1;; n++) {
        struct rows rows;
        faulty_files_reset(&faulty);
        faulty_files_fail(&faulty, FAULTY_READ, n, EIO);
        read_all(&rows, &source, &faulty.table);
        if (!faulty_files_fired(&faulty)) {
            CHECK_TEXT(rows.text, table_rows);
            break;
        }
        CHECK(rows.status == NJ_E_IO || rows.complaints[0] != '\0');
        CHECK_CONTAINS(rows.status == NJ_E_IO ? rows.error.text : rows.complaints,
                       strerror(EIO));
    }
    faulty_files_fail(&faulty, FAULTY_READ, 1, EINTR);
    struct rows rows;
    read_all(&rows, &source, &faulty.table);
    CHECK_TEXT(rows.text, table_rows);
}

static void running_out_of_memory_anywhere_is_reported(void)
{
    static const enum nj_row_format formats[] = {NJ_ROWS_CSV, NJ_ROWS_JSONL};
    static const char *const contents[] = {table, "{\"a\":{\"b\":\"\\n\"}}\n{\"a\":1}\nbad\n"};
    for (size_t i = 0; i < 2; i++) {
        write_file("rows", contents[i], strlen(contents[i]));
        struct nj_row_source source = source_of(formats[i]);
        source.has_shuffle_seed = i == 1;
        bool failed = true;
        for (unsigned long n = 1; failed; n++) {
            struct rows rows;
            failing_malloc_arm(n);
            read_all(&rows, &source, nj_file_system_real());
            failed = failing_malloc_disarm();
            CHECK_EQ(rows.status, failed ? NJ_E_MEMORY : NJ_OK);
        }
    }
}

/* Blank lines, quoted line breaks and a last row without a break are what places could trip
 * over. */
static void shuffled_rows_keep_their_index_place_and_values(void)
{
    static const char csv[] = "a,b\r\n1,x\r\n\r\n2,\"y\nz\"\r\n3,w\n4,v";
    static const char jsonl[] = "{\"a\":1}\n\n{\"a\":2}\r\n{\"a\":3}";
    struct rows rows;
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    source.has_shuffle_seed = true;
    source.shuffle_seed = 3;
    write_file("rows", csv, sizeof csv - 1);
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "2:6 a=3 b=w|3:7 a=4 b=v|0:2 a=1 b=x|1:4 a=2 b=y\nz|");
    source.offset = 1;
    source.limit = 2;
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "3:7 a=4 b=v|0:2 a=1 b=x|");

    source = source_of(NJ_ROWS_JSONL);
    source.has_shuffle_seed = true;
    write_file("rows", jsonl, sizeof jsonl - 1);
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "1:3 a=2|0:1 a=1|2:4 a=3|");
}

static void a_shuffle_is_a_permutation_that_its_seed_decides(void)
{
    enum { N_ROWS = 1000 };
    static char content[N_ROWS * 8];
    static bool seen[2][N_ROWS];
    size_t length = (size_t)sprintf(content, "a\n");
    for (unsigned i = 0; i < N_ROWS; i++) {
        length += (size_t)sprintf(content + length, "%u\n", i);
    }
    write_file("rows", content, length);
    size_t n_in_place[2] = {0};
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct nj_row_source source = source_of(NJ_ROWS_CSV);
        struct nj_arena arena = {0};
        struct nj_diagnostics diagnostics;
        struct nj_row_reader *reader = NULL;
        struct nj_row row;
        enum nj_row_outcome outcome = NJ_ROW_FOUND;
        source.has_shuffle_seed = true;
        source.shuffle_seed = seed;
        nj_diagnostics_init(&diagnostics, &arena);
        REQUIRE(nj_row_reader_open(&source, nj_file_system_real(), &arena, &diagnostics,
                                   &reader, NULL) == NJ_OK);
        for (unsigned i = 0; i <= N_ROWS; i++) {
            CHECK_EQ(nj_row_reader_next(reader, &diagnostics, &row, &outcome, NULL), NJ_OK);
            CHECK_EQ(outcome, i < N_ROWS ? NJ_ROW_FOUND : NJ_ROW_NONE);
            if (outcome == NJ_ROW_FOUND && row.index < N_ROWS) {
                char value[16];
                (void)snprintf(value, sizeof value, "%u", (unsigned)row.index);
                CHECK_TEXT(shown(row.columns.items[0].value), value);
                CHECK(!seen[seed][row.index]);
                CHECK_EQ(row.place.line, row.index + 2);
                seen[seed][row.index] = true;
                n_in_place[seed] += row.index == i ? 1 : 0;
            }
        }
        nj_row_reader_close(reader);
        nj_diagnostics_deinit(&diagnostics);
        nj_arena_deinit(&arena);
    }
    CHECK(n_in_place[0] < 10 && n_in_place[1] < 10);
}

static void a_file_that_cannot_be_taken_apart_is_not_shuffled(void)
{
    struct rows rows;
    struct nj_row_source source = source_of(NJ_ROWS_CSV);
    source.has_shuffle_seed = true;
    write_file("rows", "a\nx\n\"y\n", 8);
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "");
    CHECK_CONTAINS(rows.complaints, "rows:3:1");
    write_file("rows", "a\n", 2);
    read_all(&rows, &source, nj_file_system_real());
    CHECK_TEXT(rows.text, "");
    CHECK_TEXT(rows.complaints, "");
}

int main(void)
{
    RUN(csv_values_are_text_and_columns_are_sorted_by_name);
    RUN(csv_with_mark_crlf_and_quotes_is_read_as_rfc_4180_says);
    RUN(empty_lines_hold_no_row_but_a_quoted_nothing_does);
    RUN(tsv_differs_only_in_its_delimiter);
    RUN(a_bad_csv_row_has_its_line_and_the_next_rows_are_still_read);
    RUN(a_place_inside_a_row_of_several_lines_counts_them);
    RUN(a_bad_header_leaves_no_rows);
    RUN(jsonl_values_print_as_they_were_written);
    RUN(a_bad_jsonl_line_has_its_column_and_the_next_lines_are_still_read);
    RUN(a_jsonl_line_that_ends_too_early_is_told_at_its_own_end);
    RUN(a_header_with_another_delimiter_is_warned_of);
    RUN(offset_and_limit_choose_rows_and_leave_their_indices);
    RUN(shuffled_rows_keep_their_index_place_and_values);
    RUN(a_shuffle_is_a_permutation_that_its_seed_decides);
    RUN(a_file_that_cannot_be_taken_apart_is_not_shuffled);
    RUN(a_job_without_rows_has_one_without_columns);
    RUN(a_file_that_cannot_be_opened_is_a_mistake_where_it_is_named);
    RUN(rows_may_be_longer_than_one_read);
    RUN(a_row_of_more_than_16_mib_is_refused);
    RUN(reads_that_come_in_halves_change_nothing);
    RUN(a_failing_read_is_reported_and_nothing_half_read);
    RUN(running_out_of_memory_anywhere_is_reported);
    return test_result();
}
