#include "model/memory_plan.h"

#include <inttypes.h>

#include "base/checked.h"

/* Frames that let a drive work while a wave of experts is computed: 16 of K3's are 280 MB, more
 * than any drive has in flight; of a large budget a share, so that read-ahead is not the
 * narrow place when computing is quick. */
enum { BUSY_FRAMES = 16, BUSY_SHARE = 12 /* one twelfth, 8 % */ };
/* With fewer sequences than this a whole model is no better than one that streams for many. */
enum { FEW_SEQUENCES = 8 };

/* Sums and products stop at UINT64_MAX, which no memory reaches. */
static uint64_t sum(uint64_t a, uint64_t b)
{
    uint64_t result = 0;
    return nj_add_u64(a, b, &result) ? result : UINT64_MAX;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    uint64_t result = 0;
    return nj_multiply_u64(a, b, &result) ? result : UINT64_MAX;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a < b ? 0 : a - b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a < b ? b : a;
}

static uint64_t whole_bytes(const struct nj_memory_needs *needs, uint32_t n_sequences)
{
    return sum(sum(needs->common_bytes, needs->whole_bytes),
               product(n_sequences, needs->sequence_bytes));
}

/* What a stream leaves for weights to lie in. */
static uint64_t least_streamed_bytes(const struct nj_memory_needs *needs, uint32_t n_sequences)
{
    return sum(sum(sum(needs->common_bytes, needs->tables_bytes), needs->least_frames_bytes),
               product(n_sequences, needs->sequence_bytes));
}

static uint64_t busy_frames_bytes(const struct nj_memory_needs *needs, uint64_t memory_bytes)
{
    uint64_t busy = larger(product(BUSY_FRAMES, needs->frame_bytes), memory_bytes / BUSY_SHARE);
    return larger(smaller(busy, needs->useful_frames_bytes), needs->least_frames_bytes);
}

/* How many sequences fit into `bytes`. */
static uint32_t n_fitting(const struct nj_memory_needs *needs, uint64_t bytes, uint32_t most)
{
    uint64_t n = needs->sequence_bytes == 0 ? most : bytes / needs->sequence_bytes;
    return n < most ? (uint32_t)n : most;
}

uint32_t nj_memory_plan_whole_width(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                                    uint32_t most)
{
    uint32_t few = most < FEW_SEQUENCES ? most : FEW_SEQUENCES;
    uint64_t whole = whole_bytes(needs, 0);
    uint32_t n = memory_bytes < whole ? 0 : n_fitting(needs, memory_bytes - whole, most);
    return n < few ? 0 : n;
}

uint32_t nj_memory_plan_width(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                              uint32_t most)
{
    uint32_t n_beside = nj_memory_plan_whole_width(needs, memory_bytes, most);
    if (n_beside > 0) {
        return n_beside;
    }
    uint64_t streamed = sum(sum(needs->common_bytes, needs->tables_bytes),
                            busy_frames_bytes(needs, memory_bytes));
    uint32_t n = n_fitting(needs, less(memory_bytes, streamed), most);
    return n < 1 ? 1 : n;
}

/* Keeps the head, then trunks from the first layer on, while they fit into `bytes`; returns
 * what is left. */
static uint64_t keep_trunk(const struct nj_memory_needs *needs, uint64_t bytes,
                           struct nj_memory_plan *plan)
{
    uint64_t left = bytes;
    if (needs->head_bytes <= left) {
        plan->has_resident_head = true;
        left -= needs->head_bytes;
    }
    for (uint32_t i = 0; i < needs->n_layers && needs->trunk_bytes[i] <= left; i++) {
        plan->n_resident_layers = i + 1;
        left -= needs->trunk_bytes[i];
    }
    plan->resident_bytes = bytes - left;
    return left;
}

static void split(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                  struct nj_memory_plan *plan)
{
    uint64_t left = memory_bytes - least_streamed_bytes(needs, plan->n_sequences) +
                    needs->least_frames_bytes;
    uint64_t frames = smaller(busy_frames_bytes(needs, memory_bytes), left);
    left = keep_trunk(needs, left - frames, plan);
    plan->frames_bytes = sum(frames, left);
}

/* Megabytes, of which the next tenth is shown: that many are enough. */
static double tenths_up(uint64_t n_bytes)
{
    uint64_t n_tenths = n_bytes / 100000 + (n_bytes % 100000 > 0 ? 1 : 0);
    return (double)n_tenths * 0.1;
}

enum nj_status nj_memory_plan_make(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                                   uint32_t n_sequences, struct nj_memory_plan *plan,
                                   struct nj_error *err)
{
    uint64_t whole = whole_bytes(needs, n_sequences);
    uint64_t streamed = least_streamed_bytes(needs, n_sequences);
    *plan = (struct nj_memory_plan){
        .is_whole = whole <= memory_bytes,
        .n_sequences = n_sequences,
        .states_bytes = product(n_sequences, needs->sequence_bytes),
        .floor_bytes = smaller(whole, streamed),
        .useful_bytes = whole,
    };
    if (memory_bytes < plan->floor_bytes) {
        return nj_fail(err, NJ_E_BUDGET,
                       "%" PRIu32 " sequence%s of this model need%s at least %" PRIu64
                       " bytes of memory (%" PRIu64 " are useful), the ceiling is %" PRIu64
                       ": %.1f MB are wanted, %.1f MB allowed",
                       n_sequences, n_sequences == 1 ? "" : "s", n_sequences == 1 ? "s" : "",
                       plan->floor_bytes, plan->useful_bytes, memory_bytes,
                       tenths_up(plan->floor_bytes), (double)memory_bytes * 1e-6);
    }
    if (!plan->is_whole) {
        split(needs, memory_bytes, plan);
    }
    return NJ_OK;
}
