/* Groups pass through frames, all of one size, so that any of them fits into any frame and
 * memory never falls to pieces.
 *
 *     FREE     --(start)--> LOADING      read ahead, or a pin waits for it
 *     LOADING  --(take_in)--> READY; FREE when the read failed or the check refused it
 *     READY    --(give_up)--> FREE       to make room, while nobody has it pinned
 *
 * A READY frame that is neither pinned nor wanted lies on the shelf (shelf.h), which says what
 * to give up next. How far to read ahead is a number of frames, the window: it grows when the
 * engine had to wait although the drive had time, and shrinks slowly, because every frame of it
 * is missing from what is kept. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "stream/body.h"
#include "stream/groups.h"
#include "stream/loader.h"
#include "stream/opened_files.h"
#include "stream/resident.h"
#include "stream/shelf.h"
#include "stream/wants.h"
#include "stream/weight_block.h"

enum {
    WINDOW_BYTES = 16 * 1024 * 1024, /* at first: a few reads ahead of any drive */
    LEAST_WINDOW = 2,
    LOADS_TO_JUDGE = 32,
    /* Uses are counted over this many walks through everything before they count half. */
    WALKS_BETWEEN_HALVINGS = 8,
    POISON = 0xA5
};

/* The share of the time that is not worth a wider window. */
static const double SMALL_LOSS = 0.02;

#if defined(NJ_POISON)
static const bool ALWAYS_POISONS = true;
#else
static const bool ALWAYS_POISONS = false;
#endif

enum frame_state { FRAME_FREE, FRAME_LOADING, FRAME_READY };

struct frame {
    struct nj_load load;
    uint32_t group; /* unless it is free */
    uint32_t n_pins;
    enum frame_state state;
    bool is_ahead; /* started and never pinned yet */
};

/* Invariants: a group has at most one frame; n_ahead counts the frames that are ahead; a frame
 * is on the shelf exactly when it is ready, not pinned and not wanted. */
struct frames {
    struct nj_group_table table;
    struct nj_opened_files files;
    struct nj_clock clock;
    struct nj_loader *loader;
    nj_record_check *check;
    void *check_context;
    bool poisons;

    struct nj_weight_block resident;
    uint64_t *resident_places; /* (n_groups) */

    struct nj_weight_block block;
    uint64_t frame_bytes;
    uint32_t n_frames;
    struct frame *frames;  /* (n_frames) */
    uint32_t *free_frames; /* (n_frames) numbers, n_free of them valid */
    uint32_t n_free;
    uint32_t *frame_of; /* (n_groups) or NJ_NO_FRAME */

    struct nj_wants wants;
    struct nj_shelf shelf;
    uint8_t *n_uses; /* (n_groups) saturates at NJ_MOST_USES */
    uint64_t n_uses_counted;
    uint64_t n_uses_to_halving;

    uint32_t n_ahead;
    uint32_t window;
    uint32_t first_window;
    bool was_short;   /* the drive had time for more than the window allowed */
    uint64_t lost_ns; /* waited after that, since the window was last judged */
    uint64_t judged_at_ns;
    uint32_t n_loads_judged;

    uint64_t n_cache_hits;
    uint64_t n_rereads;
    uint64_t waited_ns;
};

static uint8_t *memory_of(const struct frames *frames, uint32_t frame)
{
    return frames->block.bytes + frame * frames->frame_bytes;
}

static uint64_t now_ns(const struct frames *frames)
{
    return frames->clock.monotonic_ns(frames->clock.context);
}

static bool is_resident(const struct frames *frames, uint32_t group)
{
    return frames->table.groups[group].keep == NJ_GROUP_RESIDENT;
}

/* --- giving up --- */

/* Makes a frame free whose group is not pinned, and not being read. */
static void give_up(struct frames *frames, uint32_t number)
{
    struct frame *frame = &frames->frames[number];
    assert(frame->state != FRAME_FREE && frame->n_pins == 0);
    nj_shelf_take(&frames->shelf, number);
    frames->n_ahead -= frame->is_ahead ? 1 : 0;
    frame->is_ahead = false;
    frame->state = FRAME_FREE;
    frames->frame_of[frame->group] = NJ_NO_FRAME;
    if (frames->poisons) {
        memset(memory_of(frames, number), POISON, frames->frame_bytes);
    }
    frames->free_frames[frames->n_free++] = number;
}

/* Halves all counts now and then, so that what was used often long ago is forgotten. */
static void count_use(struct frames *frames, uint32_t group)
{
    if (frames->n_uses[group] < NJ_MOST_USES) {
        frames->n_uses[group]++;
    }
    if (++frames->n_uses_counted < frames->n_uses_to_halving) {
        return;
    }
    frames->n_uses_counted = 0;
    for (uint32_t i = 0; i < frames->table.n_groups; i++) {
        frames->n_uses[i] /= 2;
    }
    nj_shelf_halve(&frames->shelf);
}

/* Nobody uses or wants the frame's group any more. */
static void lay_on_shelf(struct frames *frames, uint32_t number)
{
    struct frame *frame = &frames->frames[number];
    frames->n_ahead -= frame->is_ahead ? 1 : 0;
    frame->is_ahead = false;
    if (frames->table.groups[frame->group].keep == NJ_GROUP_PASSING) {
        nj_shelf_put_passing(&frames->shelf, number);
    } else {
        nj_shelf_put(&frames->shelf, number, frames->n_uses[frame->group]);
    }
}

/* --- reading --- */

/* A free frame, or NJ_NO_FRAME when all hold what is used or wanted. */
static uint32_t take_spare_frame(struct frames *frames)
{
    if (frames->n_free == 0) {
        uint32_t victim = nj_shelf_victim(&frames->shelf);
        if (victim == NJ_NO_FRAME) {
            return NJ_NO_FRAME;
        }
        give_up(frames, victim);
    }
    return frames->free_frames[--frames->n_free];
}

static void start(struct frames *frames, uint32_t group, uint32_t number, bool is_urgent)
{
    struct frame *frame = &frames->frames[number];
    frame->group = group;
    frame->state = FRAME_LOADING;
    frame->is_ahead = true;
    frames->n_ahead++;
    frames->frame_of[group] = number;
    frame->load.group = group;
    frame->load.target = memory_of(frames, number);
    frame->load.buffer = number;
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
        if (frames->frame_of[group] == NJ_NO_FRAME && nj_wants_has(wants, group)) {
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
        if (frames->n_ahead >= frames->window) {
            frames->was_short = true;
            return;
        }
        uint32_t frame = take_spare_frame(frames);
        if (frame == NJ_NO_FRAME) {
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
        uint32_t most = frames->n_frames - 1;
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
static enum nj_status settle(struct frames *frames, struct frame *frame, bool is_awaited,
                             struct nj_error *err)
{
    uint32_t number = (uint32_t)(frame - frames->frames);
    adjust_window(frames);
    enum nj_status status =
        frame->load.has_failed
            ? nj_loader_explain(frames->loader, &frame->load.failure, err)
            : nj_check_group(&frames->table, frame->group, frame->load.target, frames->check,
                             frames->check_context, err);
    if (status != NJ_OK) {
        give_up(frames, number);
        return status;
    }
    frame->state = FRAME_READY;
    if (!is_awaited && !nj_wants_has(&frames->wants, frame->group)) {
        lay_on_shelf(frames, number);
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
        struct frame *frame = &frames->frames[load->buffer];
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
    (void)take_in(frames, UINT32_MAX, NULL); /* nothing is awaited */
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

/* The ready frame that is needed last, among those not pinned. */
static uint32_t find_needed_last(const struct frames *frames)
{
    uint32_t last = NJ_NO_FRAME;
    for (uint32_t i = 0; i < frames->n_frames; i++) {
        const struct frame *frame = &frames->frames[i];
        if (frame->state != FRAME_READY || frame->n_pins > 0) {
            continue;
        }
        if (last == NJ_NO_FRAME ||
            frames->wants.groups[frame->group].wanted_at >
                frames->wants.groups[frames->frames[last].group].wanted_at) {
            last = i;
        }
    }
    return last;
}

/* A frame for a group that is needed now: if there is no spare one, what is needed last makes
 * room and is read again later. */
static uint32_t take_frame_now(struct frames *frames)
{
    uint32_t frame = take_spare_frame(frames);
    while (frame == NJ_NO_FRAME) {
        uint32_t last = find_needed_last(frames);
        if (last != NJ_NO_FRAME) {
            uint32_t group = frames->frames[last].group;
            give_up(frames, last);
            frames->n_rereads++;
            nj_wants_queue(&frames->wants, group);
        } else {
            (void)wait_for(frames, UINT32_MAX, NULL); /* for one that is being read */
        }
        frame = take_spare_frame(frames);
    }
    return frame;
}

/* Has the group in a frame. */
static enum nj_status fetch(struct frames *frames, uint32_t group, struct nj_error *err)
{
    advance(frames);
    if (frames->frame_of[group] == NJ_NO_FRAME) {
        uint32_t frame = take_frame_now(frames);
        /* While it waited for a frame, the group may have been read ahead. */
        if (frames->frame_of[group] == NJ_NO_FRAME) {
            start(frames, group, frame, true);
        } else {
            frames->free_frames[frames->n_free++] = frame;
        }
    }
    struct frame *frame = &frames->frames[frames->frame_of[group]];
    if (frame->state == FRAME_LOADING) {
        nj_loader_hurry(frames->loader, &frame->load);
    }
    enum nj_status status = NJ_OK;
    while (status == NJ_OK && frame->state == FRAME_LOADING) {
        status = wait_for(frames, group, err);
    }
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
    enum nj_status status = fetch(frames, place->group, err);
    if (status != NJ_OK) {
        return status;
    }
    uint32_t number = frames->frame_of[place->group];
    struct frame *frame = &frames->frames[number];
    nj_shelf_take(&frames->shelf, number);
    frames->n_ahead -= frame->is_ahead ? 1 : 0;
    frame->is_ahead = false;
    frame->n_pins++;
    nj_wants_remove(&frames->wants, record); /* announced again while pinned, it is kept */
    pinned->bytes = memory_of(frames, number) + place->offset_bytes;
    return NJ_OK;
}

static void frames_unpin(void *state, uint32_t record)
{
    struct frames *frames = state;
    uint32_t group = frames->table.records[record].group;
    if (is_resident(frames, group)) {
        return;
    }
    uint32_t number = frames->frame_of[group];
    struct frame *frame = &frames->frames[number];
    assert(frame->state == FRAME_READY && frame->n_pins > 0);
    if (--frame->n_pins == 0 && !nj_wants_has(&frames->wants, group)) {
        count_use(frames, group);
        lay_on_shelf(frames, number);
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
    uint32_t frame = frames->frame_of[group];
    if (frame == NJ_NO_FRAME) {
        nj_wants_queue(&frames->wants, group);
    } else if (frames->frames[frame].state == FRAME_READY) {
        nj_shelf_take(&frames->shelf, frame);
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
    for (uint32_t i = 0; i < frames->n_frames; i++) {
        const struct frame *frame = &frames->frames[i];
        if (frame->state == FRAME_READY && frame->n_pins == 0 &&
            nj_wants_has(&frames->wants, frame->group)) {
            lay_on_shelf(frames, i);
        }
    }
    nj_wants_clear(&frames->wants);
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
    nj_shelf_deinit(&frames->shelf);
    nj_wants_deinit(&frames->wants);
    nj_weight_block_give_back(&frames->block);
    nj_weight_block_give_back(&frames->resident);
    nj_opened_files_deinit(&frames->files);
    nj_group_table_deinit(&frames->table);
    free(frames->resident_places);
    free(frames->frames);
    free(frames->free_frames);
    free(frames->frame_of);
    free(frames->n_uses);
    free(frames);
}

/* How many frames the bytes make, all of one size. */
static enum nj_status count_frames(struct frames *frames,
                                   const struct nj_stream_options *options,
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
    frames->frame_bytes = needs.frame_bytes;
    frames->n_frames = needs.frame_bytes == 0 ? 0 : (uint32_t)(bytes / needs.frame_bytes);
    return NJ_OK;
}

static enum nj_status make_tables(struct frames *frames, struct nj_error *err)
{
    size_t n_frames = frames->n_frames;
    size_t n_groups = frames->table.n_groups;
    frames->frames = calloc(n_frames + 1, sizeof *frames->frames);
    frames->free_frames = calloc(n_frames + 1, sizeof *frames->free_frames);
    frames->frame_of = calloc(n_groups + 1, sizeof *frames->frame_of);
    frames->n_uses = calloc(n_groups + 1, sizeof *frames->n_uses);
    frames->resident_places = calloc(n_groups + 1, sizeof *frames->resident_places);
    if (frames->frames == NULL || frames->free_frames == NULL || frames->frame_of == NULL ||
        frames->n_uses == NULL || frames->resident_places == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "list %zu frames for %zu groups: no memory", n_frames,
                       n_groups);
    }
    for (size_t i = 0; i < n_groups; i++) {
        frames->frame_of[i] = NJ_NO_FRAME;
    }
    for (uint32_t i = frames->n_frames; i > 0; i--) {
        frames->free_frames[frames->n_free++] = i - 1;
    }
    enum nj_status status = nj_wants_init(&frames->wants, &frames->table, err);
    return status != NJ_OK ? status : nj_shelf_init(&frames->shelf, frames->n_frames, err);
}

/* Half of the frames at most: what the drive needs beyond that it has to show. */
static void set_first_window(struct frames *frames)
{
    uint64_t window = frames->frame_bytes == 0 ? 0 : WINDOW_BYTES / frames->frame_bytes;
    uint64_t most = frames->n_frames / 2;
    window = window < most ? window : most;
    frames->first_window = window < LEAST_WINDOW ? LEAST_WINDOW : (uint32_t)window;
    frames->window = frames->first_window;
    frames->n_uses_to_halving = (uint64_t)WALKS_BETWEEN_HALVINGS * frames->table.n_groups + 1;
}

static enum nj_status make_loader(struct frames *frames,
                                  const struct nj_stream_options *options, struct nj_error *err)
{
    struct nj_loader_options loader_options = {.table = &frames->table,
                                               .files = &frames->files,
                                               .clock = frames->clock,
                                               .kind = options->reader,
                                               .readers = options->readers,
                                               .frames = frames->block.bytes,
                                               .frame_bytes = frames->frame_bytes,
                                               .n_frames = frames->n_frames};
    return nj_loader_create(&loader_options, &frames->loader, err);
}

static enum nj_status take_memory(struct frames *frames,
                                  const struct nj_stream_options *options, struct nj_error *err)
{
    uint64_t resident_bytes = nj_resident_lay_out(&frames->table, frames->resident_places);
    enum nj_status status =
        nj_weight_block_take(&frames->resident, resident_bytes, options->budget,
                             "hold resident weights in memory", err);
    if (status != NJ_OK) {
        return status;
    }
    return nj_weight_block_take(&frames->block, frames->n_frames * frames->frame_bytes,
                                options->budget, "hold frames for weights", err);
}

static enum nj_status fill(struct frames *frames, const struct nj_stream_options *options,
                           struct nj_error *err)
{
    enum nj_status status = nj_group_table_init(&frames->table, options, err);
    if (status == NJ_OK) {
        status = count_frames(frames, options, err);
    }
    if (status == NJ_OK) {
        status = make_tables(frames, err);
    }
    if (status == NJ_OK) {
        set_first_window(frames);
        status = take_memory(frames, options, err);
    }
    if (status == NJ_OK) {
        status = nj_opened_files_init(&frames->files, options->fs, options->files,
                                      options->n_files, err);
    }
    if (status == NJ_OK) {
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
    frames->poisons = options->poisons || ALWAYS_POISONS;
    enum nj_status status = fill(frames, options, err);
    if (status != NJ_OK) {
        frames_close(frames);
        return status;
    }
    *body = (struct nj_stream_body){
        .state = frames,
        .close = frames_close,
        .n_pinnable = frames->n_frames == 0 ? UINT32_MAX : frames->n_frames - 1,
        .want = frames_want,
        .forget = frames_forget,
        .pin = frames_pin,
        .unpin = frames_unpin,
        .report = frames_report,
    };
    return NJ_OK;
}

uint64_t nj_stream_frames_overhead_bytes(const struct nj_group_table *table, uint64_t n_frames)
{
    uint64_t a_record = sizeof(bool);
    uint64_t a_group = sizeof(struct nj_wanted_group) + sizeof(uint32_t) + sizeof(uint32_t) +
                       sizeof(uint8_t) + sizeof(uint64_t);
    uint64_t a_frame = sizeof(struct frame) + sizeof(uint32_t) + sizeof(struct nj_shelf_place);
    return nj_group_table_bytes(table) + table->n_records * a_record +
           table->n_groups * a_group + n_frames * a_frame;
}
