/* A Kimi K3 or Kimi-Linear checkpoint, opened for generation.
 *
 *     struct nj_model *model = NULL;
 *     struct nj_error error;
 *     struct nj_model_options options = {.path = "examples/fledgling"};
 *     if (nj_model_open(&options, &model, &error) != NJ_OK) { ... error.text ... }
 *     ...
 *     nj_model_close(model);
 *
 * Two models in one process do not know of each other.
 *
 * Threads: a model belongs to the thread that opened it; its compute threads are its own.
 */
#ifndef NIGHTJAR_MODEL_H
#define NIGHTJAR_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "nightjar/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bumped whenever any bit of any output may change. */
enum { NJ_NUMERICS_VERSION = 1 };

/* Zero means the default everywhere. */
struct nj_model_options {
    const char *path;       /* directory in the released layout; required, borrowed */
    const char *cpu_level;  /* "auto" (default), "scalar", "avx2", "avx512" */
    uint32_t n_threads;     /* compute threads; 0: one per CPU. Never changes a bit */
    uint32_t max_rows;      /* rows one sweep may hold; 0: 256. Never changes a bit */
    double latent_norm_eps; /* 0: the model's own setting (1e-6) */

    /* Memory is a dial: what does not fit is read again in every sweep, as one read for all
     * sequences. None of these changes a bit. */
    uint64_t memory_bytes; /* for all below; 0: what machine and cgroup have left */
    uint64_t other_bytes;  /* what the caller holds of it besides the model */
    uint32_t n_sequences;  /* states under way at once, for which there is to be room; 0: one */
    bool has_states_elsewhere;  /* they are not in this memory, but in a home of the caller's */
    bool takes_fewer_sequences; /* if memory is short: nj_model_n_sequences tells how many */
    uint32_t n_positions;       /* of the longest sequence, prompt and answer; 0: 64 */
    const char *reader;         /* "auto" (default), "ring", "threads" */
};

struct nj_model;

/* Reads config and headers, checks every name, type and shape and the memory it all takes, and
 * only then reads weights: all of them, or with less memory those that stay. Caller owns
 * `*model`, which is written on success only.
 *
 * NJ_E_USAGE options that make no sense; NJ_E_NOT_FOUND the directory or its shards do not
 * exist; NJ_E_WEIGHTS config or shards are wrong (one error names all missing and contradictory
 * fields); NJ_E_UNSUPPORTED the CPU level; NJ_E_BUDGET the ceiling is below the floor (both
 * figures); NJ_E_MEMORY. */
enum nj_status nj_model_open(const struct nj_model_options *options, struct nj_model **model,
                             struct nj_error *err);

/* NULL is allowed. All states of the model must have been destroyed before. */
void nj_model_close(struct nj_model *model);

uint32_t nj_model_n_vocabulary(const struct nj_model *model);
uint32_t nj_model_n_layers(const struct nj_model *model);
/* How many sequences of n_positions there is room for: n_sequences, or fewer if that was
 * allowed. */
uint32_t nj_model_n_sequences(const struct nj_model *model);
/* "scalar", "avx2" or "avx512": what this model computes with here. */
const char *nj_model_cpu_level(const struct nj_model *model);
/* 64 lower-case hex digits over config, tokenizer files, shard headers and sizes and tensor
 * bytes (docs/formats/fingerprint.md); valid until close. */
const char *nj_model_fingerprint(const struct nj_model *model);

#ifdef __cplusplus
}
#endif

#endif
