#include "snapshot/interval.h"

#include "support/check.h"

static const uint64_t second_ns = UINT64_C(1000000000);

static void the_interval_is_youngs_for_cheap_snapshots(void)
{
    /* sqrt(2 * 0.01 s * 86,400 s) = 41.57 s */
    CHECK_NEAR((double)nj_snapshot_interval_ns(second_ns / 100, NJ_SNAPSHOT_KILLS_APART_NS) /
                   1e9,
               41.57, 0.01);
    CHECK_EQ(nj_snapshot_interval_ns(0, NJ_SNAPSHOT_KILLS_APART_NS), 0);
}

static void dear_snapshots_cost_at_most_one_part_in_a_hundred(void)
{
    /* sqrt(2 * 60 s * 86,400 s) = 3,220 s would be two parts. */
    CHECK_NEAR((double)nj_snapshot_interval_ns(60 * second_ns, NJ_SNAPSHOT_KILLS_APART_NS) /
                   1e9,
               6000.0, 0.01);
    CHECK(nj_snapshot_interval_ns(UINT64_MAX, UINT64_MAX) >= UINT64_MAX / 2 - 1024);
}

static void the_write_budget_fills_up_again_over_an_hour(void)
{
    struct nj_write_budget budget;
    nj_write_budget_init(&budget, 1000, 0);
    CHECK(nj_write_budget_allows(&budget, 1000, 0));
    nj_write_budget_spend(&budget, 900);
    CHECK(nj_write_budget_allows(&budget, 100, 0));
    CHECK(!nj_write_budget_allows(&budget, 101, 0));
    CHECK(nj_write_budget_allows(&budget, 600, NJ_SNAPSHOT_HOUR_NS / 2));
    CHECK(!nj_write_budget_allows(&budget, 601, NJ_SNAPSHOT_HOUR_NS / 2));
    nj_write_budget_spend(&budget, 5000);
    CHECK(!nj_write_budget_allows(&budget, 1, NJ_SNAPSHOT_HOUR_NS / 2));
}

static void more_than_an_hours_worth_is_written_when_the_supply_is_full(void)
{
    struct nj_write_budget budget;
    nj_write_budget_init(&budget, 1000, 0);
    CHECK(nj_write_budget_allows(&budget, 3000, 0));
    nj_write_budget_spend(&budget, 3000);
    CHECK(!nj_write_budget_allows(&budget, 3000, NJ_SNAPSHOT_HOUR_NS - 1));
    CHECK(nj_write_budget_allows(&budget, 3000, 2 * NJ_SNAPSHOT_HOUR_NS));
}

int main(void)
{
    RUN(the_interval_is_youngs_for_cheap_snapshots);
    RUN(dear_snapshots_cost_at_most_one_part_in_a_hundred);
    RUN(the_write_budget_fills_up_again_over_an_hour);
    RUN(more_than_an_hours_worth_is_written_when_the_supply_is_full);
    return test_result();
}
