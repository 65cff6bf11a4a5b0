/* The derived files of a run as one thing: what people get, in the formats that the job asks
 * for, and the manifest that says what made it. Written when every item is done, mended when
 * somebody lost or changed one, and removed when they belong to another job.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_DERIVED_H
#define NJ_RUNNER_DERIVED_H

#include <stdbool.h>

#include "base/file.h"
#include "base/log.h"
#include "base/status.h"
#include "runner/item_source.h"
#include "runner/manifest.h"
#include "runner/set_aside.h"

/* Borrowed; the digests of `manifest` are filled in here. */
struct nj_derived {
    const struct nj_file_system *fs;
    int directory_fd;
    const struct nj_log *log;
    struct nj_item_source *source;
    struct nj_set_aside aside; /* of this call; each one says what it found */
    bool keeps_changed;        /* while files are mended: what is missing is said, too */
    struct nj_manifest manifest;
};

/* Replaces what earlier runs left. A file in the place of one that no run wrote is set aside;
 * of Markdown files those that do not begin like a run's. */
enum nj_status nj_derived_write(struct nj_derived *derived, struct nj_error *err);

/* Writes again what is not what the logs say. What was there and no run wrote is kept beside it
 * under another name, and each file is named; the manifest, which is for reading, is written
 * over, and so is what it names with another configuration of the job (`--limit`, formats). */
enum nj_status nj_derived_mend(struct nj_derived *derived, struct nj_error *err);

/* While a job is not finished, nothing in its folder may look like the results of another one
 * that was there before. These are removed; what somebody changed, so that the manifest does
 * not know it, is set aside. */
enum nj_status nj_derived_remove_stale(struct nj_derived *derived, struct nj_error *err);

#endif
