/* Any bytes as a JSONL file.
 *
 * Reading in small pieces must give what reading at once gives. A single line is also given to
 * the other JSON reader of the program: what that takes as an object, this must take, unless it
 * has a name that rows may not have.
 */
#include "fuzz/memory_rows.h"
#include "job/row_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static bool has_reserved_name(const struct nj_json_value *object)
{
    for (size_t i = 0; i < nj_json_count(object); i++) {
        struct nj_text name;
        (void)nj_json_member(object, i, &name);
        if (name.length_bytes == 0 || name.data[0] == '_' ||
            (name.length_bytes >= 8 && memcmp(name.data, "sampling", 8) == 0)) {
            return true;
        }
    }
    return false;
}

static void compare_with_other_reader(struct nj_text line, size_t n_errors)
{
    struct nj_json *document = NULL;
    if (line.length_bytes == 0 || line.data[0] != '{' ||
        memchr(line.data, '\n', line.length_bytes) != NULL ||
        nj_json_parse(line, "line", &document, NULL) != NJ_OK) {
        return;
    }
    const struct nj_json_value *root = nj_json_root(document);
    require(nj_json_type_of(root) != NJ_JSON_OBJECT || has_reserved_name(root) ||
            n_errors == 0);
    nj_json_destroy(document);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    if (length_bytes == 0) {
        return 0;
    }
    struct nj_row_source source = {.format = NJ_ROWS_JSONL, .path = "rows"};
    struct nj_json_writer writer;
    size_t n_errors = read_in_two_ways(&source, data, length_bytes, &writer);
    struct nj_text line = {(const char *)data + 1, length_bytes - 1};
    compare_with_other_reader(line, n_errors);
    nj_json_writer_deinit(&writer);
    return 0;
}
