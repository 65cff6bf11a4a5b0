#include <stdint.h>
#include <string.h>

#include "base/bytes.h"
#include "support/check.h"

static void fields_are_little_endian(void)
{
    uint8_t data[19];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, data, sizeof data);
    nj_write_u8(&writer, 0x01);
    nj_write_u16(&writer, 0x0302);
    nj_write_u32(&writer, 0x07060504u);
    nj_write_u64(&writer, UINT64_C(0x0F0E0D0C0B0A0908));
    nj_write_f32(&writer, 1.0f);

    static const uint8_t wanted[19] = {1,  2,  3,  4,  5,  6, 7, 8,    9,   10,
                                       11, 12, 13, 14, 15, 0, 0, 0x80, 0x3F};
    CHECK(!writer.failed);
    CHECK_EQ(writer.offset, sizeof data);
    CHECK_BYTES(data, wanted, sizeof wanted);
}

static void what_was_written_reads_back(void)
{
    uint8_t data[32];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, data, sizeof data);
    nj_write_u64(&writer, UINT64_MAX - 1);
    nj_write_f32(&writer, -0.15625f);
    struct nj_bytes span = {(const uint8_t *)"abc", 3};
    nj_write_span(&writer, span);
    nj_write_u16(&writer, 65535);

    struct nj_byte_reader reader;
    struct nj_bytes written = {data, writer.offset};
    nj_byte_reader_init(&reader, written);
    CHECK(nj_read_u64(&reader) == UINT64_MAX - 1);
    CHECK(nj_read_f32(&reader) == -0.15625f);
    struct nj_bytes view = nj_read_span(&reader, 3);
    CHECK_EQ(view.length_bytes, 3);
    CHECK_BYTES(view.data, "abc", 3);
    CHECK_EQ(nj_read_u16(&reader), 65535);
    CHECK(!reader.failed);
    CHECK_EQ(reader.offset, writer.offset);
}

static void reading_past_the_end_gives_zeros_from_there_on(void)
{
    static const uint8_t data[5] = {1, 2, 3, 4, 5};
    struct nj_byte_reader reader;
    struct nj_bytes span = {data, sizeof data};
    nj_byte_reader_init(&reader, span);
    CHECK_EQ(nj_read_u32(&reader), 0x04030201);

    CHECK_EQ(nj_read_u16(&reader), 0);
    CHECK(reader.failed);
    CHECK_EQ(nj_read_u8(&reader), 0); /* one byte is left, but the reader stays failed */
    CHECK_EQ(reader.offset, 4);
}

static void span_of_a_hostile_length_is_refused(void)
{
    static const uint8_t data[5] = {1, 2, 3, 4, 5};
    struct nj_byte_reader reader;
    struct nj_bytes span = {data, sizeof data};
    nj_byte_reader_init(&reader, span);
    (void)nj_read_u8(&reader);

    struct nj_bytes view = nj_read_span(&reader, SIZE_MAX);
    CHECK_EQ(view.length_bytes, 0);
    CHECK(reader.failed);
}

static void writer_never_touches_bytes_past_its_capacity(void)
{
    uint8_t data[6] = {9, 9, 9, 9, 9, 9};
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, data, 5);
    nj_write_u32(&writer, 0);

    nj_write_u16(&writer, 0);
    CHECK(writer.failed);
    nj_write_u8(&writer, 0);

    static const uint8_t wanted[6] = {0, 0, 0, 0, 9, 9};
    CHECK_BYTES(data, wanted, sizeof wanted);
}

static void empty_spans_need_no_data(void)
{
    struct nj_bytes nothing = {NULL, 0};
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, nothing);
    CHECK_EQ(nj_read_span(&reader, 0).length_bytes, 0);
    CHECK(!reader.failed);

    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, NULL, 0);
    nj_write_span(&writer, nothing);
    CHECK(!writer.failed);
}

int main(void)
{
    RUN(fields_are_little_endian);
    RUN(what_was_written_reads_back);
    RUN(reading_past_the_end_gives_zeros_from_there_on);
    RUN(span_of_a_hostile_length_is_refused);
    RUN(writer_never_touches_bytes_past_its_capacity);
    RUN(empty_spans_need_no_data);
    return test_result();
}
