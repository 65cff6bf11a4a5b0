/* What a sweep will need next, told to the stream in the order of its use.
 *
 * Each record is announced once before it is pinned, and never without being pinned: the stream
 * keeps it until then and not longer. What is used twice is announced again while it is pinned
 * (latent_attention.c). A layer's trunk can be told before its router has chosen; what comes
 * after the routed experts (the way back from their latent) is told after them.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_MODEL_ANNOUNCE_H
#define NJ_MODEL_ANNOUNCE_H

#include <stdint.h>

#include "model/router.h"
#include "model/weights.h"
#include "stream/stream.h"

/* Everything of the layer that is used before its routed experts. */
void nj_announce_trunk(const struct nj_weights *weights, struct nj_stream *stream,
                       uint32_t layer);

/* The active experts in the order they will run, then what is left of the layer. */
void nj_announce_experts(const struct nj_weights *weights, struct nj_stream *stream,
                         uint32_t layer, const struct nj_routing *routing);

void nj_announce_head(const struct nj_weights *weights, struct nj_stream *stream);

#endif
