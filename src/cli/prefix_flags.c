#include "cli/prefix_flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/quantity.h"

static enum nj_status parse_share(const char *text, uint32_t *share_prefixes,
                                  struct nj_error *err)
{
    enum { MOST_DIGITS = 9 };
    size_t n_digits = strspn(text, "0123456789");
    if (strcmp(text, "off") == 0) {
        *share_prefixes = NJ_SHARE_NOTHING;
        return NJ_OK;
    }
    if (n_digits == 0 || n_digits > MOST_DIGITS || text[n_digits] != '\0' ||
        strspn(text, "0") == n_digits) {
        return nj_fail(err, NJ_E_USAGE,
                       "--share-prefixes %s: a number of tokens from 1 to 999999999 is wanted, "
                       "or off",
                       text);
    }
    *share_prefixes = (uint32_t)strtoul(text, NULL, 10);
    return NJ_OK;
}

static enum nj_status parse_cache(const char *text, uint64_t *cache_bytes, struct nj_error *err)
{
    uint64_t n_bytes = 0;
    char guess[NJ_SIZE_GUESS_BYTES];
    if (strcmp(text, "off") == 0) {
        *cache_bytes = NJ_CACHE_NOTHING;
        return NJ_OK;
    }
    bool is_size = nj_size_parse(nj_text_from(text), &n_bytes) && n_bytes > 0;
    if (!is_size && nj_size_guess(nj_text_from(text), guess)) {
        return nj_fail(err, NJ_E_USAGE, "--prefix-cache %s: a size is wanted, did you mean %s?",
                       text, guess);
    }
    if (!is_size) {
        return nj_fail(err, NJ_E_USAGE, "--prefix-cache %s: a size is wanted, %s, or off", text,
                       nj_size_hint);
    }
    *cache_bytes = n_bytes;
    return NJ_OK;
}

/* Paths that are not absolute are to be ignored, says who invented the variable. */
static const char *find_directory(char path[PATH_MAX])
{
    const char *cache = getenv("XDG_CACHE_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (cache != NULL && cache[0] == '/') {
        length = snprintf(path, PATH_MAX, "%s/nightjar/prefixes", cache);
    } else if (home != NULL && home[0] == '/') {
        length = snprintf(path, PATH_MAX, "%s/.cache/nightjar/prefixes", home);
    }
    return length > 0 && length < PATH_MAX ? path : NULL;
}

enum nj_status nj_prefix_flags_apply(struct nj_prefix_flags *flags,
                                     struct nj_run_options *options, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    options->prefix_cache_directory = find_directory(flags->cache_directory);
    if (flags->share != NULL) {
        status = parse_share(flags->share, &options->share_prefixes, err);
    }
    if (status == NJ_OK && flags->cache != NULL) {
        status = parse_cache(flags->cache, &options->prefix_cache_bytes, err);
    }
    return status;
}
