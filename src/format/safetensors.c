#include "format/safetensors.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/vector.h"
#include "format/json_scanner.h"

/* --- value types --- */

struct dtype {
    const char *name;
    uint32_t n_bits;
    enum nj_value_type type;
};

/* Every type the format knows, with the bits of one value; F4 and F6 values are packed. */
static const struct dtype dtypes[] = {
    {"BF16", 16, NJ_VALUE_BF16},        {"U8", 8, NJ_VALUE_U8},
    {"F32", 32, NJ_VALUE_F32},          {"F16", 16, NJ_VALUE_OTHER},
    {"F64", 64, NJ_VALUE_OTHER},        {"C64", 64, NJ_VALUE_OTHER},
    {"I8", 8, NJ_VALUE_OTHER},          {"I16", 16, NJ_VALUE_OTHER},
    {"I32", 32, NJ_VALUE_OTHER},        {"I64", 64, NJ_VALUE_OTHER},
    {"U16", 16, NJ_VALUE_OTHER},        {"U32", 32, NJ_VALUE_OTHER},
    {"U64", 64, NJ_VALUE_OTHER},        {"BOOL", 8, NJ_VALUE_OTHER},
    {"F8_E4M3", 8, NJ_VALUE_OTHER},     {"F8_E5M2", 8, NJ_VALUE_OTHER},
    {"F8_E8M0", 8, NJ_VALUE_OTHER},     {"F8_E4M3FNUZ", 8, NJ_VALUE_OTHER},
    {"F8_E5M2FNUZ", 8, NJ_VALUE_OTHER}, {"F6_E2M3", 6, NJ_VALUE_OTHER},
    {"F6_E3M2", 6, NJ_VALUE_OTHER},     {"F4", 4, NJ_VALUE_OTHER},
};

static const struct dtype *find_dtype(const struct nj_json_raw_string *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (nj_json_raw_equals(name, dtypes[i].name)) {
            return &dtypes[i];
        }
    }
    return NULL;
}

/* --- the scan --- */

/* What is kept of each tensor until the whole list can be judged. */
struct extent {
    struct nj_text name;
    uint64_t begin_bytes;
    uint64_t end_bytes;
};

struct scan {
    struct nj_json_scanner scanner;
    uint64_t data_bytes; /* length of the file behind the header */
    struct nj_arena copied_names;
    struct extent *extents;
    size_t n_extents;
    size_t extents_capacity;
    bool has_metadata;
};

/* What an entry said so far: each key once. */
struct entry_draft {
    struct nj_tensor_entry entry;
    const struct dtype *dtype;
    bool has_shape;
    bool has_offsets;
};

enum { SHOWN_NAME_BYTES = 160 };

/* A name from a file, fit to be shown: cut to a sensible length, control characters replaced.
 */
static const char *shown(struct nj_text name, char text[SHOWN_NAME_BYTES])
{
    size_t length = name.length_bytes;
    bool is_cut = length > SHOWN_NAME_BYTES - 4;
    if (is_cut) {
        length = SHOWN_NAME_BYTES - 4;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)name.data[i];
        text[i] = name.data[i];
        if (byte < 0x20 || byte == 0x7F) {
            text[i] = '?';
        }
    }
    memcpy(text + length, is_cut ? "..." : "", is_cut ? 4 : 1);
    return text;
}

static enum nj_status prefix_tensor(struct nj_text name, enum nj_status status,
                                    struct nj_error *err)
{
    char text[SHOWN_NAME_BYTES];
    return nj_prefix(err, status, "tensor \"%s\"", shown(name, text));
}

static enum nj_status fail_at(const struct scan *scan, const char *what, struct nj_error *err)
{
    return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": %s",
                   nj_json_scan_position(&scan->scanner), what);
}

static enum nj_status scan_dtype(struct scan *scan, struct entry_draft *draft,
                                 struct nj_error *err)
{
    struct nj_json_raw_string name;
    if (draft->dtype != NULL) {
        return fail_at(scan, "a second dtype", err);
    }
    enum nj_status status = nj_json_scan_string(&scan->scanner, &name, err);
    if (status != NJ_OK) {
        return status;
    }
    draft->dtype = find_dtype(&name);
    if (draft->dtype == NULL) {
        char text[SHOWN_NAME_BYTES];
        return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": unknown dtype \"%s\"",
                       nj_json_scan_position(&scan->scanner), shown(name.raw, text));
    }
    draft->entry.type = draft->dtype->type;
    return NJ_OK;
}

/* Reads an array of at most `limit` whole numbers. */
static enum nj_status scan_numbers(struct scan *scan, uint64_t *numbers, uint32_t limit,
                                   uint32_t *count, struct nj_error *err)
{
    struct nj_json_walk walk;
    uint32_t n_read = 0;
    enum nj_status status = nj_json_scan_open_array(&scan->scanner, &walk, err);
    while (status == NJ_OK) {
        status = nj_json_scan_item(&scan->scanner, &walk, err);
        if (status != NJ_OK || walk.is_done) {
            break;
        }
        if (n_read == limit) {
            return fail_at(scan, "more numbers than are allowed here", err);
        }
        status = nj_json_scan_unsigned(&scan->scanner, &numbers[n_read], err);
        n_read++;
    }
    *count = n_read;
    return status;
}

static enum nj_status scan_shape(struct scan *scan, struct entry_draft *draft,
                                 struct nj_error *err)
{
    if (draft->has_shape) {
        return fail_at(scan, "a second shape", err);
    }
    draft->has_shape = true;
    return scan_numbers(scan, draft->entry.shape, NJ_TENSOR_MAX_DIMENSIONS,
                        &draft->entry.n_dimensions, err);
}

static enum nj_status scan_offsets(struct scan *scan, struct entry_draft *draft,
                                   struct nj_error *err)
{
    uint64_t offsets[2] = {0, 0};
    uint32_t count = 0;
    if (draft->has_offsets) {
        return fail_at(scan, "second data_offsets", err);
    }
    enum nj_status status = scan_numbers(scan, offsets, 2, &count, err);
    if (status != NJ_OK) {
        return status;
    }
    if (count != 2) {
        return fail_at(scan, "data_offsets needs two numbers", err);
    }
    draft->has_offsets = true;
    draft->entry.begin_bytes = offsets[0];
    draft->entry.end_bytes = offsets[1];
    return NJ_OK;
}

static enum nj_status scan_entry_member(struct scan *scan, const struct nj_json_raw_string *key,
                                        struct entry_draft *draft, struct nj_error *err)
{
    if (nj_json_raw_equals(key, "dtype")) {
        return scan_dtype(scan, draft, err);
    }
    if (nj_json_raw_equals(key, "shape")) {
        return scan_shape(scan, draft, err);
    }
    if (nj_json_raw_equals(key, "data_offsets")) {
        return scan_offsets(scan, draft, err);
    }
    char text[SHOWN_NAME_BYTES];
    return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": unknown key \"%s\"",
                   nj_json_scan_position(&scan->scanner), shown(key->raw, text));
}

static enum nj_status scan_entry(struct scan *scan, struct entry_draft *draft,
                                 struct nj_error *err)
{
    struct nj_json_walk walk;
    struct nj_json_raw_string key;
    enum nj_status status = nj_json_scan_open_object(&scan->scanner, &walk, err);
    while (status == NJ_OK) {
        status = nj_json_scan_member(&scan->scanner, &walk, &key, err);
        if (status != NJ_OK || walk.is_done) {
            break;
        }
        status = scan_entry_member(scan, &key, draft, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    if (draft->dtype == NULL || !draft->has_shape || !draft->has_offsets) {
        const char *missing = draft->dtype == NULL ? "dtype"
                              : !draft->has_shape  ? "shape"
                                                   : "data_offsets";
        return nj_fail(err, NJ_E_WEIGHTS, "byte %" PRIu64 ": %s is missing",
                       nj_json_scan_position(&scan->scanner), missing);
    }
    return NJ_OK;
}

/* The bytes that shape and type call for; false when they do not fit 64 bits or end inside one.
 */
static bool bytes_of_shape(const struct entry_draft *draft, uint64_t *length_bytes)
{
    uint64_t n_bits = draft->dtype->n_bits;
    bool is_empty = false;
    for (uint32_t i = 0; i < draft->entry.n_dimensions; i++) {
        is_empty = is_empty || draft->entry.shape[i] == 0;
    }
    for (uint32_t i = 0; i < draft->entry.n_dimensions && !is_empty; i++) {
        if (!nj_multiply_u64(n_bits, draft->entry.shape[i], &n_bits)) {
            return false;
        }
    }
    *length_bytes = is_empty ? 0 : n_bits / 8;
    return is_empty || n_bits % 8 == 0;
}

static enum nj_status check_entry(const struct scan *scan, const struct entry_draft *draft,
                                  struct nj_error *err)
{
    const struct nj_tensor_entry *entry = &draft->entry;
    uint64_t wanted_bytes = 0;
    assert(draft->dtype != NULL);
    if (!bytes_of_shape(draft, &wanted_bytes)) {
        return fail_at(scan, "the shape's size overflows or ends inside a byte", err);
    }
    if (entry->begin_bytes > entry->end_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "byte %" PRIu64 ": ends at %" PRIu64 " before it begins at %" PRIu64,
                       nj_json_scan_position(&scan->scanner), entry->end_bytes,
                       entry->begin_bytes);
    }
    if (entry->end_bytes > scan->data_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "byte %" PRIu64 ": data [%" PRIu64 ", %" PRIu64
                       ") lie outside the file, which has %" PRIu64
                       " data bytes: the file is cut short",
                       nj_json_scan_position(&scan->scanner), entry->begin_bytes,
                       entry->end_bytes, scan->data_bytes);
    }
    if (entry->end_bytes - entry->begin_bytes != wanted_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "byte %" PRIu64 ": shape and dtype %s need %" PRIu64
                       " bytes, data_offsets give %" PRIu64,
                       nj_json_scan_position(&scan->scanner), draft->dtype->name, wanted_bytes,
                       entry->end_bytes - entry->begin_bytes);
    }
    return NJ_OK;
}

static enum nj_status keep_extent(struct scan *scan, const struct nj_tensor_entry *entry,
                                  struct nj_error *err)
{
    enum nj_status status = nj_vector_reserve(&scan->extents, &scan->extents_capacity,
                                              sizeof *scan->extents, scan->n_extents + 1, err);
    if (status != NJ_OK) {
        return status;
    }
    scan->extents[scan->n_extents++] = (struct extent){
        .name = entry->name,
        .begin_bytes = entry->begin_bytes,
        .end_bytes = entry->end_bytes,
    };
    return NJ_OK;
}

static enum nj_status scan_tensor(struct scan *scan, struct nj_text name,
                                  nj_safetensors_visit *visit, void *context,
                                  struct nj_error *err)
{
    struct entry_draft draft = {.entry.name = name};
    enum nj_status status = scan_entry(scan, &draft, err);
    if (status == NJ_OK) {
        status = check_entry(scan, &draft, err);
    }
    if (status == NJ_OK) {
        status = keep_extent(scan, &draft.entry, err);
    }
    if (status != NJ_OK) {
        return prefix_tensor(name, status, err);
    }
    return visit(context, &draft.entry, err);
}

/* Free text about the file: strings by name. */
static enum nj_status scan_metadata(struct scan *scan, struct nj_error *err)
{
    struct nj_json_walk walk;
    struct nj_json_raw_string text;
    if (scan->has_metadata) {
        return fail_at(scan, "a second __metadata__", err);
    }
    scan->has_metadata = true;
    enum nj_status status = nj_json_scan_open_object(&scan->scanner, &walk, err);
    while (status == NJ_OK) {
        status = nj_json_scan_member(&scan->scanner, &walk, &text, err);
        if (status != NJ_OK || walk.is_done) {
            break;
        }
        status = nj_json_scan_string(&scan->scanner, &text, err);
    }
    return status == NJ_OK ? status : nj_prefix(err, status, "__metadata__");
}

static enum nj_status scan_member(struct scan *scan, const struct nj_json_raw_string *key,
                                  nj_safetensors_visit *visit, void *context,
                                  struct nj_error *err)
{
    struct nj_text name;
    enum nj_status status = nj_json_unescape(key, &scan->copied_names, &name, err);
    if (status != NJ_OK) {
        return nj_prefix(err, status, "byte %" PRIu64, nj_json_scan_position(&scan->scanner));
    }
    if (nj_text_equals(name, "__metadata__")) {
        return scan_metadata(scan, err);
    }
    if (name.length_bytes == 0) {
        return fail_at(scan, "a tensor without a name", err);
    }
    return scan_tensor(scan, name, visit, context, err);
}

static enum nj_status scan_members(struct scan *scan, nj_safetensors_visit *visit,
                                   void *context, struct nj_error *err)
{
    struct nj_json_walk walk;
    struct nj_json_raw_string key;
    if (scan->scanner.text.length_bytes == 0 || scan->scanner.text.data[0] != '{') {
        return fail_at(scan, "the header does not begin with '{'", err);
    }
    enum nj_status status = nj_json_scan_open_object(&scan->scanner, &walk, err);
    while (status == NJ_OK) {
        status = nj_json_scan_member(&scan->scanner, &walk, &key, err);
        if (status != NJ_OK || walk.is_done) {
            break;
        }
        status = scan_member(scan, &key, visit, context, err);
    }
    return status == NJ_OK ? nj_json_scan_end(&scan->scanner, err) : status;
}

/* --- the list as a whole --- */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Empty tensors come before the one that begins at the same place. */
static int compare_places(const void *a, const void *b)
{
    const struct extent *left = a;
    const struct extent *right = b;
    int order = compare_numbers(left->begin_bytes, right->begin_bytes);
    return order != 0 ? order : compare_numbers(left->end_bytes, right->end_bytes);
}

static int compare_names(const void *a, const void *b)
{
    const struct extent *left = a;
    const struct extent *right = b;
    size_t shared = left->name.length_bytes < right->name.length_bytes
                        ? left->name.length_bytes
                        : right->name.length_bytes;
    int order = memcmp(left->name.data, right->name.data, shared);
    return order != 0 ? order
                      : compare_numbers(left->name.length_bytes, right->name.length_bytes);
}

/* The data must be covered from first to last byte, each byte once. */
static enum nj_status check_places(const struct scan *scan, uint64_t data_offset,
                                   struct nj_error *err)
{
    uint64_t covered_bytes = 0;
    for (size_t i = 0; i < scan->n_extents; i++) {
        const struct extent *extent = &scan->extents[i];
        if (extent->begin_bytes != covered_bytes) {
            const char *fault = extent->begin_bytes < covered_bytes
                                    ? "overlaps the tensor before it, which ends"
                                    : "leaves a gap behind the tensor before it, which ends";
            (void)nj_fail(err, NJ_E_WEIGHTS, "begins at byte %" PRIu64 " and %s at %" PRIu64,
                          data_offset + extent->begin_bytes, fault,
                          data_offset + covered_bytes);
            return prefix_tensor(extent->name, NJ_E_WEIGHTS, err);
        }
        covered_bytes = extent->end_bytes;
    }
    if (covered_bytes != scan->data_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "the tensors end at byte %" PRIu64 ", the file at %" PRIu64,
                       data_offset + covered_bytes, data_offset + scan->data_bytes);
    }
    return NJ_OK;
}

static enum nj_status check_names(const struct scan *scan, struct nj_error *err)
{
    for (size_t i = 1; i < scan->n_extents; i++) {
        if (nj_text_equal(scan->extents[i - 1].name, scan->extents[i].name)) {
            (void)nj_fail(err, NJ_E_WEIGHTS, "listed twice");
            return prefix_tensor(scan->extents[i].name, NJ_E_WEIGHTS, err);
        }
    }
    return NJ_OK;
}

static enum nj_status check_list(struct scan *scan, uint64_t data_offset, struct nj_error *err)
{
    if (scan->n_extents > 0) {
        qsort(scan->extents, scan->n_extents, sizeof *scan->extents, compare_names);
    }
    enum nj_status status = check_names(scan, err);
    if (status != NJ_OK) {
        return status;
    }
    if (scan->n_extents > 0) {
        qsort(scan->extents, scan->n_extents, sizeof *scan->extents, compare_places);
    }
    return check_places(scan, data_offset, err);
}

/* --- calls --- */

enum nj_status nj_safetensors_header_length(const uint8_t prefix[NJ_SAFETENSORS_PREFIX_BYTES],
                                            uint64_t file_bytes, uint64_t *header_bytes,
                                            struct nj_error *err)
{
    if (file_bytes < NJ_SAFETENSORS_PREFIX_BYTES) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "the file has %" PRIu64
                       " bytes, too few for a safetensors file: it is cut short",
                       file_bytes);
    }
    struct nj_byte_reader reader;
    struct nj_bytes span = {prefix, NJ_SAFETENSORS_PREFIX_BYTES};
    nj_byte_reader_init(&reader, span);
    uint64_t length = nj_read_u64(&reader);
    if (length > NJ_SAFETENSORS_HEADER_LIMIT_BYTES) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "byte 0: a header of %" PRIu64 " bytes, at most %d are allowed", length,
                       (int)NJ_SAFETENSORS_HEADER_LIMIT_BYTES);
    }
    if (length > file_bytes - NJ_SAFETENSORS_PREFIX_BYTES) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "byte 0: a header of %" PRIu64 " bytes in a file of %" PRIu64
                       ": the file is cut short",
                       length, file_bytes);
    }
    *header_bytes = length;
    return NJ_OK;
}

enum nj_status nj_safetensors_scan(struct nj_bytes header, uint64_t file_bytes,
                                   nj_safetensors_visit *visit, void *context,
                                   struct nj_error *err)
{
    uint64_t data_offset = 0;
    if (!nj_add_u64(NJ_SAFETENSORS_PREFIX_BYTES, header.length_bytes, &data_offset) ||
        data_offset > file_bytes) {
        return nj_fail(err, NJ_E_WEIGHTS, "a header of %zu bytes in a file of %" PRIu64,
                       header.length_bytes, file_bytes);
    }
    struct scan scan = {.data_bytes = file_bytes - data_offset};
    struct nj_text text = {(const char *)header.data, header.length_bytes};
    nj_json_scanner_init(&scan.scanner, text, NJ_SAFETENSORS_PREFIX_BYTES);

    enum nj_status status = scan_members(&scan, visit, context, err);
    if (status == NJ_OK) {
        status = check_list(&scan, data_offset, err);
    }
    free(scan.extents);
    nj_arena_deinit(&scan.copied_names);
    return status;
}
