/* Whether a model that failed once may be read on.
 *
 * A read that failed, or a file that was written to, ends a sweep (sweep.h). Somebody may
 * repair the drive or put the file back while the model stays open; whether what is there now
 * is what was opened is told by the fingerprint, not by hope.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_MODEL_REEXAMINE_H
#define NJ_MODEL_REEXAMINE_H

#include "base/status.h"
#include "model/model.h"

/* Nothing, unless the last sweep failed for its weights. Then NJ_OK when the fingerprint is
 * that of the model that was opened: everything that passes through frames will be read anew.
 * Else NJ_E_WEIGHTS, or what nj_model_info_open returns. */
enum nj_status nj_model_reexamine(struct nj_model *model, struct nj_error *err);

#endif
