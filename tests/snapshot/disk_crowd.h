/* Several sequences of one model whose states live in memory or on disk, at once and in turn.
 *
 * A crowd outlives its lives: each of them is a generator, and a home if states are on disk,
 * over the same folder; what was chosen so far stands for the token log.
 */
#ifndef NJ_TESTS_SNAPSHOT_DISK_CROWD_H
#define NJ_TESTS_SNAPSHOT_DISK_CROWD_H

#include <stdbool.h>
#include <stdint.h>

#include "generate/generator.h"
#include "snapshot/slot_home.h"
#include "snapshot/slot_store.h"

enum { CROWD_SEQUENCES = 16, CROWD_TOKENS = 10, CROWD_PROMPT_LIMIT = 150 };

struct crowd_log {
    uint32_t n;
    int32_t ids[CROWD_TOKENS];
    uint32_t logprob_bits[CROWD_TOKENS];
};

struct disk_crowd {
    uint32_t n_sequences;
    int directory_fd;
    char path[512];
    struct crowd_log logs[CROWD_SEQUENCES];
};

/* Where the states of a life are. */
struct crowd_place {
    bool is_on_disk;
    uint64_t window_bytes;           /* 0: the least */
    uint32_t n_windows;              /* 0: 3 */
    uint32_t prefill_chunk;          /* 0: all */
    const struct nj_file_system *fs; /* NULL: disk_crowd_files */
};

struct crowd_life {
    struct disk_crowd *crowd;
    struct nj_model *model;
    const struct nj_file_system *fs;
    struct nj_generator *generator;
    struct nj_slot_home *home; /* NULL: in memory */
    struct nj_slot_store *store;
    struct nj_sequence *sequences[CROWD_SEQUENCES]; /* NULL: finished before */
    struct nj_snapshot_identity identities[CROWD_SEQUENCES];
    uint32_t n_restored; /* sequences */
    uint64_t n_positions_restored;
    uint64_t n_sweeps;
};

/* The real file system, except that syncs return at once. */
const struct nj_file_system *disk_crowd_files(void);

/* A fresh folder and empty logs. */
void disk_crowd_begin(struct disk_crowd *crowd, uint32_t n_sequences);
void disk_crowd_end(struct disk_crowd *crowd);

/* The statuses are those of what is tested. The life must be ended after a failure, too. */
enum nj_status crowd_life_begin(struct crowd_life *life, struct disk_crowd *crowd,
                                struct nj_model *model, const struct crowd_place *place,
                                struct nj_error *err);
/* One sweep, and a commit if states are on disk and `commits`; false when all are finished. */
enum nj_status crowd_life_sweep(struct crowd_life *life, bool commits, bool *goes_on,
                                struct nj_error *err);
void crowd_life_end(struct crowd_life *life);

/* Fails the test where any sequence's ids or log-probabilities differ. */
void disk_crowd_compare(const struct disk_crowd *found, const struct disk_crowd *wanted);

#endif
