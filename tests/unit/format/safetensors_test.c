#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/safetensors.h"
#include "support/check.h"
#include "support/failing_malloc.h"

enum { MAX_SEEN = 64 };

struct seen {
    size_t count;
    char names[MAX_SEEN][64];
    struct nj_tensor_entry entries[MAX_SEEN];
    size_t refuse_at; /* the visit that fails, 1 is the first; 0: none */
};

static enum nj_status see(void *context, const struct nj_tensor_entry *entry,
                          struct nj_error *err)
{
    struct seen *seen = context;
    if (seen->count + 1 == seen->refuse_at) {
        return nj_fail(err, NJ_E_STOPPED, "seen enough");
    }
    if (seen->count < MAX_SEEN) {
        (void)snprintf(seen->names[seen->count], sizeof seen->names[0], "%.*s",
                       (int)entry->name.length_bytes, entry->name.data);
        seen->entries[seen->count] = *entry;
    }
    seen->count++;
    return NJ_OK;
}

/* Scans the header of a file with so many data bytes behind it. */
static enum nj_status scan(const char *header, uint64_t data_bytes, struct seen *seen,
                           struct nj_error *error)
{
    /* A copy of exactly this length, so that a sanitizer sees a read past the end. */
    size_t length = strlen(header);
    char *copy = strndup(header, length);
    struct nj_bytes bytes = {(const uint8_t *)copy, length};
    memset(seen, 0, sizeof *seen);
    error->text[0] = '\0';
    enum nj_status status = nj_safetensors_scan(
        bytes, NJ_SAFETENSORS_PREFIX_BYTES + length + data_bytes, see, seen, error);
    free(copy);
    return status;
}

static void check_refused(const char *header, uint64_t data_bytes, const char *complaint)
{
    static struct seen seen;
    struct nj_error error;
    CHECK_EQ(scan(header, data_bytes, &seen, &error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, complaint);
}

static void check_accepted(const char *header, uint64_t data_bytes, size_t n_tensors)
{
    static struct seen seen;
    struct nj_error error;
    CHECK_EQ(scan(header, data_bytes, &seen, &error), NJ_OK);
    CHECK_TEXT(error.text, "");
    CHECK_EQ(seen.count, n_tensors);
}

static void tensors_are_told_in_header_order_with_type_shape_and_place(void)
{
    static struct seen seen;
    struct nj_error error;
    REQUIRE_OK(scan("{\"__metadata__\":{\"format\":\"pt\"},"
                    "\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[8,20]},"
                    "\"a\":{\"data_offsets\":[0,8],\"shape\":[2],\"dtype\":\"F32\"},"
                    "\"c\":{\"dtype\":\"U8\",\"data_offsets\":[20,21],\"shape\":[]}}     ",
                    21, &seen, &error),
               &error);

    CHECK_EQ(seen.count, 3);
    CHECK_TEXT(seen.names[0], "b");
    CHECK_EQ(seen.entries[0].type, NJ_VALUE_BF16);
    CHECK_EQ(seen.entries[0].n_dimensions, 2);
    CHECK_EQ(seen.entries[0].shape[0], 2);
    CHECK_EQ(seen.entries[0].shape[1], 3);
    CHECK_EQ(seen.entries[0].begin_bytes, 8);
    CHECK_EQ(seen.entries[0].end_bytes, 20);
    CHECK_EQ(seen.entries[1].type, NJ_VALUE_F32);
    CHECK_EQ(seen.entries[2].type, NJ_VALUE_U8);
    CHECK_EQ(seen.entries[2].n_dimensions, 0);
}

static void escapes_in_names_are_resolved(void)
{
    static struct seen seen;
    struct nj_error error;
    REQUIRE_OK(scan("{\"l\\u0061yer\\/1\\n\":{\"dtype\":\"U8\",\"shape\":[1],"
                    "\"data_offsets\":[0,1]}}",
                    1, &seen, &error),
               &error);
    CHECK_TEXT(seen.names[0], "layer/1\n");
}

static void every_dtype_has_its_size(void)
{
    static const struct {
        const char *name;
        unsigned bytes_of_eight;
    } dtypes[] = {
        {"F64", 64},        {"F32", 32},        {"F16", 16},    {"BF16", 16},   {"I64", 64},
        {"I32", 32},        {"I16", 16},        {"I8", 8},      {"U64", 64},    {"U32", 32},
        {"U16", 16},        {"U8", 8},          {"BOOL", 8},    {"C64", 64},    {"F8_E4M3", 8},
        {"F8_E5M2", 8},     {"F8_E8M0", 8},     {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"F4", 4},
        {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
    };
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        char header[160];
        for (unsigned delta = 0; delta < 2; delta++) {
            unsigned length = dtypes[i].bytes_of_eight + delta;
            (void)snprintf(header, sizeof header,
                           "{\"t\":{\"dtype\":\"%s\",\"shape\":[2,4],\"data_offsets\":[0,%u]}}",
                           dtypes[i].name, length);
            if (delta == 0) {
                check_accepted(header, length, 1);
            } else {
                check_refused(header, length, "shape and dtype");
            }
        }
    }
}

static void unknown_dtype_is_refused_by_name(void)
{
    check_refused("{\"t\":{\"dtype\":\"F33\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
                  "tensor \"t\": byte 27: unknown dtype \"F33\"");
}

static void packed_values_must_fill_whole_bytes(void)
{
    check_refused("{\"t\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]}}", 1,
                  "ends inside a byte");
}

static void empty_and_scalar_tensors_are_fine(void)
{
    check_accepted("{\"e\":{\"dtype\":\"F32\",\"shape\":[0,5],\"data_offsets\":[4,4]},"
                   "\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                   "\"f\":{\"dtype\":\"F32\",\"shape\":[18446744073709551615,0],"
                   "\"data_offsets\":[0,0]}}",
                   4, 3);
    check_accepted("{}", 0, 0);
    check_accepted("{\"__metadata__\":{}}  \n", 0, 0);
}

static void empty_tensor_inside_another_is_refused(void)
{
    check_refused("{\"e\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[2,2]},"
                  "\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
                  4, "tensor \"e\": begins at byte");
}

#define TENSOR(name, begin, end)                                                               \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" #begin "," #end "]}"

static void overlaps_gaps_and_trailing_bytes_are_refused(void)
{
    check_accepted("{" TENSOR("a", 0, 4) "," TENSOR("b", 4, 8) "}", 8, 2);
    check_refused("{" TENSOR("a", 0, 4) "," TENSOR("b", 3, 7) "}", 7,
                  "tensor \"b\": begins at byte 116 and overlaps the tensor before it, which "
                  "ends at 117");
    check_refused("{" TENSOR("a", 0, 4) "," TENSOR("b", 0, 4) "}", 4, "overlaps");
    check_refused("{" TENSOR("a", 0, 4) "," TENSOR("b", 5, 9) "}", 9,
                  "tensor \"b\": begins at byte 118 and leaves a gap");
    check_refused("{" TENSOR("a", 1, 5) "}", 5, "leaves a gap");
    check_refused("{" TENSOR("a", 0, 4) "}", 5, "the tensors end at byte 65, the file at 66");
    check_refused("{}", 1, "the tensors end at byte 10, the file at 11");
}

static void file_cut_by_one_byte_is_refused(void)
{
    check_refused("{" TENSOR("a", 0, 4) "," TENSOR("b", 4, 8) "}", 7,
                  "tensor \"b\": byte 112: data [4, 8) lie outside the file, which has 7 data "
                  "bytes");
}

static void offsets_that_make_no_sense_are_refused(void)
{
    check_refused("{" TENSOR("a", 4, 0) "}", 4, "ends at 0 before it begins at 4");
    check_refused("{" TENSOR("a", 0, 18446744073709551615) "}", 4, "lie outside the file");
    check_refused("{" TENSOR("a", 0, 18446744073709551616) "}", 4, "whole number below 2^64");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0]}}", 4,
                  "needs two numbers");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4,4]}}", 4,
                  "more numbers than are allowed here");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[-4],\"data_offsets\":[0,4]}}", 4,
                  "whole number");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4.0],\"data_offsets\":[0,4]}}", 4,
                  "whole number");
}

/* 2^32 * 2^32 values would wrap to an empty tensor. */
static void shapes_whose_product_wraps_are_refused(void)
{
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],"
                  "\"data_offsets\":[0,0]}}",
                  0, "size overflows");
    check_refused("{\"a\":{\"dtype\":\"F64\",\"shape\":[2305843009213693952],"
                  "\"data_offsets\":[0,0]}}",
                  0, "size overflows");
}

static void more_dimensions_than_tensors_have_are_refused(void)
{
    check_accepted("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],"
                   "\"data_offsets\":[0,1]}}",
                   1, 1);
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],"
                  "\"data_offsets\":[0,1]}}",
                  1, "more numbers than are allowed here");
}

static void names_listed_twice_are_refused_even_when_spelt_differently(void)
{
    check_refused("{" TENSOR("a", 0, 4) "," TENSOR("b", 4, 8) "," TENSOR("a", 8, 12) "}", 12,
                  "tensor \"a\": listed twice");
    check_refused("{" TENSOR("a", 0, 4) "," TENSOR("\\u0061", 4, 8) "}", 8,
                  "tensor \"a\": listed twice");
    check_refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "a second __metadata__");
    check_refused("{\"__metadata__\":{},\"__metadat\\u0061__\":{}}", 0,
                  "a second __metadata__");
}

static void keys_missing_repeated_or_unknown_are_refused(void)
{
    check_refused("{\"a\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "dtype is missing");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,1]}}", 1, "shape is missing");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1]}}", 1, "data_offsets is missing");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\"}}", 1, "a second dtype");
    check_refused("{\"a\":{\"shape\":[1],\"shape\":[1]}}", 1, "a second shape");
    check_refused("{\"a\":{\"data_offsets\":[0,1],\"data_offsets\":[0,1]}}", 1,
                  "second data_offsets");
    check_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}", 1,
                  "unknown key \"x\"");
    check_refused("{\"\":{}}", 0, "a tensor without a name");
}

static void header_that_is_not_one_object_is_refused(void)
{
    check_refused("", 0, "byte 8: the header does not begin with '{'");
    check_refused(" {}", 0, "byte 8: the header does not begin with '{'");
    check_refused("[]", 0, "does not begin with '{'");
    check_refused("{} x", 0, "byte 11: wanted the end of the text");
    check_refused("{\"a\":1}", 0, "wanted an object");
    check_refused("{\"__metadata__\":{\"a\":1}}", 0, "__metadata__: byte 29: wanted a string");
    check_refused("{\"a\\u0000\":{}}", 0, "U+0000");
}

static void hostile_name_is_shown_cut_and_without_control_characters(void)
{
    char many[401];
    char header[700];
    struct nj_error error;
    static struct seen seen;
    memset(many, 'n', sizeof many - 1);
    many[sizeof many - 1] = '\0';
    (void)snprintf(header, sizeof header, "{\"\\u001b[31m%s\":{}}", many);

    CHECK_EQ(scan(header, 0, &seen, &error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "tensor \"?[31mnnn");
    CHECK(strlen(error.text) < 300);
}

static void every_cut_of_a_header_is_refused(void)
{
    static const char header[] =
        "{\"__metadata__\":{\"a\":\"b\"}," TENSOR("a", 0, 4) "," TENSOR("b\\n", 4, 8) "}";
    char cut[sizeof header];
    static struct seen seen;
    struct nj_error error;
    for (size_t length = 0; length < sizeof header - 1; length++) {
        memcpy(cut, header, length);
        cut[length] = '\0';
        CHECK_EQ(scan(cut, 8, &seen, &error), NJ_E_WEIGHTS);
    }
}

static void status_of_the_visit_ends_the_scan(void)
{
    static const char header[] = "{" TENSOR("a", 0, 4) "," TENSOR("b", 4, 8) "}";
    struct seen seen = {.refuse_at = 2};
    struct nj_error error;
    struct nj_bytes bytes = {(const uint8_t *)header, sizeof header - 1};
    CHECK_EQ(nj_safetensors_scan(bytes, 8 + sizeof header - 1 + 8, see, &seen, &error),
             NJ_E_STOPPED);
    CHECK_EQ(seen.count, 1);
    CHECK_TEXT(error.text, "seen enough");
}

static void header_length_is_checked_against_limit_and_file(void)
{
    static const uint8_t ten[8] = {10};
    static const uint8_t huge[8] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
    uint64_t length = 0;
    struct nj_error error;
    CHECK_EQ(nj_safetensors_header_length(ten, 18, &length, &error), NJ_OK);
    CHECK_EQ(length, 10);

    CHECK_EQ(nj_safetensors_header_length(ten, 17, &length, &error), NJ_E_WEIGHTS);
    CHECK_TEXT(error.text,
               "byte 0: a header of 10 bytes in a file of 17: the file is cut short");
    CHECK_EQ(nj_safetensors_header_length(ten, 7, &length, &error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "too few");
    CHECK_EQ(nj_safetensors_header_length(huge, UINT64_MAX, &length, &error), NJ_E_WEIGHTS);
    CHECK_CONTAINS(error.text, "at most 100000000 are allowed");
}

static void every_failing_allocation_is_reported(void)
{
    static const char header[] = "{" TENSOR("\\u0061", 0, 4) "," TENSOR("b", 4, 8) "}";
    struct nj_bytes bytes = {(const uint8_t *)header, sizeof header - 1};
    for (unsigned long n = 1;; n++) {
        struct seen seen = {.count = 0};
        failing_malloc_arm(n);
        enum nj_status status =
            nj_safetensors_scan(bytes, 8 + sizeof header - 1 + 8, see, &seen, NULL);
        if (!failing_malloc_disarm()) {
            CHECK_EQ(status, NJ_OK);
            CHECK(n > 2);
            return;
        }
        CHECK_EQ(status, NJ_E_MEMORY);
    }
}

int main(void)
{
    RUN(tensors_are_told_in_header_order_with_type_shape_and_place);
    RUN(escapes_in_names_are_resolved);
    RUN(every_dtype_has_its_size);
    RUN(unknown_dtype_is_refused_by_name);
    RUN(packed_values_must_fill_whole_bytes);
    RUN(empty_and_scalar_tensors_are_fine);
    RUN(empty_tensor_inside_another_is_refused);
    RUN(overlaps_gaps_and_trailing_bytes_are_refused);
    RUN(file_cut_by_one_byte_is_refused);
    RUN(offsets_that_make_no_sense_are_refused);
    RUN(shapes_whose_product_wraps_are_refused);
    RUN(more_dimensions_than_tensors_have_are_refused);
    RUN(names_listed_twice_are_refused_even_when_spelt_differently);
    RUN(keys_missing_repeated_or_unknown_are_refused);
    RUN(header_that_is_not_one_object_is_refused);
    RUN(hostile_name_is_shown_cut_and_without_control_characters);
    RUN(every_cut_of_a_header_is_refused);
    RUN(status_of_the_visit_ends_the_scan);
    RUN(header_length_is_checked_against_limit_and_file);
    RUN(every_failing_allocation_is_reported);
    return test_result();
}
