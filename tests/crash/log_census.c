#include "crash/log_census.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "runner/journal.h"
#include "runner/log_file.h"
#include "runner/result_log.h"
#include "runner/token_log.h"

struct place {
    uint64_t item_index;
    uint32_t sample;
    uint32_t position;
};

struct list {
    struct place *items;
    size_t n_items;
    size_t capacity;
};

struct counting {
    struct log_census *census;
    struct list ids;
    struct list results; /* position is 0 */
};

static enum nj_status add(struct list *list, struct place place)
{
    if (list->n_items == list->capacity) {
        size_t capacity = list->capacity * 2 + 256;
        struct place *items = realloc(list->items, capacity * sizeof *items);
        if (items == NULL) {
            return NJ_E_MEMORY;
        }
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->n_items++] = place;
    return NJ_OK;
}

static enum nj_status visit_id(void *context, const struct nj_token_entry *entry,
                               struct nj_error *err)
{
    struct counting *counting = context;
    (void)err;
    return add(&counting->ids,
               (struct place){entry->item_index, entry->sample, entry->position});
}

static enum nj_status visit_tokens(void *context, const struct nj_record *record,
                                   struct nj_error *err)
{
    return nj_token_record_decode(record, visit_id, context, err);
}

static enum nj_status visit_results(void *context, const struct nj_record *record,
                                    struct nj_error *err)
{
    struct counting *counting = context;
    struct nj_result_record result;
    bool is_result = false;
    enum nj_status status = nj_result_record_decode(record, &result, &is_result, err);
    if (status != NJ_OK || !is_result) {
        return status;
    }
    return add(&counting->results, (struct place){result.item_index, result.sample, 0});
}

static enum nj_status visit_journal(void *context, const struct nj_record *record,
                                    struct nj_error *err)
{
    struct counting *counting = context;
    struct nj_journal_entry entry;
    bool is_known = false;
    enum nj_status status = nj_journal_decode(record, &entry, &is_known, err);
    if (status == NJ_OK && is_known && entry.type == NJ_JOURNAL_STARTED) {
        counting->census->n_restored += entry.n_tokens_restored;
    }
    if (status == NJ_OK && is_known && entry.type == NJ_JOURNAL_FINISHED) {
        counting->census->n_finished++;
    }
    return status;
}

static int compare_items(const void *a, const void *b)
{
    const struct place *left = a;
    const struct place *right = b;
    if (left->item_index != right->item_index) {
        return left->item_index < right->item_index ? -1 : 1;
    }
    return left->sample < right->sample ? -1 : left->sample > right->sample;
}

static int compare(const void *a, const void *b)
{
    const struct place *left = a;
    const struct place *right = b;
    int order = compare_items(a, b);
    if (order != 0) {
        return order;
    }
    return left->position < right->position ? -1 : left->position > right->position;
}

static void sort(struct list *list)
{
    if (list->n_items > 0) {
        qsort(list->items, list->n_items, sizeof *list->items, compare);
    }
}

static bool has_result(const struct counting *counting, const struct place *id)
{
    return counting->results.n_items > 0 &&
           bsearch(id, counting->results.items, counting->results.n_items,
                   sizeof *counting->results.items, compare_items) != NULL;
}

static void count(struct counting *counting)
{
    struct log_census *census = counting->census;
    sort(&counting->ids);
    sort(&counting->results);
    census->n_ids = counting->ids.n_items;
    census->n_results = counting->results.n_items;
    for (size_t i = 0; i < counting->ids.n_items; i++) {
        const struct place *id = &counting->ids.items[i];
        bool is_first = i == 0 || compare_items(id, id - 1) != 0;
        census->n_ids_twice += i > 0 && compare(id, id - 1) == 0 ? 1 : 0;
        if (!has_result(counting, id)) {
            census->n_under_way += is_first ? 1 : 0;
            census->n_ids_at_work++;
        }
    }
}

static bool read_log(int directory_fd, const char *name, struct nj_record_log_identity identity,
                     nj_record_visit *visit, struct counting *counting)
{
    const struct nj_log_file_place place = {.fs = nj_file_system_real(),
                                            .directory_fd = directory_fd,
                                            .name = name,
                                            .identity = identity};
    struct nj_log_found found;
    enum nj_status status = nj_log_file_read(&place, visit, counting, &found, NULL);
    return status == NJ_OK && found.scan.end != NJ_LOG_END_DAMAGED && found.n_damaged == 0;
}

static bool read_logs(int directory_fd, struct counting *counting)
{
    const struct nj_record_log_identity tokens = {.kind = NJ_TOKEN_LOG_KIND,
                                                  .format_version = NJ_TOKEN_LOG_VERSION};
    const struct nj_record_log_identity results = {.kind = NJ_RESULT_LOG_KIND,
                                                   .format_version = NJ_RESULT_LOG_VERSION};
    const struct nj_record_log_identity journal = {.kind = NJ_JOURNAL_KIND,
                                                   .format_version = NJ_JOURNAL_VERSION};
    return read_log(directory_fd, "tokens.log", tokens, visit_tokens, counting) &&
           read_log(directory_fd, "results.log", results, visit_results, counting) &&
           read_log(directory_fd, "journal.log", journal, visit_journal, counting);
}

bool log_census_take(const char *folder_path, struct log_census *census)
{
    struct counting counting = {.census = census};
    *census = (struct log_census){0};
    int directory_fd = open(folder_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory_fd < 0) {
        return true; /* killed before there was a folder */
    }
    bool is_taken = read_logs(directory_fd, &counting);
    if (is_taken) {
        count(&counting);
    }
    (void)close(directory_fd); /* only read from */
    free(counting.ids.items);
    free(counting.results.items);
    return is_taken;
}
