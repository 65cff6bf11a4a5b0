#include "runner/export.h"

#include <stdlib.h>

/* Copies one result line, and a newline, to the sink. */
static enum nj_status copy_line(struct nj_line_reader *reader, struct nj_log_spot spot,
                                const struct nj_sink *sink, struct nj_error *err)
{
    struct nj_text line = {.length_bytes = (size_t)spot.n_bytes + 1};
    enum nj_status status = nj_line_reader_read(reader, spot, &line.data, err);
    return status == NJ_OK ? nj_sink_give(sink, line, err) : status;
}

enum nj_status nj_export_results(void *context, const struct nj_sink *sink,
                                 struct nj_error *err)
{
    const struct nj_export *export = context;
    const struct nj_ledger *ledger = export->ledger;
    enum nj_status status = NJ_OK;
    for (uint64_t i = 0; i < ledger->n_items && status == NJ_OK; i++) {
        if (ledger->items[i].state != NJ_ITEM_OPEN) {
            status = copy_line(export->reader, nj_ledger_line(&ledger->items[i]), sink, err);
        }
    }
    return status;
}

enum nj_status nj_export_errors(void *context, const struct nj_sink *sink, struct nj_error *err)
{
    const struct nj_export *export = context;
    const struct nj_ledger *ledger = export->ledger;
    enum nj_status status = NJ_OK;
    for (uint64_t i = 0; i < ledger->n_items && status == NJ_OK; i++) {
        if (ledger->items[i].state == NJ_ITEM_FAILED) {
            status = copy_line(export->reader, nj_ledger_line(&ledger->items[i]), sink, err);
        }
    }
    return status;
}

static int compare_spots(const void *a, const void *b)
{
    const struct nj_log_spot *first = a;
    const struct nj_log_spot *second = b;
    if (first->segment != second->segment) {
        return first->segment > second->segment ? 1 : -1;
    }
    return (first->offset_bytes > second->offset_bytes) -
           (first->offset_bytes < second->offset_bytes);
}

/* The lines of items done, in the order in which they were. Caller frees `*spots`. */
static enum nj_status completion_order(const struct nj_ledger *ledger,
                                       struct nj_log_spot **spots, size_t *n_spots,
                                       struct nj_error *err)
{
    size_t n = 0;
    struct nj_log_spot *found = calloc(ledger->n_ok + ledger->n_failed + 1, sizeof *found);
    if (found == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "order finished items: out of memory");
    }
    for (uint64_t i = 0; i < ledger->n_items; i++) {
        if (ledger->items[i].state != NJ_ITEM_OPEN) {
            found[n++] = nj_ledger_line(&ledger->items[i]);
        }
    }
    qsort(found, n, sizeof *found, compare_spots);
    *spots = found;
    *n_spots = n;
    return NJ_OK;
}

static enum nj_status write_live(void *context, const struct nj_sink *sink,
                                 struct nj_error *err)
{
    const struct nj_export *export = context;
    struct nj_log_spot *spots = NULL;
    size_t n_spots = 0;
    enum nj_status status = completion_order(export->ledger, &spots, &n_spots, err);
    for (size_t i = 0; i < n_spots && status == NJ_OK; i++) {
        status = copy_line(export->reader, spots[i], sink, err);
    }
    free(spots);
    return status;
}

enum nj_status nj_export_live(const struct nj_file_system *fs, int directory_fd,
                              const struct nj_ledger *ledger, struct nj_error *err)
{
    struct nj_line_reader reader = {.fs = fs, .directory_fd = directory_fd};
    struct nj_export export = {.reader = &reader, .ledger = ledger};
    struct nj_derived_file file = {.fs = fs,
                                   .directory_fd = directory_fd,
                                   .name = "live.jsonl",
                                   .content = write_live,
                                   .context = &export};
    enum nj_status status = nj_derived_file_write(&file, NULL, err);
    nj_line_reader_deinit(&reader);
    return status == NJ_OK ? nj_derived_file_sync(fs, directory_fd, err) : status;
}
