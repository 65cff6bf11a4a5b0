#include <string.h>

#include "base/digest.h"
#include "support/check.h"
#include "support/failing_malloc.h"

static void check_hex(const char *text, const char *wanted)
{
    struct nj_digest digest;
    struct nj_error error;
    struct nj_bytes bytes = {(const uint8_t *)text, strlen(text)};
    REQUIRE_OK(nj_digest_of(bytes, &digest, &error), &error);
    char hex[NJ_DIGEST_HEX_BYTES];
    nj_digest_to_hex(&digest, hex);
    CHECK_TEXT(hex, wanted);
}

/* FIPS 180-2, appendix B. */
static void digests_equal_the_published_ones(void)
{
    check_hex("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_hex("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static struct nj_digest digest_of_fields(const char *const *parts, size_t n_parts)
{
    struct nj_digest_stream *stream = NULL;
    struct nj_digest digest = {{0}};
    CHECK_EQ(nj_digest_stream_create(&stream, NULL), NJ_OK);
    for (size_t i = 0; i + 1 < n_parts; i += 2) {
        nj_digest_stream_add_field(stream, parts[i], parts[i + 1], strlen(parts[i + 1]));
    }
    CHECK_EQ(nj_digest_stream_finish(stream, &digest, NULL), NJ_OK);
    nj_digest_stream_destroy(stream);
    return digest;
}

static void fields_that_concatenate_alike_differ(void)
{
    static const char *const first[] = {"a", "bc", "d", ""};
    static const char *const second[] = {"ab", "c", "d", ""};
    static const char *const third[] = {"a", "bcd"};
    struct nj_digest one = digest_of_fields(first, 4);
    struct nj_digest two = digest_of_fields(second, 4);
    struct nj_digest three = digest_of_fields(third, 2);

    CHECK(memcmp(one.bytes, two.bytes, sizeof one.bytes) != 0);
    CHECK(memcmp(one.bytes, three.bytes, sizeof one.bytes) != 0);
}

static void pieces_give_the_digest_of_the_whole(void)
{
    struct nj_digest whole;
    struct nj_digest pieces;
    struct nj_bytes bytes = {(const uint8_t *)"nightjar", 8};
    CHECK_EQ(nj_digest_of(bytes, &whole, NULL), NJ_OK);

    struct nj_digest_stream *stream = NULL;
    CHECK_EQ(nj_digest_stream_create(&stream, NULL), NJ_OK);
    nj_digest_stream_add(stream, "night", 5);
    nj_digest_stream_add(stream, NULL, 0);
    nj_digest_stream_add(stream, "jar", 3);
    CHECK_EQ(nj_digest_stream_finish(stream, &pieces, NULL), NJ_OK);
    nj_digest_stream_destroy(stream);

    CHECK_BYTES(pieces.bytes, whole.bytes, NJ_DIGEST_BYTES);
}

static void failed_allocation_is_reported(void)
{
    struct nj_digest_stream *stream = NULL;
    failing_malloc_arm(1);
    enum nj_status status = nj_digest_stream_create(&stream, NULL);
    CHECK(failing_malloc_disarm());
    CHECK_EQ(status, NJ_E_MEMORY);
    CHECK(stream == NULL);
}

int main(void)
{
    RUN(digests_equal_the_published_ones);
    RUN(fields_that_concatenate_alike_differ);
    RUN(pieces_give_the_digest_of_the_whole);
    RUN(failed_allocation_is_reported);
    return test_result();
}
