/* Exports: whatever their records say, only names inside the folder are told, and no file gets
 * more bytes than it announced.
 *
 * The input is a list of records, each a type, two bytes of length, and its payload.
 *
 * Links: runner/export_format.c format/record_log.c format/checksum.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runner/export_format.h"

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

struct heard {
    bool is_in_file;
    uint64_t n_bytes_left;
};

static enum nj_status hear_file(void *context, const char *name, uint64_t n_bytes,
                                struct nj_error *err)
{
    struct heard *heard = context;
    (void)err;
    require(!heard->is_in_file);
    require(nj_export_name_is_safe(nj_text_from(name)));
    require(name[0] != '/' && strcmp(name, "..") != 0 && strncmp(name, "../", 3) != 0 &&
            strstr(name, "/../") == NULL);
    *heard = (struct heard){.is_in_file = true, .n_bytes_left = n_bytes};
    return NJ_OK;
}

static enum nj_status hear_bytes(void *context, struct nj_bytes bytes, struct nj_error *err)
{
    struct heard *heard = context;
    (void)err;
    require(heard->is_in_file && bytes.length_bytes <= heard->n_bytes_left);
    heard->n_bytes_left -= bytes.length_bytes;
    return NJ_OK;
}

static enum nj_status hear_end(void *context, struct nj_error *err)
{
    struct heard *heard = context;
    (void)err;
    require(heard->is_in_file && heard->n_bytes_left == 0);
    heard->is_in_file = false;
    return NJ_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    struct heard heard = {.is_in_file = false};
    struct nj_export_reader reader = {.visitor = {.context = &heard,
                                                  .begin_file = hear_file,
                                                  .bytes = hear_bytes,
                                                  .end_file = hear_end}};
    size_t at = 0;
    enum nj_status status = NJ_OK;
    while (at + 3 <= length_bytes && status == NJ_OK) {
        size_t left = length_bytes - at - 3;
        size_t wanted = data[at + 1] | (size_t)data[at + 2] << 8;
        size_t n_bytes = wanted < left ? wanted : left;
        uint8_t *payload = malloc(n_bytes + 1); /* so that a read past its end is seen */
        require(payload != NULL);
        memcpy(payload, data + at + 3, n_bytes);
        struct nj_record record = {.type = data[at] % 8, .payload = {payload, n_bytes}};
        status = nj_export_take(&reader, &record, NULL);
        free(payload);
        at += 3 + n_bytes;
    }
    nj_export_reader_deinit(&reader);
    return 0;
}
