/* Any messages through the chat template, and any ids through the parser of answers.
 *
 * The first byte says which format the tokenizer has and how much is thought. Whatever people
 * write, the control tokens of the prompt are those that the same turns have with plain words.
 * Whatever ids come back, each belongs to one part, and special ones are never text.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/chat_template.h"
#include "tokenizer/tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

enum { N_RANKS = 256, N_VOCABULARY = 300, MESSAGES_LIMIT = 4 };

static const char xtml[] = "{\"added_tokens_decoder\":{\"257\":{\"content\":\"[EOS]\"},"
                           "\"258\":{\"content\":\"<|end_of_msg|>\"},"
                           "\"259\":{\"content\":\"<|open|>\"},"
                           "\"260\":{\"content\":\"<|close|>\"},"
                           "\"261\":{\"content\":\"<|sep|>\"}}}";
static const char older[] = "{\"added_tokens_decoder\":{\"257\":{\"content\":\"[EOS]\"},"
                            "\"258\":{\"content\":\"<|im_end|>\"},"
                            "\"259\":{\"content\":\"<|im_user|>\"},"
                            "\"260\":{\"content\":\"<|im_assistant|>\"},"
                            "\"262\":{\"content\":\"<|im_system|>\"},"
                            "\"263\":{\"content\":\"<|im_middle|>\"}}}";

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Both tokenizer files, from memory; the descriptor says which. */
struct files {
    char ranks[N_RANKS * 16];
    const char *config;
};

enum { DIRECTORY_FD = 3, RANKS_FD, CONFIG_FD };

static int open_at(void *context, int directory_fd, const char *name, int flags, mode_t mode)
{
    (void)context;
    (void)directory_fd;
    (void)flags;
    (void)mode;
    if (strcmp(name, "tiktoken.model") == 0) {
        return RANKS_FD;
    }
    return strcmp(name, "tokenizer_config.json") == 0 ? CONFIG_FD : DIRECTORY_FD;
}

static const char *content_of(const struct files *files, int fd)
{
    return fd == RANKS_FD ? files->ranks : files->config;
}

static int status_of(void *context, int fd, struct stat *status)
{
    *status = (struct stat){.st_mode = fd == DIRECTORY_FD ? S_IFDIR : S_IFREG,
                            .st_size = (off_t)strlen(content_of(context, fd))};
    return 0;
}

static ssize_t read_at(void *context, int fd, void *data, size_t length_bytes, off_t offset)
{
    const char *content = content_of(context, fd);
    size_t left = strlen(content) - (size_t)offset;
    size_t length = left < length_bytes ? left : length_bytes;
    memcpy(data, content + offset, length);
    return (ssize_t)length;
}

static int close_nothing(void *context, int fd)
{
    (void)context;
    (void)fd;
    return 0;
}

/* The single bytes, in the base64 of one byte. */
static void write_ranks(struct files *files)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t length = 0;
    for (unsigned byte = 0; byte < N_RANKS; byte++) {
        length +=
            (size_t)snprintf(files->ranks + length, sizeof files->ranks - length, "%c%c== %u\n",
                             digits[byte >> 2], digits[(byte & 3) << 4], byte);
    }
}

static struct nj_tokenizer *tokenizer_with(const char *config)
{
    struct files files = {.config = config};
    const struct nj_file_system fs = {.context = &files,
                                      .open_at = open_at,
                                      .status = status_of,
                                      .read_at = read_at,
                                      .close = close_nothing};
    struct nj_tokenizer *tokenizer = NULL;
    write_ranks(&files);
    require(nj_tokenizer_open(&fs, "model", N_VOCABULARY, &tokenizer, NULL) == NJ_OK);
    return tokenizer;
}

/* Each line is one message: a byte for its role, then its content. */
static size_t split_messages(struct nj_text text, struct nj_chat_message *messages)
{
    size_t n = 0;
    while (n < MESSAGES_LIMIT && text.length_bytes > 0) {
        const char *end = memchr(text.data, '\n', text.length_bytes);
        size_t length = end != NULL ? (size_t)(end - text.data) : text.length_bytes;
        size_t consumed = length + (end != NULL ? 1 : 0);
        if (length > 0) {
            messages[n++] =
                (struct nj_chat_message){.role = (enum nj_chat_role)((uint8_t)text.data[0] % 3),
                                         .content = {text.data + 1, length - 1}};
        }
        text = (struct nj_text){text.data + consumed, text.length_bytes - consumed};
    }
    return n;
}

/* The next control token from `*at` on, or -1. */
static nj_token next_control(const struct nj_token_list *list, size_t *at)
{
    while (*at < list->n_ids) {
        nj_token id = list->ids[(*at)++];
        if (id >= N_RANKS) {
            return id;
        }
    }
    return -1;
}

static void check_same_controls(const struct nj_token_list *a, const struct nj_token_list *b)
{
    size_t at_a = 0;
    size_t at_b = 0;
    nj_token control = 0;
    while (control >= 0) {
        control = next_control(a, &at_a);
        require(control == next_control(b, &at_b));
    }
}

static void render(struct nj_tokenizer *tokenizer, enum nj_thinking thinking,
                   struct nj_text text)
{
    struct nj_chat_message messages[MESSAGES_LIMIT];
    struct nj_token_list list = {0};
    struct nj_token_list plain = {0};
    size_t n = split_messages(text, messages);
    enum nj_status status =
        n > 0 ? nj_chat_render(tokenizer, messages, n, thinking, &list, NULL) : NJ_E_INPUT;
    if (status == NJ_OK) {
        for (size_t i = 0; i < n; i++) {
            messages[i].content = nj_text_from("word");
        }
        require(nj_chat_render(tokenizer, messages, n, thinking, &plain, NULL) == NJ_OK);
        check_same_controls(&list, &plain);
    } else {
        require(list.n_ids == 0);
    }
    nj_token_list_deinit(&plain);
    nj_token_list_deinit(&list);
}

/* Two bytes an id, of any sign and size. */
static void parse(struct nj_tokenizer *tokenizer, enum nj_thinking thinking,
                  struct nj_bytes bytes)
{
    struct nj_chat_parser parser;
    nj_chat_parser_init(&parser, nj_chat_format_of(tokenizer), thinking);
    for (size_t i = 0; i + 2 <= bytes.length_bytes; i += 2) {
        nj_token id =
            (nj_token)(int16_t)(bytes.data[i] | bytes.data[i + 1] << 8) % N_VOCABULARY;
        struct nj_chat_parser saved = parser;
        enum nj_chat_part part = nj_chat_parser_next(&parser, tokenizer, id);
        require(part == NJ_PART_RESPONSE || part == NJ_PART_REASONING ||
                part == NJ_PART_STRUCTURE);
        require((id >= 0 && id < N_RANKS) || part == NJ_PART_STRUCTURE);
        require(nj_chat_parser_next(&saved, tokenizer, id) == part); /* plain data */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    static struct nj_tokenizer *tokenizers[2];
    if (length_bytes == 0) {
        return 0;
    }
    if (tokenizers[0] == NULL) {
        tokenizers[0] = tokenizer_with(xtml);
        tokenizers[1] = tokenizer_with(older);
    }
    struct nj_tokenizer *tokenizer = tokenizers[data[0] & 1];
    enum nj_thinking thinking = (enum nj_thinking)(data[0] >> 1 & 3);
    struct nj_bytes rest = {data + 1, length_bytes - 1};
    if ((data[0] & 8) != 0) {
        parse(tokenizer, thinking, rest);
    } else {
        render(tokenizer, thinking,
               (struct nj_text){(const char *)rest.data, rest.length_bytes});
    }
    return 0;
}
