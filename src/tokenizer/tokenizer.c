#include "tokenizer/tokenizer.h"

#include <stdlib.h>

#include "base/arena.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/merge.h"
#include "tokenizer/rank_table.h"
#include "tokenizer/slices.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/split.h"

/* Released files: 2.8 MB of ranks and some KB of configuration, in which a template may stand.
 */
enum { RANK_FILE_LIMIT_BYTES = 64 << 20, CONFIG_FILE_LIMIT_BYTES = 16 << 20 };

enum { N_STOPS_LIMIT = 3 };

struct nj_tokenizer {
    struct nj_arena arena; /* owns the tables */
    struct nj_rank_table ranks;
    struct nj_special_tokens specials;
    struct nj_split *split;
    struct nj_merge merge;
    nj_token stops[N_STOPS_LIMIT];
    size_t n_stops;
    struct nj_digest digest;
};

/* Both files as they stand on disk. */
struct files {
    struct nj_arena arena; /* owns them; released after parsing */
    struct nj_bytes ranks;
    struct nj_bytes config;
};

static enum nj_status read_one(const struct nj_file_system *fs, int directory_fd,
                               const char *name, uint64_t limit_bytes, struct nj_arena *arena,
                               struct nj_bytes *content, struct nj_error *err)
{
    enum nj_status status =
        nj_file_read_whole(fs, directory_fd, name, limit_bytes, arena, content, err);
    if (status == NJ_E_INPUT) {
        /* Too large. It is a model's file, not a person's. */
        return nj_prefix(err, NJ_E_WEIGHTS, "implausible tokenizer file");
    }
    return status;
}

static enum nj_status read_files(const struct nj_file_system *fs, int directory_fd,
                                 struct files *files, struct nj_error *err)
{
    enum nj_status ranks_status =
        read_one(fs, directory_fd, NJ_RANK_FILE, RANK_FILE_LIMIT_BYTES, &files->arena,
                 &files->ranks, err);
    if (ranks_status != NJ_OK && ranks_status != NJ_E_NOT_FOUND) {
        return ranks_status;
    }
    enum nj_status config_status =
        read_one(fs, directory_fd, NJ_TOKENIZER_CONFIG_FILE, CONFIG_FILE_LIMIT_BYTES,
                 &files->arena, &files->config, err);
    if (config_status != NJ_OK && config_status != NJ_E_NOT_FOUND) {
        return config_status;
    }
    if (ranks_status == config_status) {
        return ranks_status;
    }
    /* Half a tokenizer is a damaged model, not a model that is driven by ids. */
    return nj_fail(err, NJ_E_WEIGHTS, "%s is there without %s",
                   ranks_status == NJ_OK ? NJ_RANK_FILE : NJ_TOKENIZER_CONFIG_FILE,
                   ranks_status == NJ_OK ? NJ_TOKENIZER_CONFIG_FILE : NJ_RANK_FILE);
}

static enum nj_status parse_files(struct nj_tokenizer *tokenizer, const struct files *files,
                                  uint32_t n_vocabulary, struct nj_error *err)
{
    enum nj_status status =
        nj_rank_table_parse(files->ranks, &tokenizer->arena, &tokenizer->ranks, err);
    if (status != NJ_OK) {
        return status;
    }
    if (tokenizer->ranks.n_ranks > n_vocabulary) {
        return nj_fail(err, NJ_E_WEIGHTS, NJ_RANK_FILE ": %u ranks for a model of %u tokens",
                       tokenizer->ranks.n_ranks, n_vocabulary);
    }
    struct nj_text config = {(const char *)files->config.data, files->config.length_bytes};
    return nj_special_tokens_parse(config, tokenizer->ranks.n_ranks, n_vocabulary,
                                   &tokenizer->arena, &tokenizer->specials, err);
}

static void find_stops(struct nj_tokenizer *tokenizer)
{
    static const char *const names[] = {"<|end_of_msg|>", "<|im_end|>", "[EOS]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        nj_token id = nj_tokenizer_special(tokenizer, names[i]);
        if (id >= 0) {
            tokenizer->stops[tokenizer->n_stops++] = id;
        }
    }
    if (tokenizer->n_stops == 0 && tokenizer->specials.end_id >= 0) {
        tokenizer->stops[tokenizer->n_stops++] = tokenizer->specials.end_id;
    }
}

static enum nj_status digest_files(const struct files *files, struct nj_digest *digest,
                                   struct nj_error *err)
{
    struct nj_digest_stream *stream = NULL;
    enum nj_status status = nj_digest_stream_create(&stream, err);
    if (status != NJ_OK) {
        return status;
    }
    static const uint8_t chat_version = NJ_CHAT_TEMPLATE_VERSION;
    nj_digest_stream_add_field(stream, NJ_RANK_FILE, files->ranks.data,
                               files->ranks.length_bytes);
    nj_digest_stream_add_field(stream, NJ_TOKENIZER_CONFIG_FILE, files->config.data,
                               files->config.length_bytes);
    nj_digest_stream_add_field(stream, "chat template", &chat_version, sizeof chat_version);
    status = nj_digest_stream_finish(stream, digest, err);
    nj_digest_stream_destroy(stream);
    return status;
}

static enum nj_status build(struct nj_tokenizer *tokenizer, const struct nj_file_system *fs,
                            int directory_fd, uint32_t n_vocabulary, struct nj_error *err)
{
    struct files files = {0};
    enum nj_status status = read_files(fs, directory_fd, &files, err);
    if (status == NJ_OK) {
        status = parse_files(tokenizer, &files, n_vocabulary, err);
    }
    if (status == NJ_OK) {
        status = digest_files(&files, &tokenizer->digest, err);
    }
    if (status == NJ_OK) {
        status = nj_split_create(&tokenizer->split, err);
    }
    if (status == NJ_OK) {
        find_stops(tokenizer);
    }
    nj_arena_deinit(&files.arena);
    return status;
}

enum nj_status nj_tokenizer_open(const struct nj_file_system *fs, const char *directory,
                                 uint32_t n_vocabulary, struct nj_tokenizer **tokenizer,
                                 struct nj_error *err)
{
    int directory_fd = -1;
    enum nj_status status = nj_file_open_directory(fs, directory, false, &directory_fd, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_tokenizer *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "open the tokenizer in %s: no memory", directory);
        goto out;
    }
    status = build(opened, fs, directory_fd, n_vocabulary, err);
    if (status != NJ_OK) {
        (void)nj_prefix(err, status, "open the tokenizer in %s", directory);
        goto out;
    }
    *tokenizer = opened;
    opened = NULL;
out:
    nj_tokenizer_close(opened);
    (void)fs->close(fs->context, directory_fd); /* read only: nothing to lose */
    return status;
}

void nj_tokenizer_close(struct nj_tokenizer *tokenizer)
{
    if (tokenizer == NULL) {
        return;
    }
    nj_split_destroy(tokenizer->split);
    nj_merge_deinit(&tokenizer->merge);
    nj_arena_deinit(&tokenizer->arena);
    free(tokenizer);
}

/* Most pieces are one token as they stand. */
static enum nj_status encode_piece(struct nj_tokenizer *tokenizer, struct nj_bytes piece,
                                   struct nj_token_list *list, struct nj_error *err)
{
    nj_token whole = nj_rank_table_find(&tokenizer->ranks, piece);
    if (whole >= 0) {
        return nj_token_list_append(list, &whole, 1, err);
    }
    return nj_merge_piece(&tokenizer->merge, &tokenizer->ranks, piece, list, err);
}

static enum nj_status encode_slice(struct nj_tokenizer *tokenizer, struct nj_text slice,
                                   struct nj_token_list *list, struct nj_error *err)
{
    size_t begin = 0;
    while (begin < slice.length_bytes) {
        size_t end;
        enum nj_status status = nj_split_next(tokenizer->split, slice, begin, &end, err);
        if (status != NJ_OK) {
            return status;
        }
        struct nj_bytes piece = {(const uint8_t *)slice.data + begin, end - begin};
        status = encode_piece(tokenizer, piece, list, err);
        if (status != NJ_OK) {
            return status;
        }
        begin = end;
    }
    return NJ_OK;
}

enum nj_status nj_tokenizer_encode(struct nj_tokenizer *tokenizer, struct nj_text text,
                                   struct nj_token_list *list, struct nj_error *err)
{
    size_t n_valid = nj_text_valid_prefix(text);
    if (n_valid != text.length_bytes) {
        return nj_fail(err, NJ_E_INPUT, "text is not UTF-8 at byte %zu", n_valid);
    }
    size_t n_ids_before = list->n_ids;
    struct nj_slices slices;
    struct nj_text slice;
    nj_slices_init(&slices, text);
    while (nj_slices_next(&slices, &slice)) {
        enum nj_status status = encode_slice(tokenizer, slice, list, err);
        if (status != NJ_OK) {
            list->n_ids = n_ids_before;
            return status;
        }
    }
    return NJ_OK;
}

nj_token nj_tokenizer_special(const struct nj_tokenizer *tokenizer, const char *name)
{
    return nj_special_tokens_id(&tokenizer->specials, nj_text_from(name));
}

struct nj_bytes nj_tokenizer_bytes(const struct nj_tokenizer *tokenizer, nj_token token,
                                   bool *is_special)
{
    if (token >= 0 && (uint32_t)token < tokenizer->ranks.n_ranks) {
        *is_special = false;
        return tokenizer->ranks.pieces[token];
    }
    struct nj_text name = nj_special_tokens_name(&tokenizer->specials, token);
    *is_special = true;
    return (struct nj_bytes){(const uint8_t *)name.data, name.length_bytes};
}

size_t nj_tokenizer_stops(const struct nj_tokenizer *tokenizer, const nj_token **stops)
{
    *stops = tokenizer->stops;
    return tokenizer->n_stops;
}

uint32_t nj_tokenizer_n_ranks(const struct nj_tokenizer *tokenizer)
{
    return tokenizer->ranks.n_ranks;
}

uint32_t nj_tokenizer_n_specials(const struct nj_tokenizer *tokenizer)
{
    return tokenizer->specials.n_tokens;
}

const struct nj_digest *nj_tokenizer_digest(const struct nj_tokenizer *tokenizer)
{
    return &tokenizer->digest;
}
