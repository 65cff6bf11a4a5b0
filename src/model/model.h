/* What the rest of the program may ask of an open model (opening: nightjar/model.h). */
#ifndef NJ_MODEL_MODEL_H
#define NJ_MODEL_MODEL_H

#include <stdint.h>

#include "base/byte_budget.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/status.h"
#include "format/weight_index.h"
#include "model/dims.h"
#include "nightjar/model.h"

/* As nj_model_open, through a given file system. `fs` is borrowed for the model's life. */
enum nj_status nj_model_open_through(const struct nj_file_system *fs,
                                     const struct nj_model_options *options,
                                     struct nj_model **model, struct nj_error *err);

/* The same with records of at most `record_limit_bytes`, which changes no bit: tests cut tiny
 * tensors with it as large ones are cut. */
enum nj_status nj_model_open_in_records(const struct nj_file_system *fs,
                                        const struct nj_model_options *options,
                                        uint64_t record_limit_bytes, struct nj_model **model,
                                        struct nj_error *err);

const struct nj_dims *nj_model_dims(const struct nj_model *model);
uint32_t nj_model_max_rows(const struct nj_model *model);
/* Weight bytes read from disk since open, for reports. */
uint64_t nj_model_read_bytes(const struct nj_model *model);
/* Pays for states too; borrowed. */
struct nj_byte_budget *nj_model_budget(struct nj_model *model);

/* Config, headers and fingerprint without reading weights into memory (describe, validate). */
struct nj_model_info {
    struct nj_dims dims;
    struct nj_weight_index *index; /* owned by the info */
    struct nj_digest fingerprint;
};

enum nj_status nj_model_info_open(const struct nj_file_system *fs, const char *directory,
                                  struct nj_model_info *info, struct nj_error *err);
void nj_model_info_close(struct nj_model_info *info);

#endif
