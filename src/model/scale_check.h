/* Refuses MXFP4 scales that are not numbers, before they turn into silent infinities.
 *
 * Scale byte 255 means NaN in the format's specification and infinity to some readers; no
 * released tensor is known to hold it, so one that does is damaged. Scales are looked at as
 * they enter memory, each time they do.
 */
#ifndef NJ_MODEL_SCALE_CHECK_H
#define NJ_MODEL_SCALE_CHECK_H

#include <stdint.h>

#include "base/status.h"
#include "model/dims.h"
#include "model/weights.h"

/* Both borrowed. Which records are scales is told by a bit each. */
struct nj_scale_check {
    const struct nj_weights *weights;
    const struct nj_dims *dims;
    uint8_t *is_scales; /* (n_records / 8 + 1), in the arena of the weights */
};

/* After binding. Nothing to release. NJ_E_MEMORY. */
enum nj_status nj_scale_check_init(struct nj_scale_check *check, struct nj_weights *weights,
                                   const struct nj_dims *dims, struct nj_error *err);

/* An nj_record_check; `context` is a struct nj_scale_check. NJ_E_WEIGHTS names the tensor and
 * the byte. */
enum nj_status nj_scale_check_record(void *context, uint32_t record, const uint8_t *bytes,
                                     uint64_t length_bytes, struct nj_error *err);

#endif
