#include "base/frame.h"

#include <string.h>

#include "support/check.h"

enum { STREAM_BYTES = 4096 };

struct stream {
    uint8_t bytes[STREAM_BYTES];
    size_t length;
};

static void put(struct stream *stream, uint16_t type, const char *text)
{
    struct nj_frame frame = {type, {(const uint8_t *)text, strlen(text)}};
    nj_frame_write_header(&frame, stream->bytes + stream->length);
    memcpy(stream->bytes + stream->length + NJ_FRAME_HEADER_BYTES, text, strlen(text));
    stream->length += NJ_FRAME_HEADER_BYTES + strlen(text);
}

static struct nj_bytes bytes_of(const struct stream *stream, size_t from, size_t length)
{
    return (struct nj_bytes){stream->bytes + from, length};
}

static void a_header_has_these_bytes(void)
{
    static const uint8_t wanted[] = {'N', 'J', 'F', '1', 2,    1,    0,    0,
                                     9,   0,   0,   0,   0x26, 0x39, 0xf4, 0xcb};
    struct nj_frame frame = {0x102, {(const uint8_t *)"123456789", 9}};
    uint8_t header[NJ_FRAME_HEADER_BYTES];
    nj_frame_write_header(&frame, header);
    CHECK_BYTES(header, wanted, sizeof wanted); /* CBF43926 is CRC-32's check value */
}

static void messages_come_out_whole_in_whatever_pieces_they_came_in(void)
{
    struct stream stream = {.length = 0};
    put(&stream, 1, "first");
    put(&stream, 2, "");
    put(&stream, 3, "third");
    for (size_t piece = 1; piece <= stream.length; piece++) {
        struct nj_frame_reader reader = {.bytes = NULL};
        char seen[32] = "";
        for (size_t at = 0; at < stream.length; at += piece) {
            size_t length = stream.length - at < piece ? stream.length - at : piece;
            struct nj_frame frame;
            bool has_frame = true;
            CHECK_EQ(nj_frame_reader_add(&reader, bytes_of(&stream, at, length), NULL), NJ_OK);
            while (nj_frame_reader_next(&reader, &frame, &has_frame, NULL) == NJ_OK &&
                   has_frame) {
                (void)strncat(seen, (const char *)frame.payload.data,
                              frame.payload.length_bytes);
                (void)strncat(seen, ";", 2);
            }
        }
        CHECK_TEXT(seen, "first;;third;");
        CHECK(!nj_frame_reader_is_torn(&reader));
        nj_frame_reader_deinit(&reader);
    }
}

static void a_message_that_was_cut_is_awaited_and_torn(void)
{
    struct stream stream = {.length = 0};
    put(&stream, 1, "text");
    for (size_t length = 1; length < stream.length; length++) {
        struct nj_frame_reader reader = {.bytes = NULL};
        struct nj_frame frame;
        bool has_frame = true;
        CHECK_EQ(nj_frame_reader_add(&reader, bytes_of(&stream, 0, length), NULL), NJ_OK);
        CHECK_EQ(nj_frame_reader_next(&reader, &frame, &has_frame, NULL), NJ_OK);
        CHECK(!has_frame);
        CHECK(nj_frame_reader_is_torn(&reader));
        nj_frame_reader_deinit(&reader);
    }
}

/* Before the length is used for anything: a flipped bit in it must not make us wait for
 * gigabytes. */
static void a_flipped_bit_is_seen_wherever_it_is(void)
{
    struct stream stream = {.length = 0};
    put(&stream, 1, "text");
    for (size_t bit = 0; bit < stream.length * 8; bit++) {
        struct nj_frame_reader reader = {.bytes = NULL};
        struct nj_frame frame;
        bool has_frame = true;
        stream.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        CHECK_EQ(nj_frame_reader_add(&reader, bytes_of(&stream, 0, stream.length), NULL),
                 NJ_OK);
        CHECK_EQ(nj_frame_reader_next(&reader, &frame, &has_frame, NULL), NJ_E_INPUT);
        CHECK(!has_frame);
        CHECK_EQ(nj_frame_reader_next(&reader, &frame, &has_frame, NULL), NJ_E_INPUT);
        stream.bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        nj_frame_reader_deinit(&reader);
    }
}

static void what_something_else_prints_is_no_message(void)
{
    struct nj_frame_reader reader = {.bytes = NULL};
    struct nj_frame frame;
    struct nj_error error;
    bool has_frame = true;
    static const char text[] = "warning: something is deprecated\n";
    struct nj_bytes bytes = {(const uint8_t *)text, sizeof text - 1};
    CHECK_EQ(nj_frame_reader_add(&reader, bytes, NULL), NJ_OK);
    CHECK_EQ(nj_frame_reader_next(&reader, &frame, &has_frame, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, "these bytes are none");
    nj_frame_reader_deinit(&reader);
}

int main(void)
{
    RUN(a_header_has_these_bytes);
    RUN(messages_come_out_whole_in_whatever_pieces_they_came_in);
    RUN(a_message_that_was_cut_is_awaited_and_torn);
    RUN(a_flipped_bit_is_seen_wherever_it_is);
    RUN(what_something_else_prints_is_no_message);
    return test_result();
}
