#include "snapshot/retention.h"

#include "snapshot/chain.h"
#include "support/check.h"

/* As a string: '1' for each that is needed. */
static void check_needed(struct nj_segment_link_entry *entries, size_t n, uint64_t current,
                         uint64_t previous, const char *wanted)
{
    char found[16] = {0};
    nj_retention_mark(entries, n, current, previous);
    for (size_t i = 0; i < n; i++) {
        found[i] = entries[i].is_needed ? '1' : '0';
    }
    CHECK_TEXT(found, wanted);
}

static void chains_of_both_snapshots_are_needed(void)
{
    struct nj_segment_link_entry entries[] = {{.number = 1}, {2, 1, false}, {.number = 3},
                                              {4, 3, false}, {5, 4, false}, {.number = 6}};
    check_needed(entries, 6, 6, 5, "001111");
    check_needed(entries, 6, 5, 4, "001111"); /* 6 is newer than what the journal names */
    check_needed(entries, 6, 6, 0, "000001");
    check_needed(entries, 6, 2, 1, "111111");
}

static void a_circle_or_a_gap_ends_a_chain(void)
{
    struct nj_segment_link_entry entries[] = {{1, 3, false}, {2, 9, false}, {3, 1, false}};
    check_needed(entries, 3, 3, 2, "111");
    check_needed(entries, 3, 3, 0, "101");
}

static struct nj_dims make_dims(void)
{
    struct nj_dims dims = {
        .n_layers = 2, .n_delta_heads = 1, .n_delta = 16, .n_taps = 2, .kv_rank = 8};
    dims.mixers[1] = NJ_MIXER_LATENT;
    return dims;
}

/* Recurrent: 256 + 48 values; a position: 8. So 38 positions weigh as much. */
static void a_base_is_written_when_what_lies_dead_outweighs_the_cache(void)
{
    struct nj_dims dims = make_dims();
    struct nj_snapshot_chain chain = {.number = 0};
    CHECK_EQ(nj_chain_base_bytes(&dims, 10), (256 + 48 + 80) * 4);
    CHECK(nj_chain_wants_base(&chain, &dims, 5));
    nj_chain_advance(&chain, 1, 77, 37, true);
    CHECK(nj_chain_wants_base(&chain, &dims, 40));
    nj_chain_advance(&chain, 2, 78, 38, true);
    CHECK(!nj_chain_wants_base(&chain, &dims, 40));
    nj_chain_advance(&chain, 3, 79, 76, false);
    CHECK(!nj_chain_wants_base(&chain, &dims, 80)); /* two parts dead, 76 positions */
    nj_chain_advance(&chain, 4, 80, 78, false);
    CHECK(nj_chain_wants_base(&chain, &dims, 80));
    CHECK_EQ(chain.previous_number, 3);
    CHECK_EQ(chain.n_segments, 3);
}

static void a_chain_has_an_end_and_never_goes_backwards(void)
{
    struct nj_dims dims = make_dims();
    struct nj_snapshot_chain chain = {.number = 0};
    nj_chain_advance(&chain, 1, 1, 100000, true);
    CHECK(nj_chain_wants_base(&chain, &dims, 99999));
    for (uint64_t n = 2; n <= NJ_CHAIN_SEGMENTS_LIMIT; n++) {
        CHECK(!nj_chain_wants_base(&chain, &dims, 100000));
        nj_chain_advance(&chain, n, 1, 100000, false);
    }
    CHECK(nj_chain_wants_base(&chain, &dims, 100000));
}

int main(void)
{
    RUN(chains_of_both_snapshots_are_needed);
    RUN(a_circle_or_a_gap_ends_a_chain);
    RUN(a_base_is_written_when_what_lies_dead_outweighs_the_cache);
    RUN(a_chain_has_an_end_and_never_goes_backwards);
    return test_result();
}
