/* Any bytes as a job file.
 *
 * A file is taken or complained about, never both, and complaints can be shown on a terminal.
 * Of what is taken every item is rendered, with row and prompt files that are not there.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "job/items.h"
#include "job/spec_yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes);

static void require(bool holds)
{
    if (!holds) {
        abort();
    }
}

static int refuse_open(void *context, int directory_fd, const char *name, int flags,
                       mode_t mode)
{
    (void)context;
    (void)directory_fd;
    (void)name;
    (void)flags;
    (void)mode;
    errno = ENOENT;
    return -1;
}

static void check_complaints(const struct nj_diagnostics *diagnostics)
{
    for (size_t i = 0; i < diagnostics->n_items; i++) {
        char text[4096];
        int length = nj_diagnostic_format(&diagnostics->items[i], text, sizeof text);
        require(length > 0 && (size_t)length < sizeof text);
        struct nj_text shown = nj_text_from(text);
        require(nj_text_valid_prefix(shown) == shown.length_bytes);
        for (size_t at = 0; at < shown.length_bytes;) {
            uint32_t code_point = nj_text_next(shown, &at);
            require(code_point >= 0x20 && (code_point < 0x7f || code_point > 0x9f));
        }
    }
}

/* Checking and iterating must agree on the number of items; iterating yields one per sample. */
static void walk(const struct nj_job_spec *spec, uint64_t n_checked)
{
    const struct nj_file_system fs = {.open_at = refuse_open};
    struct nj_item_iterator *iterator = NULL;
    uint64_t n_items = 0;
    require(nj_item_iterator_open(spec, &fs, 1, &iterator, NULL) == NJ_OK);
    for (bool has_item = true; has_item;) {
        struct nj_arena arena = {0};
        struct nj_item item;
        require(nj_item_iterator_next(iterator, &arena, &item, &has_item, NULL) == NJ_OK);
        n_items += has_item && item.sample == 0 ? 1 : 0;
        nj_arena_deinit(&arena);
    }
    require(n_items == n_checked);
    nj_item_iterator_close(iterator);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    const struct nj_file_system fs = {.open_at = refuse_open};
    const struct nj_job_overrides overrides = {.limit = 1000}; /* a matrix may be large */
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_job_specs specs = {0};
    struct nj_bytes content = {data, length_bytes};
    nj_diagnostics_init(&diagnostics, &arena);
    enum nj_status status =
        nj_job_specs_read("job.yaml", content, &overrides, &arena, &diagnostics, &specs, NULL);
    require((status == NJ_OK) == (specs.n_items > 0));
    require((status == NJ_E_INPUT) == (diagnostics.n_errors > 0));
    for (size_t i = 0; i < specs.n_items; i++) {
        uint64_t n_items = 0;
        if (nj_items_check(specs.items[i], &fs, &diagnostics, &n_items, NULL) == NJ_OK) {
            walk(specs.items[i], n_items);
        }
    }
    check_complaints(&diagnostics);
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return 0;
}
