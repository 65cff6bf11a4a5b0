#include "base/digest.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/evp.h>

struct nj_digest_stream {
    EVP_MD_CTX *context;
    bool failed;
};

enum nj_status nj_digest_stream_create(struct nj_digest_stream **stream, struct nj_error *err)
{
    struct nj_digest_stream *created = calloc(1, sizeof *created);
    if (created == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "begin a SHA-256 digest: out of memory");
    }
    created->context = EVP_MD_CTX_new();
    if (created->context == NULL ||
        EVP_DigestInit_ex(created->context, EVP_sha256(), NULL) != 1) {
        nj_digest_stream_destroy(created);
        return nj_fail(err, NJ_E_MEMORY, "begin a SHA-256 digest: libcrypto refused");
    }
    *stream = created;
    return NJ_OK;
}

void nj_digest_stream_destroy(struct nj_digest_stream *stream)
{
    if (stream != NULL) {
        EVP_MD_CTX_free(stream->context);
        free(stream);
    }
}

void nj_digest_stream_add(struct nj_digest_stream *stream, const void *data,
                          size_t length_bytes)
{
    if (length_bytes > 0 && EVP_DigestUpdate(stream->context, data, length_bytes) != 1) {
        stream->failed = true;
    }
}

static void add_with_length(struct nj_digest_stream *stream, const void *data,
                            size_t length_bytes)
{
    uint8_t prefix[8];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, prefix, sizeof prefix);
    nj_write_u64(&writer, length_bytes);
    nj_digest_stream_add(stream, prefix, sizeof prefix);
    nj_digest_stream_add(stream, data, length_bytes);
}

void nj_digest_stream_add_field(struct nj_digest_stream *stream, const char *name,
                                const void *data, size_t length_bytes)
{
    add_with_length(stream, name, strlen(name));
    add_with_length(stream, data, length_bytes);
}

enum nj_status nj_digest_stream_finish(struct nj_digest_stream *stream,
                                       struct nj_digest *digest, struct nj_error *err)
{
    struct nj_digest result;
    unsigned length_bytes = 0;
    if (stream->failed ||
        EVP_DigestFinal_ex(stream->context, result.bytes, &length_bytes) != 1 ||
        length_bytes != NJ_DIGEST_BYTES) {
        return nj_fail(err, NJ_E_INTERNAL, "finish a SHA-256 digest: libcrypto refused");
    }
    *digest = result;
    return NJ_OK;
}

enum nj_status nj_digest_of(struct nj_bytes bytes, struct nj_digest *digest,
                            struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    assert(stream != NULL);
    nj_digest_stream_add(stream, bytes.data, bytes.length_bytes);
    status = nj_digest_stream_finish(stream, digest, err);
    nj_digest_stream_destroy(stream);
    return status;
}

void nj_digest_to_hex(const struct nj_digest *digest, char hex[NJ_DIGEST_HEX_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < NJ_DIGEST_BYTES; i++) {
        hex[2 * i] = digits[digest->bytes[i] >> 4];
        hex[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    hex[NJ_DIGEST_HEX_BYTES - 1] = '\0';
}
