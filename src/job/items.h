/* Iterates the prompts of a job, rows outermost, with variables inserted.
 *
 * Rows are streamed, not loaded. Each item is rendered into an arena of the caller's, which may
 * be reset between items. Identity: the indices before any limit, so that a result never
 * depends on what else was selected.
 */
#ifndef NJ_JOB_ITEMS_H
#define NJ_JOB_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/status.h"
#include "job/diagnostics.h"
#include "job/spec.h"

struct nj_item_message {
    enum nj_job_role role;
    struct nj_text content;
};

/* One prompt, ready to be tokenized. Texts live in the arena passed to `next`. */
struct nj_item {
    uint64_t index;        /* position in the job's output, from 0 */
    struct nj_place place; /* of its row, else of its prompt; as long as the spec */
    struct nj_text id;     /* from the id template, the prompt's id, or the index */
    uint32_t prompt_index;
    uint64_t row_index;      /* source row, from 0 */
    uint64_t matrix_index;   /* cell of the matrix; 0 without one */
    uint64_t repeat_index;   /* 0 without `repeat` */
    uint32_t sample;         /* which of its `sampling.n` answers */
    uint64_t seed;           /* resolved: as written, or derived */
    struct nj_text model;    /* as written; empty when the file names none */
    struct nj_text filename; /* from `output.filename`; empty without */
    bool uses_chat;
    struct nj_text prompt;            /* when !uses_chat and no ids */
    struct nj_item_message *messages; /* when uses_chat: system first if any */
    size_t n_messages;
    const nj_token *ids; /* when given as ids */
    size_t n_ids;
    struct nj_variable *vars; /* all that were in force, for the result line, sorted by name */
    size_t n_vars;
    const struct nj_sampling *sampling;
};

struct nj_item_iterator;

/* `job_seed` derives seeds where the job gives none. Opens the row file. Caller owns
 * `*iterator`. */
enum nj_status nj_item_iterator_open(const struct nj_job_spec *spec,
                                     const struct nj_file_system *fs, uint64_t job_seed,
                                     struct nj_item_iterator **iterator, struct nj_error *err);
void nj_item_iterator_close(struct nj_item_iterator *iterator);

/* `*has_item` false at the end. An item comes once for each of its samples, these following
 * each other and differing in `sample` only. A bad row (ragged, not UTF-8, unknown variable) is
 * NJ_E_INPUT with "file:line:column: ..." in the error. */
enum nj_status nj_item_iterator_next(struct nj_item_iterator *iterator, struct nj_arena *arena,
                                     struct nj_item *item, bool *has_item,
                                     struct nj_error *err);

/* Walks all items and collects every complaint (first 100) instead of stopping at the first;
 * counts them. NJ_E_INPUT when there was one. */
enum nj_status nj_items_check(const struct nj_job_spec *spec, const struct nj_file_system *fs,
                              struct nj_diagnostics *diagnostics, uint64_t *n_items,
                              struct nj_error *err);

#endif
