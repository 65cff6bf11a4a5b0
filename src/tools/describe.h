/* What a model directory holds, in words: every field that shapes the graph, what is on and
 * off, tensors, sizes, tokenizer, fingerprint. Reads config and headers, no weights.
 */
#ifndef NJ_TOOLS_DESCRIBE_H
#define NJ_TOOLS_DESCRIBE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/file.h"
#include "base/status.h"

/* Lines for people, or one JSON object. Caller frees `*text` (UTF-8). NJ_E_NOT_FOUND,
 * NJ_E_WEIGHTS. */
enum nj_status nj_describe_model(const struct nj_file_system *fs, const char *directory,
                                 bool as_json, char **text, size_t *length_bytes,
                                 struct nj_error *err);

#endif
