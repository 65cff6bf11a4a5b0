#include "runner/export_format.h"

#include <stdio.h>
#include <string.h>

#include "support/check.h"

static bool is_safe(const char *name)
{
    return nj_export_name_is_safe(nj_text_from(name));
}

static void only_names_that_stay_inside_are_safe(void)
{
    CHECK(is_safe("spec.yaml"));
    CHECK(is_safe("items/0/segment-000001.snap"));
    CHECK(is_safe("inputs/..hidden/a..b"));
    CHECK(!is_safe(""));
    CHECK(!is_safe("/etc/passwd"));
    CHECK(!is_safe(".."));
    CHECK(!is_safe("a/../../b"));
    CHECK(!is_safe("a//b"));
    CHECK(!is_safe("a/./b"));
    CHECK(!is_safe("a/"));
    CHECK(!nj_export_name_is_safe((struct nj_text){"a\0b", 3}));
    char part[300];
    memset(part, 'a', sizeof part);
    CHECK(!nj_export_name_is_safe((struct nj_text){part, 256}));
    CHECK(nj_export_name_is_safe((struct nj_text){part, 255}));
}

/* What a visitor heard, as text. */
struct heard {
    char text[512];
};

static void say(struct heard *heard, const char *before, struct nj_text text)
{
    size_t n = strlen(heard->text);
    (void)snprintf(heard->text + n, sizeof heard->text - n, "%s%.*s", before,
                   (int)text.length_bytes, text.data);
}

static enum nj_status hear_head(void *context, struct nj_text json, struct nj_error *err)
{
    (void)err;
    say(context, "head ", json);
    return NJ_OK;
}

static enum nj_status hear_file(void *context, const char *name, uint64_t n_bytes,
                                struct nj_error *err)
{
    (void)err;
    (void)n_bytes;
    say(context, "; file ", nj_text_from(name));
    return NJ_OK;
}

static enum nj_status hear_bytes(void *context, struct nj_bytes bytes, struct nj_error *err)
{
    (void)err;
    say(context, " ", (struct nj_text){(const char *)bytes.data, bytes.length_bytes});
    return NJ_OK;
}

static enum nj_status hear_end(void *context, struct nj_error *err)
{
    (void)err;
    say(context, "", nj_text_from("."));
    return NJ_OK;
}

/* One export, record by record. */
struct told {
    struct nj_export_reader reader;
    struct heard heard;
    struct nj_digest_stream *digest;
    struct nj_error err;
};

static void begin(struct told *told)
{
    *told = (struct told){.reader.visitor = {.context = &told->heard,
                                             .head = hear_head,
                                             .begin_file = hear_file,
                                             .bytes = hear_bytes,
                                             .end_file = hear_end}};
    CHECK_EQ(nj_digest_stream_create(&told->digest, NULL), NJ_OK);
}

static void end(struct told *told)
{
    nj_export_reader_deinit(&told->reader);
    nj_digest_stream_destroy(told->digest);
}

static enum nj_status tell(struct told *told, uint32_t type, const void *data, size_t n_bytes)
{
    struct nj_record record = {.type = type,
                               .payload = {.data = data, .length_bytes = n_bytes}};
    nj_digest_stream_add(told->digest, data, n_bytes);
    return nj_export_take(&told->reader, &record, &told->err);
}

static enum nj_status tell_file(struct told *told, const char *name, uint64_t n_bytes)
{
    uint8_t payload[256];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, payload, sizeof payload);
    nj_write_u64(&writer, n_bytes);
    nj_write_span(&writer, (struct nj_bytes){(const uint8_t *)name, strlen(name)});
    return tell(told, NJ_EXPORT_FILE, payload, writer.offset);
}

static enum nj_status tell_end(struct told *told, uint64_t n_files, uint64_t n_bytes)
{
    uint8_t payload[NJ_EXPORT_END_BYTES];
    struct nj_digest digest;
    CHECK_EQ(nj_digest_stream_finish(told->digest, &digest, NULL), NJ_OK);
    nj_export_end_encode(n_files, n_bytes, &digest, payload);
    struct nj_record record = {.type = NJ_EXPORT_END,
                               .payload = {.data = payload, .length_bytes = sizeof payload}};
    return nj_export_take(&told->reader, &record, &told->err);
}

static void a_whole_export_is_told_in_order(void)
{
    struct told told;
    begin(&told);
    CHECK_EQ(tell(&told, NJ_EXPORT_HEAD, "{}", 2), NJ_OK);
    CHECK_EQ(tell_file(&told, "a/b", 5), NJ_OK);
    CHECK_EQ(tell(&told, NJ_EXPORT_BYTES, "one", 3), NJ_OK);
    CHECK_EQ(tell(&told, NJ_EXPORT_BYTES, "23", 2), NJ_OK);
    CHECK_EQ(tell_file(&told, "empty", 0), NJ_OK);
    CHECK_EQ(tell_end(&told, 2, 5), NJ_OK);
    CHECK(told.reader.has_end);
    CHECK_TEXT(told.heard.text, "head {}; file a/b one 23.; file empty.");
    CHECK_EQ(tell(&told, NJ_EXPORT_HEAD, "{}", 2), NJ_E_STATE); /* nothing follows the end */
    end(&told);
}

static void records_that_cannot_follow_are_refused(void)
{
    struct told told;
    begin(&told);
    CHECK_EQ(tell_file(&told, "a", 1), NJ_E_STATE); /* before the head */
    end(&told);

    begin(&told);
    CHECK_EQ(tell(&told, NJ_EXPORT_HEAD, "{}", 2), NJ_OK);
    CHECK_EQ(tell(&told, NJ_EXPORT_BYTES, "x", 1), NJ_E_STATE); /* of no file */
    CHECK_EQ(tell_file(&told, "../a", 1), NJ_E_STATE);
    CHECK_EQ(tell(&told, 9, "x", 1), NJ_E_STATE);
    CHECK_EQ(tell_file(&told, "a", 3), NJ_OK);
    CHECK_EQ(tell(&told, NJ_EXPORT_BYTES, "four", 4), NJ_E_STATE); /* longer than it said */
    CHECK_EQ(tell_file(&told, "b", 0), NJ_E_STATE);                /* shorter */
    CHECK_CONTAINS(told.err.text, "ends before its length");
    end(&told);
}

static void an_end_that_says_something_else_is_refused(void)
{
    for (uint64_t n_files = 1; n_files <= 2; n_files++) {
        struct told told;
        begin(&told);
        CHECK_EQ(tell(&told, NJ_EXPORT_HEAD, "{}", 2), NJ_OK);
        CHECK_EQ(tell_file(&told, "a", 1), NJ_OK);
        CHECK_EQ(tell(&told, NJ_EXPORT_BYTES, "x", 1), NJ_OK);
        if (n_files == 1) {
            nj_digest_stream_add(told.digest, "y", 1); /* another digest */
        }
        CHECK_EQ(tell_end(&told, n_files, 1), NJ_E_STATE);
        CHECK(!told.reader.has_end);
        end(&told);
    }
}

int main(void)
{
    RUN(only_names_that_stay_inside_are_safe);
    RUN(a_whole_export_is_told_in_order);
    RUN(records_that_cannot_follow_are_refused);
    RUN(an_end_that_says_something_else_is_refused);
    return test_result();
}
