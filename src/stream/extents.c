#include "stream/extents.h"

#include <inttypes.h>

static enum nj_status check_extent(const struct nj_stream_options *options, uint32_t record,
                                   struct nj_error *err)
{
    const struct nj_extent *extent = &options->extents[record];
    if (extent->file >= options->n_files) {
        return nj_fail(err, NJ_E_INTERNAL, "record %" PRIu32 ": file %" PRIu32 " of %" PRIu32,
                       record, extent->file, options->n_files);
    }
    const struct nj_stream_file *file = &options->files[extent->file];
    if (extent->length_bytes == 0 || extent->length_bytes > NJ_RECORD_LIMIT_BYTES ||
        extent->offset_bytes > file->length_bytes ||
        extent->length_bytes > file->length_bytes - extent->offset_bytes) {
        return nj_fail(err, NJ_E_INTERNAL,
                       "record %" PRIu32 ": %" PRIu64 " bytes at offset %" PRIu64
                       " of %s, which has %" PRIu64,
                       record, extent->length_bytes, extent->offset_bytes, file->path,
                       file->length_bytes);
    }
    return NJ_OK;
}

enum nj_status nj_extents_check(const struct nj_stream_options *options, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < options->n_records && status == NJ_OK; i++) {
        status = check_extent(options, i, err);
    }
    return status;
}
