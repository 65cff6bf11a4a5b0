#include "tools/sheet.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

enum { SHEET_VERSION = 1 };

enum nj_status nj_sheet_init(struct nj_sheet *sheet, bool is_json, struct nj_error *err)
{
    memset(sheet, 0, sizeof *sheet);
    sheet->is_json = is_json;
    if (!is_json) {
        sheet->out = open_memstream(&sheet->text, &sheet->length_bytes);
        return sheet->out != NULL ? NJ_OK
                                  : nj_fail(err, NJ_E_MEMORY, "write a sheet: out of memory");
    }
    nj_json_writer_init(&sheet->json);
    nj_json_begin_object(&sheet->json);
    nj_json_key(&sheet->json, "version");
    nj_json_write_unsigned(&sheet->json, SHEET_VERSION);
    return NJ_OK;
}

void nj_sheet_deinit(struct nj_sheet *sheet)
{
    if (sheet->out != NULL) {
        (void)fclose(sheet->out); /* given up */
    }
    free(sheet->text);
    if (sheet->is_json) {
        nj_json_writer_deinit(&sheet->json);
    }
    memset(sheet, 0, sizeof *sheet);
}

void nj_sheet_begin_section(struct nj_sheet *sheet, const char *key, const char *title)
{
    if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_begin_object(&sheet->json);
    } else {
        (void)fprintf(sheet->out, "\n%s\n", title);
    }
}

void nj_sheet_end_section(struct nj_sheet *sheet)
{
    if (sheet->is_json) {
        nj_json_end_object(&sheet->json);
    }
}

void nj_sheet_count(struct nj_sheet *sheet, const char *key, const char *label, uint64_t value)
{
    if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_write_unsigned(&sheet->json, value);
    } else {
        (void)fprintf(sheet->out, "  %-28s %" PRIu64 "\n", label, value);
    }
}

void nj_sheet_text(struct nj_sheet *sheet, const char *key, const char *label,
                   const char *value)
{
    if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_write_string(&sheet->json, value);
    } else {
        (void)fprintf(sheet->out, "  %-28s %s\n", label, value);
    }
}

void nj_sheet_switch(struct nj_sheet *sheet, const char *key, const char *label, bool is_on)
{
    if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_write_boolean(&sheet->json, is_on);
    } else {
        (void)fprintf(sheet->out, "  %-28s %s\n", label, is_on ? "on" : "off");
    }
}

void nj_sheet_number(struct nj_sheet *sheet, const char *key, const char *label, float value)
{
    double decimal = nj_decimal_of_float(value);
    if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_write_number(&sheet->json, decimal);
    } else {
        (void)fprintf(sheet->out, "  %-28s %.9g\n", label, decimal);
    }
}

void nj_sheet_id(struct nj_sheet *sheet, const char *key, const char *label, int64_t id)
{
    if (id >= 0) {
        nj_sheet_count(sheet, key, label, (uint64_t)id);
    } else if (sheet->is_json) {
        nj_json_key(&sheet->json, key);
        nj_json_write_null(&sheet->json);
    } else {
        nj_sheet_text(sheet, key, label, "not said");
    }
}

static enum nj_status finish_json(struct nj_sheet *sheet, char **text, size_t *length_bytes,
                                  struct nj_error *err)
{
    struct nj_text finished;
    nj_json_end_object(&sheet->json);
    nj_json_write_newline(&sheet->json);
    enum nj_status status = nj_json_finish(&sheet->json, &finished, err);
    if (status != NJ_OK) {
        return status;
    }
    char *copy = malloc(finished.length_bytes + 1);
    if (copy == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "write a sheet: out of memory");
    }
    memcpy(copy, finished.data, finished.length_bytes);
    copy[finished.length_bytes] = '\0';
    *text = copy;
    *length_bytes = finished.length_bytes;
    return NJ_OK;
}

enum nj_status nj_sheet_finish(struct nj_sheet *sheet, char **text, size_t *length_bytes,
                               struct nj_error *err)
{
    if (sheet->is_json) {
        return finish_json(sheet, text, length_bytes, err);
    }
    bool is_whole = ferror(sheet->out) == 0;
    is_whole = fclose(sheet->out) == 0 && is_whole;
    sheet->out = NULL;
    if (!is_whole) {
        return nj_fail(err, NJ_E_MEMORY, "write a sheet: out of memory");
    }
    *text = sheet->text;
    *length_bytes = sheet->length_bytes;
    sheet->text = NULL;
    return NJ_OK;
}
