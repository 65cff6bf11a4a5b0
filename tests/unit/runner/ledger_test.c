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

static const struct nj_log_spot somewhere = {.segment = 2, .n_bytes = 10, .offset_bytes = 100};

/* Ids from the token log for item `item`. */
static void give(struct nj_ledger *ledger, uint64_t item, const uint32_t *positions, size_t n)
{
    struct nj_restored restored = {.item_index = item, .first_position = positions[0]};
    struct nj_error err;
    for (size_t i = 0; i < n; i++) {
        struct nj_token_entry entry = {.position = positions[i],
                                       .token = (nj_token)(10 * positions[i] + (uint32_t)i)};
        REQUIRE_OK(nj_restored_add(&restored, &entry, &err), &err);
    }
    REQUIRE_OK(nj_ledger_take_restored(ledger, &restored, &err), &err);
    CHECK(restored.tokens.ids == NULL);
}

static void ids_of_open_items_are_taken(void)
{
    static const uint32_t some[] = {7, 8};
    static const uint32_t one[] = {4};
    struct nj_ledger ledger;
    fill(&ledger);
    give(&ledger, 1, some, 2);
    give(&ledger, 2, one, 1);

    const struct nj_restored *restored = nj_ledger_restored(&ledger, 1);

    REQUIRE(restored != NULL);
    CHECK_EQ(restored->first_position, 7);
    CHECK_EQ(restored->tokens.n_ids, 2);
    CHECK_EQ(restored->tokens.ids[1], 81);
    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 3);
    CHECK(nj_ledger_restored(&ledger, 0) == NULL);
    nj_ledger_deinit(&ledger);
}

static void ids_of_done_items_are_thrown_away(void)
{
    static const uint32_t some[] = {7, 8};
    struct nj_ledger ledger;
    fill(&ledger);
    nj_ledger_set_done(&ledger, 0, true, &somewhere);
    give(&ledger, 0, some, 2);

    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 0);
    nj_ledger_deinit(&ledger);
}

static void an_id_chosen_again_or_behind_a_gap_is_not_taken(void)
{
    static const uint32_t positions[] = {7, 7, 9, 8};
    struct nj_ledger ledger;
    fill(&ledger);
    give(&ledger, 1, positions, 4);

    const struct nj_restored *restored = nj_ledger_restored(&ledger, 1);

    REQUIRE(restored != NULL && restored->tokens.n_ids == 2);
    CHECK_EQ(restored->tokens.ids[0], 70);
    CHECK_EQ(restored->tokens.ids[1], 83);
    nj_ledger_deinit(&ledger);
}

static void log_probabilities_are_restored_with_their_ids(void)
{
    struct nj_restored restored = {.first_position = 3, .logprobs.n_top = 1};
    struct nj_token_entry entry = {
        .position = 3, .token = 8, .logprob = -0.5f, .n_top = 1, .top = {{9, -0.25f}}};
    struct nj_error err;
    REQUIRE_OK(nj_restored_add(&restored, &entry, &err), &err);
    entry.position = 4;
    REQUIRE_OK(nj_restored_add(&restored, &entry, &err), &err);
    entry.position = 5;
    entry.n_top = 0; /* not of this answer, which has one alternative to each id */
    REQUIRE_OK(nj_restored_add(&restored, &entry, &err), &err);

    REQUIRE(restored.logprobs.n_values == 4);
    CHECK_EQ(restored.tokens.n_ids, 2);
    CHECK_EQ(restored.logprobs.n_ids, 2);
    CHECK_EQ(restored.logprobs.values[2].token, 8);
    CHECK_EQ(restored.logprobs.values[3].token, 9);
    CHECK(restored.logprobs.values[3].logprob == -0.25f);
    nj_restored_deinit(&restored);
}

static void the_first_result_wins(void)
{
    static const struct nj_log_spot elsewhere = {
        .segment = 3, .n_bytes = 20, .offset_bytes = 200};
    struct nj_ledger ledger;
    fill(&ledger);
    nj_ledger_set_done(&ledger, 2, false, &somewhere);
    nj_ledger_set_done(&ledger, 2, true, &elsewhere);

    struct nj_log_spot line = nj_ledger_line(&ledger.items[2]);
    CHECK_EQ(line.segment, 2);
    CHECK_EQ(line.offset_bytes, 100);
    CHECK_EQ(line.n_bytes, 10);
    CHECK_EQ(ledger.items[2].state, NJ_ITEM_FAILED);
    CHECK_EQ(ledger.n_failed, 1);
    CHECK_EQ(ledger.n_ok, 0);
    nj_ledger_deinit(&ledger);
}

int main(void)
{
    RUN(ids_of_open_items_are_taken);
    RUN(ids_of_done_items_are_thrown_away);
    RUN(an_id_chosen_again_or_behind_a_gap_is_not_taken);
    RUN(log_probabilities_are_restored_with_their_ids);
    RUN(the_first_result_wins);
    return test_result();
}
