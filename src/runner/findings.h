/* What the results log and the token log of a folder hold, in one reading: before the job's
 * items are known, and so before it is known which of it is still worth something.
 *
 * Of a result only its place is kept. Ids are kept for items that have no result, so memory is
 * that of the items under way.
 *
 * Threads: one owner.
 */
#ifndef NJ_RUNNER_FINDINGS_H
#define NJ_RUNNER_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/status.h"
#include "runner/held_records.h"
#include "runner/ledger.h"
#include "runner/result_log.h"
#include "runner/token_log.h"

struct nj_found_result {
    uint64_t item_index;
    struct nj_digest item_digest;
    struct nj_log_spot line; /* without what stands before it in the record */
    uint32_t generation;     /* of the job that it is a result of; 0: the log does not say */
    bool is_ok;
};

/* Ids of one item, chosen by earlier runs. */
struct nj_found_ids {
    uint64_t item_index;
    uint64_t item_tag;
    struct nj_restored restored;
};

/* Zeroed is valid and empty. */
struct nj_findings {
    struct nj_found_result *results; /* in the order of the log */
    size_t n_results;
    size_t results_capacity;
    uint32_t generation; /* of the results that are added from now on */
    struct nj_found_ids *ids;
    size_t n_ids;
    size_t ids_capacity;
    struct nj_found_slot *slots; /* both, by item index and tag; a power of two of them */
    size_t n_slots;
    size_t n_used_slots;
};

void nj_findings_deinit(struct nj_findings *findings);

/* `payload` is where the whole record's payload lies. */
enum nj_status nj_findings_add_result(struct nj_findings *findings,
                                      const struct nj_result_record *result,
                                      struct nj_log_spot payload, struct nj_error *err);

/* Takes an id that belongs to no result seen so far and continues the item's ids. Results are
 * read first. */
enum nj_status nj_findings_add_id(struct nj_findings *findings,
                                  const struct nj_token_entry *entry, struct nj_error *err);

/* Enters into the ledger, whose items are known and open, what belongs to them. Ids move there,
 * so once only. An item that was over its time has that as its result if the job still has the
 * same timeout (0: none). */
enum nj_status nj_findings_enter(struct nj_findings *findings, struct nj_ledger *ledger,
                                 uint64_t item_timeout_ns, struct nj_error *err);

#endif
