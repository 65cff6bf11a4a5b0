/* Flags of a verb, from a table: `--name VALUE` or `--name=VALUE`, anywhere among the files. Of
 * a flag that is given twice the last counts, lists excepted. */
#ifndef NJ_CLI_FLAGS_H
#define NJ_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum nj_flag_kind {
    NJ_FLAG_SWITCH, /* bool, no value */
    NJ_FLAG_TEXT,   /* const char * */
    NJ_FLAG_COUNT,  /* uint32_t, at least 1 */
    NJ_FLAG_NUMBER, /* double, above 0 */
    NJ_FLAG_SIZE,   /* uint64_t, bytes, at least 1; written with a unit */
    NJ_FLAG_LIST    /* struct nj_flag_list; each time adds a value */
};

enum { NJ_FLAG_LIST_LIMIT = 256 };

/* In the order in which they were given. */
struct nj_flag_list {
    const char *items[NJ_FLAG_LIST_LIMIT];
    size_t n_items;
};

struct nj_flag {
    const char *name; /* with its dashes */
    void *value;      /* of the kind's type; untouched when the flag is absent */
    enum nj_flag_kind kind;
    uint32_t most; /* of counts and numbers; 0: no limit */
};

/* Is `name` (with its dashes) there, before a "--"? Values that look like it count too. */
bool nj_flags_mention(int argc, char *const *argv, const char *name);

/* Fills in the flags and moves what is not one to the front of `argv`; "--" ends flags.
 * NJ_E_USAGE names the flag, and the nearest known one. */
enum nj_status nj_flags_parse(int argc, char **argv, const struct nj_flag *flags,
                              size_t n_flags, int *n_files, struct nj_error *err);

#endif
