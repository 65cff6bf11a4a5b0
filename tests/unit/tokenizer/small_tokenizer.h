/* Tokenizers with made-up vocabularies: the 256 bytes in order, the words a test names (ranks
 * from 256), and special tokens behind them. Everything ends the program when it fails.
 */
#ifndef NJ_TESTS_UNIT_TOKENIZER_SMALL_TOKENIZER_H
#define NJ_TESTS_UNIT_TOKENIZER_SMALL_TOKENIZER_H

#include <stddef.h>

#include "tokenizer/tokenizer.h"

/* The control tokens of the two chat formats, and NULL. */
extern const char *const small_xtml_specials[];
extern const char *const small_im_specials[];

/* The text of a rank file with these words (NULL at the end; NULL for none). Free it. */
char *small_rank_file(const char *const *words);

/* A fresh directory below the test's folder with these files; NULL leaves one out. Valid until
 * the next call. */
const char *small_model_directory(const char *rank_file, const char *config);

/* Special ids follow the words in order; an empty name leaves an id without one. */
struct nj_tokenizer *small_tokenizer_open(const char *const *words,
                                          const char *const *specials);

/* Appends ids for text in which special names stand for their tokens, as a model emits them. */
void small_tokenizer_spell(struct nj_tokenizer *tokenizer, const char *text,
                           struct nj_token_list *list);

/* The text of ids, special ones by name. Free it. */
char *small_tokenizer_show(const struct nj_tokenizer *tokenizer,
                           const struct nj_token_list *list);

#endif
