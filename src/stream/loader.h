/* Reads whole groups into memory: cuts their runs into requests, keeps as many of these in
 * flight on each drive as it takes, and tries a few times again what comes back short or
 * failed.
 *
 * Drives are asked in parallel; on one drive, groups are read in the order in which they were
 * started. A group is done when all its bytes are there, or when one request has failed for
 * good and none is in flight any more.
 *
 * Threads: the engine thread only.
 */
#ifndef NJ_STREAM_LOADER_H
#define NJ_STREAM_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/status.h"
#include "stream/groups.h"
#include "stream/opened_files.h"
#include "stream/read_depth.h"
#include "stream/reader.h"

/* Why a group could not be read. */
struct nj_read_failure {
    uint32_t file;
    uint64_t offset_bytes;
    uint64_t wanted_bytes;
    uint64_t found_bytes;
    int error_number; /* 0: the file ended */
};

/* A group on its way. The caller's memory, untouched by it from start to done. */
struct nj_load {
    uint32_t group;
    uint32_t buffer; /* of `target`, or NJ_NO_BUFFER */
    uint8_t *target;
    bool has_failed; /* `failure` says why */
    struct nj_read_failure failure;
    /* The loader's own. */
    uint32_t next_run;          /* of the group, first with bytes not yet asked for */
    uint32_t next_offset_bytes; /* in that run */
    uint32_t target_bytes;      /* where in the target they go */
    uint32_t n_in_flight;
    bool is_queued;
    struct nj_load *next;
};

struct nj_loader;

struct nj_loader_options {
    const struct nj_group_table *table; /* both outlive the loader */
    const struct nj_opened_files *files;
    struct nj_clock clock;
    enum nj_reader_kind kind;
    const struct nj_reader_table *readers; /* NULL: the real one of that kind */
    uint8_t *frames;                       /* for registering; may be NULL */
    uint64_t frame_bytes;
    uint32_t n_frames;
};

/* NJ_E_IO when a ring was demanded and is refused, NJ_E_MEMORY. */
enum nj_status nj_loader_create(const struct nj_loader_options *options,
                                struct nj_loader **loader, struct nj_error *err);
/* Waits for what is in flight. Loads that were not done are forgotten. */
void nj_loader_destroy(struct nj_loader *loader);

/* Queues the group behind those started before, or in front of them. */
void nj_loader_start(struct nj_loader *loader, struct nj_load *load, bool is_urgent);
/* Moves a started group to the front. */
void nj_loader_hurry(struct nj_loader *loader, struct nj_load *load);

/* Asks the drives for what is queued, as far as their depths allow. */
void nj_loader_issue(struct nj_loader *loader);
/* Takes in what has arrived, without waiting, and asks for more. */
void nj_loader_poll(struct nj_loader *loader);
/* Waits until something arrives; something must be in flight or queued. */
void nj_loader_wait(struct nj_loader *loader);

/* Forgets all loads; returns when nothing is read into their targets any more. */
void nj_loader_abandon(struct nj_loader *loader);

/* The next group that is done, or NULL. */
struct nj_load *nj_loader_take_done(struct nj_loader *loader);

/* Some drive would take more than is queued for it. */
bool nj_loader_is_hungry(const struct nj_loader *loader);
/* Nothing is queued or in flight. */
bool nj_loader_is_idle(const struct nj_loader *loader);

/* Writes the sentence of a failed load; returns NJ_E_WEIGHTS. */
enum nj_status nj_loader_explain(const struct nj_loader *loader,
                                 const struct nj_read_failure *failure, struct nj_error *err);

/* Fills in read_bytes, n_reads, depth (the deepest drive's), reader and note. */
void nj_loader_report(const struct nj_loader *loader, struct nj_stream_report *report);

#endif
