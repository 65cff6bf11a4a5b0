/* The body with a memory limit: resident groups in memory, all others through frames.
 *
 * How far to read ahead is a number of frames, the window: it grows when the engine had to wait
 * although the drive had time, and shrinks slowly, because every frame of it is missing from
 * what is kept. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/body.h"
#include "stream/frame_pool.h"
#include "stream/groups.h"
#include "stream/loader.h"
#include "stream/opened_files.h"
#include "stream/resident.h"
#include "stream/wants.h"
#include "stream/weight_block.h"

enum {
    WINDOW_BYTES = 96 * 1024 * 1024, /* at first: three times what is in flight then */
    LEAST_WINDOW = 2,
    LOADS_TO_JUDGE = 32
};

#define NO_GROUP UINT32_MAX

/* The share of the time that is not worth a wider window. */
static const double SMALL_LOSS = 0.02;

#if defined(NJ_POISON)
static const bool ALWAYS_POISONS = true;
#else
static const bool ALWAYS_POISONS = false;
#endif

struct frames {
    struct nj_group_table table;
    struct nj_opened_files files;
    struct nj_clock clock;
    struct nj_loader *loader;
    nj_record_check *check;
    void *check_context;

    struct nj_weight_block resident;
    uint64_t *resident_places; /* (n_groups) */

    struct nj_wants wants;
    struct nj_frame_pool pool;

    uint32_t window; /* most frames that are ahead by reading ahead */
    uint32_t first_window;
    bool was_short;   /* the drive had time for more than the window allowed */
    uint64_t lost_ns; /* waited after that, since the window was last judged */
    uint64_t judged_at_ns;
    uint32_t n_loads_judged;

    uint64_t n_cache_hits;
    uint64_t n_rereads;
    uint64_t waited_ns;
};

static uint64_t now_ns(const struct frames *frames)
{
    return frames->clock.monotonic_ns(frames->clock.context);
}

static bool is_resident(const struct frames *frames, uint32_t group)
{
    return frames->table.groups[group].keep == NJ_GROUP_RESIDENT;
}

/* --- reading --- */

static void start(struct frames *frames, uint32_t group, struct nj_frame *frame, bool is_urgent)
{
    nj_frame_pool_begin(&frames->pool, frame, group);
    nj_loader_start(frames->loader, &frame->load, is_urgent);
    nj_loader_issue(frames->loader);
}

/* Drops from the head of the queue what is here, or not needed any more. True when something to
 * read is left. */
static bool has_next_to_read(struct frames *frames)
{
    struct nj_wants *wants = &frames->wants;
    while (wants->n_queued > 0) {
        uint32_t group = nj_wants_first(wants);
        if (nj_frame_pool_find(&frames->pool, group) == NULL && nj_wants_has(wants, group)) {
            return true;
        }
        nj_wants_drop_first(wants);
    }
    return false;
}

/* Starts what is wanted next, while a drive has time for it. */
static void read_ahead(struct frames *frames)
{
    while (nj_loader_is_hungry(frames->loader) && has_next_to_read(frames)) {
        if (frames->pool.n_ahead >= frames->window) {
            frames->was_short = true;
            return;
        }
        struct nj_frame *frame = nj_frame_pool_take_spare(&frames->pool);
        if (frame == NULL) {
            return;
        }
        uint32_t group = nj_wants_first(&frames->wants);
        nj_wants_drop_first(&frames->wants);
        start(frames, group, frame, false);
    }
}

/* Every few loads: wider when the engine lost time because the window had kept the drive from
 * working ahead, and lost a larger share of it than the share of the groups that the additional
 * frames could have kept; else a little narrower. */
static void adjust_window(struct frames *frames)
{
    if (++frames->n_loads_judged < LOADS_TO_JUDGE) {
        return;
    }
    uint64_t now = now_ns(frames);
    double lost = (double)frames->lost_ns / ((double)(now - frames->judged_at_ns) + 1);
    uint32_t more = frames->window / 2;
    double kept = (double)more / frames->table.n_groups;
    if (lost > SMALL_LOSS && lost > kept) {
        uint32_t most = frames->pool.n_frames - 1;
        frames->window = frames->window + more < most ? frames->window + more : most;
    } else {
        uint32_t narrower = frames->window - (frames->window + 15) / 16;
        frames->window = narrower > frames->first_window ? narrower : frames->first_window;
    }
    frames->n_loads_judged = 0;
    frames->lost_ns = 0;
    frames->judged_at_ns = now;
}

/* A group has arrived, or never will. */
static enum nj_status settle(struct frames *frames, struct nj_frame *frame, bool is_awaited,
                             struct nj_error *err)
{
    adjust_window(frames);
    enum nj_status status =
        frame->load.has_failed
            ? nj_loader_explain(frames->loader, &frame->load.failure, err)
            : nj_check_group(&frames->table, frame->group, frame->load.target, frames->check,
                             frames->check_context, err);
    if (status != NJ_OK) {
        nj_frame_pool_give_up(&frames->pool, frame);
        return status;
    }
    nj_frame_pool_arrive(&frames->pool, frame);
    if (!is_awaited && !nj_wants_has(&frames->wants, frame->group)) {
        nj_frame_pool_release(&frames->pool, frame);
    }
    return NJ_OK;
}

/* Takes in all that has arrived; the status is that of `awaited`. What failed and is not
 * awaited is read again when it is pinned, and complained about then. */
static enum nj_status take_in(struct frames *frames, uint32_t awaited, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    struct nj_load *load = nj_loader_take_done(frames->loader);
    for (; load != NULL; load = nj_loader_take_done(frames->loader)) {
        struct nj_frame *frame = &frames->pool.frames[load->buffer];
        if (frame->group == awaited) {
            status = settle(frames, frame, true, err);
        } else {
            (void)settle(frames, frame, false, NULL);
        }
    }
    return status;
}

static void advance(struct frames *frames)
{
    nj_loader_poll(frames->loader);
    (void)take_in(frames, NO_GROUP, NULL);
    read_ahead(frames);
}

/* The engine stands still until something arrives. */
static enum nj_status wait_for(struct frames *frames, uint32_t awaited, struct nj_error *err)
{
    uint64_t began_ns = now_ns(frames);
    bool was_short = frames->was_short;
    frames->was_short = false;
    nj_loader_wait(frames->loader);
    uint64_t took_ns = now_ns(frames) - began_ns;
    frames->waited_ns += took_ns;
    frames->lost_ns += was_short ? took_ns : 0;
    enum nj_status status = take_in(frames, awaited, err);
    read_ahead(frames);
    return status;
}

/* --- pinning --- */

/* A frame for a group that is needed now: if there is no spare one, what is needed last makes
 * room and is read again later. */
static struct nj_frame *take_frame_now(struct frames *frames)
{
    struct nj_frame *spare = nj_frame_pool_take_spare(&frames->pool);
    while (spare == NULL) {
        struct nj_frame *last = nj_frame_pool_needed_last(&frames->pool);
        if (last != NULL) {
            uint32_t group = last->group;
            nj_frame_pool_give_up(&frames->pool, last);
            frames->n_rereads++;
            nj_wants_queue(&frames->wants, group);
        } else {
            (void)wait_for(frames, NO_GROUP, NULL); /* for one that is being read */
        }
        spare = nj_frame_pool_take_spare(&frames->pool);
    }
    return spare;
}

/* Has the group read before all others. */
static struct nj_frame *fetch_now(struct frames *frames, uint32_t group)
{
    struct nj_frame *spare = take_frame_now(frames);
    struct nj_frame *found = nj_frame_pool_find(&frames->pool, group);
    if (found != NULL) { /* read ahead while it waited for a frame */
        nj_frame_pool_put_back(&frames->pool, spare);
        return found;
    }
    start(frames, group, spare, true);
    return spare;
}

/* Has the group in a frame. */
static enum nj_status fetch(struct frames *frames, uint32_t group, struct nj_frame **fetched,
                            struct nj_error *err)
{
    advance(frames);
    struct nj_frame *frame = nj_frame_pool_find(&frames->pool, group);
    if (frame == NULL) {
        frame = fetch_now(frames, group);
    } else if (frame->state == NJ_FRAME_LOADING) {
        nj_loader_hurry(frames->loader, &frame->load);
    }
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && frame->state == NJ_FRAME_LOADING) {
        status = wait_for(frames, group, err);
    }
    *fetched = frame;
    return status;
}

static enum nj_status frames_pin(void *state, uint32_t record, struct nj_pinned *pinned,
                                 struct nj_error *err)
{
    struct frames *frames = state;
    const struct nj_record_place *place = &frames->table.records[record];
    pinned->device = 0;
    if (is_resident(frames, place->group)) {
        pinned->bytes = frames->resident.bytes + frames->resident_places[place->group] +
                        place->offset_bytes;
        return NJ_OK;
    }
    struct nj_frame *frame = NULL;
    enum nj_status status = fetch(frames, place->group, &frame, err);
    if (status != NJ_OK) {
        return status;
    }
    pinned->bytes = nj_frame_pool_pin(&frames->pool, frame) + place->offset_bytes;
    nj_wants_remove(&frames->wants, record); /* announced again while pinned, it is kept */
    return NJ_OK;
}

static void frames_unpin(void *state, uint32_t record)
{
    struct frames *frames = state;
    uint32_t group = frames->table.records[record].group;
    if (is_resident(frames, group)) {
        return;
    }
    if (nj_frame_pool_unpin(&frames->pool, nj_frame_pool_find(&frames->pool, group))) {
        advance(frames);
    }
}

/* --- wanting --- */

static void want_record(struct frames *frames, uint32_t record)
{
    uint32_t group = frames->table.records[record].group;
    if (is_resident(frames, group)) {
        return;
    }
    bool was_wanted = nj_wants_has(&frames->wants, group);
    nj_wants_add(&frames->wants, record);
    if (was_wanted) {
        return;
    }
    struct nj_frame *frame = nj_frame_pool_find(&frames->pool, group);
    if (frame == NULL) {
        nj_wants_queue(&frames->wants, group);
    } else if (frame->state == NJ_FRAME_READY) {
        nj_frame_pool_reserve(&frames->pool, frame);
        frames->n_cache_hits++;
    }
}

static void frames_want(void *state, const uint32_t *records, uint32_t n_records)
{
    struct frames *frames = state;
    for (uint32_t i = 0; i < n_records; i++) {
        want_record(frames, records[i]);
    }
    advance(frames);
}

static void frames_forget(void *state)
{
    struct frames *frames = state;
    for (uint32_t i = 0; i < frames->pool.n_frames; i++) {
        struct nj_frame *frame = &frames->pool.frames[i];
        if (frame->state == NJ_FRAME_READY && nj_wants_has(&frames->wants, frame->group)) {
            nj_frame_pool_release(&frames->pool, frame);
        }
    }
    nj_wants_clear(&frames->wants);
}

static enum nj_status frames_check_files(const void *state, struct nj_error *err)
{
    const struct frames *frames = state;
    return nj_opened_files_check(&frames->files, err);
}

static enum nj_status frames_accept_files(void *state, struct nj_error *err)
{
    struct frames *frames = state;
    frames_forget(frames);
    while (!nj_loader_is_idle(frames->loader)) {
        nj_loader_wait(frames->loader);
        (void)take_in(frames, NO_GROUP, NULL); /* whatever came is given up below */
    }
    for (uint32_t i = 0; i < frames->pool.n_frames; i++) {
        struct nj_frame *frame = &frames->pool.frames[i];
        if (frame->state == NJ_FRAME_READY) {
            nj_frame_pool_give_up(&frames->pool, frame);
        }
    }
    return nj_opened_files_accept(&frames->files, err);
}

static void frames_report(const void *state, struct nj_stream_report *report)
{
    const struct frames *frames = state;
    *report = (struct nj_stream_report){.n_cache_hits = frames->n_cache_hits,
                                        .n_rereads = frames->n_rereads,
                                        .waited_ns = frames->waited_ns};
    nj_loader_report(frames->loader, report);
}

/* --- open and close --- */

static void frames_close(void *state)
{
    struct frames *frames = state;
    nj_loader_destroy(frames->loader); /* first: the disk may be writing into the blocks */
    nj_frame_pool_deinit(&frames->pool);
    nj_wants_deinit(&frames->wants);
    nj_weight_block_give_back(&frames->resident);
    nj_opened_files_deinit(&frames->files);
    nj_group_table_deinit(&frames->table);
    free(frames->resident_places);
    free(frames);
}

/* As many frames as the bytes make, or as are useful. */
static enum nj_status make_pool(struct frames *frames, const struct nj_stream_options *options,
                                struct nj_error *err)
{
    struct nj_stream_needs needs = {0};
    nj_group_table_measure(&frames->table, &needs);
    if (options->frames_bytes < needs.least_frames_bytes) {
        return nj_fail(err, NJ_E_BUDGET,
                       "stream weights through %" PRIu64 " bytes: at least %" PRIu64
                       " are needed, %d frames of %" PRIu64,
                       options->frames_bytes, needs.least_frames_bytes, NJ_LEAST_FRAMES,
                       needs.frame_bytes);
    }
    uint64_t bytes = options->frames_bytes < needs.useful_frames_bytes
                         ? options->frames_bytes
                         : needs.useful_frames_bytes;
    uint64_t n_frames = needs.frame_bytes == 0 ? 0 : bytes / needs.frame_bytes;
    enum nj_status status =
        nj_frame_pool_init(&frames->pool, &frames->table, &frames->wants, (uint32_t)n_frames,
                           needs.frame_bytes, options->budget, err);
    frames->pool.poisons = options->poisons || ALWAYS_POISONS;
    return status;
}

/* Places of the resident groups, and memory for them. */
static enum nj_status make_resident(struct frames *frames,
                                    const struct nj_stream_options *options,
                                    struct nj_error *err)
{
    frames->resident_places =
        calloc((size_t)frames->table.n_groups + 1, sizeof *frames->resident_places);
    if (frames->resident_places == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "place %" PRIu32 " groups: no memory",
                       frames->table.n_groups);
    }
    uint64_t bytes = nj_resident_lay_out(&frames->table, frames->resident_places);
    return nj_weight_block_take(&frames->resident, bytes, options->budget,
                                "hold resident weights in memory", err);
}

/* Half of the frames at most: what the drive needs beyond that it has to show. */
static void set_first_window(struct frames *frames)
{
    uint64_t window = frames->pool.n_frames == 0 ? 0 : WINDOW_BYTES / frames->pool.frame_bytes;
    uint64_t most = frames->pool.n_frames / 2;
    window = window < most ? window : most;
    frames->first_window = window < LEAST_WINDOW ? LEAST_WINDOW : (uint32_t)window;
    frames->window = frames->first_window;
}

static enum nj_status make_loader(struct frames *frames,
                                  const struct nj_stream_options *options, struct nj_error *err)
{
    struct nj_loader_options loader_options = {.table = &frames->table,
                                               .files = &frames->files,
                                               .clock = frames->clock,
                                               .kind = options->reader,
                                               .readers = options->readers,
                                               .frames = frames->pool.block.bytes,
                                               .frame_bytes = frames->pool.frame_bytes,
                                               .n_frames = frames->pool.n_frames};
    return nj_loader_create(&loader_options, &frames->loader, err);
}

static enum nj_status fill(struct frames *frames, const struct nj_stream_options *options,
                           struct nj_error *err)
{
    enum nj_status status = nj_group_table_init(&frames->table, options, err);
    if (status == NJ_OK) {
        status = nj_wants_init(&frames->wants, &frames->table, err);
    }
    if (status == NJ_OK) {
        status = make_resident(frames, options, err);
    }
    if (status == NJ_OK) {
        status = make_pool(frames, options, err);
    }
    if (status == NJ_OK) {
        status = nj_opened_files_init(&frames->files, options->fs, options->files,
                                      options->n_files, err);
    }
    if (status == NJ_OK) {
        set_first_window(frames);
        status = make_loader(frames, options, err);
    }
    if (status == NJ_OK) {
        status = nj_resident_read(&frames->table, frames->resident_places, &frames->resident,
                                  frames->loader, options, err);
    }
    return status;
}

enum nj_status nj_stream_frames_open(const struct nj_stream_options *options,
                                     struct nj_stream_body *body, struct nj_error *err)
{
    struct frames *frames = calloc(1, sizeof *frames);
    if (frames == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "open a stream: no memory");
    }
    frames->clock = options->clock == NULL ? nj_clock_system() : *options->clock;
    frames->check = options->check;
    frames->check_context = options->check_context;
    enum nj_status status = fill(frames, options, err);
    if (status != NJ_OK) {
        frames_close(frames);
        return status;
    }
    *body = (struct nj_stream_body){
        .state = frames,
        .close = frames_close,
        .n_pinnable = frames->pool.n_frames == 0 ? UINT32_MAX : frames->pool.n_frames - 1,
        .want = frames_want,
        .forget = frames_forget,
        .pin = frames_pin,
        .unpin = frames_unpin,
        .check_files = frames_check_files,
        .accept_files = frames_accept_files,
        .report = frames_report,
    };
    return NJ_OK;
}

uint64_t nj_stream_frames_overhead_bytes(const struct nj_group_table *table, uint64_t n_frames)
{
    uint64_t a_group =
        sizeof(struct nj_wanted_group) + sizeof(uint32_t) + sizeof(uint64_t); /* queue, place */
    return nj_group_table_bytes(table) + table->n_records * sizeof(bool) +
           table->n_groups * a_group + nj_frame_pool_overhead_bytes(table->n_groups, n_frames);
}
