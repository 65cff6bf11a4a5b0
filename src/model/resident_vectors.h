/* Reads the small vectors of a bound model into memory, widened to F32. */
#ifndef NJ_MODEL_RESIDENT_VECTORS_H
#define NJ_MODEL_RESIDENT_VECTORS_H

#include "base/file.h"
#include "base/status.h"
#include "format/weight_index.h"
#include "model/weights.h"

/* `index` is the one that `weights` were bound with. NJ_E_IO for a failed read; NJ_E_WEIGHTS
 * when entries past the used ones are not zero (A_log is stored longer than it is). */
enum nj_status nj_resident_vectors_load(const struct nj_weights *weights,
                                        const struct nj_weight_index *index,
                                        const struct nj_file_system *fs, const char *directory,
                                        struct nj_error *err);

#endif
