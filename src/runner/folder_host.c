#include "runner/folder_host.h"

#include "runner/chronicle.h"
#include "runner/disk_pause.h"
#include "runner/journal.h"

static enum nj_status claim(void *context, uint64_t *item_index, bool *has_item,
                            struct nj_error *err)
{
    struct nj_folder_host *folder = context;
    const struct nj_ledger *ledger = folder->ledger;
    while (folder->next_index < ledger->n_items &&
           ledger->items[folder->next_index].state != NJ_ITEM_OPEN) {
        folder->next_index++;
    }
    *has_item = folder->next_index < ledger->n_items;
    if (!*has_item) {
        return NJ_OK;
    }
    *item_index = folder->next_index++;
    struct nj_journal_entry entry = {.type = NJ_JOURNAL_CLAIMED, .item_index = *item_index};
    return nj_journal_append(folder->journal, &entry, err);
}

static enum nj_status item_done(void *context, uint64_t item_index, uint32_t sample, bool is_ok,
                                struct nj_error *err)
{
    struct nj_folder_host *folder = context;
    struct nj_journal_entry entry = {
        .type = NJ_JOURNAL_DONE, .item_index = item_index, .sample = sample, .is_ok = is_ok};
    return nj_journal_append(folder->journal, &entry, err);
}

static enum nj_status commit(void *context, struct nj_error *err)
{
    struct nj_folder_host *folder = context;
    enum nj_status status = nj_chronicle_give_sign(folder->chronicle, err);
    if (status == NJ_OK) {
        status = nj_log_file_sync(folder->journal, err);
    }
    return status == NJ_OK ? nj_run_folder_check(folder->place, err) : status;
}

static enum nj_status reserve(void *context, uint64_t bytes, struct nj_error *err)
{
    struct nj_folder_host *folder = context;
    const struct nj_run_observer *observer = folder->observer;
    if (observer == NULL || observer->free_bytes == NULL) {
        return NJ_OK;
    }
    const char *path = folder->place->path;
    uint64_t n_free = observer->free_bytes(observer->context, path);
    while (n_free < bytes && folder->pause != NULL &&
           nj_disk_pause_wait(folder->pause, bytes)) {
        n_free = observer->free_bytes(observer->context, path);
        if (n_free >= bytes) {
            nj_disk_pause_end(folder->pause);
        }
    }
    if (n_free == UINT64_MAX) {
        return nj_fail(err, NJ_E_STORAGE, "%s: how much room the disk has cannot be told",
                       path);
    }
    if (n_free < bytes) {
        return nj_fail(
            err, NJ_E_STORAGE,
            "the disk of %s has %llu bytes left, the next items may write %llu: make "
            "room, and the same command continues",
            path, (unsigned long long)n_free, (unsigned long long)bytes);
    }
    return NJ_OK;
}

static enum nj_run_control poll(void *context)
{
    const struct nj_folder_host *folder = context;
    const struct nj_run_observer *observer = folder->observer;
    return observer != NULL && observer->poll != NULL ? observer->poll(observer->context)
                                                      : NJ_RUN_GO_ON;
}

static void event(void *context, const struct nj_event *told)
{
    const struct nj_folder_host *folder = context;
    const struct nj_run_observer *observer = folder->observer;
    if (observer != NULL && observer->event != NULL) {
        observer->event(observer->context, told);
    }
}

struct nj_run_host nj_folder_host_table(struct nj_folder_host *folder)
{
    return (struct nj_run_host){.context = folder,
                                .claim = claim,
                                .item_done = item_done,
                                .commit = commit,
                                .reserve = reserve,
                                .poll = poll,
                                .event = event};
}
