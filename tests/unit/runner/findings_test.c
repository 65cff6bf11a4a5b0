#include "runner/findings.h"

#include <string.h>

#include "support/check.h"

enum { N_MANY = 1000 };

static struct nj_digest digest_of(uint64_t number)
{
    struct nj_digest digest = {{0}};
    memcpy(digest.bytes, &number, sizeof number);
    return digest;
}

static void find_result(struct nj_findings *findings, uint64_t item, uint64_t digest,
                        uint64_t offset)
{
    struct nj_error err;
    struct nj_result_record result = {
        .item_index = item, .is_ok = true, .item_digest = digest_of(digest)};
    struct nj_log_spot payload = {
        .segment = 1, .n_bytes = NJ_RESULT_PREFIX_BYTES + 5, .offset_bytes = offset};
    REQUIRE_OK(nj_findings_add_result(findings, &result, payload, &err), &err);
}

static void find_id(struct nj_findings *findings, uint64_t item, uint64_t digest,
                    uint32_t position)
{
    struct nj_error err;
    struct nj_digest of_item = digest_of(digest);
    struct nj_token_entry entry = {.item_index = item,
                                   .item_tag = nj_item_tag(&of_item),
                                   .position = position,
                                   .token = (nj_token)position};
    REQUIRE_OK(nj_findings_add_id(findings, &entry, &err), &err);
}

static void fill(struct nj_ledger *ledger, uint64_t n_items)
{
    struct nj_error err;
    memset(ledger, 0, sizeof *ledger);
    for (uint64_t i = 0; i < n_items; i++) {
        struct nj_digest digest = digest_of(100 + i);
        REQUIRE_OK(nj_ledger_add(ledger, &digest, &err), &err);
    }
}

static void results_and_ids_find_their_items(void)
{
    struct nj_findings findings = {0};
    struct nj_ledger ledger;
    struct nj_error err;
    find_result(&findings, 0, 100, 64);
    find_id(&findings, 0, 100, 3); /* of a result that is there */
    find_id(&findings, 1, 101, 3);
    find_id(&findings, 1, 101, 4);
    fill(&ledger, 3);

    REQUIRE_OK(nj_findings_enter(&findings, &ledger, 0, &err), &err);

    CHECK_EQ(ledger.n_ok, 1);
    CHECK_EQ(nj_ledger_line(&ledger.items[0]).offset_bytes, 64 + NJ_RESULT_PREFIX_BYTES);
    CHECK_EQ(nj_ledger_line(&ledger.items[0]).n_bytes, 5);
    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 2);
    REQUIRE(nj_ledger_restored(&ledger, 1) != NULL);
    CHECK_EQ(nj_ledger_restored(&ledger, 1)->tokens.ids[1], 4);
    nj_ledger_deinit(&ledger);
    nj_findings_deinit(&findings);
}

static void what_belongs_to_another_item_at_the_same_place_is_left_alone(void)
{
    struct nj_findings findings = {0};
    struct nj_ledger ledger;
    struct nj_error err;
    find_result(&findings, 0, 7, 64);
    find_result(&findings, 9, 109, 128); /* beyond the job's end */
    find_id(&findings, 1, 7, 3);
    find_id(&findings, 9, 110, 3);
    fill(&ledger, 3);

    REQUIRE_OK(nj_findings_enter(&findings, &ledger, 0, &err), &err);

    CHECK_EQ(ledger.n_ok, 0);
    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 0);
    nj_ledger_deinit(&ledger);
    nj_findings_deinit(&findings);
}

/* Ids of thousands of items, as they stand in a log whose results were lost: interleaved. */
static void ids_of_many_items_are_told_apart(void)
{
    struct nj_findings findings = {0};
    struct nj_ledger ledger;
    struct nj_error err;
    for (uint32_t position = 5; position < 8; position++) {
        for (uint64_t item = 0; item < N_MANY; item++) {
            find_id(&findings, item, 100 + item, position);
        }
    }
    fill(&ledger, N_MANY);

    REQUIRE_OK(nj_findings_enter(&findings, &ledger, 0, &err), &err);

    CHECK_EQ(ledger.n_restored, N_MANY);
    CHECK_EQ(nj_ledger_n_tokens_restored(&ledger), 3 * N_MANY);
    nj_ledger_deinit(&ledger);
    nj_findings_deinit(&findings);
}

int main(void)
{
    RUN(results_and_ids_find_their_items);
    RUN(what_belongs_to_another_item_at_the_same_place_is_left_alone);
    RUN(ids_of_many_items_are_told_apart);
    return test_result();
}
