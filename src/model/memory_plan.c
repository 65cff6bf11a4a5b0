#include "model/memory_plan.h"

#include "kernels/kernels.h"
#include "model/delta_attention.h"
#include "model/latent_attention.h"
#include "model/model_parts.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

static uint64_t round_up_to_line(uint64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* The longest row that any matrix of the model has. */
static uint32_t widest_input(const struct nj_dims *dims)
{
    const uint32_t widths[] = {
        dims->n_hidden,
        dims->n_dense,
        dims->n_delta,
        dims->n_delta_heads * dims->n_delta,
        dims->q_rank,
        dims->kv_rank + dims->n_rope,
        dims->n_heads * dims->n_value,
        dims->n_latent,
        dims->n_expert,
        dims->n_shared * dims->n_expert,
    };
    uint32_t widest = 0;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        widest = widest < widths[i] ? widths[i] : widest;
    }
    return widest;
}

/* What a stream that lines records up may take on top of their bytes. */
static uint64_t stream_slack(uint32_t n_records)
{
    return (uint64_t)n_records * 64 + 4096;
}

static uint64_t workspace_bytes(const struct nj_dims *dims, uint32_t max_rows)
{
    struct nj_workspace measured = {.base = NULL};
    nj_sweep_measure(&measured, dims, max_rows);
    return measured.peak_bytes;
}

void nj_memory_plan_make(const struct nj_dims *dims, const struct nj_weights *weights,
                         uint32_t max_rows, uint32_t n_threads, struct nj_memory_plan *plan)
{
    uint32_t kernel_rows = (uint32_t)larger(max_rows, nj_latent_score_rows());
    plan->record_bytes = weights->record_bytes + stream_slack(weights->n_records);
    plan->resident_bytes = weights->resident_bytes;
    plan->workspace_bytes = workspace_bytes(dims, max_rows);
    plan->kernel_bytes =
        round_up_to_line(nj_kernels_scratch_bytes(widest_input(dims), kernel_rows));
    plan->block_bytes =
        round_up_to_line(larger(nj_delta_thread_bytes(dims), nj_latent_thread_bytes(dims)));
    plan->all_thread_bytes = n_threads * (plan->kernel_bytes + plan->block_bytes);
    plan->sequence_bytes = nj_state_recurrent_bytes(dims) + nj_state_page_bytes(dims);
    uint64_t model_bytes = plan->record_bytes + plan->resident_bytes + plan->workspace_bytes +
                           plan->all_thread_bytes;
    plan->floor_bytes = model_bytes + plan->sequence_bytes;
    plan->useful_bytes = model_bytes + max_rows * plan->sequence_bytes;
}

enum nj_status nj_memory_plan_check(const struct nj_memory_plan *plan, uint64_t ceiling_bytes,
                                    struct nj_error *err)
{
    if (ceiling_bytes >= plan->floor_bytes) {
        return NJ_OK;
    }
    return nj_fail(err, NJ_E_BUDGET,
                   "this model needs at least %llu bytes of memory (%llu are useful), the "
                   "ceiling is %llu",
                   (unsigned long long)plan->floor_bytes,
                   (unsigned long long)plan->useful_bytes, (unsigned long long)ceiling_bytes);
}
