/* Takes snapshots of running sequences while the sweep walks on.
 *
 *     nj_snapshot_writer_begin(writer, targets, n, err);         before the step
 *     hooks.on_layer_final = nj_snapshot_writer_layer;           during it
 *     ... the ids it chose are synced in the token log ...
 *     nj_snapshot_writer_commit(writer);                         after it
 *     ... one or more sweeps later, or after nj_snapshot_writer_wait ...
 *     nj_snapshot_writer_is_busy(writer) is false:
 *     nj_snapshot_writer_take_outcome(writer, i, &outcome);      then the journal, synced
 *     nj_snapshot_writer_prune(writer, directory_fd, &chain);    then what nothing needs
 *
 * The engine thread only copies: a layer's recurrent part and its new positions go into a
 * buffer that is paid from the byte budget, and a thread of the writer packs, writes and syncs.
 * A round begins only when the one before it is over, so nothing that the engine thread waits
 * for in the middle of a sweep is a sync: if the buffer is full, it waits for packing and
 * writing to give some of it back. It does not skip the snapshot instead: a round that is
 * skipped for want of a buffer would be skipped the next time too, and then there is no
 * snapshot at all. What the waiting costs is measured (nj_snapshot_writer_stats) and is part of
 * what decides how often snapshots are taken.
 *
 * Threads: all calls are the engine thread's.
 */
#ifndef NJ_SNAPSHOT_WRITER_H
#define NJ_SNAPSHOT_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/byte_budget.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "generate/sequence.h"
#include "model/dims.h"
#include "snapshot/chain.h"
#include "snapshot/fingerprint.h"

struct nj_snapshot_writer;

struct nj_snapshot_writer_options {
    const struct nj_file_system *fs; /* used by the writer's thread too */
    const struct nj_dims *dims;
    struct nj_byte_budget *budget; /* NULL: counted by the caller */
    struct nj_clock clock;
    int pack_level;        /* format/planes.h */
    uint32_t max_targets;  /* sequences of one round */
    uint64_t buffer_bytes; /* for copies; 0: what one recommends */
    uint64_t entropy;      /* for the salts of segments */
};

/* One sequence of a round. All borrowed until the round is over. */
struct nj_snapshot_target {
    const struct nj_sequence *sequence;
    int directory_fd; /* of the item's folder */
    struct nj_snapshot_identity identity;
    struct nj_snapshot_chain *chain; /* moved on when the segment is durable */
};

/* How one target of the last round ended. */
struct nj_snapshot_outcome {
    bool is_durable;
    enum nj_status status; /* NJ_E_STOPPED: given up, not failed */
    struct nj_error error;
    uint64_t number;
    uint32_t n_positions;
    uint64_t raw_bytes;
    uint64_t file_bytes;
};

/* Since the writer was created. */
struct nj_snapshot_stats {
    uint64_t blocked_ns; /* the engine thread waited for room in the buffer */
    uint64_t copied_ns;  /* it copied, waiting included */
    uint64_t n_durable;
    uint64_t raw_bytes;
    uint64_t file_bytes;
};

/* The buffer that lets a round of so many states pass without waiting, within reason. */
uint64_t nj_snapshot_writer_recommended_bytes(const struct nj_dims *dims, uint32_t max_targets);

/* The same for a caller who holds at most `memory_bytes` in all: no more than a 32nd of that,
 * but never less than a writer needs. */
uint64_t nj_snapshot_writer_modest_bytes(const struct nj_dims *dims, uint32_t max_targets,
                                         uint64_t memory_bytes);

/* All that a writer with such a buffer holds. */
uint64_t nj_snapshot_writer_total_bytes(uint64_t buffer_bytes);

/* NJ_E_BUDGET, NJ_E_USAGE (pack level), NJ_E_MEMORY (threads too). Caller owns `*writer`. */
enum nj_status nj_snapshot_writer_create(const struct nj_snapshot_writer_options *options,
                                         struct nj_snapshot_writer **writer,
                                         struct nj_error *err);
/* Gives up a round that is under way. NULL is allowed. */
void nj_snapshot_writer_destroy(struct nj_snapshot_writer *writer);

/* A round is under way, or segments are being removed. */
bool nj_snapshot_writer_is_busy(struct nj_snapshot_writer *writer);

/* Announces the sequences whose states the next sweep, or the layers handed over outside one,
 * are to be taken from. Finished ones need no snapshot. NJ_E_STATE when busy, NJ_E_USAGE for
 * too many. */
enum nj_status nj_snapshot_writer_begin(struct nj_snapshot_writer *writer,
                                        const struct nj_snapshot_target *targets,
                                        uint32_t n_targets, struct nj_error *err);

/* Layers in rising order, each once; `context` is the struct nj_snapshot_writer. Nothing to do
 * when no round was begun, so that it can stay in the hooks. */
void nj_snapshot_writer_layer(void *context, uint32_t layer);

/* All layers at once, for states that no sweep is changing. */
void nj_snapshot_writer_all_layers(struct nj_snapshot_writer *writer);

/* The sweep is over and its ids are durable. Targets whose sequence is finished are given up.
 * Returns before anything is durable. */
void nj_snapshot_writer_commit(struct nj_snapshot_writer *writer);

/* The sweep broke off: the round is given up. Nothing to do without one. */
void nj_snapshot_writer_abandon(struct nj_snapshot_writer *writer);

/* Waits until nothing is under way: at a pause, at the end. */
void nj_snapshot_writer_wait(struct nj_snapshot_writer *writer);

/* Of a round that is over; moves the target's chain on if its segment is durable. Each target
 * once, in any order; false when there is no such target. */
bool nj_snapshot_writer_take_outcome(struct nj_snapshot_writer *writer, uint32_t target,
                                     struct nj_snapshot_outcome *outcome);

/* After the journal names the chain's newest segment as current: removes what neither it nor
 * the snapshot before it needs. Returns at once; failures are told by
 * nj_snapshot_writer_prune_status. */
void nj_snapshot_writer_prune(struct nj_snapshot_writer *writer, int directory_fd,
                              const struct nj_snapshot_chain *chain);

/* The item is finished: a target with this chain loses its interest in the round under way, all
 * segments go and then its folder items/INDEX, whose descriptor, which the writer **takes**, is
 * closed. */
void nj_snapshot_writer_forget(struct nj_snapshot_writer *writer, int directory_fd,
                               uint64_t item_index, const struct nj_snapshot_chain *chain);

/* Waits; the first failure of any prune so far. What could not be removed is in nobody's way.
 */
enum nj_status nj_snapshot_writer_prune_status(struct nj_snapshot_writer *writer,
                                               struct nj_error *err);

struct nj_snapshot_stats nj_snapshot_writer_stats(const struct nj_snapshot_writer *writer);

#endif
