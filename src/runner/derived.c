#include "runner/derived.h"

#include <stdbool.h>
#include <stddef.h>

#include "runner/export.h"

static enum nj_status write_all(struct nj_derived *derived, struct nj_error *err)
{
    struct nj_manifest *manifest = &derived->manifest;
    enum nj_status status = nj_export_results(derived->fs, derived->directory_fd,
                                              manifest->ledger, &manifest->results, err);
    return status == NJ_OK
               ? nj_manifest_write(manifest, derived->fs, derived->directory_fd, err)
               : status;
}

/* A storage that failed once is asked once more, from the logs and with new files. */
enum nj_status nj_derived_write(struct nj_derived *derived, struct nj_error *err)
{
    enum nj_status status = write_all(derived, err);
    return status == NJ_E_STORAGE ? write_all(derived, err) : status;
}

enum nj_status nj_derived_mend(struct nj_derived *derived, struct nj_error *err)
{
    struct nj_manifest *manifest = &derived->manifest;
    bool is_sound = false;
    enum nj_manifest_state state = NJ_MANIFEST_OTHER;
    enum nj_status status =
        nj_export_check(derived->fs, derived->directory_fd, manifest->ledger,
                        &manifest->results, &is_sound, err);
    if (status == NJ_OK) {
        status = nj_manifest_check(manifest, derived->fs, derived->directory_fd, &state, err);
    }
    if (status != NJ_OK || (is_sound && state == NJ_MANIFEST_SOUND)) {
        return status;
    }
    nj_log_write(derived->log, NJ_LOG_WARNING,
                 "results.jsonl, errors.jsonl or manifest.json was missing or changed: they "
                 "are written again from results.log");
    return nj_derived_write(derived, err);
}

/* The manifest goes last: it is what tells another job's files apart. */
enum nj_status nj_derived_remove_stale(struct nj_derived *derived, struct nj_error *err)
{
    static const char *const names[] = {"results.jsonl", "errors.jsonl", "manifest.json"};
    enum nj_manifest_state state = NJ_MANIFEST_OTHER;
    enum nj_status status =
        nj_manifest_check(&derived->manifest, derived->fs, derived->directory_fd, &state, err);
    for (size_t i = 0; i < sizeof names / sizeof names[0] && status == NJ_OK; i++) {
        if (state == NJ_MANIFEST_OTHER) {
            status = nj_export_remove(derived->fs, derived->directory_fd, names[i], err);
        }
    }
    return status;
}
