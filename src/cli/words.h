/* Figures and plurals as people read them. */
#ifndef NJ_CLI_WORDS_H
#define NJ_CLI_WORDS_H

#include <stdint.h>

enum { NJ_WORDS_BYTES = 64 };

/* "29,900"; returns `text`. */
const char *nj_words_number(uint64_t value, char text[NJ_WORDS_BYTES]);

/* "1 item", "29,900 items" for the noun "item"; returns `text`. */
const char *nj_words_count(uint64_t value, const char *noun, char text[NJ_WORDS_BYTES]);

#endif
