#include "stream/loader.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    /* Large enough that requests cost nothing beside their bytes, small enough that one group
     * alone fills a drive's depth. */
    REQUEST_BYTES = 1024 * 1024,
    MAX_REQUESTS = 1024,
    MAX_RETRIES = 3, /* of a request that brought nothing */
    RESULTS_AT_ONCE = 64,
    REQUESTS_AT_ONCE = 64,
    NOTE_BYTES = 512
};

struct drive {
    struct nj_load *first; /* queued: with bytes not yet asked for */
    struct nj_load *last;
    uint32_t n_in_flight;
    struct nj_read_depth depth;
    bool ran_out; /* a poll found nothing in flight while something was queued */
};

/* A request in flight. Its number is the tag. */
struct slot {
    struct nj_load *load;
    uint8_t *target;
    uint64_t offset_bytes;
    uint32_t length_bytes;
    uint32_t needed_bytes; /* less than the length where the file ends in its last block */
    uint32_t done_bytes;   /* whole blocks that are there */
    uint32_t found_bytes;  /* all that is there */
    uint32_t file;
    uint32_t n_retries;
};

struct nj_loader {
    const struct nj_group_table *table;
    const struct nj_opened_files *files;
    struct nj_clock clock;
    const struct nj_reader_table *readers;
    void *reader;
    struct drive *drives; /* (files->n_drives) */
    struct slot *slots;   /* (n_slots) */
    uint32_t *free_slots; /* (n_slots) numbers, n_free of them valid */
    uint32_t n_slots;
    uint32_t n_free;
    uint32_t n_queued;                                 /* loads in queues of drives */
    struct nj_read_request requests[REQUESTS_AT_ONCE]; /* n_requests of them not handed over */
    uint32_t n_requests;
    struct nj_load *first_done;
    struct nj_load *last_done;
    uint64_t read_bytes;
    uint64_t n_reads;
    bool has_note;
    char note[NOTE_BYTES];
};

static uint64_t now_ns(const struct nj_loader *loader)
{
    return loader->clock.monotonic_ns(loader->clock.context);
}

static const struct nj_read_run *next_run(const struct nj_loader *loader,
                                          const struct nj_load *load)
{
    return &loader->table->runs[load->next_run];
}

static struct drive *drive_of(const struct nj_loader *loader, uint32_t file)
{
    return &loader->drives[loader->files->list[file].drive];
}

/* --- queues --- */

static bool is_all_asked(const struct nj_loader *loader, const struct nj_load *load)
{
    const struct nj_group *group = &loader->table->groups[load->group];
    return load->next_run == group->first_run + group->n_runs;
}

static void enqueue(struct nj_loader *loader, struct nj_load *load, bool in_front)
{
    struct drive *drive = drive_of(loader, next_run(loader, load)->file);
    bool is_only = drive->first == NULL;
    load->next = in_front ? drive->first : NULL;
    if (!in_front && !is_only) {
        drive->last->next = load;
    } else {
        drive->first = load;
    }
    if (!in_front || is_only) {
        drive->last = load;
    }
    load->is_queued = true;
    loader->n_queued++;
}

/* The queue is a few loads long: no longer than what is read ahead. */
static void unqueue(struct nj_loader *loader, struct nj_load *load)
{
    struct drive *drive = drive_of(loader, next_run(loader, load)->file);
    struct nj_load **link = &drive->first;
    struct nj_load *before = NULL;
    while (*link != load) {
        before = *link;
        link = &before->next;
    }
    *link = load->next;
    if (drive->last == load) {
        drive->last = before;
    }
    load->is_queued = false;
    loader->n_queued--;
}

void nj_loader_start(struct nj_loader *loader, struct nj_load *load, bool is_urgent)
{
    load->has_failed = false;
    load->next_run = loader->table->groups[load->group].first_run;
    load->next_offset_bytes = 0;
    load->target_bytes = 0;
    load->n_in_flight = 0;
    enqueue(loader, load, is_urgent);
}

void nj_loader_hurry(struct nj_loader *loader, struct nj_load *load)
{
    if (load->is_queued) {
        unqueue(loader, load);
        enqueue(loader, load, true);
    }
}

static void finish_if_done(struct nj_loader *loader, struct nj_load *load)
{
    if (load->is_queued || load->n_in_flight > 0) {
        return;
    }
    load->next = NULL;
    if (loader->last_done != NULL) {
        loader->last_done->next = load;
    } else {
        loader->first_done = load;
    }
    loader->last_done = load;
}

struct nj_load *nj_loader_take_done(struct nj_loader *loader)
{
    struct nj_load *load = loader->first_done;
    if (load != NULL) {
        loader->first_done = load->next;
        if (loader->first_done == NULL) {
            loader->last_done = NULL;
        }
    }
    return load;
}

/* --- asking --- */

static uint32_t smaller(uint64_t a, uint32_t b)
{
    return a < b ? (uint32_t)a : b;
}

/* The next piece of the load's run as a request in a slot of its own. */
static struct slot *cut_request(struct nj_loader *loader, struct nj_load *load)
{
    const struct nj_read_run *run = next_run(loader, load);
    struct slot *slot = &loader->slots[loader->free_slots[--loader->n_free]];
    uint32_t length = smaller(run->length_bytes - load->next_offset_bytes, REQUEST_BYTES);
    uint64_t offset = run->offset_bytes + load->next_offset_bytes;
    uint64_t left_in_file = loader->files->list[run->file].length_bytes - offset;
    *slot = (struct slot){.load = load,
                          .target = load->target + load->target_bytes,
                          .offset_bytes = offset,
                          .length_bytes = length,
                          .needed_bytes = smaller(left_in_file, length),
                          .file = run->file};
    load->next_offset_bytes += length;
    load->target_bytes += length;
    load->n_in_flight++;
    return slot;
}

/* Hands over what was put together: one call for many requests, because with a ring each call
 * is one into the kernel, and on to the drive. */
static void hand_over(struct nj_loader *loader)
{
    if (loader->n_requests > 0) {
        loader->readers->submit(loader->reader, loader->requests, loader->n_requests);
        loader->n_requests = 0;
    }
}

/* Asks for what is missing of the slot's bytes; the caller hands over. */
static void submit(struct nj_loader *loader, const struct slot *slot)
{
    if (loader->n_requests == REQUESTS_AT_ONCE) {
        hand_over(loader);
    }
    loader->requests[loader->n_requests++] =
        (struct nj_read_request){.target = slot->target + slot->done_bytes,
                                 .offset_bytes = slot->offset_bytes + slot->done_bytes,
                                 .length_bytes = slot->length_bytes - slot->done_bytes,
                                 .file = slot->file,
                                 .buffer = slot->load->buffer,
                                 .tag = (uint32_t)(slot - loader->slots)};
    loader->n_reads++;
    loader->read_bytes += slot->length_bytes - slot->done_bytes;
    drive_of(loader, slot->file)->n_in_flight++;
}

/* Takes the load out of its drive's queue when its run is all asked for, and into that of its
 * next run. */
static void go_on_to_next_run(struct nj_loader *loader, struct nj_load *load)
{
    if (load->next_offset_bytes < next_run(loader, load)->length_bytes) {
        return;
    }
    uint32_t file = next_run(loader, load)->file;
    uint32_t next = load->next_run + 1;
    const struct nj_group *group = &loader->table->groups[load->group];
    bool stays = next < group->first_run + group->n_runs &&
                 drive_of(loader, loader->table->runs[next].file) == drive_of(loader, file);
    if (!stays) {
        unqueue(loader, load);
    }
    load->next_run = next;
    load->next_offset_bytes = 0;
    if (!stays && !is_all_asked(loader, load)) {
        enqueue(loader, load, false);
    }
}

static void issue_on(struct nj_loader *loader, struct drive *drive)
{
    while (drive->first != NULL && drive->n_in_flight < drive->depth.depth &&
           loader->n_free > 0) {
        struct nj_load *load = drive->first;
        submit(loader, cut_request(loader, load));
        go_on_to_next_run(loader, load);
    }
}

void nj_loader_issue(struct nj_loader *loader)
{
    for (uint32_t i = 0; i < loader->files->n_drives; i++) {
        issue_on(loader, &loader->drives[i]);
    }
    hand_over(loader);
}

/* --- taking in --- */

/* The first failure of a group is the one that is told; nothing more is asked for it. */
static void fail_load(struct nj_loader *loader, const struct slot *slot, int error_number)
{
    struct nj_load *load = slot->load;
    if (load->has_failed) {
        return;
    }
    load->has_failed = true;
    load->failure = (struct nj_read_failure){.file = slot->file,
                                             .offset_bytes = slot->offset_bytes,
                                             .wanted_bytes = slot->needed_bytes,
                                             .found_bytes = slot->found_bytes,
                                             .error_number = error_number};
    if (load->is_queued) {
        unqueue(loader, load);
    }
}

/* A read that came short goes on behind its last whole block, because direct reads begin at
 * blocks. True when all that the file has for the slot is there. */
static bool take_bytes(struct slot *slot, int32_t result)
{
    uint32_t found = result > 0 ? slot->done_bytes + (uint32_t)result : slot->done_bytes;
    if (found >= slot->needed_bytes) {
        return true;
    }
    uint32_t whole = found - found % NJ_READ_BLOCK_BYTES;
    slot->found_bytes = found;
    if (whole == slot->done_bytes) {
        slot->n_retries++;
    }
    slot->done_bytes = whole;
    return false;
}

static void take_result(struct nj_loader *loader, const struct nj_read_result *result,
                        bool is_waiting)
{
    struct slot *slot = &loader->slots[result->tag];
    struct drive *drive = drive_of(loader, slot->file);
    struct nj_load *load = slot->load;
    drive->n_in_flight--;
    if (is_waiting && result->result > 0) {
        nj_read_depth_arrived(&drive->depth, (uint32_t)result->result, now_ns(loader));
    }
    if (!take_bytes(slot, result->result)) {
        if (slot->n_retries <= MAX_RETRIES && !load->has_failed) {
            submit(loader, slot);
            return;
        }
        fail_load(loader, slot, result->result < 0 ? -result->result : 0);
    }
    loader->free_slots[loader->n_free++] = result->tag;
    load->n_in_flight--;
    finish_if_done(loader, load);
}

static uint32_t take_results(struct nj_loader *loader, bool waits)
{
    struct nj_read_result results[RESULTS_AT_ONCE];
    uint32_t n = loader->readers->reap(loader->reader, waits, results, RESULTS_AT_ONCE);
    for (uint32_t i = 0; i < n; i++) {
        take_result(loader, &results[i], waits);
    }
    hand_over(loader); /* what is tried again */
    return n;
}

void nj_loader_poll(struct nj_loader *loader)
{
    while (take_results(loader, false) == RESULTS_AT_ONCE) {
    }
    for (uint32_t i = 0; i < loader->files->n_drives; i++) {
        struct drive *drive = &loader->drives[i];
        /* Loads wait in the queue only while the drive is as deep as it may be. */
        drive->ran_out = drive->ran_out || (drive->n_in_flight == 0 && drive->first != NULL);
    }
    nj_loader_issue(loader);
}

/* That reads ran out matters only when somebody then had to wait. */
static void note_wait(struct nj_loader *loader)
{
    uint64_t now = now_ns(loader);
    for (uint32_t i = 0; i < loader->files->n_drives; i++) {
        struct drive *drive = &loader->drives[i];
        if (drive->ran_out) {
            nj_read_depth_ran_out(&drive->depth);
            drive->ran_out = false;
        }
        issue_on(loader, drive);
        nj_read_depth_wait(&drive->depth, drive->n_in_flight, now);
    }
    hand_over(loader);
}

void nj_loader_wait(struct nj_loader *loader)
{
    assert(!nj_loader_is_idle(loader));
    note_wait(loader);
    (void)take_results(loader, true);
    nj_loader_issue(loader);
}

void nj_loader_abandon(struct nj_loader *loader)
{
    for (uint32_t i = 0; i < loader->files->n_drives; i++) {
        while (loader->drives[i].first != NULL) {
            loader->drives[i].first->has_failed = true; /* so that nothing is tried again */
            unqueue(loader, loader->drives[i].first);
        }
    }
    while (!nj_loader_is_idle(loader)) {
        (void)take_results(loader, true);
    }
    loader->first_done = NULL;
    loader->last_done = NULL;
}

bool nj_loader_is_hungry(const struct nj_loader *loader)
{
    for (uint32_t i = 0; i < loader->files->n_drives; i++) {
        const struct drive *drive = &loader->drives[i];
        if (drive->first == NULL && drive->n_in_flight < drive->depth.depth) {
            return true;
        }
    }
    return false;
}

bool nj_loader_is_idle(const struct nj_loader *loader)
{
    return loader->n_queued == 0 && loader->n_free == loader->n_slots;
}

/* --- words --- */

enum nj_status nj_loader_explain(const struct nj_loader *loader,
                                 const struct nj_read_failure *failure, struct nj_error *err)
{
    const struct nj_opened_file *file = &loader->files->list[failure->file];
    if (failure->error_number != 0) {
        return nj_fail(err, NJ_E_WEIGHTS,
                       "read %s at offset %" PRIu64 ": wanted %" PRIu64 " bytes: %s",
                       file->path, failure->offset_bytes, failure->wanted_bytes,
                       strerror(failure->error_number));
    }
    return nj_fail(err, NJ_E_WEIGHTS,
                   "read %s at offset %" PRIu64 ": wanted %" PRIu64 " bytes, found %" PRIu64,
                   file->path, failure->offset_bytes, failure->wanted_bytes,
                   failure->found_bytes);
}

void nj_loader_report(const struct nj_loader *loader, struct nj_stream_report *report)
{
    report->read_bytes = loader->read_bytes;
    report->n_reads = loader->n_reads;
    report->reader = loader->readers->name;
    report->note = loader->has_note ? loader->note : NULL;
    report->depth = 0;
    for (uint32_t i = 0; i < loader->files->n_drives; i++) {
        uint32_t depth = loader->drives[i].depth.depth;
        report->depth = depth > report->depth ? depth : report->depth;
    }
}

/* --- choosing a reader --- */

static void note(struct nj_loader *loader, const char *text, const char *detail)
{
    /* A text that does not fit is cut, which a report survives. */
    (void)snprintf(loader->note, sizeof loader->note, "%s%s", text, detail);
    loader->has_note = true;
}

static enum nj_status open_reader(struct nj_loader *loader,
                                  const struct nj_reader_table *readers,
                                  const struct nj_reader_options *options, struct nj_error *err)
{
    enum nj_status status = readers->open(readers->context, options, &loader->reader, err);
    if (status == NJ_OK) {
        loader->readers = readers;
    }
    return status;
}

/* The path of a file that is read through the page cache; NULL when all are read directly. */
static const char *buffered_path(const struct nj_opened_files *files)
{
    return files->first_buffered < files->n_files ? files->list[files->first_buffered].path
                                                  : NULL;
}

/* The ring where it and direct I/O are allowed; through the page cache a ring would hand its
 * reads to threads of the kernel's, and ours do that as well. */
static enum nj_status choose_reader(struct nj_loader *loader,
                                    const struct nj_reader_options *options,
                                    struct nj_error *err)
{
    const char *buffered = buffered_path(loader->files);
    if (buffered != NULL) {
        note(loader, "reader threads, through the page cache: no direct I/O on ", buffered);
        return open_reader(loader, nj_reader_threads(), options, err);
    }
    struct nj_error refusal = {NJ_OK, ""};
    enum nj_status status = open_reader(loader, nj_reader_ring(), options, &refusal);
    if (status == NJ_OK) {
        return NJ_OK;
    }
    note(loader, "reader threads: ", refusal.text);
    return open_reader(loader, nj_reader_threads(), options, err);
}

static enum nj_status open_wanted_reader(struct nj_loader *loader,
                                         const struct nj_loader_options *wanted,
                                         const struct nj_reader_options *options,
                                         struct nj_error *err)
{
    if (wanted->readers == NULL && wanted->kind == NJ_READER_AUTO) {
        return choose_reader(loader, options, err);
    }
    const struct nj_reader_table *readers = wanted->readers;
    if (readers == NULL) {
        readers = wanted->kind == NJ_READER_RING ? nj_reader_ring() : nj_reader_threads();
    }
    const char *buffered = buffered_path(loader->files);
    if (buffered != NULL) {
        note(loader,
             wanted->kind == NJ_READER_RING
                 ? "a ring through the page cache: no direct I/O on "
                 : "reader threads, through the page cache: no direct I/O on ",
             buffered);
    } else if (wanted->kind == NJ_READER_THREADS) {
        note(loader, "reader threads, as demanded", "");
    }
    return open_reader(loader, readers, options, err);
}

/* --- create and destroy --- */

static enum nj_status open_with_descriptors(struct nj_loader *loader,
                                            const struct nj_loader_options *options,
                                            struct nj_error *err)
{
    const struct nj_opened_files *files = options->files;
    int *descriptors = calloc((size_t)files->n_files + 1, sizeof *descriptors);
    uint32_t *drives = calloc((size_t)files->n_files + 1, sizeof *drives);
    if (descriptors == NULL || drives == NULL) {
        free(descriptors);
        free(drives);
        return nj_fail(err, NJ_E_MEMORY, "list %" PRIu32 " files: no memory", files->n_files);
    }
    for (uint32_t i = 0; i < files->n_files; i++) {
        descriptors[i] = files->list[i].fd;
        drives[i] = files->list[i].drive;
    }
    struct nj_reader_options reader_options = {.fs = files->fs,
                                               .descriptors = descriptors,
                                               .drives = drives,
                                               .n_files = files->n_files,
                                               .limit = loader->n_slots,
                                               .frames = options->frames,
                                               .frame_bytes = options->frame_bytes,
                                               .n_frames = options->n_frames};
    enum nj_status status = open_wanted_reader(loader, options, &reader_options, err);
    free(descriptors);
    free(drives);
    return status;
}

static enum nj_status make_tables(struct nj_loader *loader, struct nj_error *err)
{
    uint32_t n_drives = loader->files->n_drives;
    uint64_t n_slots = (uint64_t)(n_drives + 1) * NJ_READ_DEPTH_MOST; /* never none */
    loader->n_slots = n_slots < MAX_REQUESTS ? (uint32_t)n_slots : MAX_REQUESTS;
    loader->drives = calloc((size_t)n_drives + 1, sizeof *loader->drives);
    loader->slots = calloc((size_t)loader->n_slots + 1, sizeof *loader->slots);
    loader->free_slots = calloc((size_t)loader->n_slots + 1, sizeof *loader->free_slots);
    if (loader->drives == NULL || loader->slots == NULL || loader->free_slots == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "list reads in flight: no memory");
    }
    for (uint32_t i = 0; i < n_drives; i++) {
        nj_read_depth_init(&loader->drives[i].depth);
    }
    for (uint32_t i = 0; i < loader->n_slots; i++) {
        loader->free_slots[loader->n_free++] = i;
    }
    return NJ_OK;
}

enum nj_status nj_loader_create(const struct nj_loader_options *options,
                                struct nj_loader **loader, struct nj_error *err)
{
    struct nj_loader *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "make a loader: no memory");
    }
    made->table = options->table;
    made->files = options->files;
    made->clock = options->clock;
    enum nj_status status = make_tables(made, err);
    if (status == NJ_OK) {
        status = open_with_descriptors(made, options, err);
    }
    if (status != NJ_OK) {
        nj_loader_destroy(made);
        return status;
    }
    *loader = made;
    return NJ_OK;
}

void nj_loader_destroy(struct nj_loader *loader)
{
    if (loader == NULL) {
        return;
    }
    if (loader->readers != NULL) {
        loader->readers->close(loader->reader);
    }
    free(loader->free_slots);
    free(loader->slots);
    free(loader->drives);
    free(loader);
}
