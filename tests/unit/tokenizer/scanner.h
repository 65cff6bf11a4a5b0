/* The split pattern a second time: a scanner that needs no regex engine, over characters whose
 * classes are stated by hand, so that it shares nothing with the engine's tables.
 */
#ifndef NJ_TESTS_UNIT_TOKENIZER_SCANNER_H
#define NJ_TESTS_UNIT_TOKENIZER_SCANNER_H

#include <stddef.h>
#include <stdint.h>

/* What the pattern asks about a character. */
enum {
    IS_HAN = 1,     /* Script=Han; such a character is never UPPER or LOWER */
    IS_LETTER = 2,  /* L */
    IS_UPPER = 4,   /* Lu Lt Lm Lo M */
    IS_LOWER = 8,   /* Ll Lm Lo M */
    IS_NUMBER = 16, /* N */
    IS_SPACE = 32,  /* White_Space */
    IS_BREAK = 64   /* CR LF */
};

struct character {
    uint32_t code_point;
    unsigned classes;
};

/* The characters the random strings are made of, in groups that like to stand together. */
struct character_group {
    const char *name;
    const struct character *characters;
    size_t n_characters;
};
extern const struct character_group character_groups[];
extern const size_t n_character_groups;

/* The index after the piece that begins at `begin` (< n). */
size_t scanner_next(const struct character *text, size_t n, size_t begin);

#endif
