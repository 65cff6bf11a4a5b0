/* The flags about shared prefixes, and where their cache lies. */
#ifndef NJ_CLI_PREFIX_FLAGS_H
#define NJ_CLI_PREFIX_FLAGS_H

#include <limits.h>

#include "base/status.h"
#include "nightjar/run.h"

/* Zeroed: nothing was said. The folder's path must outlive the options. */
struct nj_prefix_flags {
    const char *share; /* a number of tokens, or "off" */
    const char *cache; /* a size, or "off" */
    char cache_directory[PATH_MAX];
};

/* Their lines in a verb's help. */
#define NJ_PREFIX_FLAGS_HELP                                                                   \
    "  --share-prefixes N   items that begin with N tokens in common read them once, or "      \
    "off;\n"                                                                                   \
    "                       default where it pays\n"                                           \
    "  --prefix-cache SIZE  keep what was long to read for later runs, or off; default 8GiB\n"

/* Fills in the options: nightjar/prefixes below $XDG_CACHE_HOME, else ~/.cache; without either
 * there is no cache. NJ_E_USAGE naming the flag. */
enum nj_status nj_prefix_flags_apply(struct nj_prefix_flags *flags,
                                     struct nj_run_options *options, struct nj_error *err);

#endif
