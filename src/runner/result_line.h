/* The result line of one item: everything that people get of it, as one JSON object.
 *
 * File: docs/formats/results.md. Threads: the engine thread.
 */
#ifndef NJ_RUNNER_RESULT_LINE_H
#define NJ_RUNNER_RESULT_LINE_H

#include "base/json.h"
#include "base/status.h"
#include "runner/slot.h"
#include "tokenizer/tokenizer.h"

/* Of a slot that is finished; without a newline. Without a tokenizer (NULL) the line has ids
 * and no text. */
enum nj_status nj_result_line_write(const struct nj_slot *slot,
                                    const struct nj_tokenizer *tokenizer,
                                    struct nj_json_writer *writer, struct nj_error *err);

#endif
