/* items/NAME.md: one Markdown file for each item, derived from the job and results.log.
 *
 * Every file in items/ whose name ends in ".md" belongs to the run.
 *
 * File: docs/formats/results.md. Threads: one owner.
 */
#ifndef NJ_RUNNER_MARKDOWN_EXPORT_H
#define NJ_RUNNER_MARKDOWN_EXPORT_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/status.h"
#include "job/spec.h"
#include "runner/export.h"
#include "runner/item_source.h"
#include "runner/set_aside.h"

/* Borrowed; the source is read from the beginning. */
struct nj_markdown_export {
    const struct nj_file_system *fs;
    int directory_fd; /* of the run folder */
    struct nj_export *export;
    struct nj_item_source *source;
    const struct nj_digest *model; /* fingerprint */
    struct nj_set_aside *aside;    /* gets files that nightjar did not write ... */
    bool keeps_changed;            /* ... and those that it may have, but not as they are */
};

/* Writes the files of all items that are done, removes all others (or sets them aside) and
 * makes both durable. A
 * file that has the right bytes already stays. `*sha256` is over names and contents. NJ_E_STATE
 * when the job's rows changed since. */
enum nj_status nj_markdown_export(const struct nj_markdown_export *markdown,
                                  struct nj_digest *sha256, struct nj_error *err);

/* Whether exactly these files are there; changes nothing. */
enum nj_status nj_markdown_export_check(const struct nj_markdown_export *markdown,
                                        struct nj_digest *sha256, bool *is_sound,
                                        struct nj_error *err);

/* Removes all of them; what does not begin as they do is set aside. */
enum nj_status nj_markdown_export_remove(const struct nj_file_system *fs, int directory_fd,
                                         struct nj_set_aside *aside, struct nj_error *err);

/* Whether there is one. */
enum nj_status nj_markdown_export_exists(const struct nj_file_system *fs, int directory_fd,
                                         bool *exists, struct nj_error *err);

#endif
