#include <string.h>

#include "tokenizer/chat_template.h"

enum { N_TAG_IDS_KEPT = sizeof((struct nj_chat_parser *)0)->tag_ids / sizeof(nj_token) };

void nj_chat_parser_init(struct nj_chat_parser *parser, enum nj_chat_format format,
                         enum nj_thinking thinking)
{
    bool begins_thinking = format == NJ_CHAT_XTML && thinking != NJ_THINKING_OFF;
    *parser = (struct nj_chat_parser){
        .format = format,
        .part = begins_thinking ? NJ_PART_REASONING : NJ_PART_RESPONSE,
    };
}

/* Whether the ids of the tag just read spell `name`, however the model has cut it into tokens.
 * Ordinary tokens have at least one byte each, so the ids kept are enough for 8 bytes. */
static bool tag_is(const struct nj_chat_parser *parser, const struct nj_tokenizer *tokenizer,
                   const char *name)
{
    if (parser->n_tag_ids > N_TAG_IDS_KEPT) {
        return false;
    }
    size_t wanted = strlen(name);
    size_t n = 0;
    for (unsigned i = 0; i < parser->n_tag_ids; i++) {
        bool is_special;
        struct nj_bytes bytes = nj_tokenizer_bytes(tokenizer, parser->tag_ids[i], &is_special);
        if (is_special || bytes.length_bytes > wanted - n ||
            memcmp(bytes.data, name + n, bytes.length_bytes) != 0) {
            return false;
        }
        n += bytes.length_bytes;
    }
    return n == wanted;
}

static void begin_tag(struct nj_chat_parser *parser, bool is_close)
{
    parser->in_tag = true;
    parser->tag_is_close = is_close;
    parser->n_tag_ids = 0;
}

static void add_to_tag(struct nj_chat_parser *parser, nj_token token)
{
    if (parser->n_tag_ids < N_TAG_IDS_KEPT) {
        parser->tag_ids[parser->n_tag_ids] = token;
    }
    if (parser->n_tag_ids <= N_TAG_IDS_KEPT) {
        parser->n_tag_ids++;
    }
}

/* What stands after the tag. An element of any other name, and the space between elements,
 * belongs to nobody. */
static void end_tag(struct nj_chat_parser *parser, const struct nj_tokenizer *tokenizer)
{
    parser->in_tag = false;
    parser->part = NJ_PART_STRUCTURE;
    if (parser->tag_is_close) {
        return;
    }
    if (tag_is(parser, tokenizer, "think")) {
        parser->part = NJ_PART_REASONING;
    } else if (tag_is(parser, tokenizer, "response")) {
        parser->part = NJ_PART_RESPONSE;
    }
}

static bool is_stop(const struct nj_tokenizer *tokenizer, nj_token token)
{
    const nj_token *stops;
    size_t n = nj_tokenizer_stops(tokenizer, &stops);
    for (size_t i = 0; i < n; i++) {
        if (stops[i] == token) {
            return true;
        }
    }
    return false;
}

static void follow_control(struct nj_chat_parser *parser, const struct nj_tokenizer *tokenizer,
                           struct nj_text name, nj_token token)
{
    if (parser->format == NJ_CHAT_NONE) {
        return;
    }
    if (is_stop(tokenizer, token)) {
        parser->in_tag = false;
        parser->part = NJ_PART_STRUCTURE;
        return;
    }
    if (parser->format == NJ_CHAT_IM) {
        return;
    }
    if (nj_text_equals(name, "<|open|>")) {
        begin_tag(parser, false);
    } else if (nj_text_equals(name, "<|close|>")) {
        begin_tag(parser, true);
    } else if (parser->in_tag && nj_text_equals(name, "<|sep|>")) {
        end_tag(parser, tokenizer);
    } else if (parser->in_tag) {
        add_to_tag(parser, token); /* no tag is spelled with a control token */
    }
}

enum nj_chat_part nj_chat_parser_next(struct nj_chat_parser *parser,
                                      struct nj_tokenizer *tokenizer, nj_token token)
{
    bool is_special;
    struct nj_bytes bytes = nj_tokenizer_bytes(tokenizer, token, &is_special);
    if (is_special) {
        struct nj_text name = {(const char *)bytes.data, bytes.length_bytes};
        follow_control(parser, tokenizer, name, token);
        return NJ_PART_STRUCTURE;
    }
    if (parser->in_tag) {
        add_to_tag(parser, token);
        return NJ_PART_STRUCTURE;
    }
    return parser->part;
}
