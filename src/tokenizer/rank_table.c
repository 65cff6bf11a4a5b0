#include "tokenizer/rank_table.h"

#include <stdbool.h>
#include <string.h>

#include "base/text.h"
#include "tokenizer/base64.h"

/* Everything while the file is being read. */
struct rank_file {
    struct nj_text rest; /* what follows the current line */
    size_t line_number;  /* of the current line, from 1 */
    uint8_t *next_bytes; /* where the next piece goes */
    struct nj_rank_table *table;
};

/* FNV-1a, with its high half folded in because the slots use low bits only. */
static uint32_t hash_of(struct nj_bytes bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < bytes.length_bytes; i++) {
        hash = (hash ^ bytes.data[i]) * 0x100000001b3u;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static bool bytes_equal(struct nj_bytes a, struct nj_bytes b)
{
    return a.length_bytes == b.length_bytes && memcmp(a.data, b.data, a.length_bytes) == 0;
}

/* The slot that holds these bytes, or the free one where they belong. */
static uint32_t *slot_of(const struct nj_rank_table *table, struct nj_bytes bytes)
{
    uint32_t i = hash_of(bytes) & table->slot_mask;
    while (table->slots[i] != 0 && !bytes_equal(table->pieces[table->slots[i] - 1], bytes)) {
        i = (i + 1) & table->slot_mask;
    }
    return &table->slots[i];
}

nj_token nj_rank_table_find(const struct nj_rank_table *table, struct nj_bytes bytes)
{
    if (bytes.length_bytes == 0 || bytes.length_bytes > table->longest_bytes) {
        return -1;
    }
    return (nj_token)*slot_of(table, bytes) - 1;
}

static size_t count_lines(struct nj_text text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.length_bytes; i++) {
        n += text.data[i] == '\n';
    }
    bool last_is_open = text.length_bytes > 0 && text.data[text.length_bytes - 1] != '\n';
    return n + last_is_open;
}

static struct nj_text take_line(struct rank_file *file)
{
    struct nj_text line = file->rest;
    const char *newline = memchr(line.data, '\n', line.length_bytes);
    if (newline == NULL) {
        file->rest = (struct nj_text){NULL, 0};
    } else {
        line.length_bytes = (size_t)(newline - line.data);
        file->rest.data = newline + 1;
        file->rest.length_bytes -= line.length_bytes + 1;
    }
    file->line_number++;
    return line;
}

/* Plain decimal digits without leading zeros, below `limit`. */
static bool parse_rank(struct nj_text digits, uint32_t limit, uint32_t *rank)
{
    if (digits.length_bytes == 0 || digits.length_bytes > 10 ||
        (digits.data[0] == '0' && digits.length_bytes > 1)) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < digits.length_bytes; i++) {
        if (digits.data[i] < '0' || digits.data[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(digits.data[i] - '0');
    }
    if (value >= limit) {
        return false;
    }
    *rank = (uint32_t)value;
    return true;
}

static enum nj_status add_piece(struct rank_file *file, struct nj_bytes piece, uint32_t rank,
                                struct nj_error *err)
{
    struct nj_rank_table *table = file->table;
    if (table->pieces[rank].data != NULL) {
        return nj_fail(err, NJ_E_WEIGHTS, NJ_RANK_FILE ":%zu: rank %u appears a second time",
                       file->line_number, rank);
    }
    uint32_t *slot = slot_of(table, piece);
    if (*slot != 0) {
        return nj_fail(err, NJ_E_WEIGHTS, NJ_RANK_FILE ":%zu: rank %u has the bytes of rank %u",
                       file->line_number, rank, *slot - 1);
    }
    table->pieces[rank] = piece;
    *slot = rank + 1;
    if (piece.length_bytes > table->longest_bytes) {
        table->longest_bytes = piece.length_bytes;
    }
    return NJ_OK;
}

static enum nj_status parse_line(struct rank_file *file, struct nj_error *err)
{
    struct nj_text line = take_line(file);
    const char *space = memchr(line.data, ' ', line.length_bytes);
    if (space == NULL) {
        return nj_fail(err, NJ_E_WEIGHTS, NJ_RANK_FILE ":%zu: no space between bytes and rank",
                       file->line_number);
    }
    struct nj_text encoded = {line.data, (size_t)(space - line.data)};
    struct nj_text digits = {space + 1, line.length_bytes - encoded.length_bytes - 1};
    struct nj_bytes piece = {file->next_bytes, 0};
    if (!nj_base64_decode(encoded, file->next_bytes, &piece.length_bytes) ||
        piece.length_bytes == 0) {
        return nj_fail(err, NJ_E_WEIGHTS, NJ_RANK_FILE ":%zu: the token is not padded base64",
                       file->line_number);
    }
    uint32_t rank;
    if (!parse_rank(digits, file->table->n_ranks, &rank)) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       NJ_RANK_FILE
                       ":%zu: the rank is not a number below %u, the lines there are",
                       file->line_number, file->table->n_ranks);
    }
    file->next_bytes += piece.length_bytes;
    return add_piece(file, piece, rank, err);
}

static enum nj_status check_single_bytes(const struct nj_rank_table *table,
                                         struct nj_error *err)
{
    for (unsigned value = 0; value < 256; value++) {
        uint8_t byte = (uint8_t)value;
        if (nj_rank_table_find(table, (struct nj_bytes){&byte, 1}) < 0) {
            return nj_fail(err, NJ_E_WEIGHTS,
                           NJ_RANK_FILE ": no token for the single byte 0x%02x", value);
        }
    }
    return NJ_OK;
}

static enum nj_status allocate(struct nj_rank_table *table, struct nj_arena *arena,
                               size_t n_content_bytes, uint8_t **bytes, struct nj_error *err)
{
    uint32_t n_slots = 512;
    while (n_slots < 2 * table->n_ranks) {
        n_slots *= 2;
    }
    table->slot_mask = n_slots - 1;
    table->slots = nj_arena_take_array(arena, n_slots, sizeof *table->slots);
    table->pieces = nj_arena_take_array(arena, table->n_ranks, sizeof *table->pieces);
    *bytes = nj_arena_take(arena, NJ_BASE64_ROOM(n_content_bytes) + 3);
    if (table->slots == NULL || table->pieces == NULL || *bytes == NULL) {
        return nj_arena_fail(arena, "the tokenizer's rank table", err);
    }
    return NJ_OK;
}

enum nj_status nj_rank_table_parse(struct nj_bytes content, struct nj_arena *arena,
                                   struct nj_rank_table *table, struct nj_error *err)
{
    struct nj_rank_table parsed = {0};
    struct rank_file file = {.table = &parsed};
    file.rest = (struct nj_text){(const char *)content.data, content.length_bytes};
    size_t n_lines = count_lines(file.rest);
    if (n_lines < 256 || n_lines > INT32_MAX / 4) {
        return nj_fail(err, NJ_E_WEIGHTS, NJ_RANK_FILE ": %zu lines, wanted at least 256",
                       n_lines);
    }
    parsed.n_ranks = (uint32_t)n_lines;
    enum nj_status status =
        allocate(&parsed, arena, content.length_bytes, &file.next_bytes, err);
    while (status == NJ_OK && file.rest.length_bytes > 0) {
        status = parse_line(&file, err);
    }
    if (status == NJ_OK) {
        status = check_single_bytes(&parsed, err);
    }
    if (status == NJ_OK) {
        *table = parsed;
    }
    return status;
}
