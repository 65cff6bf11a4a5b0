/* A sheet of named facts in sections, for people as aligned lines or for programs as JSON.
 *
 * Each fact has a key for programs, which never changes, and a label for people, which may.
 */
#ifndef NJ_TOOLS_SHEET_H
#define NJ_TOOLS_SHEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"

/* Visible so that lists, which look different in both forms, can be written by their owner. */
struct nj_sheet {
    bool is_json;
    struct nj_json_writer json;
    FILE *out; /* into `text` */
    char *text;
    size_t length_bytes;
};

enum nj_status nj_sheet_init(struct nj_sheet *sheet, bool is_json, struct nj_error *err);
void nj_sheet_deinit(struct nj_sheet *sheet);

void nj_sheet_begin_section(struct nj_sheet *sheet, const char *key, const char *title);
void nj_sheet_end_section(struct nj_sheet *sheet);

void nj_sheet_count(struct nj_sheet *sheet, const char *key, const char *label, uint64_t value);
void nj_sheet_text(struct nj_sheet *sheet, const char *key, const char *label,
                   const char *value);
/* "on" or "off". */
void nj_sheet_switch(struct nj_sheet *sheet, const char *key, const char *label, bool is_on);
/* As the decimal that reads back as the same float. */
void nj_sheet_number(struct nj_sheet *sheet, const char *key, const char *label, float value);
/* Negative: "not said", null. */
void nj_sheet_id(struct nj_sheet *sheet, const char *key, const char *label, int64_t id);

/* Ends the sheet. Caller frees `*text`. NJ_E_MEMORY if anything before ran out. */
enum nj_status nj_sheet_finish(struct nj_sheet *sheet, char **text, size_t *length_bytes,
                               struct nj_error *err);

#endif
