/* The shape of a stored state: what SNAP_BEGIN says, and whether the records that follow fill
 * it without a gap.
 */
#ifndef NJ_SNAPSHOT_SHAPE_H
#define NJ_SNAPSHOT_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "format/segment.h"
#include "model/dims.h"

struct nj_snapshot_shape {
    uint32_t n_positions;    /* that the state has read */
    uint32_t first_position; /* of the latent cache in this segment; 0: all of it */
    uint32_t n_layers;
    uint32_t position_values; /* of a latent layer */
    uint64_t layer_values;    /* of a recurrent layer */
    enum nj_mixer mixers[NJ_LAYERS_LIMIT];
};

enum { NJ_SHAPE_BYTES_LIMIT = 24 + NJ_LAYERS_LIMIT };

/* The shape of a state of a model with these dims. */
void nj_snapshot_shape_of(const struct nj_dims *dims, uint32_t n_positions,
                          uint32_t first_position, struct nj_snapshot_shape *shape);

/* Returns the length. */
size_t nj_snapshot_shape_encode(const struct nj_snapshot_shape *shape,
                                uint8_t bytes[NJ_SHAPE_BYTES_LIMIT]);
/* NJ_E_STATE when these bytes are no shape. */
enum nj_status nj_snapshot_shape_decode(struct nj_bytes bytes, struct nj_snapshot_shape *shape,
                                        struct nj_error *err);
/* NJ_E_STATE when a model with these dims has no states of that shape. */
enum nj_status nj_snapshot_shape_check(const struct nj_snapshot_shape *shape,
                                       const struct nj_dims *dims, struct nj_error *err);

/* Values that a RECURRENT record holds, and positions that a KV record holds, at most. */
uint32_t nj_snapshot_recurrent_piece(const struct nj_snapshot_shape *shape);
uint32_t nj_snapshot_kv_piece(const struct nj_snapshot_shape *shape);

/* Follows the records of one segment. Zeroed is the beginning. */
struct nj_snapshot_progress {
    struct nj_snapshot_shape shape;
    bool has_shape;
    uint32_t layer; /* the first that is not complete */
    uint64_t done;  /* values or positions of it */
    uint32_t n_tokens;
    uint8_t n_closing; /* 1: SAMPLER was there, 2: OUTPUT_MARK too, 3: the commit */
};

/* Takes the next record. NJ_E_STATE when it cannot follow those before it or has another length
 * than it says. */
enum nj_status nj_snapshot_progress_take(struct nj_snapshot_progress *progress,
                                         const struct nj_segment_record *record,
                                         struct nj_error *err);

#endif
