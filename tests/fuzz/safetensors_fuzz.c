/* A header from anywhere, before as many data bytes as the first two bytes of the input say.
 *
 * Besides crashes it finds accepted headers whose tensors lie outside the data or do not cover
 * them, and headers accepted although they are not JSON.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "format/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct totals {
    uint64_t data_bytes;
    uint64_t covered_bytes;
};

static enum nj_status visit(void *context, const struct nj_tensor_entry *entry,
                            struct nj_error *err)
{
    struct totals *totals = context;
    (void)err;
    require(entry->begin_bytes <= entry->end_bytes && entry->end_bytes <= totals->data_bytes);
    require(entry->n_dimensions <= NJ_TENSOR_MAX_DIMENSIONS);
    require(nj_text_valid_prefix(entry->name) == entry->name.length_bytes);
    uint64_t n_values = 1;
    for (uint32_t i = 0; i < entry->n_dimensions; i++) {
        n_values *= entry->shape[i]; /* wraps only beside a zero */
    }
    if (entry->type != NJ_VALUE_OTHER) {
        require(n_values * nj_value_bytes(entry->type) ==
                entry->end_bytes - entry->begin_bytes);
    }
    totals->covered_bytes += entry->end_bytes - entry->begin_bytes;
    return NJ_OK;
}

/* The general parser knows fewer integers and pairs surrogates even where nobody reads them. */
static void require_json(struct nj_text header)
{
    struct nj_json *document = NULL;
    struct nj_error error;
    if (memmem(header.data, header.length_bytes, "\\u", 2) != NULL) {
        return;
    }
    if (nj_json_parse(header, "header", &document, &error) != NJ_OK) {
        require(strstr(error.text, "too big") != NULL ||
                strstr(error.text, "duplicate") != NULL);
    }
    nj_json_destroy(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    if (length_bytes < 2) {
        return 0;
    }
    struct totals totals = {.data_bytes = (uint64_t)data[0] | (uint64_t)data[1] << 8};
    struct nj_bytes header = {data + 2, length_bytes - 2};
    uint64_t file_bytes = NJ_SAFETENSORS_PREFIX_BYTES + header.length_bytes + totals.data_bytes;
    struct nj_error error;
    if (nj_safetensors_scan(header, file_bytes, visit, &totals, &error) == NJ_OK) {
        struct nj_text text = {(const char *)header.data, header.length_bytes};
        require(totals.covered_bytes == totals.data_bytes);
        require_json(text);
    } else {
        require(error.text[0] != '\0');
    }
    uint64_t header_bytes = 0;
    if (length_bytes >= NJ_SAFETENSORS_PREFIX_BYTES &&
        nj_safetensors_header_length(data, length_bytes, &header_bytes, NULL) == NJ_OK) {
        require(header_bytes <= length_bytes - NJ_SAFETENSORS_PREFIX_BYTES);
    }
    return 0;
}
