#include "runner/state_folders.h"

#include <stdlib.h>

#include "base/vector.h"
#include "snapshot/folder.h"
#include "snapshot/retention.h"

/* Items with a folder and without a use for it. They are listed before the first is removed:
 * what a listing shows of a folder that changes meanwhile is anybody's guess. */
struct leftovers {
    const struct nj_ledger *ledger;
    uint64_t *items;
    size_t n_items;
    size_t capacity;
};

static enum nj_status note(void *context, uint64_t item_index, struct nj_error *err)
{
    struct leftovers *leftovers = context;
    const struct nj_ledger *ledger = leftovers->ledger;
    if (item_index >= ledger->n_items || ledger->items[item_index].state == NJ_ITEM_OPEN) {
        return NJ_OK;
    }
    enum nj_status status =
        nj_vector_reserve(&leftovers->items, &leftovers->capacity, sizeof *leftovers->items,
                          leftovers->n_items + 1, err);
    if (status == NJ_OK) {
        leftovers->items[leftovers->n_items++] = item_index;
    }
    return status;
}

static enum nj_status tidy_one(const struct nj_file_system *fs, int run_directory_fd,
                               uint64_t item_index, struct nj_error *err)
{
    int directory_fd = -1;
    enum nj_status status =
        nj_segment_folder_open(fs, run_directory_fd, item_index, false, &directory_fd, err);
    if (status != NJ_OK || directory_fd < 0) {
        return status;
    }
    status = nj_retention_prune(fs, directory_fd, 0, 0, err);
    if (status == NJ_OK) {
        status = nj_segment_folder_remove(fs, directory_fd, item_index, err);
    }
    (void)fs->close(fs->context, directory_fd); /* synced by the prune */
    return status;
}

void nj_state_folders_tidy(const struct nj_file_system *fs, int run_directory_fd,
                           const struct nj_ledger *ledger, const struct nj_log *log)
{
    struct nj_error why;
    struct leftovers leftovers = {.ledger = ledger};
    enum nj_status status = nj_segment_folders(fs, run_directory_fd, note, &leftovers, &why);
    for (size_t i = 0; i < leftovers.n_items && status == NJ_OK; i++) {
        status = tidy_one(fs, run_directory_fd, leftovers.items[i], &why);
    }
    free(leftovers.items);
    if (status != NJ_OK) {
        nj_log_write(log, NJ_LOG_WARNING, "states of finished items could not be removed: %s",
                     why.text);
    } else {
        /* Markdown files or items under way may be in it, and then it stays. */
        (void)fs->remove_directory_at(fs->context, run_directory_fd, "items");
    }
}
