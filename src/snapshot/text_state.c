#include "snapshot/text_state.h"

#include <assert.h>

#include "base/digest.h"

enum { TAG_IDS = sizeof((struct nj_chat_parser *)0)->tag_ids / sizeof(nj_token) };

/* Numbers of the format: they must not follow an enum that somebody reorders. */
static uint32_t part_number(enum nj_chat_part part)
{
    switch (part) {
    case NJ_PART_REASONING:
        return 1;
    case NJ_PART_RESPONSE:
        return 2;
    default:
        return 0;
    }
}

size_t nj_text_state_bytes(const struct nj_sequence *sequence)
{
    return NJ_TEXT_STATE_FIXED_BYTES + sequence->matcher.n_held;
}

static void write_parser(struct nj_byte_writer *writer, const struct nj_chat_parser *parser)
{
    nj_write_u32(writer, part_number(parser->part));
    nj_write_u32(writer, (parser->in_tag ? 1U : 0U) | (parser->tag_is_close ? 2U : 0U));
    nj_write_u32(writer, parser->n_tag_ids);
    for (size_t i = 0; i < TAG_IDS; i++) {
        bool is_read = i < parser->n_tag_ids; /* what stands behind is of an earlier tag */
        nj_write_u32(writer, is_read ? (uint32_t)parser->tag_ids[i] : 0);
    }
}

static void write_decoder(struct nj_byte_writer *writer, const struct nj_utf8_decoder *decoder)
{
    nj_write_u32(writer, (uint32_t)decoder->n_pending);
    for (size_t i = 0; i < sizeof decoder->pending; i++) {
        nj_write_u8(writer, i < decoder->n_pending ? decoder->pending[i] : 0);
    }
}

void nj_text_state_encode(const struct nj_sequence *sequence, uint8_t *bytes)
{
    struct nj_byte_writer writer;
    const struct nj_stop_matcher *matcher = &sequence->matcher;
    nj_byte_writer_init(&writer, bytes, nj_text_state_bytes(sequence));
    nj_write_u64(&writer, sequence->sampling.seed);
    nj_write_u32(&writer, sequence->sampling.sample);
    nj_write_u32(&writer, (uint32_t)sequence->n_prompt);
    nj_write_u64(&writer, sequence->n_reasoning);
    write_parser(&writer, &sequence->parser);
    write_decoder(&writer, &sequence->response_decoder);
    write_decoder(&writer, &sequence->reasoning_decoder);
    nj_write_u64(&writer, matcher->n_held);
    nj_write_span(&writer, (struct nj_bytes){.data = (const uint8_t *)matcher->held,
                                             .length_bytes = matcher->n_held});
    assert(!writer.failed && writer.offset == nj_text_state_bytes(sequence));
}

enum nj_status nj_output_mark_encode(const struct nj_sequence *sequence,
                                     uint8_t bytes[NJ_OUTPUT_MARK_BYTES], struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    struct nj_digest digest;
    struct nj_byte_writer writer;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_digest_stream_add(stream, sequence->response.data, sequence->response.length_bytes);
    nj_digest_stream_add(stream, sequence->reasoning.data, sequence->reasoning.length_bytes);
    status = nj_digest_stream_finish(stream, &digest, err);
    nj_digest_stream_destroy(stream);
    if (status != NJ_OK) {
        return status;
    }
    nj_byte_writer_init(&writer, bytes, NJ_OUTPUT_MARK_BYTES);
    nj_write_u64(&writer, sequence->response.length_bytes);
    nj_write_u64(&writer, sequence->reasoning.length_bytes);
    nj_write_span(&writer, (struct nj_bytes){digest.bytes, NJ_DIGEST_BYTES});
    assert(!writer.failed && writer.offset == NJ_OUTPUT_MARK_BYTES);
    return NJ_OK;
}
