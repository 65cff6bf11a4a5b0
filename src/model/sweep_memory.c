#include "model/sweep_memory.h"

#include "kernels/kernels.h"
#include "model/delta_attention.h"
#include "model/latent_attention.h"
#include "model/model_parts.h"
#include "model/state.h"

/* Ids, text and probabilities, as long as the sequence runs. */
enum { CALLER_BYTES_PER_POSITION = 32 };

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

static uint64_t workspace_bytes(const struct nj_dims *dims, uint32_t max_rows)
{
    struct nj_workspace measured = {.base = NULL};
    nj_sweep_measure(&measured, dims, max_rows);
    return measured.peak_bytes;
}

void nj_sweep_memory_measure(const struct nj_dims *dims, uint32_t max_rows, uint32_t n_threads,
                             struct nj_sweep_memory *memory)
{
    uint32_t kernel_rows = (uint32_t)larger(max_rows, nj_latent_score_rows());
    memory->workspace_bytes = workspace_bytes(dims, max_rows);
    memory->kernel_bytes =
        round_up_to_line(nj_kernels_scratch_bytes(widest_input(dims), kernel_rows));
    memory->block_bytes =
        round_up_to_line(larger(nj_delta_thread_bytes(dims), nj_latent_thread_bytes(dims)));
    memory->all_thread_bytes = n_threads * (memory->kernel_bytes + memory->block_bytes);
    memory->row_bytes = max_rows * sizeof(int32_t);
    memory->total_bytes =
        memory->workspace_bytes + memory->all_thread_bytes + memory->row_bytes;
}

uint64_t nj_sequence_caller_bytes(const struct nj_dims *dims, uint32_t n_positions)
{
    return (uint64_t)dims->n_vocabulary * sizeof(float) +
           (uint64_t)n_positions * CALLER_BYTES_PER_POSITION;
}

uint64_t nj_sequence_memory_bytes(const struct nj_dims *dims, uint32_t n_positions)
{
    uint64_t n_pages = ((uint64_t)n_positions + NJ_PAGE_POSITIONS - 1) / NJ_PAGE_POSITIONS;
    return nj_state_recurrent_bytes(dims) + n_pages * nj_state_page_bytes(dims) +
           nj_sequence_caller_bytes(dims, n_positions);
}
