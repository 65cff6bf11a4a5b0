#include "job/worker_message.h"

#include <string.h>

#include "support/check.h"

static uint8_t payload[NJ_FRAME_PAYLOAD_LIMIT_BYTES];

static const struct nj_worker_message messages[] = {
    {.type = NJ_WORKER_HELLO, .version = 1, .number = 4711},
    {.type = NJ_WORKER_READY, .number = 64},
    {.type = NJ_WORKER_DONE,
     .job_id = 7,
     .item_index = UINT64_MAX,
     .sample = 3,
     .is_ok = true,
     .text = {"too long", 8}},
    {.type = NJ_WORKER_PROGRESS, .job_id = 7, .item_index = 2},
    {.type = NJ_WORKER_SWEPT, .number = UINT64_C(90000000000)},
    {.type = NJ_WORKER_RESERVE, .number = 1},
    {.type = NJ_WORKER_EVENT, .job_id = 7, .text = {"{}", 2}},
    {.type = NJ_WORKER_ALIVE},
    {.type = NJ_WORKER_BYE, .number = NJ_E_WEIGHTS, .text = {"gone", 4}},
    {.type = NJ_WORKER_WELCOME, .version = 1},
    {.type = NJ_WORKER_TAKE, .job_id = 7, .item_index = 2},
    {.type = NJ_WORKER_GO, .number = NJ_WORKER_DRAIN},
    {.type = NJ_WORKER_ROOM, .is_ok = true, .number = 5},
};

enum { N_MESSAGES = sizeof messages / sizeof messages[0] };

static void check_same(const struct nj_worker_message *a, const struct nj_worker_message *b)
{
    CHECK_EQ(a->type, b->type);
    CHECK_EQ(a->version, b->version);
    CHECK_EQ(a->job_id, b->job_id);
    CHECK_EQ(a->item_index, b->item_index);
    CHECK_EQ(a->sample, b->sample);
    CHECK_EQ(a->is_ok, b->is_ok);
    CHECK_EQ(a->number, b->number);
    CHECK(nj_text_equal(a->text, b->text));
}

static void every_message_is_read_as_it_was_written(void)
{
    for (size_t i = 0; i < N_MESSAGES; i++) {
        struct nj_worker_message read;
        struct nj_frame frame = nj_worker_message_encode(&messages[i], payload);
        CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL), NJ_OK);
        check_same(&read, &messages[i]);
    }
}

static void a_message_of_another_length_is_none(void)
{
    for (size_t i = 0; i < N_MESSAGES; i++) {
        struct nj_worker_message read;
        struct nj_frame frame = nj_worker_message_encode(&messages[i], payload);
        size_t length = frame.payload.length_bytes;
        bool has_text = messages[i].text.length_bytes > 0;
        frame.payload.length_bytes = length + 1;
        payload[length] = 'x';
        CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL) == NJ_OK, has_text);
        for (size_t cut = 0; cut + messages[i].text.length_bytes < length; cut++) {
            frame.payload.length_bytes = cut;
            CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL), NJ_E_INPUT);
        }
    }
}

static void what_cannot_be_is_refused(void)
{
    struct nj_worker_message read;
    struct nj_error error;
    struct nj_frame frame = nj_worker_message_encode(&messages[11], payload);
    payload[0] = 2; /* an order that there is not */
    CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL), NJ_E_INPUT);
    frame = nj_worker_message_encode(&messages[12], payload);
    payload[0] = 2; /* neither true nor false */
    CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL), NJ_E_INPUT);
    frame = nj_worker_message_encode(&messages[6], payload);
    payload[frame.payload.length_bytes - 1] = 0xff;
    CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL), NJ_E_INPUT);
    frame.type = 10;
    CHECK_EQ(nj_worker_message_decode(&frame, &read, &error), NJ_E_INPUT);
    CHECK_CONTAINS(error.text, "type 10 is not known");
}

static void a_long_text_is_cut_at_a_character(void)
{
    static char text[NJ_WORKER_TEXT_LIMIT_BYTES + 8];
    struct nj_worker_message read;
    memset(text, 'a', sizeof text);
    text[NJ_WORKER_TEXT_LIMIT_BYTES - 1] = (char)0xc3; /* of which the second byte is beyond */
    text[NJ_WORKER_TEXT_LIMIT_BYTES] = (char)0xa4;
    struct nj_worker_message message = {.type = NJ_WORKER_BYE, .text = {text, sizeof text}};
    struct nj_frame frame = nj_worker_message_encode(&message, payload);
    CHECK_EQ(nj_worker_message_decode(&frame, &read, NULL), NJ_OK);
    CHECK_EQ(read.text.length_bytes, NJ_WORKER_TEXT_LIMIT_BYTES - 1);
}

int main(void)
{
    RUN(every_message_is_read_as_it_was_written);
    RUN(a_message_of_another_length_is_none);
    RUN(what_cannot_be_is_refused);
    RUN(a_long_text_is_cut_at_a_character);
    return test_result();
}
