#include "tokenizer/special_tokens.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"

#define CONFIG NJ_TOKENIZER_CONFIG_FILE

static int compare_texts(struct nj_text a, struct nj_text b)
{
    size_t shorter = a.length_bytes < b.length_bytes ? a.length_bytes : b.length_bytes;
    int order = shorter == 0 ? 0 : memcmp(a.data, b.data, shorter);
    if (order != 0) {
        return order;
    }
    return (a.length_bytes > b.length_bytes) - (a.length_bytes < b.length_bytes);
}

static int compare_names(const void *a, const void *b)
{
    const struct nj_special_token *left = a;
    const struct nj_special_token *right = b;
    return compare_texts(left->name, right->name);
}

static int compare_ids(const void *a, const void *b)
{
    const struct nj_special_token *left = a;
    const struct nj_special_token *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

static const struct nj_special_token *find(const struct nj_special_token *tokens, uint32_t n,
                                           const struct nj_special_token *wanted,
                                           int (*compare)(const void *, const void *))
{
    return n == 0 ? NULL : bsearch(wanted, tokens, n, sizeof *tokens, compare);
}

nj_token nj_special_tokens_id(const struct nj_special_tokens *tokens, struct nj_text name)
{
    struct nj_special_token wanted = {.name = name};
    const struct nj_special_token *found =
        find(tokens->by_name, tokens->n_tokens, &wanted, compare_names);
    return found == NULL ? -1 : found->id;
}

struct nj_text nj_special_tokens_name(const struct nj_special_tokens *tokens, nj_token id)
{
    struct nj_special_token wanted = {.id = id};
    const struct nj_special_token *found =
        find(tokens->by_id, tokens->n_tokens, &wanted, compare_ids);
    return found == NULL ? (struct nj_text){NULL, 0} : found->name;
}

/* JSON has only text as keys. One spelling per id, so that no id can be named twice. */
static bool parse_id(struct nj_text digits, nj_token *id)
{
    if (digits.length_bytes == 0 || digits.length_bytes > 9 ||
        (digits.data[0] == '0' && digits.length_bytes > 1)) {
        return false;
    }
    nj_token value = 0;
    for (size_t i = 0; i < digits.length_bytes; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') {
            return false;
        }
        value = value * 10 + (digits.data[i] - '0');
    }
    *id = value;
    return true;
}

static enum nj_status parse_token(struct nj_text key, const struct nj_json_value *entry,
                                  struct nj_arena *arena, struct nj_special_token *token,
                                  struct nj_error *err)
{
    struct nj_text name;
    if (!parse_id(key, &token->id)) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       CONFIG ": added_tokens_decoder: \"%.*s\" is not an id",
                       (int)(key.length_bytes < 40 ? key.length_bytes : 40), key.data);
    }
    if (!nj_json_as_text(nj_json_get(entry, "content"), &name) || name.length_bytes == 0) {
        return nj_fail(err, NJ_E_WEIGHTS, CONFIG ": added_tokens_decoder: %d has no content",
                       token->id);
    }
    token->name.data = nj_arena_copy_text(arena, name.data, name.length_bytes);
    token->name.length_bytes = name.length_bytes;
    if (token->name.data == NULL) {
        return nj_arena_fail(arena, "special token names", err);
    }
    return NJ_OK;
}

static enum nj_status check_range(nj_token id, uint32_t n_ranks, uint32_t n_vocabulary,
                                  struct nj_error *err)
{
    if ((uint32_t)id < n_ranks) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       CONFIG ": special id %d is also a rank (they end at %u)", id,
                       n_ranks - 1);
    }
    if ((uint32_t)id >= n_vocabulary) {
        return nj_fail(err, NJ_E_WEIGHTS, CONFIG ": special id %d in a model of %u tokens", id,
                       n_vocabulary);
    }
    return NJ_OK;
}

static enum nj_status sort(struct nj_special_tokens *tokens, struct nj_error *err)
{
    size_t n = tokens->n_tokens;
    if (n == 0) {
        return NJ_OK;
    }
    memcpy(tokens->by_name, tokens->by_id, n * sizeof *tokens->by_id);
    qsort(tokens->by_id, n, sizeof *tokens->by_id, compare_ids);
    qsort(tokens->by_name, n, sizeof *tokens->by_name, compare_names);
    for (size_t i = 1; i < n; i++) {
        const struct nj_special_token *pair = &tokens->by_name[i - 1];
        if (compare_names(&pair[0], &pair[1]) == 0) {
            return nj_fail(err, NJ_E_WEIGHTS, CONFIG ": %d and %d have the same content",
                           pair[0].id, pair[1].id);
        }
    }
    return NJ_OK;
}

static enum nj_status parse_tokens(const struct nj_json_value *added, uint32_t n_ranks,
                                   uint32_t n_vocabulary, struct nj_arena *arena,
                                   struct nj_special_tokens *tokens, struct nj_error *err)
{
    enum nj_json_type type = nj_json_type_of(added);
    if (type != NJ_JSON_ABSENT && type != NJ_JSON_OBJECT) {
        return nj_fail(err, NJ_E_WEIGHTS, CONFIG ": added_tokens_decoder is not an object");
    }
    size_t n = nj_json_count(added);
    tokens->by_id = nj_arena_take_array(arena, n, sizeof *tokens->by_id);
    tokens->by_name = nj_arena_take_array(arena, n, sizeof *tokens->by_name);
    if (tokens->by_id == NULL || tokens->by_name == NULL) {
        return nj_arena_fail(arena, "special tokens", err);
    }
    for (size_t i = 0; i < n; i++) {
        struct nj_text key = {NULL, 0};
        const struct nj_json_value *entry = nj_json_member(added, i, &key);
        enum nj_status status = parse_token(key, entry, arena, &tokens->by_id[i], err);
        if (status == NJ_OK) {
            status = check_range(tokens->by_id[i].id, n_ranks, n_vocabulary, err);
        }
        if (status != NJ_OK) {
            return status;
        }
    }
    tokens->n_tokens = (uint32_t)n; /* at most n_vocabulary, since the keys differ */
    return sort(tokens, err);
}

/* `eos_token` is a name, or an object with the name as its content. */
static enum nj_status parse_end(const struct nj_json_value *root,
                                struct nj_special_tokens *tokens, struct nj_error *err)
{
    const struct nj_json_value *value = nj_json_get(root, "eos_token");
    enum nj_json_type type = nj_json_type_of(value);
    tokens->end_id = -1;
    if (type == NJ_JSON_ABSENT || type == NJ_JSON_NULL) {
        return NJ_OK;
    }
    struct nj_text name;
    if (!nj_json_as_text(type == NJ_JSON_OBJECT ? nj_json_get(value, "content") : value,
                         &name)) {
        return nj_fail(err, NJ_E_WEIGHTS, CONFIG ": eos_token is not a name");
    }
    tokens->end_id = nj_special_tokens_id(tokens, name);
    if (tokens->end_id < 0) {
        return nj_fail(err, NJ_E_WEIGHTS, CONFIG ": eos_token is not in added_tokens_decoder");
    }
    return NJ_OK;
}

enum nj_status nj_special_tokens_parse(struct nj_text json, uint32_t n_ranks,
                                       uint32_t n_vocabulary, struct nj_arena *arena,
                                       struct nj_special_tokens *tokens, struct nj_error *err)
{
    struct nj_json *document = NULL;
    enum nj_status status = nj_json_parse(json, CONFIG, &document, err);
    if (status != NJ_OK) {
        /* A model's file, not a person's. */
        return status == NJ_E_INPUT ? nj_prefix(err, NJ_E_WEIGHTS, "tokenizer") : status;
    }
    struct nj_special_tokens parsed = {0};
    const struct nj_json_value *root = nj_json_root(document);
    if (nj_json_type_of(root) != NJ_JSON_OBJECT) {
        status = nj_fail(err, NJ_E_WEIGHTS, CONFIG ": not an object");
        goto out;
    }
    status = parse_tokens(nj_json_get(root, "added_tokens_decoder"), n_ranks, n_vocabulary,
                          arena, &parsed, err);
    if (status == NJ_OK) {
        status = parse_end(root, &parsed, err);
    }
    if (status == NJ_OK) {
        *tokens = parsed;
    }
out:
    nj_json_destroy(document);
    return status;
}
