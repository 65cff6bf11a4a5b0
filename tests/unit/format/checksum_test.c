#include "format/checksum.h"
#include "support/check.h"

static struct nj_bytes span(const char *data, size_t length_bytes)
{
    struct nj_bytes bytes = {(const uint8_t *)data, length_bytes};
    return bytes;
}

/* The check value of CRC-32 in every catalogue. */
static void checksum_equals_the_published_value(void)
{
    CHECK_EQ(nj_crc32(0, span("123456789", 9)), 0xCBF43926);
}

static void pieces_give_the_checksum_of_the_whole(void)
{
    uint32_t so_far = nj_crc32(0, span("1234", 4));
    so_far = nj_crc32(so_far, span(NULL, 0));
    CHECK_EQ(nj_crc32(so_far, span("56789", 5)), 0xCBF43926);
}

static void nothing_leaves_the_value_alone(void)
{
    CHECK_EQ(nj_crc32(0, span(NULL, 0)), 0);
    CHECK_EQ(nj_crc32(0xCBF43926, span("", 0)), 0xCBF43926);
}

int main(void)
{
    RUN(checksum_equals_the_published_value);
    RUN(pieces_give_the_checksum_of_the_whole);
    RUN(nothing_leaves_the_value_alone);
    return test_result();
}
