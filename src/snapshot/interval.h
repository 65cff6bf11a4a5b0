/* How often snapshots are worth their cost: pure functions of what was measured.
 *
 * A snapshot costs time when it is taken; without one, what was computed since the last is
 * computed again after a kill. With a kill every M on average and a snapshot costing C, the sum
 * of both is least at an interval of sqrt(2 C M) (Young 1974, Daly 2006). M is not known: 24
 * hours are assumed. The formula takes computing again to be as slow as it was the first time;
 * feeding logged ids in chunks is faster, so the interval errs on the side of too many
 * snapshots, whose cost is bounded anyway: never more than one part in a hundred.
 *
 * What is written is bounded besides: consumer drives wear out by it. By default 10 GB an hour:
 * a 1 TB drive that is guaranteed for 600 TB written over five years can take 13.7 GB in every
 * hour of them.
 */
#ifndef NJ_SNAPSHOT_INTERVAL_H
#define NJ_SNAPSHOT_INTERVAL_H

#include <stdbool.h>
#include <stdint.h>

#define NJ_SNAPSHOT_HOUR_NS            (UINT64_C(3600) * 1000 * 1000 * 1000)
#define NJ_SNAPSHOT_KILLS_APART_NS     (24 * NJ_SNAPSHOT_HOUR_NS)
#define NJ_SNAPSHOT_WRITE_BUDGET_BYTES (UINT64_C(10) * 1000 * 1000 * 1000)

enum { NJ_SNAPSHOT_COST_SHARE = 100 }; /* snapshots take at most one part in so many */

/* The interval for snapshots that cost so much. */
uint64_t nj_snapshot_interval_ns(uint64_t cost_ns, uint64_t kills_apart_ns);

/* A supply of bytes that fills up again over an hour and holds no more than an hour's. */
struct nj_write_budget {
    uint64_t bytes_per_hour;
    uint64_t available_bytes;
    uint64_t filled_at_ns;
};

void nj_write_budget_init(struct nj_write_budget *budget, uint64_t bytes_per_hour,
                          uint64_t now_ns);

/* Whether so many may be written now. More than an hour's worth is allowed when the supply is
 * full: else it would never be. */
bool nj_write_budget_allows(struct nj_write_budget *budget, uint64_t n_bytes, uint64_t now_ns);
void nj_write_budget_spend(struct nj_write_budget *budget, uint64_t n_bytes);

#endif
