#include "job/worker_message.h"

#include <assert.h>

/* Which fields a type has, in the order in which they are on the pipe. */
enum field {
    VERSION = 1,
    JOB = 2,
    ITEM = 4,
    SAMPLE = 8,
    IS_OK = 16,
    NUMBER = 32,
    TEXT = 64 /* all that is left */
};

static unsigned fields_of(unsigned type)
{
    switch (type) {
    case NJ_WORKER_HELLO:
        return VERSION | NUMBER;
    case NJ_WORKER_DONE:
        return JOB | ITEM | SAMPLE | IS_OK | TEXT;
    case NJ_WORKER_PROGRESS:
    case NJ_WORKER_TAKE:
        return JOB | ITEM;
    case NJ_WORKER_READY:
    case NJ_WORKER_SWEPT:
    case NJ_WORKER_RESERVE:
    case NJ_WORKER_GO:
        return NUMBER;
    case NJ_WORKER_EVENT:
        return JOB | TEXT;
    case NJ_WORKER_ALIVE:
        return 0;
    case NJ_WORKER_BYE:
        return NUMBER | TEXT;
    case NJ_WORKER_WELCOME:
        return VERSION;
    case NJ_WORKER_ROOM:
        return IS_OK | NUMBER;
    default:
        return UINT32_MAX;
    }
}

static struct nj_bytes text_within_limit(struct nj_text text)
{
    struct nj_text cut = text;
    if (cut.length_bytes > NJ_WORKER_TEXT_LIMIT_BYTES) {
        cut.length_bytes = NJ_WORKER_TEXT_LIMIT_BYTES;
    }
    cut.length_bytes = nj_text_valid_prefix(cut);
    return (struct nj_bytes){(const uint8_t *)cut.data, cut.length_bytes};
}

struct nj_frame nj_worker_message_encode(const struct nj_worker_message *message,
                                         uint8_t *payload)
{
    unsigned fields = fields_of(message->type);
    struct nj_byte_writer writer;
    assert(fields != UINT32_MAX);
    nj_byte_writer_init(&writer, payload, NJ_FRAME_PAYLOAD_LIMIT_BYTES);
    if ((fields & VERSION) != 0) {
        nj_write_u32(&writer, message->version);
    }
    if ((fields & JOB) != 0) {
        nj_write_u64(&writer, message->job_id);
    }
    if ((fields & ITEM) != 0) {
        nj_write_u64(&writer, message->item_index);
    }
    if ((fields & SAMPLE) != 0) {
        nj_write_u32(&writer, message->sample);
    }
    if ((fields & IS_OK) != 0) {
        nj_write_u8(&writer, message->is_ok ? 1 : 0);
    }
    if ((fields & NUMBER) != 0) {
        nj_write_u64(&writer, message->number);
    }
    if ((fields & TEXT) != 0) {
        nj_write_span(&writer, text_within_limit(message->text));
    }
    assert(!writer.failed);
    return (struct nj_frame){.type = (uint16_t)message->type,
                             .payload = {payload, writer.offset}};
}

static void read_fields(struct nj_byte_reader *reader, unsigned fields,
                        struct nj_worker_message *message, uint8_t *is_ok)
{
    message->version = (fields & VERSION) != 0 ? nj_read_u32(reader) : 0;
    message->job_id = (fields & JOB) != 0 ? nj_read_u64(reader) : 0;
    message->item_index = (fields & ITEM) != 0 ? nj_read_u64(reader) : 0;
    message->sample = (fields & SAMPLE) != 0 ? nj_read_u32(reader) : 0;
    *is_ok = (fields & IS_OK) != 0 ? nj_read_u8(reader) : 0;
    message->number = (fields & NUMBER) != 0 ? nj_read_u64(reader) : 0;
    if ((fields & TEXT) != 0 && !reader->failed) {
        struct nj_bytes text = nj_read_span(reader, reader->span.length_bytes - reader->offset);
        message->text = (struct nj_text){(const char *)text.data, text.length_bytes};
    }
}

static bool is_possible(const struct nj_worker_message *message, uint8_t is_ok)
{
    bool is_order = message->type == NJ_WORKER_GO;
    return is_ok <= 1 && (!is_order || message->number <= NJ_WORKER_DRAIN) &&
           message->text.length_bytes <= NJ_WORKER_TEXT_LIMIT_BYTES &&
           nj_text_valid_prefix(message->text) == message->text.length_bytes;
}

enum nj_status nj_worker_message_decode(const struct nj_frame *frame,
                                        struct nj_worker_message *message, struct nj_error *err)
{
    unsigned fields = fields_of(frame->type);
    struct nj_byte_reader reader;
    uint8_t is_ok = 0;
    struct nj_worker_message read = {.type = (enum nj_worker_message_type)frame->type};
    if (fields == UINT32_MAX) {
        return nj_fail(err, NJ_E_INPUT, "message on the pipe: type %u is not known",
                       frame->type);
    }
    nj_byte_reader_init(&reader, frame->payload);
    read_fields(&reader, fields, &read, &is_ok);
    if (reader.failed || reader.offset != frame->payload.length_bytes ||
        !is_possible(&read, is_ok)) {
        return nj_fail(err, NJ_E_INPUT,
                       "message on the pipe: type %u with %zu bytes is none of ours",
                       frame->type, frame->payload.length_bytes);
    }
    read.is_ok = is_ok == 1;
    *message = read;
    return NJ_OK;
}
