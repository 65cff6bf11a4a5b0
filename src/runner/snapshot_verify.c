#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"
#include "runner/carry.h"
#include "runner/snapshot_rows.h"
#include "snapshot/fingerprint.h"

/* One verification under way. */
struct verifying {
    const struct nj_file_system *fs;
    const struct nj_run_states *states; /* NULL: a segment's file without its run */
    const struct nj_model_info *model;  /* NULL: none was given */
    nj_snapshot_finding_visit *visit;
    void *context;
    struct nj_snapshot_verification sum;
};

static enum nj_status tell(struct verifying *verifying,
                           const struct nj_snapshot_finding *finding, struct nj_error *err)
{
    verifying->sum.n_findings += 1;
    return verifying->visit(verifying->context, finding, err);
}

static enum nj_status tell_text(struct verifying *verifying, const char *file, const char *text,
                                struct nj_error *err)
{
    struct nj_snapshot_finding finding = {.file = file, .text = text};
    return tell(verifying, &finding, err);
}

/* --- a sound segment against what is known besides --- */

/* Against the identity in the journal, and the model that was given. False and why not. */
static bool is_of_run(const struct verifying *verifying, const struct nj_segment_header *header,
                      const char **why)
{
    const struct nj_run_states *states = verifying->states;
    *why = NULL;
    if (states != NULL && states->history.has_identity) {
        const struct nj_run_identity *run = &states->history.identity;
        if (memcmp(header->weights.bytes, run->model.bytes, NJ_DIGEST_BYTES) != 0) {
            *why = "it was written with another model than the journal names";
        } else if (header->numerics_version != run->numerics_version) {
            *why = "it was written with another numerics version than the journal names";
        } else if (header->latent_norm_eps != run->latent_norm_eps) {
            *why = "it was written with another latent norm epsilon than the journal names";
        }
    }
    return *why == NULL;
}

static bool is_of_model(const struct verifying *verifying,
                        const struct nj_inspection *inspection,
                        char why[NJ_SNAPSHOT_TEXT_BYTES])
{
    const struct nj_model_info *model = verifying->model;
    struct nj_error error;
    if (model == NULL) {
        return true;
    }
    if (memcmp(inspection->scan.header.weights.bytes, model->fingerprint.bytes,
               NJ_DIGEST_BYTES) != 0) {
        (void)snprintf(why, NJ_SNAPSHOT_TEXT_BYTES, "it was written with another model");
        return false;
    }
    if (nj_snapshot_shape_check(&inspection->shape, &model->dims, &error) != NJ_OK) {
        (void)snprintf(why, NJ_SNAPSHOT_TEXT_BYTES, "%.200s", error.text);
        return false;
    }
    return true;
}

/* Its ids behind the prompt must be those of the token log; a state ahead of the log could not
 * be used. The prompt's ids are in no log: the item's digest stands for them. */
static bool agrees_with_log(const struct verifying *verifying,
                            const struct nj_inspection *inspection,
                            char why[NJ_SNAPSHOT_TEXT_BYTES])
{
    const struct nj_segment_header *header = &inspection->scan.header;
    uint32_t n_prompt = inspection->text.n_prompt;
    if (verifying->states == NULL || inspection->n_tokens <= n_prompt ||
        nj_run_states_is_done(verifying->states, &header->item, header->item_index)) {
        return true; /* it chose nothing yet, or its ids are of no interest any more */
    }
    const struct nj_restored *ids =
        nj_run_states_ids(verifying->states, &header->item, header->item_index);
    uint64_t n_logged = ids == NULL ? 0 : ids->tokens.n_ids;
    if (ids != NULL && ids->first_position != n_prompt) {
        (void)snprintf(why, NJ_SNAPSHOT_TEXT_BYTES,
                       "its prompt has %" PRIu32 " ids, that of the token log %" PRIu32,
                       n_prompt, ids->first_position);
        return false;
    }
    if (inspection->shape.n_positions >= n_prompt + n_logged) {
        (void)snprintf(why, NJ_SNAPSHOT_TEXT_BYTES, "it is ahead of the token log");
        return false;
    }
    for (uint32_t i = n_prompt; i < inspection->n_tokens && i - n_prompt < n_logged; i++) {
        if (inspection->tokens[i] != ids->tokens.ids[i - n_prompt]) {
            (void)snprintf(why, NJ_SNAPSHOT_TEXT_BYTES,
                           "its id %" PRIu32 " is not that of the token log", i);
            return false;
        }
    }
    return true;
}

/* --- segments --- */

static enum nj_status verify_sound(struct verifying *verifying, const char *file,
                                   const struct nj_inspection *inspection, struct nj_error *err)
{
    char why[NJ_SNAPSHOT_TEXT_BYTES] = "";
    const char *differs = NULL;
    if (!is_of_run(verifying, &inspection->scan.header, &differs)) {
        return tell_text(verifying, file, differs, err);
    }
    if (!is_of_model(verifying, inspection, why) ||
        !agrees_with_log(verifying, inspection, why)) {
        return tell_text(verifying, file, why, err);
    }
    if (inspection->scan.verdict == NJ_SEGMENT_TAILED) {
        struct nj_snapshot_finding finding = {.file = file,
                                              .has_place = true,
                                              .record = inspection->scan.n_records,
                                              .offset_bytes = inspection->scan.valid_bytes,
                                              .text =
                                                  "bytes behind its end, which mean nothing"};
        return tell(verifying, &finding, err);
    }
    return NJ_OK;
}

static enum nj_status verify_segment(struct verifying *verifying,
                                     const struct nj_item_states *item, size_t index,
                                     struct nj_error *err)
{
    const struct nj_inspection *inspection = &item->inspections[index];
    char file[NJ_SNAPSHOT_FILE_BYTES];
    enum nj_snapshot_use use = item->uses[index];
    (void)snprintf(file, sizeof file, "items/%" PRIu64 "/%.48s", item->item_index,
                   inspection->name);
    verifying->sum.n_files += 1;
    verifying->sum.n_records += inspection->scan.n_records;
    verifying->sum.n_bytes += inspection->file_bytes;
    if (!inspection->is_sound) {
        struct nj_snapshot_finding finding = {.file = file,
                                              .has_place = inspection->has_place,
                                              .record = inspection->bad_record,
                                              .offset_bytes = inspection->bad_offset,
                                              .text = inspection->complaint};
        return tell(verifying, &finding, err);
    }
    uint64_t n_before = verifying->sum.n_findings;
    enum nj_status status = verify_sound(verifying, file, inspection, err);
    bool is_tried = use == NJ_SNAPSHOT_CURRENT || use == NJ_SNAPSHOT_PREVIOUS;
    bool is_usable =
        verifying->sum.n_findings == n_before || inspection->scan.verdict == NJ_SEGMENT_TAILED;
    verifying->sum.n_restorable += is_tried && is_usable ? 1 : 0;
    return status;
}

static enum nj_status verify_item(void *context, const struct nj_item_states *item,
                                  struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    for (size_t i = 0; i < item->n_segments && status == NJ_OK; i++) {
        status = verify_segment(context, item, i, err);
    }
    return status;
}

/* One segment and what it chains to. A circle was found out when it was judged. */
static enum nj_status verify_chain(struct verifying *verifying,
                                   const struct nj_item_states *item, uint64_t number,
                                   struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    size_t last = item->n_segments;
    size_t index = nj_item_states_find(item, number);
    while (index < last && status == NJ_OK) {
        status = verify_segment(verifying, item, index, err);
        last = index;
        index = nj_item_states_find(item, item->inspections[index].scan.header.previous_number);
    }
    return status;
}

/* A segment that the journal names must be there: it is removed only when a newer one was
 * named, or the item was done. */
static enum nj_status verify_journal(struct verifying *verifying, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    const struct nj_run_states *states = verifying->states;
    for (size_t i = 0; i < states->n_segments && status == NJ_OK; i++) {
        char file[NJ_SNAPSHOT_FILE_BYTES];
        char name[NJ_SEGMENT_NAME_BYTES];
        int fd = -1;
        (void)snprintf(file, sizeof file, "items/%" PRIu64 "/%.48s",
                       states->segments[i].item_index,
                       nj_segment_name(states->segments[i].number, name));
        enum nj_status found =
            nj_file_open_read(states->fs, states->directory_fd, file, &fd, NULL);
        if (found == NJ_OK) {
            (void)states->fs->close(states->fs->context, fd); /* only looked at */
        } else if (found == NJ_E_NOT_FOUND) {
            status = tell_text(verifying, file,
                               "the journal names it as current, and it is missing", err);
        }
    }
    return status;
}

static enum nj_status verify_folder(struct verifying *verifying, const char *path,
                                    struct nj_error *err)
{
    struct nj_run_states states;
    enum nj_status status = nj_run_states_open(&states, verifying->fs, path, err);
    if (status != NJ_OK) {
        return status;
    }
    verifying->states = &states;
    status = nj_run_states_visit(&states, true, verify_item, verifying, err);
    if (status == NJ_OK) {
        status = verify_journal(verifying, err);
    }
    nj_run_states_close(&states);
    return status;
}

static enum nj_status verify_file(struct verifying *verifying, const char *path,
                                  struct nj_error *err)
{
    int directory_fd = -1;
    uint64_t number = 0;
    struct nj_inspection first;
    struct nj_item_states item;
    enum nj_status status =
        nj_segment_path_open(verifying->fs, path, &directory_fd, &number, err);
    if (status != NJ_OK) {
        return status;
    }
    status = nj_inspect_segment(verifying->fs, directory_fd, number, false, &first, err);
    if (status == NJ_OK) {
        uint64_t item_index = first.scan.header.item_index;
        nj_inspection_deinit(&first);
        status = nj_item_states_read(&item, verifying->fs, directory_fd, item_index, true, err);
    }
    (void)verifying->fs->close(verifying->fs->context, directory_fd); /* only read from */
    if (status != NJ_OK) {
        return status;
    }
    status = verify_chain(verifying, &item, number, err);
    nj_item_states_deinit(&item);
    return status;
}

static enum nj_status verify_path(struct verifying *verifying, const char *path,
                                  struct nj_error *err)
{
    bool is_export = false;
    if (nj_path_is_directory(verifying->fs, path)) {
        return verify_folder(verifying, path, err);
    }
    enum nj_status status = nj_carry_is_export(verifying->fs, path, &is_export, err);
    if (status != NJ_OK || !is_export) {
        return status == NJ_OK ? verify_file(verifying, path, err) : status;
    }
    return nj_carry_verify(verifying->fs, path, verifying->visit, verifying->context,
                           &verifying->sum, err);
}

enum nj_status nj_snapshot_verify(const char *path, const char *model_path,
                                  nj_snapshot_finding_visit *visit, void *context,
                                  struct nj_snapshot_verification *verification,
                                  struct nj_error *err)
{
    struct nj_model_info model;
    struct verifying verifying = {
        .fs = nj_file_system_real(), .visit = visit, .context = context};
    enum nj_status status = NJ_OK;
    if (model_path != NULL) {
        status = nj_model_info_open(verifying.fs, model_path, &model, err);
        if (status != NJ_OK) {
            return status == NJ_E_NOT_FOUND ? NJ_E_WEIGHTS : status;
        }
        verifying.model = &model;
    }
    status = verify_path(&verifying, path, err);
    if (verifying.model != NULL) {
        nj_model_info_close(&model);
    }
    if (status == NJ_OK) {
        *verification = verifying.sum;
    }
    return status;
}
