/* What the rest of the program may ask of an open model (opening: nightjar/model.h). */
#ifndef NJ_MODEL_MODEL_H
#define NJ_MODEL_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/pool.h"
#include "base/status.h"
#include "format/weight_index.h"
#include "model/dims.h"
#include "model/memory_plan.h"
#include "model/state_home.h"
#include "nightjar/model.h"
#include "stream/stream.h"

/* As nj_model_open, through a given file system. `fs` is borrowed for the model's life. */
enum nj_status nj_model_open_through(const struct nj_file_system *fs,
                                     const struct nj_model_options *options,
                                     struct nj_model **model, struct nj_error *err);

/* What tests put in the place of the real thing. */
struct nj_model_seams {
    const struct nj_file_system *fs;       /* borrowed for the model's life */
    const struct nj_reader_table *readers; /* NULL: the real ones; borrowed likewise */
    uint64_t record_limit_bytes; /* 0: by the sizes of the model. Never changes a bit */
    const char *machine_root;    /* base/machine_memory.h; "" for this machine */
    bool poisons; /* unused memory is overwritten; always so where NJ_POISON is defined */
};

enum nj_status nj_model_open_with(const struct nj_model_seams *seams,
                                  const struct nj_model_options *options,
                                  struct nj_model **model, struct nj_error *err);

/* The plan that opening would follow, without reading a weight. NJ_E_BUDGET fills it too, as
 * far as memory_plan.h says. */
enum nj_status nj_model_plan_with(const struct nj_model_seams *seams,
                                  const struct nj_model_options *options,
                                  struct nj_memory_plan *plan, struct nj_error *err);

const struct nj_memory_plan *nj_model_plan(const struct nj_model *model);
void nj_model_stream_report(const struct nj_model *model, struct nj_stream_report *report);

const struct nj_dims *nj_model_dims(const struct nj_model *model);
uint32_t nj_model_max_rows(const struct nj_model *model);
/* Weight bytes read from disk since open, for reports. */
uint64_t nj_model_read_bytes(const struct nj_model *model);
/* Pays for states too; borrowed. */
struct nj_byte_budget *nj_model_budget(struct nj_model *model);

/* Where the states of sequences live that are made from now on; NULL: in memory. Borrowed, and
 * must outlive them. */
void nj_model_set_state_home(struct nj_model *model, const struct nj_state_home *home);
const struct nj_state_home *nj_model_state_home(const struct nj_model *model);

/* The threads that sweeps compute on, for other work between sweeps; borrowed. */
struct nj_pool *nj_model_pool(struct nj_model *model);

/* Config, headers and fingerprint without reading weights into memory (describe, validate). */
struct nj_model_info {
    struct nj_dims dims;
    struct nj_weight_index *index; /* owned by the info */
    struct nj_digest fingerprint;
};

/* The same without the fingerprint: reads no weight byte. */
enum nj_status nj_model_info_read(const struct nj_file_system *fs, const char *directory,
                                  struct nj_model_info *info, struct nj_error *err);

/* The fingerprint alone, for an info that was only read: reads weights (fingerprint.h). */
enum nj_status nj_model_info_identify(const struct nj_file_system *fs, const char *directory,
                                      struct nj_model_info *info, struct nj_error *err);

enum nj_status nj_model_info_open(const struct nj_file_system *fs, const char *directory,
                                  struct nj_model_info *info, struct nj_error *err);
void nj_model_info_close(struct nj_model_info *info);

#endif
