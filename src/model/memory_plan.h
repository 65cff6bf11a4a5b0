/* How a given amount of memory is split between what a run of the model needs.
 *
 * Everything is counted: what the caller holds besides, vectors and tables, buffers of a sweep,
 * the states of all sequences, and weights. Weights are either whole in memory, or they stream
 * through frames while as much of them as fits stays: then the order is states first (each
 * sequence more makes every byte read serve more tokens), frames enough to keep the drive busy,
 * the trunk, which every sweep needs whole, and more frames, which are the experts' cache.
 *
 * Pure: numbers in, numbers out. What they are for a model: memory_needs.h.
 */
#ifndef NJ_MODEL_MEMORY_PLAN_H
#define NJ_MODEL_MEMORY_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct nj_memory_needs {
    uint64_t common_bytes;   /* however weights are held: vectors, buffers, the caller's */
    uint64_t sequence_bytes; /* one sequence: its state at full length, its row of logits */
    uint64_t whole_bytes;    /* all weights in memory, with their tables */

    /* Of weights that stream. */
    uint64_t tables_bytes;
    uint64_t frame_bytes;
    uint64_t least_frames_bytes; /* UINT64_MAX: they cannot, or nobody has asked */
    uint64_t useful_frames_bytes;
    uint64_t head_bytes;         /* of the output head, when it stays */
    const uint64_t *trunk_bytes; /* (n_layers): of a layer but its experts, when it stays */
    uint32_t n_layers;
};

struct nj_memory_plan {
    bool is_whole;
    uint32_t n_sequences;
    uint64_t states_bytes; /* of all sequences */
    /* When weights stream. */
    bool has_resident_head;
    uint32_t n_resident_layers; /* the trunks of layers 0 .. n - 1 stay */
    uint64_t resident_bytes;    /* of both */
    uint64_t frames_bytes;
    /* The least with which one sequence runs, and what would hold everything. */
    uint64_t floor_bytes;
    uint64_t useful_bytes;
};

/* How many sequences, at most `most`, fit beside whole weights; 0 when it is so few that
 * weights had better stream for more. */
uint32_t nj_memory_plan_whole_width(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                                    uint32_t most);

/* The number of sequences that serves the batch best, at most `most`, at least 1: as many as
 * fit beside whole weights when that is more than a few, else beside frames that keep the drive
 * busy. It does not promise that one fits. */
uint32_t nj_memory_plan_width(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                              uint32_t most);

/* NJ_E_BUDGET with both figures when `n_sequences` (at least 1) do not fit; floor_bytes and
 * useful_bytes are written even then, for that number. */
enum nj_status nj_memory_plan_make(const struct nj_memory_needs *needs, uint64_t memory_bytes,
                                   uint32_t n_sequences, struct nj_memory_plan *plan,
                                   struct nj_error *err);

#endif
