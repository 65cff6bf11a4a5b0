/* The order in which a layer's experts lie in the files, so that a sweep that needs many of
 * them walks forward: released files do not hold them by id. */
#ifndef NJ_MODEL_FILE_ORDER_H
#define NJ_MODEL_FILE_ORDER_H

#include "base/status.h"
#include "model/dims.h"
#include "model/weights.h"

/* Fills `moe.file_order` of every layer that has experts. NJ_E_MEMORY. */
enum nj_status nj_file_order_make(struct nj_weights *weights, const struct nj_dims *dims,
                                  struct nj_error *err);

#endif
