/* Recorded outputs of other implementations, read from tests/golden/. */
#ifndef NJ_TESTS_UNIT_TOKENIZER_GOLDEN_H
#define NJ_TESTS_UNIT_TOKENIZER_GOLDEN_H

#include "base/arena.h"
#include "base/json.h"

struct golden {
    struct nj_arena arena;
    struct nj_json *document;
};

/* Ends the program when the file cannot be read. Returns its root, valid until close. */
const struct nj_json_value *golden_open(struct golden *golden, const char *name);
void golden_close(struct golden *golden);

/* A member that must be text; ends the program otherwise. */
struct nj_text golden_text(const struct nj_json_value *object, const char *key);

#endif
