#include "snapshot/retention.h"

#include <stdlib.h>

#include "format/segment.h"
#include "snapshot/folder.h"
#include "snapshot/segment_source.h"

static struct nj_segment_link_entry *entry_of(struct nj_segment_link_entry *entries,
                                              size_t n_entries, uint64_t number)
{
    for (size_t i = 0; i < n_entries; i++) {
        if (entries[i].number == number) {
            return &entries[i];
        }
    }
    return NULL;
}

/* Follows the chain; a circle ends where it meets what is marked. */
static void mark_chain(struct nj_segment_link_entry *entries, size_t n_entries, uint64_t number)
{
    struct nj_segment_link_entry *entry = entry_of(entries, n_entries, number);
    while (entry != NULL && !entry->is_needed) {
        entry->is_needed = true;
        entry = entry_of(entries, n_entries, entry->previous_number);
    }
}

void nj_retention_mark(struct nj_segment_link_entry *entries, size_t n_entries,
                       uint64_t current, uint64_t previous)
{
    for (size_t i = 0; i < n_entries; i++) {
        entries[i].is_needed = current > 0 && entries[i].number > current;
    }
    mark_chain(entries, n_entries, current);
    mark_chain(entries, n_entries, previous);
}

/* Without a header that verifies nobody knows what it chains to: it is kept. */
static void read_entry(const struct nj_file_system *fs, int directory_fd,
                       struct nj_segment_link_entry *entry, bool *is_known)
{
    struct nj_segment_header header;
    *is_known = nj_segment_header_read(fs, directory_fd, entry->number, &header) &&
                header.number == entry->number;
    entry->previous_number = *is_known ? header.previous_number : 0;
}

/* `is_known` runs along `entries`. */
static enum nj_status unlink_unneeded(const struct nj_file_system *fs, int directory_fd,
                                      const struct nj_segment_link_entry *entries,
                                      const bool *is_known, size_t n_entries, bool all,
                                      struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    bool any_removed = false;
    if (all) {
        status = nj_segment_remove_aside(fs, directory_fd, &any_removed, err);
    }
    for (size_t i = 0; i < n_entries && status == NJ_OK; i++) {
        if (all || (is_known[i] && !entries[i].is_needed)) {
            status = nj_segment_remove(fs, directory_fd, entries[i].number, err);
            any_removed = true;
        }
    }
    return status == NJ_OK && any_removed ? nj_segment_folder_sync(fs, directory_fd, err)
                                          : status;
}

static enum nj_status prune_listed(const struct nj_file_system *fs, int directory_fd,
                                   const struct nj_segment_listing *listing, uint64_t current,
                                   uint64_t previous, struct nj_error *err)
{
    size_t n = listing->list.n_numbers;
    struct nj_segment_link_entry *entries = calloc(n + 1, sizeof *entries);
    bool *is_known = calloc(n + 1, sizeof *is_known);
    enum nj_status status = NJ_OK;
    if (entries == NULL || is_known == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "look through %zu segments: out of memory", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        entries[i].number = listing->list.numbers[i];
        read_entry(fs, directory_fd, &entries[i], &is_known[i]);
    }
    nj_retention_mark(entries, n, current, previous);
    status = unlink_unneeded(fs, directory_fd, entries, is_known, n, current == 0, err);
out:
    free(entries);
    free(is_known);
    return status;
}

enum nj_status nj_retention_prune(const struct nj_file_system *fs, int directory_fd,
                                  uint64_t current, uint64_t previous, struct nj_error *err)
{
    struct nj_segment_listing listing = {0};
    enum nj_status status = nj_segment_list(fs, directory_fd, &listing, err);
    if (status == NJ_OK) {
        status = prune_listed(fs, directory_fd, &listing, current, previous, err);
    }
    nj_segment_listing_deinit(&listing);
    return status;
}
