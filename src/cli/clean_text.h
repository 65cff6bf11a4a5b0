/* Text from models, files and people, made safe to print: control characters become \xNN, so
 * that no prompt can make a terminal do anything. */
#ifndef NJ_CLI_CLEAN_TEXT_H
#define NJ_CLI_CLEAN_TEXT_H

#include <stdio.h>

#include "base/text.h"

/* Newlines and tabs stay. Bytes that are not UTF-8 are written as \xNN too. */
void nj_clean_print(FILE *file, struct nj_text text);

/* "nightjar: TEXT" and a newline on stderr. */
void nj_clean_complain(const char *text);

#endif
