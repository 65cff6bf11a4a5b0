#include "model/profile.h"

#include "model/model_parts.h"

static const char *const names[NJ_OPERATIONS] = {
    [NJ_OPERATION_EMBEDDING] = "embedding",
    [NJ_OPERATION_DELTA_PRODUCTS] = "delta attention products",
    [NJ_OPERATION_CONVOLUTION] = "convolution",
    [NJ_OPERATION_DELTA_STEP] = "delta attention step",
    [NJ_OPERATION_LATENT_PRODUCTS] = "latent attention products",
    [NJ_OPERATION_ABSORPTION] = "latent absorption products",
    [NJ_OPERATION_ATTENTION] = "latent attention",
    [NJ_OPERATION_ROUTER_PRODUCT] = "router product",
    [NJ_OPERATION_ROUTING] = "routing",
    [NJ_OPERATION_DOWN_UP_PRODUCTS] = "expert latent products",
    [NJ_OPERATION_EXPERT_PRODUCTS] = "expert products",
    [NJ_OPERATION_FORWARD_PRODUCTS] = "shared and dense products",
    [NJ_OPERATION_ACTIVATION] = "activation",
    [NJ_OPERATION_COMBINATION] = "combination of experts",
    [NJ_OPERATION_NORM] = "norms",
    [NJ_OPERATION_RESIDUAL_MIX] = "residual mix",
    [NJ_OPERATION_ADDITION] = "residual addition",
    [NJ_OPERATION_GATE] = "attention gate",
    [NJ_OPERATION_HEAD_PRODUCT] = "output head product",
    [NJ_OPERATION_OUTSIDE] = "sampling and planning",
    [NJ_OPERATION_WAITING] = "waiting for weights",
};

const char *nj_operation_name(enum nj_operation operation)
{
    return names[operation];
}

static uint64_t waited_ns(const struct nj_compute *compute)
{
    struct nj_stream_report report;
    nj_stream_report(compute->stream, &report);
    return report.waited_ns;
}

void nj_profile_attach(struct nj_model *model, struct nj_profile *profile,
                       struct nj_clock clock)
{
    model->compute.profile = profile;
    if (profile != NULL) {
        *profile = (struct nj_profile){.clock = clock};
        profile->last_ns = clock.monotonic_ns(clock.context);
        profile->last_waited_ns = waited_ns(&model->compute);
    }
}

void nj_profile_lap(const struct nj_compute *compute, enum nj_operation operation)
{
    struct nj_profile *profile = compute->profile;
    if (profile == NULL) {
        return;
    }
    uint64_t now_ns = profile->clock.monotonic_ns(profile->clock.context);
    uint64_t waited = waited_ns(compute);
    uint64_t passed_ns = now_ns - profile->last_ns;
    uint64_t stood_ns = waited - profile->last_waited_ns;
    stood_ns = stood_ns < passed_ns ? stood_ns : passed_ns; /* two clocks were read */
    profile->spent_ns[operation] += passed_ns - stood_ns;
    profile->spent_ns[NJ_OPERATION_WAITING] += stood_ns;
    profile->last_ns = now_ns;
    profile->last_waited_ns = waited;
}
