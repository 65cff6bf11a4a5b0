#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "format/weight_index.h"
#include "support/check.h"
#include "support/failing_malloc.h"
#include "support/faulty_files.h"

/* --- model folders made on the spot --- */

static char model[PATH_MAX];

static void begin_model(void)
{
    static int number;
    (void)snprintf(model, sizeof model, "%s/model%d", test_folder(), ++number);
    CHECK_EQ(mkdir(model, 0700), 0);
}

static void write_file(const char *name, const void *data, size_t length_bytes)
{
    char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", model, name);
    FILE *file = fopen(path, "wb");
    CHECK_EQ(fwrite(data, 1, length_bytes, file), length_bytes);
    CHECK_EQ(fclose(file), 0);
}

static void write_text(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

/* A shard with this header and so many data bytes. */
static void write_shard(const char *name, const char *header, size_t data_bytes)
{
    uint8_t content[4096] = {0};
    size_t length = strlen(header);
    REQUIRE(8 + length + data_bytes <= sizeof content);
    content[0] = (uint8_t)length;
    content[1] = (uint8_t)(length >> 8);
    (void)snprintf((char *)content + 8, sizeof content - 8, "%s", header);
    write_file(name, content, 8 + length + data_bytes);
}

#define U8_TENSOR(name, begin, end, n)                                                         \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[" #n "],\"data_offsets\":[" #begin "," #end "]" \
    "}"

/* Two shards; the first lists its tensors against the order of their data. */
static void write_two_shards(void)
{
    write_shard("model-00001-of-000002.safetensors",
                "{" U8_TENSOR("late", 4, 10, 6) "," U8_TENSOR("early", 0, 4, 4) "}  ", 10);
    write_shard("model-00002-of-000002.safetensors",
                "{\"w\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[0,12]}}", 12);
}

#define FIRST  "\"model-00001-of-000002.safetensors\""
#define SECOND "\"model-00002-of-000002.safetensors\""

static void write_index(const char *weight_map)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "{\"metadata\":{\"total_size\":22,\"x\":[1,{}]},\"weight_map\":{%s}}\n",
                   weight_map);
    write_text("model.safetensors.index.json", text);
}

static struct nj_weight_index *open_model(void)
{
    struct nj_weight_index *index = NULL;
    struct nj_error error;
    if (nj_weight_index_open(nj_file_system_real(), model, &index, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
    }
    return index;
}

static void check_refused(enum nj_status wanted, const char *complaint)
{
    struct nj_weight_index *index = NULL;
    struct nj_error error = {NJ_OK, ""};
    CHECK_EQ(nj_weight_index_open(nj_file_system_real(), model, &index, &error), wanted);
    CHECK_EQ(error.status, wanted);
    CHECK_CONTAINS(error.text, complaint);
    CHECK_CONTAINS(error.text, model);
    CHECK(index == NULL);
    nj_weight_index_close(index);
}

/* --- tests --- */

static void tensors_come_in_file_and_offset_order(void)
{
    begin_model();
    write_two_shards();
    write_text("config.json", "{}");
    write_text(".hidden.safetensors", "not looked at");
    struct nj_weight_index *index = open_model();
    REQUIRE(index != NULL);

    CHECK_EQ(nj_weight_index_count(index), 3);
    CHECK_TEXT(nj_weight_index_at(index, 0)->name, "early");
    CHECK_TEXT(nj_weight_index_at(index, 1)->name, "late");
    CHECK_TEXT(nj_weight_index_at(index, 2)->name, "w");
    CHECK_EQ(nj_weight_index_file_count(index), 2);
    CHECK_TEXT(nj_weight_index_file(index, 1)->name, "model-00002-of-000002.safetensors");
    nj_weight_index_close(index);
}

static void found_tensor_has_type_shape_and_place_in_the_file(void)
{
    begin_model();
    write_two_shards();
    struct nj_weight_index *index = open_model();
    REQUIRE(index != NULL);
    const struct nj_weight *late = nj_weight_index_find(index, "late");
    const struct nj_weight *w = nj_weight_index_find(index, "w");
    REQUIRE(late != NULL);
    REQUIRE(w != NULL);

    const struct nj_weight_file *first = nj_weight_index_file(index, 0);
    CHECK_EQ(late->file, 0);
    CHECK_EQ(late->offset_bytes, 8 + first->header_bytes + 4);
    CHECK_EQ(late->length_bytes, 6);
    CHECK_EQ(first->length_bytes, 8 + first->header_bytes + 10);
    CHECK_EQ(w->type, NJ_VALUE_BF16);
    CHECK_EQ(w->n_dimensions, 2);
    CHECK_EQ(w->shape[1], 3);
    CHECK(nj_weight_index_find(index, "absent") == NULL);
    CHECK(nj_weight_index_missing_shard(index, "absent") == NULL);
    nj_weight_index_close(index);
}

static void digest_of_each_header_is_kept(void)
{
    static const char header[] = "{" U8_TENSOR("a", 0, 4, 4) "}   ";
    begin_model();
    write_shard("model.safetensors", header, 4);
    struct nj_digest wanted;
    struct nj_bytes bytes = {(const uint8_t *)header, sizeof header - 1};
    CHECK_EQ(nj_digest_of(bytes, &wanted, NULL), NJ_OK);

    struct nj_weight_index *index = open_model();
    REQUIRE(index != NULL);
    CHECK_BYTES(nj_weight_index_file(index, 0)->header_sha256, wanted.bytes, 32);
    nj_weight_index_close(index);
}

static void index_file_that_agrees_is_accepted(void)
{
    begin_model();
    write_two_shards();
    write_index("\"w\":" SECOND ",\"early\":" FIRST ",\"l\\u0061te\":" FIRST);
    struct nj_weight_index *index = open_model();
    REQUIRE(index != NULL);
    CHECK_EQ(nj_weight_index_count(index), 3);
    nj_weight_index_close(index);
}

static void absent_shard_matters_only_to_who_asks_for_its_tensors(void)
{
    begin_model();
    write_two_shards();
    write_index("\"w\":" SECOND ",\"v1\":\"vision.safetensors\",\"early\":" FIRST
                ",\"v2\":\"vision.safetensors\",\"late\":" FIRST
                ",\"v3\":\"other.safetensors\"");
    struct nj_weight_index *index = open_model();
    REQUIRE(index != NULL);

    CHECK_EQ(nj_weight_index_count(index), 3);
    CHECK(nj_weight_index_find(index, "v1") == NULL);
    CHECK_TEXT(nj_weight_index_missing_shard(index, "v1"), "vision.safetensors");
    CHECK_TEXT(nj_weight_index_missing_shard(index, "v2"), "vision.safetensors");
    CHECK_TEXT(nj_weight_index_missing_shard(index, "v3"), "other.safetensors");
    CHECK(nj_weight_index_missing_shard(index, "w") == NULL);
    nj_weight_index_close(index);
}

static void index_file_that_contradicts_the_shards_is_refused(void)
{
    begin_model();
    write_two_shards();
    write_index("\"w\":" FIRST ",\"early\":" FIRST ",\"late\":" FIRST);
    check_refused(NJ_E_WEIGHTS, "model.safetensors.index.json: lists tensor \"w\" in "
                                "model-00001-of-000002.safetensors, but it is in "
                                "model-00002-of-000002.safetensors");
    write_index("\"w\":" SECOND ",\"x\":" FIRST ",\"early\":" FIRST ",\"late\":" FIRST);
    check_refused(NJ_E_WEIGHTS, "lists tensor \"x\" in model-00001-of-000002.safetensors, "
                                "which lacks it");
    write_index("\"w\":" SECOND ",\"early\":" FIRST);
    check_refused(NJ_E_WEIGHTS, "does not list tensor \"late\" of "
                                "model-00001-of-000002.safetensors");
    write_index("\"w\":" SECOND ",\"early\":" FIRST ",\"late\":" FIRST ",\"w\":" SECOND);
    check_refused(NJ_E_WEIGHTS, "lists tensor \"w\" twice");
    write_index("\"w\":" SECOND ",\"early\":" FIRST ",\"late\":" FIRST
                ",\"v\":\"v.safetensors\",\"v\":\"v.safetensors\"");
    check_refused(NJ_E_WEIGHTS, "lists tensor \"v\" twice");
}

static void index_file_that_is_no_index_is_refused(void)
{
    begin_model();
    write_two_shards();
    write_text("model.safetensors.index.json", "{\"metadata\":{}}");
    check_refused(NJ_E_WEIGHTS, "has no weight_map");
    write_text("model.safetensors.index.json", "");
    check_refused(NJ_E_WEIGHTS, "byte 0: wanted an object");
    write_text("model.safetensors.index.json", "{\"weight_map\":{},\"weight_map\":{}}");
    check_refused(NJ_E_WEIGHTS, "second weight_map");
    write_text("model.safetensors.index.json", "{\"weight_map\":{\"w\":1}}");
    check_refused(NJ_E_WEIGHTS, "byte 19: wanted a string");
    write_text("model.safetensors.index.json", "{\"weight_map\":{}} trailing");
    check_refused(NJ_E_WEIGHTS, "wanted the end of the text");
}

static void tensor_in_two_shards_is_refused(void)
{
    begin_model();
    write_shard("a.safetensors", "{" U8_TENSOR("t", 0, 1, 1) "}", 1);
    write_shard("b.safetensors", "{" U8_TENSOR("t", 0, 1, 1) "}", 1);
    check_refused(NJ_E_WEIGHTS, "tensor \"t\" is in b.safetensors and in another shard");
}

static void damaged_shard_is_refused_with_file_tensor_and_place(void)
{
    begin_model();
    write_shard("a.safetensors", "{" U8_TENSOR("t", 0, 9, 9) "}", 8);
    check_refused(NJ_E_WEIGHTS,
                  "a.safetensors: tensor \"t\": byte 60: data [0, 9) lie outside");
    write_file("a.safetensors", "\x00\x00\x00", 3);
    check_refused(NJ_E_WEIGHTS, "a.safetensors: the file has 3 bytes");
    write_file("a.safetensors", "\xFF\x00\x00\x00\x00\x00\x00\x00{}", 10);
    check_refused(NJ_E_WEIGHTS, "a.safetensors: byte 0: a header of 255 bytes in a file of 10");
    write_file("a.safetensors", "", 0);
    check_refused(NJ_E_WEIGHTS, "a.safetensors: the file has 0 bytes");
}

static void folder_without_shards_is_not_found(void)
{
    begin_model();
    check_refused(NJ_E_NOT_FOUND, "no *.safetensors file in it");
    write_text("model.safetensors.index.json", "{\"weight_map\":{}}");
    check_refused(NJ_E_NOT_FOUND, "no *.safetensors file in it");
    (void)snprintf(model, sizeof model, "%s/no-such-folder", test_folder());
    check_refused(NJ_E_NOT_FOUND, "No such file or directory");
}

static void folder_in_the_place_of_a_shard_is_refused(void)
{
    char path[2 * PATH_MAX];
    begin_model();
    (void)snprintf(path, sizeof path, "%s/a.safetensors", model);
    CHECK_EQ(mkdir(path, 0700), 0);
    check_refused(NJ_E_WEIGHTS, "a.safetensors: ");
}

static void write_model_with_index(void)
{
    begin_model();
    write_two_shards();
    write_index("\"w\":" SECOND ",\"early\":" FIRST ",\"l\\u0061te\":" FIRST
                ",\"v\":\"vision.safetensors\"");
}

static void every_failing_read_is_an_error_of_the_weights(void)
{
    static const enum faulty_call calls[] = {FAULTY_READ, FAULTY_STATUS};
    write_model_with_index();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        unsigned long n = 1;
        for (;; n++) {
            struct faulty_files faulty;
            struct nj_weight_index *index = NULL;
            struct nj_error error;
            faulty_files_init(&faulty, nj_file_system_real());
            faulty_files_fail(&faulty, calls[i], n, EIO);
            enum nj_status status = nj_weight_index_open(&faulty.table, model, &index, &error);
            if (!faulty_files_fired(&faulty)) {
                CHECK_EQ(status, NJ_OK);
                nj_weight_index_close(index);
                break;
            }
            CHECK_EQ(status, NJ_E_WEIGHTS);
            CHECK_CONTAINS(error.text, "Input/output error");
            CHECK_CONTAINS(error.text, ".safetensors");
        }
        CHECK(n > 3);
    }
}

static void short_reads_change_nothing(void)
{
    write_model_with_index();
    for (unsigned long n = 1; n < 8; n++) {
        struct faulty_files faulty;
        struct nj_weight_index *index = NULL;
        struct nj_error error;
        faulty_files_init(&faulty, nj_file_system_real());
        faulty_files_cut(&faulty, FAULTY_READ, n);
        REQUIRE_OK(nj_weight_index_open(&faulty.table, model, &index, &error), &error);
        CHECK_EQ(nj_weight_index_count(index), 3);
        nj_weight_index_close(index);
    }
}

static void every_failing_allocation_is_reported(void)
{
    write_model_with_index();
    for (unsigned long n = 1;; n++) {
        struct nj_weight_index *index = NULL;
        failing_malloc_arm(n);
        enum nj_status status =
            nj_weight_index_open(nj_file_system_real(), model, &index, NULL);
        if (!failing_malloc_disarm()) {
            CHECK_EQ(status, NJ_OK);
            CHECK(n > 8);
            nj_weight_index_close(index);
            return;
        }
        CHECK_EQ(status, NJ_E_MEMORY);
    }
}

int main(void)
{
    RUN(tensors_come_in_file_and_offset_order);
    RUN(found_tensor_has_type_shape_and_place_in_the_file);
    RUN(digest_of_each_header_is_kept);
    RUN(index_file_that_agrees_is_accepted);
    RUN(absent_shard_matters_only_to_who_asks_for_its_tensors);
    RUN(index_file_that_contradicts_the_shards_is_refused);
    RUN(index_file_that_is_no_index_is_refused);
    RUN(tensor_in_two_shards_is_refused);
    RUN(damaged_shard_is_refused_with_file_tensor_and_place);
    RUN(folder_without_shards_is_not_found);
    RUN(folder_in_the_place_of_a_shard_is_refused);
    RUN(every_failing_read_is_an_error_of_the_weights);
    RUN(short_reads_change_nothing);
    RUN(every_failing_allocation_is_reported);
    return test_result();
}
