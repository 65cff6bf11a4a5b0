/* Brings a model into memory: binds its weights, splits the memory, takes what it promised, and
 * only then reads.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_MODEL_OPENING_H
#define NJ_MODEL_OPENING_H

#include "base/status.h"
#include "format/weight_index.h"
#include "model/model.h"
#include "model/weight_groups.h"

/* One opening under way. Zeroed is closed. */
struct nj_opening {
    const struct nj_model_seams *seams;
    const struct nj_model_options *options;
    enum nj_reader_kind reader;
    uint64_t memory_bytes; /* the ceiling, given or found */
    struct nj_weight_index *index;
    struct nj_weight_groups groups;     /* in the arena of the model's weights */
    const struct nj_stream_file *files; /* ditto */
    uint64_t stream_overhead_bytes;
};

/* Opens the headers, binds, and fills `model->plan` for the model's dims, pool and max_rows.
 * Reads no weight byte. NJ_E_NOT_FOUND, NJ_E_WEIGHTS, NJ_E_BUDGET, NJ_E_MEMORY. */
enum nj_status nj_opening_plan(struct nj_opening *opening, struct nj_model *model,
                               struct nj_error *err);

/* After a plan: pays, takes buffers, reads vectors, makes the fingerprint, opens the stream. */
enum nj_status nj_opening_load(struct nj_opening *opening, struct nj_model *model,
                               struct nj_error *err);

void nj_opening_close(struct nj_opening *opening);

#endif
