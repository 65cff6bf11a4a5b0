#include <stdint.h>

#include "base/byte_budget.h"
#include "support/check.h"

/* A ceiling near the type's limit is where `held + bytes` would wrap to a small sum. */
static void refused_take_changes_nothing_even_when_the_sum_would_wrap(void)
{
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, UINT64_MAX);
    CHECK_EQ(nj_byte_budget_take(&budget, 10, NULL), NJ_OK);

    CHECK_EQ(nj_byte_budget_take(&budget, UINT64_MAX, NULL), NJ_E_BUDGET);
    CHECK_EQ(budget.held_bytes, 10);

    nj_byte_budget_give_back(&budget, 10);
    nj_byte_budget_deinit(&budget);
}

static void refusal_names_what_is_wanted_left_and_missing(void)
{
    struct nj_byte_budget budget;
    struct nj_error error;
    nj_byte_budget_init(&budget, 1000);
    CHECK_EQ(nj_byte_budget_take(&budget, 400, &error), NJ_OK);

    CHECK_EQ(nj_byte_budget_take(&budget, 700, &error), NJ_E_BUDGET);
    CHECK_TEXT(error.text, "needs 700 bytes, but 600 of the budget of 1000 bytes are left "
                           "(100 missing)");

    nj_byte_budget_give_back(&budget, 400);
    nj_byte_budget_deinit(&budget);
}

static void peak_stays_when_bytes_are_given_back(void)
{
    struct nj_byte_budget budget;
    nj_byte_budget_init(&budget, 1000);
    CHECK_EQ(nj_byte_budget_take(&budget, 1000, NULL), NJ_OK);
    nj_byte_budget_give_back(&budget, 900);
    CHECK_EQ(nj_byte_budget_take(&budget, 300, NULL), NJ_OK);

    CHECK_EQ(budget.held_bytes, 400);
    CHECK_EQ(budget.peak_bytes, 1000);

    nj_byte_budget_give_back(&budget, 400);
    nj_byte_budget_deinit(&budget);
}

int main(void)
{
    RUN(refused_take_changes_nothing_even_when_the_sum_would_wrap);
    RUN(refusal_names_what_is_wanted_left_and_missing);
    RUN(peak_stays_when_bytes_are_given_back);
    return test_result();
}
