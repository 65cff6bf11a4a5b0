#include "generate/stop.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum nj_status nj_stop_matcher_init(struct nj_stop_matcher *matcher,
                                    const struct nj_stop_string *strings, size_t n_strings,
                                    struct nj_error *err)
{
    memset(matcher, 0, sizeof *matcher);
    if (n_strings == 0) {
        return NJ_OK;
    }
    size_t longest = 0;
    matcher->strings = calloc(n_strings, sizeof *matcher->strings);
    if (matcher->strings == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "keep %zu stop strings: out of memory", n_strings);
    }
    for (size_t i = 0; i < n_strings; i++) {
        size_t length = strings[i].length_bytes;
        char *copy = malloc(length + 1);
        if (copy == NULL) {
            break;
        }
        memcpy(copy, strings[i].bytes, length);
        matcher->strings[matcher->n_strings++] =
            (struct nj_stop_copy){.bytes = copy, .length_bytes = length};
        longest = length > longest ? length : longest;
    }
    matcher->held = malloc(longest + 1);
    if (matcher->n_strings < n_strings || matcher->held == NULL) {
        nj_stop_matcher_deinit(matcher);
        return nj_fail(err, NJ_E_MEMORY, "keep %zu stop strings: out of memory", n_strings);
    }
    return NJ_OK;
}

void nj_stop_matcher_deinit(struct nj_stop_matcher *matcher)
{
    for (size_t i = 0; i < matcher->n_strings; i++) {
        free(matcher->strings[i].bytes);
    }
    free(matcher->strings);
    free(matcher->held);
    memset(matcher, 0, sizeof *matcher);
}

/* The longest stop string that the held bytes end with, or -1. */
static int complete_string(const struct nj_stop_matcher *matcher)
{
    int found = -1;
    for (size_t i = 0; i < matcher->n_strings; i++) {
        const struct nj_stop_copy *string = &matcher->strings[i];
        if (string->length_bytes <= matcher->n_held &&
            (found < 0 || string->length_bytes > matcher->strings[found].length_bytes) &&
            memcmp(matcher->held + matcher->n_held - string->length_bytes, string->bytes,
                   string->length_bytes) == 0) {
            found = (int)i;
        }
    }
    return found;
}

static bool begins_a_string(const struct nj_stop_matcher *matcher, const char *bytes, size_t n)
{
    for (size_t i = 0; i < matcher->n_strings; i++) {
        if (matcher->strings[i].length_bytes > n &&
            memcmp(matcher->strings[i].bytes, bytes, n) == 0) {
            return true;
        }
    }
    return false;
}

/* Lets go of the fewest held bytes after which the rest may still become a stop string. */
static size_t release_held(struct nj_stop_matcher *matcher, char *out)
{
    size_t n_released = 0;
    while (n_released < matcher->n_held && !begins_a_string(matcher, matcher->held + n_released,
                                                            matcher->n_held - n_released)) {
        n_released++;
    }
    memcpy(out, matcher->held, n_released);
    matcher->n_held -= n_released;
    memmove(matcher->held, matcher->held + n_released, matcher->n_held);
    return n_released;
}

int nj_stop_matcher_push(struct nj_stop_matcher *matcher, struct nj_bytes bytes, char *out,
                         size_t *n_out)
{
    *n_out = 0;
    if (matcher->n_strings == 0) {
        if (bytes.length_bytes > 0) {
            memcpy(out, bytes.data, bytes.length_bytes);
        }
        *n_out = bytes.length_bytes;
        return -1;
    }
    for (size_t i = 0; i < bytes.length_bytes; i++) {
        matcher->held[matcher->n_held++] = (char)bytes.data[i];
        int found = complete_string(matcher);
        if (found >= 0) {
            size_t n_before = matcher->n_held - matcher->strings[found].length_bytes;
            memcpy(out + *n_out, matcher->held, n_before);
            *n_out += n_before;
            matcher->n_held = 0;
            return found;
        }
        *n_out += release_held(matcher, out + *n_out);
    }
    return -1;
}
