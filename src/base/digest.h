/* SHA-256 (libcrypto), for identities: inputs, models, outputs. */
#ifndef NJ_BASE_DIGEST_H
#define NJ_BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum { NJ_DIGEST_BYTES = 32, NJ_DIGEST_HEX_BYTES = 65 };

struct nj_digest {
    uint8_t bytes[NJ_DIGEST_BYTES];
};

struct nj_digest_stream; /* a digest under construction */

/* On success the caller owns `*stream`. */
enum nj_status nj_digest_stream_create(struct nj_digest_stream **stream, struct nj_error *err);
void nj_digest_stream_destroy(struct nj_digest_stream *stream);
void nj_digest_stream_add(struct nj_digest_stream *stream, const void *data,
                          size_t length_bytes);
/* Length-prefixed, so that ("ab","c") and ("a","bc") differ. */
void nj_digest_stream_add_field(struct nj_digest_stream *stream, const char *name,
                                const void *data, size_t length_bytes);
/* NJ_E_INTERNAL if any add failed. The stream can only be destroyed afterwards. */
enum nj_status nj_digest_stream_finish(struct nj_digest_stream *stream,
                                       struct nj_digest *digest, struct nj_error *err);

enum nj_status nj_digest_of(struct nj_bytes bytes, struct nj_digest *digest,
                            struct nj_error *err);
void nj_digest_to_hex(const struct nj_digest *digest, char hex[NJ_DIGEST_HEX_BYTES]);

#endif
