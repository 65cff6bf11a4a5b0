/* Messages to ids, segment by segment, so that content can never forge structure; and a model's
 * ids back to reasoning and response.
 *
 * Two formats (docs/formats/chat.md), chosen by the special tokens that the tokenizer names:
 * XTML of Kimi K3, and the older one of Kimi-Linear and K2. A control segment is one special
 * id; every other segment (tag names, attributes, all text of people) is encoded on its own
 * with specials disabled.
 */
#ifndef NJ_TOKENIZER_CHAT_TEMPLATE_H
#define NJ_TOKENIZER_CHAT_TEMPLATE_H

#include "base/status.h"
#include "base/text.h"
#include "tokenizer/tokenizer.h"

/* Part of the tokenizer digest: raised when any prompt would be rendered into other ids. */
enum { NJ_CHAT_TEMPLATE_VERSION = 1 };

enum nj_chat_format { NJ_CHAT_NONE, NJ_CHAT_XTML, NJ_CHAT_IM };

enum nj_chat_role { NJ_ROLE_SYSTEM, NJ_ROLE_USER, NJ_ROLE_ASSISTANT };

enum nj_thinking { NJ_THINKING_OFF, NJ_THINKING_LOW, NJ_THINKING_HIGH, NJ_THINKING_MAX };

struct nj_chat_message {
    enum nj_chat_role role;
    struct nj_text name; /* empty: none; XTML only */
    struct nj_text content;
    struct nj_text reasoning; /* of an assistant turn; empty: none */
};

enum nj_chat_format nj_chat_format_of(const struct nj_tokenizer *tokenizer);

/* Appends the whole prompt, the generation part included. NJ_E_UNSUPPORTED when the tokenizer
 * has no chat tokens, or when `thinking` is not off or a name is given in a format that has
 * none; NJ_E_INPUT, with the message's number, for text that is not UTF-8. The list is
 * unchanged on failure. */
enum nj_status nj_chat_render(struct nj_tokenizer *tokenizer,
                              const struct nj_chat_message *messages, size_t n_messages,
                              enum nj_thinking thinking, struct nj_token_list *list,
                              struct nj_error *err);

/* What an output token belongs to. */
enum nj_chat_part {
    NJ_PART_RESPONSE,
    NJ_PART_REASONING,
    NJ_PART_STRUCTURE /* tags and what stands between them: shown to nobody */
};

/* Sorts output ids into reasoning, response and structure by control tokens alone; special
 * tokens are structure in every format, with or without a name. Plain data; copy it to save it.
 * Begin with the thinking that the prompt was rendered with. */
struct nj_chat_parser {
    enum nj_chat_format format;
    enum nj_chat_part part;
    bool in_tag; /* between <|open|> or <|close|> and <|sep|> */
    bool tag_is_close;
    unsigned n_tag_ids;  /* of the tag being read */
    nj_token tag_ids[8]; /* its first ids, to tell `think` from `response` */
};

void nj_chat_parser_init(struct nj_chat_parser *parser, enum nj_chat_format format,
                         enum nj_thinking thinking);
/* The part that `token` itself belongs to, and moves on. */
enum nj_chat_part nj_chat_parser_next(struct nj_chat_parser *parser,
                                      struct nj_tokenizer *tokenizer, nj_token token);

#endif
