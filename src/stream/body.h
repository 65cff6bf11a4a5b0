/* What a body of the stream must do: the calls behind stream.h, which only stream.c makes.
 *
 * stream.c has checked the extents and the record numbers and counts the pins, so a body may
 * rely on both.
 */
#ifndef NJ_STREAM_BODY_H
#define NJ_STREAM_BODY_H

#include "stream/groups.h"
#include "stream/stream.h"

struct nj_stream_body {
    void *state;
    void (*close)(void *state); /* releases the state; nothing is pinned any more */
    uint32_t n_pinnable;        /* groups at once */
    void (*want)(void *state, const uint32_t *records, uint32_t n_records);
    void (*forget)(void *state);
    enum nj_status (*pin)(void *state, uint32_t record, struct nj_pinned *pinned,
                          struct nj_error *err);
    void (*unpin)(void *state, uint32_t record);
    enum nj_status (*check_files)(const void *state, struct nj_error *err);
    enum nj_status (*accept_files)(void *state, struct nj_error *err);
    void (*report)(const void *state, struct nj_stream_report *report);
};

/* The bytes of everything in memory; NJ_E_BUDGET when the sum overflows. */
enum nj_status nj_stream_memory_measure(const struct nj_stream_options *options,
                                        uint64_t *bytes, struct nj_error *err);

/* Everything is read into one block of memory when the stream is opened (memory.c). On success
 * the caller owns `*body`. */
enum nj_status nj_stream_memory_open(const struct nj_stream_options *options,
                                     struct nj_stream_body *body, struct nj_error *err);

/* Resident groups are read when the stream is opened, the others pass through frames
 * (frames.c). On success the caller owns `*body`. */
enum nj_status nj_stream_frames_open(const struct nj_stream_options *options,
                                     struct nj_stream_body *body, struct nj_error *err);

/* What its tables take. */
uint64_t nj_stream_frames_overhead_bytes(const struct nj_group_table *table, uint64_t n_frames);

#endif
