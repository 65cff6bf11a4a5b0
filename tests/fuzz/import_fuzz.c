/* Any bytes as a file of another tool; the first byte says of which.
 *
 * A file is taken or complained about, and what is taken can be rendered.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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

static void check_texts(const struct nj_job_spec *spec)
{
    for (size_t i = 0; i < spec->n_prompts; i++) {
        const struct nj_prompt_template *prompt = &spec->prompts[i];
        require(nj_text_valid_prefix(prompt->prompt) == prompt->prompt.length_bytes);
        for (size_t k = 0; k < prompt->n_messages; k++) {
            struct nj_text content = prompt->messages[k].content;
            require(nj_text_valid_prefix(content) == content.length_bytes);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t length_bytes)
{
    static const char *const paths[] = {"a.jsonl", "a.prompt.yml", "a.yaml"};
    const struct nj_file_system fs = {.open_at = refuse_open};
    const struct nj_job_overrides overrides = {.limit = 100};
    struct nj_arena arena = {0};
    struct nj_diagnostics diagnostics;
    struct nj_job_specs specs = {0};
    if (length_bytes == 0) {
        return 0;
    }
    struct nj_bytes content = {data + 1, length_bytes - 1};
    const char *path = paths[data[0] % (sizeof paths / sizeof paths[0])];
    nj_diagnostics_init(&diagnostics, &arena);
    enum nj_status status =
        nj_job_specs_read(path, content, &overrides, &arena, &diagnostics, &specs, NULL);
    require((status == NJ_OK) == (specs.n_items > 0));
    require((status == NJ_E_INPUT) == (diagnostics.n_errors > 0));
    for (size_t i = 0; i < specs.n_items; i++) {
        uint64_t n_items = 0;
        check_texts(specs.items[i]);
        status = nj_items_check(specs.items[i], &fs, &diagnostics, &n_items, NULL);
        require(status == NJ_OK || status == NJ_E_INPUT);
    }
    nj_diagnostics_deinit(&diagnostics);
    nj_arena_deinit(&arena);
    return 0;
}
