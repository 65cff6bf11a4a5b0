/* Any text as a JSON document.
 *
 * What parses is written, parsed and written again: both texts must be equal.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

/* Writes the document; the text is valid until the writer's next call. */
static struct nj_text written(struct nj_json_writer *writer, const struct nj_json *document)
{
    struct nj_text text = {NULL, 0};
    nj_json_writer_init(writer);
    nj_json_write_value(writer, nj_json_root(document));
    require(nj_json_finish(writer, &text, NULL) == NJ_OK);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    struct nj_text text = {(const char *)data, length_bytes};
    struct nj_json *document = NULL;
    struct nj_json *again = NULL;
    struct nj_json_writer first;
    struct nj_json_writer second;
    if (nj_json_parse(text, "input", &document, NULL) != NJ_OK) {
        require(document == NULL);
        return 0;
    }
    struct nj_text first_text = written(&first, document);
    require(nj_text_valid_prefix(first_text) == first_text.length_bytes);
    require(nj_json_parse(first_text, "written", &again, NULL) == NJ_OK);
    struct nj_text second_text = written(&second, again);
    require(nj_text_equal(first_text, second_text));

    nj_json_writer_deinit(&first);
    nj_json_writer_deinit(&second);
    nj_json_destroy(document);
    nj_json_destroy(again);
    return 0;
}
