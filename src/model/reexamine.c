#include "model/reexamine.h"

#include <string.h>

#include "model/model_parts.h"

/* Files are accepted first: what is written to them after that, the end of the sweep notices.
 */
enum nj_status nj_model_reexamine(struct nj_model *model, struct nj_error *err)
{
    struct nj_model_info info;
    char found[NJ_DIGEST_HEX_BYTES];
    if (!model->is_suspect) {
        return NJ_OK;
    }
    enum nj_status status = nj_stream_accept_files(model->stream, err);
    if (status == NJ_OK) {
        status = nj_model_info_open(model->fs, model->path, &info, err);
    }
    if (status != NJ_OK) {
        return nj_prefix(err, status, "look again at the model that failed");
    }
    nj_digest_to_hex(&info.fingerprint, found);
    nj_model_info_close(&info);
    if (strcmp(found, model->fingerprint) != 0) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "%s is not the model that was opened: its fingerprint was %.16s... and "
                       "is %.16s... now",
                       model->path, model->fingerprint, found);
    }
    model->is_suspect = false;
    return NJ_OK;
}
