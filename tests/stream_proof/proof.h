/* Runs the same items under any memory, batch width and reader, and keeps what each of them
 * gave, to the bit.
 *
 * Items are random prompts, every other one sampled. An item's transcript must not depend on
 * anything but the item and the model.
 *
 * Threads: the engine thread.
 */
#ifndef NJ_TESTS_STREAM_PROOF_PROOF_H
#define NJ_TESTS_STREAM_PROOF_PROOF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file.h"
#include "model/model.h"
#include "nightjar/generate.h"
#include "support/slow_reader.h"

enum { PROOF_MOST_ITEMS = 64, PROOF_MOST_TOKENS = 16 };

struct proof_transcript {
    uint32_t n_tokens;
    int32_t tokens[PROOF_MOST_TOKENS];
    uint32_t logprob_bits[PROOF_MOST_TOKENS];
};

enum proof_reader {
    PROOF_RING,
    PROOF_THREADS,
    PROOF_RING_SHUFFLED, /* results in random order */
    PROOF_DELAYED        /* and each a little late */
};

const char *proof_reader_name(enum proof_reader reader);

struct proof_setting {
    const char *path;
    double share; /* of what would hold everything, at least the floor; 1: everything */
    uint32_t batch;
    enum proof_reader reader;
    uint32_t n_positions;            /* of the longest item; 0: 64 */
    uint32_t n_tokens;               /* of each item, at most PROOF_MOST_TOKENS */
    const struct nj_file_system *fs; /* NULL: the real one */
};

/* A model opened as the setting says. */
struct proof_bench {
    struct proof_setting setting;
    struct slow_reader slow;
    struct nj_model_seams seams;
    struct nj_model_options options;
    struct nj_model *model;
    uint64_t memory_bytes;
};

/* The bench stays where it is while it is open. The slow reader may be changed afterwards.
 * Reports nothing: the status tells. */
enum nj_status proof_open(struct proof_bench *bench, const struct proof_setting *setting,
                          struct nj_error *err);
void proof_close(struct proof_bench *bench);

/* Items under way, `batch` at once. */
struct proof_run {
    struct proof_bench *bench;
    struct nj_generator *generator;
    struct nj_sequence *sequences[PROOF_MOST_ITEMS]; /* by item; NULL: not under way */
    uint32_t n_items;
    uint32_t n_begun;
    uint32_t n_finished;
    struct proof_transcript transcripts[PROOF_MOST_ITEMS];
};

enum nj_status proof_run_begin(struct proof_run *run, struct proof_bench *bench,
                               uint32_t n_items, struct nj_error *err);
/* One sweep; `*is_done` when all items are. */
enum nj_status proof_run_step(struct proof_run *run, bool *is_done, struct nj_error *err);
void proof_run_end(struct proof_run *run);

/* All of it: open, run to the end, close. */
enum nj_status proof_transcribe(const struct proof_setting *setting, uint32_t n_items,
                                struct proof_transcript *transcripts, struct nj_error *err);

/* Fails the test, naming the item, where the first `n_items` differ. */
void proof_compare(const struct proof_transcript *found, const struct proof_transcript *wanted,
                   uint32_t n_items, const char *what);

#endif
