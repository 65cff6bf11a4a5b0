#include "snapshot/interval.h"

/* Square root by Newton's steps from above; exact enough for an interval of seconds. */
static double square_root(double value)
{
    double root = value < 1.0 ? 1.0 : value;
    for (int i = 0; i < 100; i++) {
        double better = 0.5 * (root + value / root);
        if (better >= root) {
            break;
        }
        root = better;
    }
    return root;
}

uint64_t nj_snapshot_interval_ns(uint64_t cost_ns, uint64_t kills_apart_ns)
{
    double best = square_root(2.0 * (double)cost_ns * (double)kills_apart_ns);
    double least = (double)NJ_SNAPSHOT_COST_SHARE * (double)cost_ns;
    double interval = best > least ? best : least;
    double limit = (double)(UINT64_MAX / 2);
    return (uint64_t)(interval < limit ? interval : limit);
}

void nj_write_budget_init(struct nj_write_budget *budget, uint64_t bytes_per_hour,
                          uint64_t now_ns)
{
    *budget = (struct nj_write_budget){.bytes_per_hour = bytes_per_hour,
                                       .available_bytes = bytes_per_hour,
                                       .filled_at_ns = now_ns};
}

bool nj_write_budget_allows(struct nj_write_budget *budget, uint64_t n_bytes, uint64_t now_ns)
{
    double hours = (double)(now_ns - budget->filled_at_ns) / (double)NJ_SNAPSHOT_HOUR_NS;
    double filled = (double)budget->available_bytes + hours * (double)budget->bytes_per_hour;
    bool is_full = filled >= (double)budget->bytes_per_hour;
    budget->available_bytes = is_full ? budget->bytes_per_hour : (uint64_t)filled;
    budget->filled_at_ns = now_ns;
    return is_full || n_bytes <= budget->available_bytes;
}

void nj_write_budget_spend(struct nj_write_budget *budget, uint64_t n_bytes)
{
    budget->available_bytes =
        n_bytes < budget->available_bytes ? budget->available_bytes - n_bytes : 0;
}
