/* Any bytes as what comes out of a worker's pipe, in two sizes of pieces: the same messages
 * must come out, and each, written again, must be the bytes that it was.
 *
 * Links: job/worker_message.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "job/worker_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* A checksum that fits, so that what is behind it is reached. */
static void check_message(uint16_t type, struct nj_bytes payload)
{
    static uint8_t again[NJ_FRAME_PAYLOAD_LIMIT_BYTES];
    struct nj_worker_message message;
    struct nj_frame frame = {type, payload};
    if (payload.length_bytes > NJ_FRAME_PAYLOAD_LIMIT_BYTES ||
        nj_worker_message_decode(&frame, &message, NULL) != NJ_OK) {
        return;
    }
    struct nj_frame written = nj_worker_message_encode(&message, again);
    require(written.type == type && written.payload.length_bytes == payload.length_bytes);
    require(memcmp(again, payload.data, payload.length_bytes) == 0 ||
            payload.length_bytes == 0);
}

static size_t count_messages(const uint8_t *data, size_t length_bytes, size_t piece)
{
    struct nj_frame_reader reader = {.bytes = NULL};
    size_t n_messages = 0;
    for (size_t at = 0; at < length_bytes; at += piece) {
        size_t length = length_bytes - at < piece ? length_bytes - at : piece;
        struct nj_frame frame;
        bool has_frame = true;
        if (nj_frame_reader_add(&reader, (struct nj_bytes){data + at, length}, NULL) != NJ_OK) {
            break;
        }
        while (nj_frame_reader_next(&reader, &frame, &has_frame, NULL) == NJ_OK && has_frame) {
            n_messages++;
            check_message(frame.type, frame.payload);
        }
    }
    nj_frame_reader_deinit(&reader);
    return n_messages;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    if (length_bytes == 0) {
        return 0;
    }
    size_t piece = 1 + data[0] % 64U;
    require(count_messages(data, length_bytes, piece) ==
            count_messages(data, length_bytes, length_bytes));
    check_message(data[0], (struct nj_bytes){data + 1, length_bytes - 1});
    return 0;
}
