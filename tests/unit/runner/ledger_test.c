#include "runner/ledger.h"

#include <string.h>

#include "support/check.h"

static struct nj_digest digest_of(uint8_t byte)
{
    struct nj_digest digest;
    memset(digest.bytes, byte, sizeof digest.bytes);
    return digest;
}

static void fill(struct nj_ledger *ledger)
{
    struct nj_error err;
    memset(ledger, 0, sizeof *ledger);
    for (uint8_t i = 0; i < 3; i++) {
        struct nj_digest digest = digest_of(i);
        REQUIRE_OK(nj_ledger_add(ledger, &digest, &err), &err);
    }
}

static void give(struct nj_ledger *ledger, uint64_t item, uint8_t tag, uint32_t position,
                 nj_token token)
{
    struct nj_digest digest = digest_of(tag);
    struct nj_token_entry entry = {.item_index = item,
                                   .item_tag = nj_item_tag(&digest),
                                   .position = position,
                                   .token = token};
    struct nj_error err;
    REQUIRE_OK(nj_ledger_restore(ledger, &entry, &err), &err);
}

static void ids_of_open_items_are_restored_in_order(void)
{
    struct nj_ledger ledger;
    fill(&ledger);
    give(&ledger, 1, 1, 7, 70);
    give(&ledger, 2, 2, 4, 40);
    give(&ledger, 1, 1, 8, 80);

    const struct nj_restored *restored = nj_ledger_restored(&ledger, 1);

    REQUIRE(restored != NULL);
    CHECK_EQ(restored->first_position, 7);
    CHECK_EQ(restored->tokens.n_ids, 2);
    CHECK_EQ(restored->tokens.ids[1], 80);
    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 3);
    CHECK(nj_ledger_restored(&ledger, 0) == NULL);
    nj_ledger_deinit(&ledger);
}

static void ids_of_done_foreign_or_unknown_items_are_not(void)
{
    struct nj_ledger ledger;
    fill(&ledger);
    nj_ledger_set_done(&ledger, 0, true, 100, 10);
    give(&ledger, 0, 0, 7, 70);
    give(&ledger, 1, 9, 7, 70); /* chosen for another prompt at this index */
    give(&ledger, 3, 3, 7, 70);

    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 0);
    nj_ledger_deinit(&ledger);
}

static void an_id_chosen_again_or_behind_a_gap_is_not_taken(void)
{
    struct nj_ledger ledger;
    fill(&ledger);
    give(&ledger, 1, 1, 7, 70);
    give(&ledger, 1, 1, 7, 71);
    give(&ledger, 1, 1, 9, 90);
    give(&ledger, 1, 1, 8, 80);

    const struct nj_restored *restored = nj_ledger_restored(&ledger, 1);

    REQUIRE(restored != NULL && restored->tokens.n_ids == 2);
    CHECK_EQ(restored->tokens.ids[0], 70);
    CHECK_EQ(restored->tokens.ids[1], 80);
    nj_ledger_deinit(&ledger);
}

static void log_probabilities_are_restored_with_their_ids(void)
{
    struct nj_ledger ledger;
    struct nj_digest digest = digest_of(1);
    struct nj_token_entry entry = {.item_index = 1,
                                   .item_tag = nj_item_tag(&digest),
                                   .position = 3,
                                   .token = 8,
                                   .logprob = -0.5f,
                                   .n_top = 1,
                                   .top = {{9, -0.25f}}};
    struct nj_error err;
    fill(&ledger);
    REQUIRE_OK(nj_ledger_restore(&ledger, &entry, &err), &err);
    entry.position = 4;
    REQUIRE_OK(nj_ledger_restore(&ledger, &entry, &err), &err);
    entry.position = 5;
    entry.n_top = 0; /* not of this answer, which has one alternative to each id */
    REQUIRE_OK(nj_ledger_restore(&ledger, &entry, &err), &err);

    const struct nj_restored *restored = nj_ledger_restored(&ledger, 1);

    REQUIRE(restored != NULL && restored->logprobs.n_values == 4);
    CHECK_EQ(restored->tokens.n_ids, 2);
    CHECK_EQ(restored->logprobs.n_ids, 2);
    CHECK_EQ(restored->logprobs.values[2].token, 8);
    CHECK_EQ(restored->logprobs.values[3].token, 9);
    CHECK(restored->logprobs.values[3].logprob == -0.25f);
    nj_ledger_deinit(&ledger);
}

static void the_first_result_wins(void)
{
    struct nj_ledger ledger;
    fill(&ledger);
    nj_ledger_set_done(&ledger, 2, false, 100, 10);
    nj_ledger_set_done(&ledger, 2, true, 200, 20);

    CHECK_EQ(ledger.items[2].line_offset, 100);
    CHECK_EQ(ledger.items[2].state, NJ_ITEM_FAILED);
    CHECK_EQ(ledger.n_failed, 1);
    CHECK_EQ(ledger.n_ok, 0);
    nj_ledger_deinit(&ledger);
}

int main(void)
{
    RUN(ids_of_open_items_are_restored_in_order);
    RUN(ids_of_done_foreign_or_unknown_items_are_not);
    RUN(an_id_chosen_again_or_behind_a_gap_is_not_taken);
    RUN(log_probabilities_are_restored_with_their_ids);
    RUN(the_first_result_wins);
    return test_result();
}
