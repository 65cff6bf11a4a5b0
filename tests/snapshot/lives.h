/* One sequence of a real model that takes snapshots, dies and is taken up again.
 *
 * A life is a generator with one sequence and a writer; its folder outlives it, and so do the
 * ids that it chose, which stand for the token log.
 */
#ifndef NJ_TESTS_SNAPSHOT_LIVES_H
#define NJ_TESTS_SNAPSHOT_LIVES_H

#include <stdint.h>

#include "generate/generator.h"
#include "snapshot/loader.h"
#include "snapshot/writer.h"

enum { LIVES_IDS_LIMIT = 64 };

/* What was chosen so far, with everything that the events say of it. */
struct spoken_ids {
    uint32_t n;
    int32_t ids[LIVES_IDS_LIMIT];
    struct nj_step_event events[LIVES_IDS_LIMIT];
};

/* What stays the same over all lives of one sequence. */
struct lives {
    struct nj_tokenizer *tokenizer; /* NULL: ids only */
    struct nj_sequence_options options;
    uint32_t prefill_chunk;
    int pack_level;
    int directory_fd;
    struct spoken_ids log;
};

/* A fresh folder; the log is empty. */
void lives_begin(struct lives *lives);
void lives_end(struct lives *lives);

struct life {
    struct lives *lives;
    struct nj_model *model;
    struct nj_generator *generator;
    struct nj_sequence *sequence;
    struct nj_snapshot_writer *writer;
    struct nj_sweep_hooks hooks;
    struct nj_snapshot_chain chain;
    struct nj_snapshot_loaded loaded;
    uint32_t n_sweeps;
};

/* Takes the sequence up with the ids of the log and what the folder holds. */
void life_begin(struct life *life, struct lives *lives, struct nj_model *model);
/* One sweep, with a snapshot or without; a snapshot is durable when this returns. The ids go to
 * the log. */
void life_sweep(struct life *life, bool with_snapshot);
/* Nothing is said or written any more. */
void life_end(struct life *life);

bool life_is_over(const struct life *life);

/* Whether two states hold the same bits for so many positions. */
bool states_are_equal(struct nj_state *a, struct nj_state *b, const struct nj_dims *dims);

/* Logits (n_vocabulary, caller frees) after `token` in a state, which stays as it is. */
float *logits_after(struct nj_model *model, const struct nj_state *state, int32_t token);

#endif
