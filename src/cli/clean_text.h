/* Text from models, files and people, made safe to print: control characters become \xNN, so
 * that no prompt can make a terminal do anything, and so do those that turn the direction of
 * writing or end a line, so that nothing looks like what it is not. */
#ifndef NJ_CLI_CLEAN_TEXT_H
#define NJ_CLI_CLEAN_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/text.h"

/* Newlines and tabs stay. Bytes that are not UTF-8 are written as \xNN too. */
void nj_clean_print(FILE *file, struct nj_text text);

/* The same within a line, where a newline or tab can only be part of a name: escaped too. */
void nj_clean_print_line(FILE *file, struct nj_text text);

/* A character that is not to reach a terminal; newlines and tabs are. */
bool nj_clean_is_control(uint32_t code_point);

/* A JSON document, in which such characters become \uNNNN: the same document. */
void nj_clean_print_json(FILE *file, struct nj_text text);

/* "nightjar: TEXT" and a newline on stderr, one line. */
void nj_clean_complain(const char *text);

#endif
