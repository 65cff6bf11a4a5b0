#include "runner/token_log.h"

#include <stdbool.h>

size_t nj_token_entries_encode(const struct nj_token_entry *entries, size_t n_entries,
                               uint8_t *out)
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, out, n_entries * NJ_TOKEN_ENTRY_LIMIT_BYTES);
    for (size_t i = 0; i < n_entries; i++) {
        nj_write_u64(&writer, entries[i].item_index);
        nj_write_u64(&writer, entries[i].item_tag);
        nj_write_u32(&writer, entries[i].sample);
        nj_write_u32(&writer, entries[i].position);
        nj_write_u32(&writer, (uint32_t)entries[i].token);
        nj_write_f32(&writer, entries[i].logprob);
        nj_write_u32(&writer, entries[i].n_top);
        for (uint32_t k = 0; k < entries[i].n_top; k++) {
            nj_write_u32(&writer, (uint32_t)entries[i].top[k].token);
            nj_write_f32(&writer, entries[i].top[k].logprob);
        }
    }
    return writer.offset;
}

/* False when it makes no sense. */
static bool read_entry(struct nj_byte_reader *reader, struct nj_token_entry *entry)
{
    *entry = (struct nj_token_entry){0};
    entry->item_index = nj_read_u64(reader);
    entry->item_tag = nj_read_u64(reader);
    entry->sample = nj_read_u32(reader);
    entry->position = nj_read_u32(reader);
    entry->token = (nj_token)nj_read_u32(reader);
    entry->logprob = nj_read_f32(reader);
    entry->n_top = nj_read_u32(reader);
    if (reader->failed || entry->n_top > NJ_MAX_TOP_LOGPROBS) {
        return false;
    }
    for (uint32_t i = 0; i < entry->n_top; i++) {
        entry->top[i].token = (nj_token)nj_read_u32(reader);
        entry->top[i].logprob = nj_read_f32(reader);
    }
    return !reader->failed;
}

enum nj_status nj_token_record_decode(const struct nj_record *record,
                                      nj_token_entry_visit *visit, void *context,
                                      struct nj_error *err)
{
    if (record->type != NJ_TOKEN_RECORD_SWEEP) {
        return NJ_OK; /* a kind that a later version of the same format may add */
    }
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && reader.offset < record->payload.length_bytes) {
        struct nj_token_entry entry;
        if (!read_entry(&reader, &entry)) {
            return nj_fail(
                err, NJ_E_STATE,
                "tokens.log, record %llu at %llu: verifies, but holds an entry that makes no "
                "sense",
                (unsigned long long)record->sequence, (unsigned long long)record->offset_bytes);
        }
        status = visit(context, &entry, err);
    }
    return status;
}
