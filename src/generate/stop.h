/* Stop strings, matched on bytes across tokens while text is held back that might become one.
 *
 * Bytes are looked at one after the other, so how tokens cut the text changes nothing. The
 * match that is complete first wins; of those complete at the same byte, the longest.
 *
 * Threads: one owner.
 */
#ifndef NJ_GENERATE_STOP_H
#define NJ_GENERATE_STOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"
#include "nightjar/generate.h"

struct nj_stop_copy {
    char *bytes;
    size_t length_bytes;
};

/* Invariant: `held` is a proper prefix of some stop string, or empty. A zeroed matcher has no
 * strings and lets everything pass. */
struct nj_stop_matcher {
    struct nj_stop_copy *strings; /* owned, bytes included */
    size_t n_strings;
    char *held; /* room for the longest string */
    size_t n_held;
};

enum nj_status nj_stop_matcher_init(struct nj_stop_matcher *matcher,
                                    const struct nj_stop_string *strings, size_t n_strings,
                                    struct nj_error *err);
void nj_stop_matcher_deinit(struct nj_stop_matcher *matcher);

/* Writes the bytes that are surely not part of a stop string to `out`, which has room for
 * n_held + the bytes pushed, and their number to `*n_out`. Returns the number of the stop
 * string that is complete now, or -1; after a match the rest of `bytes` is dropped. */
int nj_stop_matcher_push(struct nj_stop_matcher *matcher, struct nj_bytes bytes, char *out,
                         size_t *n_out);

#endif
