#include "cli/complaint.h"

#include "cli/clean_text.h"
#include "cli/exit_code.h"
#include "cli/words.h"

enum { DOCUMENT_VERSION = 1 };

/* Errors that were counted and not kept. */
static size_t n_left_out(const struct nj_diagnostics *diagnostics)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        n_kept += diagnostics->items[i].severity == NJ_SEVERITY_ERROR ? 1 : 0;
    }
    return diagnostics->n_errors - diagnostics->n_repeated - n_kept;
}

int nj_json_print(struct nj_json_writer *writer, FILE *file)
{
    struct nj_text text;
    struct nj_error err = {0};
    nj_json_write_newline(writer);
    enum nj_status status = nj_json_finish(writer, &text, &err);
    if (status != NJ_OK) {
        nj_clean_complain(err.text);
        return nj_exit_code_of(status);
    }
    nj_clean_print_json(file, text); /* stdout is checked at the end */
    return NJ_EXIT_OK;
}

static void write_string(struct nj_json_writer *writer, const char *key, const char *value)
{
    nj_json_key(writer, key);
    if (value != NULL) {
        nj_json_write_string(writer, value);
    } else {
        nj_json_write_null(writer);
    }
}

static void write_diagnostic(struct nj_json_writer *writer,
                             const struct nj_diagnostic *diagnostic)
{
    nj_json_begin_object(writer);
    write_string(writer, "severity",
                 diagnostic->severity == NJ_SEVERITY_ERROR ? "error" : "warning");
    write_string(writer, "file", diagnostic->place.file);
    nj_json_key(writer, "line");
    nj_json_write_unsigned(writer, diagnostic->place.line);
    nj_json_key(writer, "column");
    nj_json_write_unsigned(writer, diagnostic->place.column);
    write_string(writer, "message", diagnostic->message);
    write_string(writer, "hint", diagnostic->hint);
    nj_json_end_object(writer);
}

void nj_complaint_write(struct nj_json_writer *writer, enum nj_status status,
                        const char *message, const struct nj_diagnostics *diagnostics)
{
    write_string(writer, "code", nj_status_name(status));
    nj_json_key(writer, "exit_code");
    nj_json_write_integer(writer, nj_exit_code_of(status));
    write_string(writer, "message", message);
    nj_json_key(writer, "complaints");
    nj_json_begin_array(writer);
    for (size_t i = 0; diagnostics != NULL && i < diagnostics->n_items; i++) {
        write_diagnostic(writer, &diagnostics->items[i]);
    }
    nj_json_end_array(writer);
    nj_json_key(writer, "complaints_left_out");
    nj_json_write_unsigned(writer, diagnostics != NULL ? n_left_out(diagnostics) : 0);
}

static void print_failure_as_json(enum nj_status status, const char *message,
                                  const struct nj_diagnostics *diagnostics)
{
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_begin_object(&writer);
    nj_json_key(&writer, "version");
    nj_json_write_unsigned(&writer, DOCUMENT_VERSION);
    nj_complaint_write(&writer, status, message, diagnostics);
    nj_json_end_object(&writer);
    (void)nj_json_print(&writer, stderr); /* out of memory is told there */
    nj_json_writer_deinit(&writer);
}

static void print_diagnostics(const struct nj_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        char text[2048];
        (void)nj_diagnostic_format(&diagnostics->items[i], text, sizeof text);
        nj_clean_print_line(stderr, nj_text_from(text));
        (void)fputc('\n', stderr);
    }
    size_t n_more = n_left_out(diagnostics);
    if (n_more > 0) {
        char number[NJ_WORDS_BYTES];
        (void)fprintf(stderr, "and %s more\n", nj_words_number(n_more, number));
    }
}

int nj_complain_failure(bool as_json, enum nj_status status, const struct nj_error *err,
                        const struct nj_diagnostics *diagnostics)
{
    if (as_json) {
        print_failure_as_json(status, err->text, diagnostics);
        return nj_exit_code_of(status);
    }
    bool is_said = false;
    if (diagnostics != NULL) {
        print_diagnostics(diagnostics);
        is_said = status == NJ_E_INPUT && diagnostics->n_errors > 0;
    }
    if (!is_said) {
        nj_clean_complain(err->text);
    }
    return nj_exit_code_of(status);
}

void nj_complain_warning(bool as_json, const char *text)
{
    if (!as_json) {
        nj_clean_complain(text);
        return;
    }
    struct nj_json_writer writer;
    nj_json_writer_init(&writer);
    nj_json_begin_object(&writer);
    nj_json_key(&writer, "version");
    nj_json_write_unsigned(&writer, DOCUMENT_VERSION);
    write_string(&writer, "warning", text);
    nj_json_end_object(&writer);
    (void)nj_json_print(&writer, stderr); /* out of memory is told there */
    nj_json_writer_deinit(&writer);
}

void nj_complain_warnings(bool as_json, const struct nj_diagnostics *diagnostics)
{
    if (!as_json) {
        print_diagnostics(diagnostics);
        return;
    }
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        char text[2048];
        (void)nj_diagnostic_format(&diagnostics->items[i], text, sizeof text);
        nj_complain_warning(true, text);
    }
}
