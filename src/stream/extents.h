/* Whether a stream's extents lie within its files. */
#ifndef NJ_STREAM_EXTENTS_H
#define NJ_STREAM_EXTENTS_H

#include "base/status.h"
#include "stream/stream.h"

/* NJ_E_INTERNAL naming the record: an extent comes from headers that were checked against the
 * file, so one that does not fit was put together wrongly, and reading it would hand out the
 * neighbour's bytes. */
enum nj_status nj_extents_check(const struct nj_stream_options *options, struct nj_error *err);

#endif
