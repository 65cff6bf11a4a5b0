/* The Markdown file of one item: front matter, prompt, answer.
 *
 * File: docs/formats/results.md. Threads: one owner.
 */
#ifndef NJ_RUNNER_MARKDOWN_FILE_H
#define NJ_RUNNER_MARKDOWN_FILE_H

#include "base/json.h"
#include "base/status.h"
#include "base/text.h"
#include "job/items.h"
#include "runner/derived_file.h"

/* Borrowed. */
struct nj_markdown_file {
    struct nj_text job_name;
    const char *model; /* fingerprint, in hex */
    const struct nj_item *item;
    const struct nj_json_value *line; /* its result line */
};

/* The content of a derived file; the context is a nj_markdown_file. */
enum nj_status nj_markdown_file_content(void *context, const struct nj_sink *sink,
                                        struct nj_error *err);

#endif
