#include "tokenizer/chat_template.h"

#include <stdlib.h>

#include "base/vector.h"

/* A prompt under construction. The first failure stays in `status`, and every later call does
 * nothing, so that the renderers below read like the format. */
struct prompt {
    struct nj_tokenizer *tokenizer;
    struct nj_token_list *list;
    struct nj_error *err;
    enum nj_status status;
    char *escaped; /* work space for attribute values */
    size_t escaped_capacity;
};

static bool has_all(const struct nj_tokenizer *tokenizer, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (nj_tokenizer_special(tokenizer, names[i]) < 0) {
            return false;
        }
    }
    return true;
}

enum nj_chat_format nj_chat_format_of(const struct nj_tokenizer *tokenizer)
{
    static const char *const xtml[] = {"<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"};
    static const char *const im[] = {"<|im_system|>", "<|im_user|>", "<|im_assistant|>",
                                     "<|im_middle|>", "<|im_end|>"};
    if (has_all(tokenizer, xtml, sizeof xtml / sizeof xtml[0])) {
        return NJ_CHAT_XTML;
    }
    return has_all(tokenizer, im, sizeof im / sizeof im[0]) ? NJ_CHAT_IM : NJ_CHAT_NONE;
}

/* A control segment. The format's tokens were found before rendering began. */
static void put_control(struct prompt *prompt, const char *name)
{
    if (prompt->status == NJ_OK) {
        nj_token id = nj_tokenizer_special(prompt->tokenizer, name);
        prompt->status = nj_token_list_append(prompt->list, &id, 1, prompt->err);
    }
}

/* Any other segment: encoded by itself, with nothing special in it. Empty ones vanish. */
static void put_segment(struct prompt *prompt, struct nj_text text)
{
    if (prompt->status == NJ_OK) {
        prompt->status =
            nj_tokenizer_encode(prompt->tokenizer, text, prompt->list, prompt->err);
    }
}

static void put_words(struct prompt *prompt, const char *words)
{
    put_segment(prompt, nj_text_from(words));
}

/* `&` and then `"` are escaped; `<` and `>` stay, since text cannot be structure anyway. */
static struct nj_text escape(struct prompt *prompt, struct nj_text value)
{
    static const char longest[] = "&quot;";
    struct nj_text none = {NULL, 0};
    if (prompt->status == NJ_OK && value.length_bytes > SIZE_MAX / sizeof longest) {
        prompt->status = nj_fail(prompt->err, NJ_E_MEMORY, "escape a name: too long");
    }
    if (prompt->status == NJ_OK) {
        prompt->status =
            nj_vector_reserve(&prompt->escaped, &prompt->escaped_capacity, 1,
                              value.length_bytes * (sizeof longest - 1) + 1, prompt->err);
    }
    if (prompt->status != NJ_OK) {
        return none;
    }
    char *out = prompt->escaped;
    for (size_t i = 0; i < value.length_bytes; i++) {
        char c = value.data[i];
        const char *entity = c == '&' ? "&amp;" : c == '"' ? "&quot;" : NULL;
        if (entity == NULL) {
            *out++ = c;
        }
        while (entity != NULL && *entity != '\0') {
            *out++ = *entity++;
        }
    }
    return (struct nj_text){prompt->escaped, (size_t)(out - prompt->escaped)};
}

/* ---- XTML ---- */

static void put_attribute(struct prompt *prompt, const char *spaced_key, struct nj_text value)
{
    put_words(prompt, spaced_key);
    put_words(prompt, "=\"");
    put_segment(prompt, escape(prompt, value));
    put_words(prompt, "\"");
}

static void open_message(struct prompt *prompt, const char *role, struct nj_text name)
{
    put_control(prompt, "<|open|>");
    put_words(prompt, "message");
    put_attribute(prompt, " role", nj_text_from(role));
    if (name.length_bytes > 0) {
        put_attribute(prompt, " name", name);
    }
    put_control(prompt, "<|sep|>");
}

static void open_element(struct prompt *prompt, const char *tag)
{
    put_control(prompt, "<|open|>");
    put_words(prompt, tag);
    put_control(prompt, "<|sep|>");
}

static void close_element(struct prompt *prompt, const char *tag)
{
    put_control(prompt, "<|close|>");
    put_words(prompt, tag);
    put_control(prompt, "<|sep|>");
}

static void put_element(struct prompt *prompt, const char *tag, struct nj_text content)
{
    open_element(prompt, tag);
    put_segment(prompt, content);
    close_element(prompt, tag);
}

static void close_message(struct prompt *prompt)
{
    close_element(prompt, "message");
    put_control(prompt, "<|end_of_msg|>");
}

static void put_effort_note(struct prompt *prompt, const char *note)
{
    put_control(prompt, "<|open|>");
    put_words(prompt, "message");
    put_attribute(prompt, " role", nj_text_from("system"));
    put_attribute(prompt, " type", nj_text_from("thinking-effort"));
    put_control(prompt, "<|sep|>");
    put_words(prompt, note);
    close_message(prompt);
}

/* One segment, to the byte as the model was trained with it. NULL: no thinking, no note. */
static const char *effort_note(enum nj_thinking thinking)
{
#define EFFORT_NOTE(effort)                                                                    \
    "`thinking_effort` guides on how much to think in your thinking channel (not including "   \
    "the response channel), supported values include `low`, `medium`, `high`, and `max`.\n"    \
    "Now the system is invoked with `thinking_effort=" effort "`."
    switch (thinking) {
    case NJ_THINKING_OFF:
        break;
    case NJ_THINKING_LOW:
        return EFFORT_NOTE("low");
    case NJ_THINKING_HIGH:
        return EFFORT_NOTE("high");
    case NJ_THINKING_MAX:
        return EFFORT_NOTE("max");
    }
#undef EFFORT_NOTE
    return NULL;
}

static const char *role_word(enum nj_chat_role role)
{
    switch (role) {
    case NJ_ROLE_SYSTEM:
        return "system";
    case NJ_ROLE_USER:
        return "user";
    case NJ_ROLE_ASSISTANT:
        break;
    }
    return "assistant";
}

static void put_xtml_message(struct prompt *prompt, const struct nj_chat_message *message,
                             enum nj_thinking thinking)
{
    open_message(prompt, role_word(message->role), message->name);
    if (message->role != NJ_ROLE_ASSISTANT) {
        put_segment(prompt, message->content);
    } else {
        if (thinking != NJ_THINKING_OFF) {
            put_element(prompt, "think", message->reasoning);
        }
        put_element(prompt, "response", message->content);
    }
    close_message(prompt);
}

static void begin_xtml(struct prompt *prompt, enum nj_thinking thinking)
{
    const char *note = effort_note(thinking);
    if (note != NULL) {
        put_effort_note(prompt, note);
    }
}

static void end_xtml(struct prompt *prompt, enum nj_thinking thinking)
{
    open_message(prompt, role_word(NJ_ROLE_ASSISTANT), (struct nj_text){NULL, 0});
    open_element(prompt, thinking == NJ_THINKING_OFF ? "response" : "think");
}

/* ---- the format of Kimi-Linear and K2 ---- */

static void open_im_turn(struct prompt *prompt, enum nj_chat_role role)
{
    static const char *const controls[] = {
        [NJ_ROLE_SYSTEM] = "<|im_system|>",
        [NJ_ROLE_USER] = "<|im_user|>",
        [NJ_ROLE_ASSISTANT] = "<|im_assistant|>",
    };
    put_control(prompt, controls[role]);
    put_words(prompt, role_word(role));
    put_control(prompt, "<|im_middle|>");
}

static void put_im_message(struct prompt *prompt, const struct nj_chat_message *message)
{
    if (prompt->status == NJ_OK && message->name.length_bytes > 0) {
        prompt->status = nj_fail(prompt->err, NJ_E_UNSUPPORTED,
                                 "this model's chat format has no names for people");
    }
    open_im_turn(prompt, message->role);
    put_segment(prompt, message->content);
    put_control(prompt, "<|im_end|>");
}

/* ---- both ---- */

static void put_messages(struct prompt *prompt, enum nj_chat_format format,
                         const struct nj_chat_message *messages, size_t n_messages,
                         enum nj_thinking thinking)
{
    for (size_t i = 0; i < n_messages && prompt->status == NJ_OK; i++) {
        if (format == NJ_CHAT_XTML) {
            put_xtml_message(prompt, &messages[i], thinking);
        } else {
            put_im_message(prompt, &messages[i]);
        }
        if (prompt->status != NJ_OK) {
            (void)nj_prefix(prompt->err, prompt->status, "message %zu", i + 1);
        }
    }
}

static enum nj_status check_support(enum nj_chat_format format, enum nj_thinking thinking,
                                    struct nj_error *err)
{
    if (format == NJ_CHAT_NONE) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "render a chat: the model's tokenizer names no chat tokens");
    }
    if (format == NJ_CHAT_IM && thinking != NJ_THINKING_OFF) {
        return nj_fail(err, NJ_E_UNSUPPORTED,
                       "render a chat: this model's chat format has no thinking");
    }
    return NJ_OK;
}

enum nj_status nj_chat_render(struct nj_tokenizer *tokenizer,
                              const struct nj_chat_message *messages, size_t n_messages,
                              enum nj_thinking thinking, struct nj_token_list *list,
                              struct nj_error *err)
{
    enum nj_chat_format format = nj_chat_format_of(tokenizer);
    enum nj_status status = check_support(format, thinking, err);
    if (status != NJ_OK) {
        return status;
    }
    struct prompt prompt = {.tokenizer = tokenizer, .list = list, .err = err};
    size_t n_ids_before = list->n_ids;
    if (format == NJ_CHAT_XTML) {
        begin_xtml(&prompt, thinking);
    }
    put_messages(&prompt, format, messages, n_messages, thinking);
    if (format == NJ_CHAT_XTML) {
        end_xtml(&prompt, thinking);
    } else {
        open_im_turn(&prompt, NJ_ROLE_ASSISTANT);
    }
    if (prompt.status != NJ_OK) {
        list->n_ids = n_ids_before;
    }
    free(prompt.escaped);
    return prompt.status;
}
