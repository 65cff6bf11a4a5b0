/* Both tokenizer files from anywhere, and any text through the real thing.
 *
 * The first byte chooses: 'r' the rest is a rank file, 's' it is a configuration, anything else
 * it is text for a tokenizer whose vocabulary follows from that byte. Besides crashes it finds
 * parsed tables that break their own promises, and text that does not come back.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tokenizer/decode.h"
#include "tokenizer/merge.h"
#include "tokenizer/rank_table.h"
#include "tokenizer/slices.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/split.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void rank_file(struct nj_bytes content)
{
    struct nj_arena arena;
    struct nj_rank_table table;
    struct nj_error error;
    nj_arena_init(&arena, 1 << 26);
    if (nj_rank_table_parse(content, &arena, &table, &error) == NJ_OK) {
        require(table.n_ranks >= 256);
        for (uint32_t i = 0; i < table.n_ranks; i++) {
            require(nj_rank_table_find(&table, table.pieces[i]) == (nj_token)i);
        }
    }
    nj_arena_deinit(&arena);
}

static void configuration(struct nj_text json)
{
    struct nj_arena arena;
    struct nj_special_tokens tokens;
    struct nj_error error;
    nj_arena_init(&arena, 1 << 26);
    if (nj_special_tokens_parse(json, 300, 1000, &arena, &tokens, &error) == NJ_OK) {
        require(tokens.end_id < 1000);
        for (uint32_t i = 0; i < tokens.n_tokens; i++) {
            nj_token id = tokens.by_id[i].id;
            require(id >= 300 && id < 1000);
            require(nj_special_tokens_id(&tokens, nj_special_tokens_name(&tokens, id)) == id);
        }
    }
    nj_arena_deinit(&arena);
}

/* The single bytes by rank, then up to 8 words of 2 to 9 bytes of one letter or two. */
static size_t vocabulary(uint8_t choice, uint8_t (*bytes)[16], struct nj_bytes *pieces)
{
    size_t n = 0;
    for (; n < 256; n++) {
        bytes[n][0] = (uint8_t)n;
        pieces[n] = (struct nj_bytes){bytes[n], 1};
    }
    for (unsigned i = 0; i < 8; i++) {
        if (choice >> i & 1) {
            for (unsigned k = 0; k < i + 2; k++) {
                bytes[n][k] = (uint8_t)(k % 2 == 0 || i % 2 == 0 ? 'a' : 'b');
            }
            pieces[n] = (struct nj_bytes){bytes[n], i + 2};
            n++;
        }
    }
    return n;
}

/* Base64 of a piece that has zeros behind it. */
static size_t put_base64(struct nj_bytes piece, char *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = 0;
    for (size_t i = 0; i < piece.length_bytes; i += 3) {
        const uint8_t *b = piece.data + i;
        size_t n_left = piece.length_bytes - i;
        char group[4] = {digits[b[0] >> 2], digits[(b[0] & 3) << 4 | b[1] >> 4],
                         digits[(b[1] & 15) << 2 | b[2] >> 6], digits[b[2] & 63]};
        for (size_t k = n_left + 1; k < 4; k++) {
            group[k] = '=';
        }
        memcpy(out + n, group, sizeof group);
        n += sizeof group;
    }
    return n;
}

static void make_table(uint8_t choice, struct nj_arena *arena, struct nj_rank_table *table)
{
    uint8_t bytes[264][16] = {{0}};
    struct nj_bytes pieces[264];
    char file[264 * 24];
    size_t n_pieces = vocabulary(choice, bytes, pieces);
    size_t n = 0;
    for (size_t rank = 0; rank < n_pieces; rank++) {
        n += put_base64(pieces[rank], file + n);
        n += (size_t)snprintf(file + n, sizeof file - n, " %zu\n", rank);
    }
    struct nj_error error;
    require(nj_rank_table_parse((struct nj_bytes){(const uint8_t *)file, n}, arena, table,
                                &error) == NJ_OK);
}

static void encode_slice(struct nj_split *split, struct nj_merge *merge,
                         const struct nj_rank_table *table, struct nj_text slice,
                         struct nj_token_list *list)
{
    struct nj_error error;
    for (size_t begin = 0; begin < slice.length_bytes;) {
        size_t end = begin;
        require(nj_split_next(split, slice, begin, &end, &error) == NJ_OK && end > begin);
        struct nj_bytes piece = {(const uint8_t *)slice.data + begin, end - begin};
        require(nj_merge_piece(merge, table, piece, list, &error) == NJ_OK);
        begin = end;
    }
}

static void check_decoded(const struct nj_rank_table *table, const struct nj_token_list *list,
                          struct nj_text text)
{
    struct nj_utf8_decoder decoder = {0};
    size_t n = 0;
    for (size_t i = 0; i < list->n_ids; i++) {
        char out[NJ_UTF8_DECODER_ROOM(16)];
        size_t n_out = nj_utf8_decoder_push(&decoder, table->pieces[list->ids[i]], out);
        require(n_out <= text.length_bytes - n && memcmp(out, text.data + n, n_out) == 0);
        n += n_out;
    }
    require(n == text.length_bytes && decoder.n_pending == 0);
}

static void text_through_everything(uint8_t choice, struct nj_text text)
{
    text.length_bytes = nj_text_valid_prefix(text);
    struct nj_arena arena = {0};
    struct nj_rank_table table;
    struct nj_split *split = NULL;
    struct nj_merge merge = {0};
    struct nj_token_list list = {0};
    struct nj_slices slices;
    struct nj_text slice;
    make_table(choice, &arena, &table);
    require(nj_split_create(&split, NULL) == NJ_OK);
    nj_slices_init(&slices, text);
    while (nj_slices_next(&slices, &slice)) {
        encode_slice(split, &merge, &table, slice, &list);
    }
    check_decoded(&table, &list, text);
    nj_token_list_deinit(&list);
    nj_merge_deinit(&merge);
    nj_split_destroy(split);
    nj_arena_deinit(&arena);
}

/* Bytes that are not UTF-8 as well: what comes out must be, within the room asked for. */
static void bytes_through_the_decoder(struct nj_bytes bytes)
{
    struct nj_utf8_decoder decoder = {0};
    char *out = malloc(NJ_UTF8_DECODER_ROOM(bytes.length_bytes));
    require(out != NULL);
    size_t n = nj_utf8_decoder_push(&decoder, bytes, out);
    n += nj_utf8_decoder_finish(&decoder, out + n);
    require(nj_text_valid_prefix((struct nj_text){out, n}) == n);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    if (length_bytes == 0) {
        return 0;
    }
    struct nj_bytes rest = {data + 1, length_bytes - 1};
    struct nj_text text = {(const char *)data + 1, length_bytes - 1};
    switch (data[0]) {
    case 'r':
        rank_file(rest);
        break;
    case 's':
        configuration(text);
        break;
    default:
        bytes_through_the_decoder(rest);
        text_through_everything(data[0], text);
        break;
    }
    return 0;
}
