#include "runner/result_log.h"

#include <string.h>

void nj_result_record_encode(const struct nj_result_record *result, uint8_t *out)
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, out, NJ_RESULT_PREFIX_BYTES + result->line.length_bytes);
    nj_write_u64(&writer, result->item_index);
    nj_write_u32(&writer, result->sample);
    nj_write_u32(&writer, result->is_ok ? 1 : 0);
    nj_write_span(&writer, (struct nj_bytes){.data = result->item_digest.bytes,
                                             .length_bytes = NJ_DIGEST_BYTES});
    nj_write_span(&writer, (struct nj_bytes){.data = (const uint8_t *)result->line.data,
                                             .length_bytes = result->line.length_bytes});
}

enum nj_status nj_result_record_decode(const struct nj_record *record,
                                       struct nj_result_record *result, bool *is_result,
                                       struct nj_error *err)
{
    *is_result = record->type == NJ_RESULT_RECORD_ITEM;
    if (!*is_result) {
        return NJ_OK;
    }
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, record->payload);
    result->item_index = nj_read_u64(&reader);
    result->sample = nj_read_u32(&reader);
    result->is_ok = nj_read_u32(&reader) == 1;
    struct nj_bytes digest = nj_read_span(&reader, NJ_DIGEST_BYTES);
    if (reader.failed) {
        return nj_fail(
            err, NJ_E_STATE, "results.log, record %llu at %llu: verifies, but is too short",
            (unsigned long long)record->sequence, (unsigned long long)record->offset_bytes);
    }
    memcpy(result->item_digest.bytes, digest.data, NJ_DIGEST_BYTES);
    result->line.data = (const char *)record->payload.data + reader.offset;
    result->line.length_bytes = record->payload.length_bytes - reader.offset;
    return NJ_OK;
}
