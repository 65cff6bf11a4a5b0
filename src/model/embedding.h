/* The rows of the embedding that a sweep's tokens look up.
 *
 * Where weights stream, each is read by itself: a sweep needs a few of 163,840.
 */
#ifndef NJ_MODEL_EMBEDDING_H
#define NJ_MODEL_EMBEDDING_H

#include <stdint.h>

#include "base/status.h"
#include "model/sweep.h"
#include "model/weights.h"
#include "stream/stream.h"

/* Announces what nj_embedding_look_up will pin for the same rows. */
void nj_embedding_announce(const struct nj_weights *weights, struct nj_stream *stream,
                           const struct nj_row *rows, uint32_t n_rows);

/* out (n_rows, hidden). NJ_E_WEIGHTS names the token. */
enum nj_status nj_embedding_look_up(const struct nj_weights *weights, struct nj_stream *stream,
                                    const struct nj_row *rows, uint32_t n_rows, float *out,
                                    struct nj_error *err);

#endif
