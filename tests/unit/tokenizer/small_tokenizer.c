#include "unit/tokenizer/small_tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "support/check.h"

const char *const small_xtml_specials[] = {
    "[BOS]", "[EOS]", "<|end_of_msg|>", "<|open|>", "<|close|>", "<|sep|>", "", "[PAD]", NULL};
const char *const small_im_specials[] = {
    "[BOS]", "[EOS]",         "<|im_end|>",    "<|im_user|>", "<|im_assistant|>",
    "",      "<|im_system|>", "<|im_middle|>", NULL};

static void give_up(const char *what)
{
    perror(what);
    exit(1);
}

static void print_base64(FILE *out, const char *data, size_t n)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        unsigned bits = 0;
        for (size_t k = 0; k < 3; k++) {
            bits = bits << 8 | (i + k < n ? (unsigned char)data[i + k] : 0u);
        }
        (void)fputc(digits[bits >> 18], out);
        (void)fputc(digits[bits >> 12 & 63], out);
        (void)fputc(i + 1 < n ? digits[bits >> 6 & 63] : '=', out);
        (void)fputc(i + 2 < n ? digits[bits & 63] : '=', out);
    }
}

static FILE *open_text(char **text, size_t *length)
{
    FILE *out = open_memstream(text, length);
    if (out == NULL) {
        give_up("open_memstream");
    }
    return out;
}

static void close_text(FILE *out)
{
    if (fclose(out) != 0) {
        give_up("write text to memory");
    }
}

char *small_rank_file(const char *const *words)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_text(&text, &length);
    unsigned rank = 0;
    for (; rank < 256; rank++) {
        char byte = (char)(unsigned char)rank;
        print_base64(out, &byte, 1);
        (void)fprintf(out, " %u\n", rank);
    }
    for (; words != NULL && *words != NULL; words++) {
        print_base64(out, *words, strlen(*words));
        (void)fprintf(out, " %u\n", rank++);
    }
    close_text(out);
    return text;
}

static void write_file(const char *directory, const char *name, const char *content)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *out = fopen(path, "w");
    if (out == NULL || fputs(content, out) < 0 || fclose(out) != 0) {
        give_up(path);
    }
}

const char *small_model_directory(const char *rank_file, const char *config)
{
    static char directory[256];
    static unsigned n_made;
    (void)snprintf(directory, sizeof directory, "%s/model-%u", test_folder(), n_made++);
    if (mkdir(directory, 0700) != 0) {
        give_up(directory);
    }
    if (rank_file != NULL) {
        write_file(directory, "tiktoken.model", rank_file);
    }
    if (config != NULL) {
        write_file(directory, "tokenizer_config.json", config);
    }
    return directory;
}

static char *config_text(const char *const *specials, unsigned first_id)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_text(&text, &length);
    (void)fputs("{\"added_tokens_decoder\": {", out);
    const char *separator = "";
    for (unsigned i = 0; specials != NULL && specials[i] != NULL; i++) {
        if (specials[i][0] != '\0') {
            /* Like the released file, false for some of those that matter. */
            (void)fprintf(out, "%s\"%u\": {\"content\": \"%s\", \"special\": %s}", separator,
                          first_id + i, specials[i], i % 2 == 0 ? "true" : "false");
            separator = ", ";
        }
    }
    (void)fputs("}}", out);
    close_text(out);
    return text;
}

static unsigned count(const char *const *words)
{
    unsigned n = 0;
    while (words != NULL && words[n] != NULL) {
        n++;
    }
    return n;
}

struct nj_tokenizer *small_tokenizer_open(const char *const *words, const char *const *specials)
{
    unsigned n_ranks = 256 + count(words);
    char *ranks = small_rank_file(words);
    char *config = config_text(specials, n_ranks);
    const char *directory = small_model_directory(ranks, config);
    struct nj_tokenizer *tokenizer = NULL;
    struct nj_error error;
    if (nj_tokenizer_open(nj_file_system_real(), directory, n_ranks + count(specials) + 8,
                          &tokenizer, &error) != NJ_OK) {
        (void)fprintf(stderr, "%s\n", error.text);
        exit(1);
    }
    free(ranks);
    free(config);
    return tokenizer;
}

/* The special token whose name begins here, the end of its name in `*end`; or -1. */
static nj_token special_at(const struct nj_tokenizer *tokenizer, const char *text,
                           const char **end)
{
    uint32_t n_ranks = nj_tokenizer_n_ranks(tokenizer);
    for (uint32_t id = n_ranks; id < n_ranks + 32; id++) {
        bool is_special;
        struct nj_bytes name = nj_tokenizer_bytes(tokenizer, (nj_token)id, &is_special);
        if (name.length_bytes > 0 &&
            strncmp(text, (const char *)name.data, name.length_bytes) == 0) {
            *end = text + name.length_bytes;
            return (nj_token)id;
        }
    }
    return -1;
}

void small_tokenizer_spell(struct nj_tokenizer *tokenizer, const char *text,
                           struct nj_token_list *list)
{
    while (*text != '\0') {
        const char *end = text;
        nj_token id = special_at(tokenizer, text, &end);
        enum nj_status status;
        if (id >= 0) {
            status = nj_token_list_append(list, &id, 1, NULL);
        } else {
            const char *ignored;
            do {
                end++;
            } while (*end != '\0' && special_at(tokenizer, end, &ignored) < 0);
            struct nj_text words = {text, (size_t)(end - text)};
            status = nj_tokenizer_encode(tokenizer, words, list, NULL);
        }
        if (status != NJ_OK) {
            give_up("spell");
        }
        text = end;
    }
}

char *small_tokenizer_show(const struct nj_tokenizer *tokenizer,
                           const struct nj_token_list *list)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_text(&text, &length);
    for (size_t i = 0; i < list->n_ids; i++) {
        bool is_special;
        struct nj_bytes bytes = nj_tokenizer_bytes(tokenizer, list->ids[i], &is_special);
        (void)fwrite(bytes.data, 1, bytes.length_bytes, out);
    }
    close_text(out);
    return text;
}
