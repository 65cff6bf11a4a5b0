/* A tiny model on disk with one thing wrong in it. */
#ifndef NJ_TESTS_UNIT_MODEL_EDITED_MODEL_H
#define NJ_TESTS_UNIT_MODEL_EDITED_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "model/model.h"
#include "support/tiny_model.h"

/* Writes the model into a folder of its own, without index file (shards speak for themselves),
 * and returns the folder; valid until exit. */
const char *edited_model(enum tiny_model_kind kind);

/* The same with nothing but its config.json. */
const char *edited_config(enum tiny_model_kind kind);

/* Replaces the first `from` in config.json; `to` may have any length. */
void edit_config(const char *directory, const char *from, const char *to);

/* Replaces `from` in the header entry of `tensor` by `to` of the same length. */
void edit_entry(const char *directory, const char *tensor, const char *from, const char *to);

/* Overwrites bytes of a tensor. */
void edit_data(const char *directory, const char *tensor, size_t offset, const void *bytes,
               size_t n_bytes);

/* Opens with one thread, `max_rows` 64 and the scalar level. */
enum nj_status open_edited(const char *directory, struct nj_model **model,
                           struct nj_error *err);

#endif
