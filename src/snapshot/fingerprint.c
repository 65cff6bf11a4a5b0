#include "snapshot/fingerprint.h"

#include <stdbool.h>
#include <string.h>

struct nj_segment_header nj_snapshot_header(const struct nj_snapshot_identity *identity)
{
    struct nj_segment_header header = {.item_index = identity->item_index,
                                       .item = identity->item,
                                       .sample = identity->sample,
                                       .numerics_version = identity->numerics_version,
                                       .kv_type = NJ_SEGMENT_KV_F32,
                                       .latent_norm_eps = identity->latent_norm_eps,
                                       .weights = identity->weights,
                                       .template = identity->template};
    memcpy(header.job, identity->job, sizeof header.job);
    return header;
}

static bool digests_equal(const struct nj_digest *a, const struct nj_digest *b)
{
    return memcmp(a->bytes, b->bytes, NJ_DIGEST_BYTES) == 0;
}

/* By bits: what is not a number is equal to itself here. */
static bool floats_equal(float a, float b)
{
    uint32_t a_bits;
    uint32_t b_bits;
    memcpy(&a_bits, &a, sizeof a_bits);
    memcpy(&b_bits, &b, sizeof b_bits);
    return a_bits == b_bits;
}

static enum nj_status refuse(struct nj_error *err, const char *what)
{
    return nj_fail(err, NJ_E_STATE, "it belongs to another %s", what);
}

enum nj_status nj_snapshot_identity_check(const struct nj_segment_header *found,
                                          const struct nj_snapshot_identity *wanted,
                                          struct nj_error *err)
{
    if (memcmp(found->job, wanted->job, sizeof wanted->job) != 0) {
        return refuse(err, "job");
    }
    if (found->item_index != wanted->item_index) {
        return nj_fail(err, NJ_E_STATE, "it belongs to item %llu, not to item %llu",
                       (unsigned long long)found->item_index,
                       (unsigned long long)wanted->item_index);
    }
    if (found->sample != wanted->sample) {
        return refuse(err, "sample of the item");
    }
    if (!digests_equal(&found->weights, &wanted->weights)) {
        return refuse(err, "model: the weights differ");
    }
    if (found->numerics_version != wanted->numerics_version) {
        return refuse(err, "numerics version");
    }
    if (found->kv_type != NJ_SEGMENT_KV_F32) {
        return refuse(err, "type of cached values");
    }
    if (!floats_equal(found->latent_norm_eps, wanted->latent_norm_eps)) {
        return refuse(err, "latent norm epsilon");
    }
    if (!digests_equal(&found->template, &wanted->template)) {
        return refuse(err, "chat template");
    }
    if (!digests_equal(&found->item, &wanted->item)) {
        return refuse(err, "prompt or other options of the item");
    }
    return NJ_OK;
}
