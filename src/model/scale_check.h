/* Refuses MXFP4 scales that are not numbers, before they turn into silent infinities.
 *
 * Scale byte 255 means NaN in the format's specification and infinity to some readers; no
 * released tensor is known to hold it, so one that does is damaged.
 */
#ifndef NJ_MODEL_SCALE_CHECK_H
#define NJ_MODEL_SCALE_CHECK_H

#include "base/status.h"
#include "model/dims.h"
#include "model/weights.h"
#include "stream/stream.h"

/* Reads every scale record. NJ_E_WEIGHTS names tensor and offset. */
enum nj_status nj_scale_check(const struct nj_weights *weights, const struct nj_dims *dims,
                              struct nj_stream *stream, struct nj_error *err);

#endif
