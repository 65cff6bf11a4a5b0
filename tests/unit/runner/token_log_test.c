#include "runner/token_log.h"

#include <string.h>

#include "support/check.h"

enum { N_ENTRIES = 3 };

static void fill(struct nj_token_entry entries[N_ENTRIES])
{
    memset(entries, 0, N_ENTRIES * sizeof *entries);
    for (uint32_t i = 0; i < N_ENTRIES; i++) {
        entries[i].item_index = 5 + i;
        entries[i].item_tag = UINT64_C(0x1122334455667788) + i;
        entries[i].sample = i;
        entries[i].position = 100 + i;
        entries[i].token = (nj_token)(7 * i);
        entries[i].logprob = -0.1f * (float)i;
    }
    entries[1].n_top = NJ_MAX_TOP_LOGPROBS;
    for (uint32_t k = 0; k < NJ_MAX_TOP_LOGPROBS; k++) {
        entries[1].top[k] = (struct nj_token_logprob){(nj_token)k, -1.0f / (float)(k + 3)};
    }
}

struct seen {
    struct nj_token_entry entries[N_ENTRIES];
    uint32_t n;
};

static enum nj_status keep(void *context, const struct nj_token_entry *entry,
                           struct nj_error *err)
{
    struct seen *seen = context;
    (void)err;
    seen->entries[seen->n++] = *entry;
    return NJ_OK;
}

static enum nj_status decode(const uint8_t *bytes, size_t n_bytes, struct seen *seen,
                             struct nj_error *err)
{
    struct nj_record record = {.type = NJ_TOKEN_RECORD_SWEEP,
                               .payload = {.data = bytes, .length_bytes = n_bytes}};
    memset(seen, 0, sizeof *seen);
    return nj_token_record_decode(&record, keep, seen, err);
}

static void entries_come_back_bit_for_bit(void)
{
    struct nj_token_entry entries[N_ENTRIES];
    uint8_t bytes[N_ENTRIES * NJ_TOKEN_ENTRY_LIMIT_BYTES];
    struct seen seen;
    struct nj_error err;
    fill(entries);

    size_t n_bytes = nj_token_entries_encode(entries, N_ENTRIES, bytes);
    REQUIRE_OK(decode(bytes, n_bytes, &seen, &err), &err);

    CHECK_EQ(n_bytes, 3 * 36 + 20 * 8);
    REQUIRE(seen.n == N_ENTRIES);
    CHECK_BYTES(seen.entries, entries, sizeof entries);
}

static void a_record_that_ends_inside_an_entry_is_refused(void)
{
    struct nj_token_entry entries[N_ENTRIES];
    uint8_t bytes[N_ENTRIES * NJ_TOKEN_ENTRY_LIMIT_BYTES];
    struct seen seen;
    struct nj_error err;
    fill(entries);
    size_t n_whole = nj_token_entries_encode(entries, 2, bytes);
    for (size_t n_bytes = 37; n_bytes < n_whole; n_bytes++) {
        CHECK_EQ(decode(bytes, n_bytes, &seen, &err), NJ_E_STATE);
        CHECK_EQ(seen.n, 1);
    }
}

static void more_alternatives_than_can_be_asked_for_are_refused(void)
{
    struct nj_token_entry entries[N_ENTRIES];
    uint8_t bytes[2 * NJ_TOKEN_ENTRY_LIMIT_BYTES];
    struct seen seen;
    struct nj_error err;
    fill(entries);
    (void)nj_token_entries_encode(&entries[1], 1, bytes);
    memset(bytes + NJ_TOKEN_ENTRY_LIMIT_BYTES, 0, NJ_TOKEN_ENTRY_LIMIT_BYTES);
    bytes[32] = NJ_MAX_TOP_LOGPROBS + 1;

    CHECK_EQ(decode(bytes, NJ_TOKEN_ENTRY_LIMIT_BYTES + 8, &seen, &err), NJ_E_STATE);

    CHECK_CONTAINS(err.text, "makes no sense");
    CHECK_EQ(seen.n, 0);
}

int main(void)
{
    RUN(entries_come_back_bit_for_bit);
    RUN(a_record_that_ends_inside_an_entry_is_refused);
    RUN(more_alternatives_than_can_be_asked_for_are_refused);
    return test_result();
}
