#include "tools/bench_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "format/planes.h"
#include "generate/generator.h"
#include "model/model.h"
#include "snapshot/folder.h"
#include "snapshot/interval.h"
#include "snapshot/loader.h"
#include "snapshot/retention.h"
#include "snapshot/writer.h"

enum {
    DEFAULT_SEQUENCES = 4,
    DEFAULT_POSITIONS = 256,
    CHOSEN_LIMIT = 192, /* ids of one sequence; then it begins again */
    RESTORE_SAMPLES = 5,
    PROMPT_STRIDE = 7919
};

static const char folder_name[] = "nightjar-bench-snapshot.tmp";

/* A piece of a state, packed; `packed` is NULL where it did not shrink. */
struct piece {
    uint8_t *packed;
    size_t packed_bytes;
    size_t raw_bytes;
};

struct bench {
    const struct nj_snapshot_bench_options *options;
    struct nj_snapshot_bench_report *report;
    const struct nj_file_system *fs;
    struct nj_clock clock;
    struct nj_model *model;
    struct nj_generator *generator;
    struct nj_sequence **sequences;
    int32_t *prompt;
    struct piece *pieces;
    size_t n_pieces;
    int parent_fd;
    int folder_fd;
    int *item_fds;
    struct nj_snapshot_writer *writer;
    struct nj_snapshot_chain *chains;
    struct nj_sweep_hooks hooks;
};

static uint64_t now_ns(const struct bench *bench)
{
    return bench->clock.monotonic_ns(bench->clock.context);
}

static uint64_t processor_ns(clockid_t clock)
{
    struct timespec time = {0};
    (void)clock_gettime(clock, &time); /* of ourselves: it is there */
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static double seconds(uint64_t ns)
{
    return (double)ns * 1e-9;
}

static int compare(const void *left, const void *right)
{
    const double *a = left;
    const double *b = right;
    return (*a > *b) - (*a < *b);
}

static double median(double *samples, uint32_t n)
{
    qsort(samples, n, sizeof *samples, compare);
    return n % 2 == 1 ? samples[n / 2] : 0.5 * (samples[n / 2 - 1] + samples[n / 2]);
}

/* --- sequences --- */

static struct nj_sequence_options options_of(struct bench *bench, uint32_t index)
{
    uint32_t n_prompt = bench->report->n_positions;
    uint32_t n_vocabulary = nj_model_dims(bench->model)->n_vocabulary;
    for (uint32_t i = 0; i < n_prompt; i++) {
        bench->prompt[i] = (int32_t)((index + 1 + i) * PROMPT_STRIDE % n_vocabulary);
    }
    return (struct nj_sequence_options){
        .prompt = bench->prompt, .n_prompt = n_prompt, .max_tokens = CHOSEN_LIMIT};
}

static enum nj_status begin_sequences(struct bench *bench, struct nj_error *err)
{
    struct nj_generator_options options = {.max_sequences = bench->report->n_sequences};
    nj_generator_destroy(bench->generator);
    bench->generator = NULL;
    enum nj_status status =
        nj_generator_create(bench->model, NULL, &options, &bench->generator, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_generator_set_hooks(bench->generator, &bench->hooks);
    for (uint32_t i = 0; i < bench->report->n_sequences && status == NJ_OK; i++) {
        struct nj_sequence_options sequence = options_of(bench, i);
        status = nj_generator_add(bench->generator, &sequence, &bench->sequences[i], err);
    }
    return status;
}

static bool any_has_finished(const struct bench *bench)
{
    for (uint32_t i = 0; i < bench->report->n_sequences; i++) {
        if (nj_sequence_finish(bench->sequences[i]) != NJ_FINISH_NONE) {
            return true;
        }
    }
    return false;
}

/* All sequences one id further; from the beginning when one of them is at its end. */
static enum nj_status step(struct bench *bench, struct nj_error *err)
{
    uint32_t n_events = 0;
    enum nj_status status = any_has_finished(bench) ? begin_sequences(bench, err) : NJ_OK;
    return status == NJ_OK ? nj_generator_step(bench->generator, NULL, &n_events, err) : status;
}

static enum nj_status read_prompts(struct bench *bench, struct nj_error *err)
{
    enum nj_status status = begin_sequences(bench, err);
    bool has_read = false;
    while (status == NJ_OK && !has_read) {
        status = step(bench, err);
        has_read = true;
        for (uint32_t i = 0; i < bench->report->n_sequences; i++) {
            has_read = has_read && nj_sequence_n_pending(bench->sequences[i]) == 1;
        }
    }
    return status;
}

/* --- packing --- */

/* Packs what is at `raw` as the writer would, and keeps it. */
static enum nj_status pack(struct bench *bench, struct nj_packer *packer, const float *raw,
                           uint64_t n_values, struct nj_snapshot_bench_kind *kind,
                           uint64_t *spent_ns, struct nj_error *err)
{
    const uint64_t most = NJ_PACK_LIMIT_BYTES / sizeof *raw;
    for (uint64_t done = 0; done < n_values;) {
        uint64_t n = n_values - done < most ? n_values - done : most;
        struct nj_bytes bytes = {.data = (const uint8_t *)(raw + done),
                                 .length_bytes = (size_t)n * sizeof *raw};
        uint8_t *packed = malloc(bytes.length_bytes);
        struct piece *pieces =
            realloc(bench->pieces, (bench->n_pieces + 1) * sizeof *bench->pieces);
        bench->pieces = pieces != NULL ? pieces : bench->pieces;
        if (packed == NULL || pieces == NULL) {
            free(packed);
            return nj_fail(err, NJ_E_MEMORY, "bench: no memory for packed states");
        }
        uint64_t began_ns = now_ns(bench);
        size_t packed_bytes = nj_packer_pack(packer, bytes, packed);
        *spent_ns += now_ns(bench) - began_ns;
        if (packed_bytes == 0) {
            free(packed);
            packed = NULL;
        }
        bench->pieces[bench->n_pieces++] = (struct piece){
            .packed = packed, .packed_bytes = packed_bytes, .raw_bytes = bytes.length_bytes};
        kind->raw_bytes += bytes.length_bytes;
        kind->packed_bytes += packed_bytes > 0 ? packed_bytes : bytes.length_bytes;
        done += n;
    }
    return NJ_OK;
}

static enum nj_status pack_layers(struct bench *bench, struct nj_packer *packer, float *latent,
                                  uint64_t *spent_ns, struct nj_error *err)
{
    const struct nj_dims *dims = nj_model_dims(bench->model);
    struct nj_state *state = bench->sequences[0]->state;
    uint32_t n_positions = nj_state_length(state);
    enum nj_status status = NJ_OK;
    for (uint32_t layer = 0; layer < dims->n_layers && status == NJ_OK; layer++) {
        if (dims->mixers[layer] == NJ_MIXER_LATENT) {
            nj_state_get_positions(state, layer, 0, n_positions, latent);
            status = pack(bench, packer, latent,
                          (uint64_t)n_positions * nj_state_position_values(dims),
                          &bench->report->latent, spent_ns, err);
        } else {
            uint64_t n_values = 0;
            const float *values = nj_state_recurrent(state, layer, &n_values);
            status =
                pack(bench, packer, values, n_values, &bench->report->recurrent, spent_ns, err);
        }
    }
    return status;
}

static enum nj_status measure_packing(struct bench *bench, struct nj_error *err)
{
    struct nj_packer *packer = NULL;
    uint64_t spent_ns = 0;
    uint64_t n_latent = (uint64_t)nj_state_length(bench->sequences[0]->state) *
                        nj_state_position_values(nj_model_dims(bench->model));
    float *latent = malloc((size_t)n_latent * sizeof *latent + 1);
    if (latent == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for a latent cache");
    }
    enum nj_status status = nj_packer_create(NJ_PACK_AUTO, &packer, err);
    if (status == NJ_OK) {
        status = pack_layers(bench, packer, latent, &spent_ns, err);
    }
    nj_packer_destroy(packer);
    free(latent);
    uint64_t raw_bytes = bench->report->recurrent.raw_bytes + bench->report->latent.raw_bytes;
    bench->report->pack_bytes_s = (double)raw_bytes / (seconds(spent_ns) + 1e-9);
    return status;
}

/* Unpacking, on one thread or on all. */
struct unpacking {
    const struct bench *bench;
    struct nj_unpacker **unpackers; /* (n_threads) */
    uint8_t **raw;                  /* ditto, each NJ_PACK_LIMIT_BYTES */
};

static void unpack_piece(void *context, uint32_t index, uint32_t thread_index)
{
    const struct unpacking *unpacking = context;
    const struct piece *piece = &unpacking->bench->pieces[index];
    struct nj_bytes packed = {.data = piece->packed, .length_bytes = piece->packed_bytes};
    if (piece->packed != NULL) {
        (void)nj_unpacker_unpack(unpacking->unpackers[thread_index], packed,
                                 unpacking->raw[thread_index], piece->raw_bytes,
                                 NULL); /* packed a moment ago */
    }
}

static void time_unpacking(struct bench *bench, struct unpacking *unpacking)
{
    uint32_t n = (uint32_t)bench->n_pieces;
    uint64_t n_bytes = 0;
    uint64_t began_ns = now_ns(bench);
    for (uint32_t i = 0; i < n; i++) {
        unpack_piece(unpacking, i, 0);
        n_bytes += bench->pieces[i].packed != NULL ? bench->pieces[i].raw_bytes : 0;
    }
    bench->report->unpack_bytes_s =
        (double)n_bytes / (seconds(now_ns(bench) - began_ns) + 1e-9);
    began_ns = now_ns(bench);
    nj_pool_run(nj_model_pool(bench->model), n, unpack_piece, unpacking);
    bench->report->inflate_s = seconds(now_ns(bench) - began_ns);
}

static enum nj_status measure_unpacking(struct bench *bench, struct nj_error *err)
{
    uint32_t n_threads = nj_pool_n_threads(nj_model_pool(bench->model));
    struct unpacking unpacking = {.bench = bench,
                                  .unpackers = calloc(n_threads, sizeof(struct nj_unpacker *)),
                                  .raw = calloc(n_threads, sizeof *unpacking.raw)};
    bool has_memory = unpacking.unpackers != NULL && unpacking.raw != NULL;
    enum nj_status status = has_memory ? NJ_OK : NJ_E_MEMORY;
    for (uint32_t i = 0; i < n_threads && status == NJ_OK; i++) {
        status = nj_unpacker_create(&unpacking.unpackers[i], err);
        unpacking.raw[i] = malloc(NJ_PACK_LIMIT_BYTES);
        has_memory = has_memory && unpacking.raw[i] != NULL;
    }
    if (!has_memory) {
        status = nj_fail(err, NJ_E_MEMORY, "bench: no memory to unpack into");
    } else if (status == NJ_OK) {
        time_unpacking(bench, &unpacking);
    }
    for (uint32_t i = 0; i < n_threads && unpacking.unpackers != NULL && unpacking.raw != NULL;
         i++) {
        nj_unpacker_destroy(unpacking.unpackers[i]);
        free(unpacking.raw[i]);
    }
    free(unpacking.unpackers);
    free(unpacking.raw);
    return status;
}

/* --- a round --- */

static struct nj_snapshot_identity identity_of(uint32_t index)
{
    return (struct nj_snapshot_identity){.item_index = index,
                                         .numerics_version = NJ_NUMERICS_VERSION};
}

static enum nj_status begin_round(struct bench *bench, struct nj_error *err)
{
    uint32_t n = bench->report->n_sequences;
    struct nj_snapshot_target *targets = calloc(n, sizeof *targets);
    if (targets == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for a round");
    }
    for (uint32_t i = 0; i < n; i++) {
        targets[i] = (struct nj_snapshot_target){.sequence = bench->sequences[i],
                                                 .directory_fd = bench->item_fds[i],
                                                 .identity = identity_of(i),
                                                 .chain = &bench->chains[i]};
    }
    enum nj_status status = nj_snapshot_writer_begin(bench->writer, targets, n, err);
    free(targets);
    return status;
}

static enum nj_status end_round(struct bench *bench, uint64_t *file_bytes, struct nj_error *err)
{
    enum nj_status status = NJ_OK;
    nj_snapshot_writer_wait(bench->writer);
    for (uint32_t i = 0; i < bench->report->n_sequences && status == NJ_OK; i++) {
        struct nj_snapshot_outcome outcome = {.status = NJ_E_STOPPED};
        (void)nj_snapshot_writer_take_outcome(bench->writer, i, &outcome); /* there is one */
        *file_bytes += outcome.file_bytes;
        if (outcome.status != NJ_OK && outcome.status != NJ_E_STOPPED) {
            status = nj_fail(err, outcome.status, "%s", outcome.error.text);
        }
        nj_snapshot_writer_prune(bench->writer, bench->item_fds[i], &bench->chains[i]);
    }
    return status;
}

static enum nj_status measure_round(struct bench *bench, struct nj_error *err)
{
    struct nj_snapshot_bench_report *report = bench->report;
    struct nj_snapshot_stats before = nj_snapshot_writer_stats(bench->writer);
    uint64_t process_ns = processor_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t own_ns = processor_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t began_ns = now_ns(bench);
    enum nj_status status = begin_round(bench, err);
    if (status != NJ_OK) {
        return status;
    }
    nj_snapshot_writer_all_layers(bench->writer);
    nj_snapshot_writer_commit(bench->writer);
    nj_snapshot_writer_wait(bench->writer);
    report->round_s = seconds(now_ns(bench) - began_ns);
    /* Nobody else computes meanwhile: what is not ours is the writer's. */
    own_ns = processor_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
    report->writer_s = seconds(processor_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns - own_ns);
    struct nj_snapshot_stats after = nj_snapshot_writer_stats(bench->writer);
    report->copied_s = seconds(after.copied_ns - before.copied_ns);
    report->blocked_s = seconds(after.blocked_ns - before.blocked_ns);
    status = end_round(bench, &report->file_bytes, err);
    nj_snapshot_writer_wait(bench->writer);
    uint64_t interval_ns = nj_snapshot_interval_ns(after.copied_ns - before.copied_ns + 1,
                                                   NJ_SNAPSHOT_KILLS_APART_NS);
    report->interval_s = seconds(interval_ns);
    report->cost_share = (report->copied_s + report->writer_s) / report->interval_s;
    report->bytes_per_hour = (double)report->file_bytes * 3600.0 / report->interval_s;
    return status;
}

/* --- restoring --- */

/* Opens the current segment of the first sequence, which the system is asked to forget. */
static enum nj_status open_forgotten(struct bench *bench, int *fd, uint64_t *n_bytes,
                                     struct nj_error *err)
{
    char name[NJ_SEGMENT_NAME_BYTES];
    nj_segment_name(bench->chains[0].number, name);
    enum nj_status status = nj_file_open_read(bench->fs, bench->item_fds[0], name, fd, err);
    if (status != NJ_OK) {
        return status;
    }
    (void)posix_fadvise(*fd, 0, 0, POSIX_FADV_DONTNEED); /* else it is only faster */
    status = nj_file_length(bench->fs, *fd, n_bytes, err);
    if (status != NJ_OK) {
        (void)bench->fs->close(bench->fs->context, *fd); /* only looked at */
    }
    return status;
}

static enum nj_status time_reading(struct bench *bench, double *spent_s, struct nj_error *err)
{
    int fd = -1;
    uint64_t n_bytes = 0;
    enum nj_status status = open_forgotten(bench, &fd, &n_bytes, err);
    uint8_t *bytes = status == NJ_OK ? malloc((size_t)n_bytes + 1) : NULL;
    if (status == NJ_OK && bytes == NULL) {
        status = nj_fail(err, NJ_E_MEMORY, "bench: no memory for a segment");
    }
    uint64_t began_ns = now_ns(bench);
    if (status == NJ_OK) {
        status = nj_file_read_exactly(bench->fs, fd, bytes, (size_t)n_bytes, 0, "segment", err);
    }
    *spent_s = seconds(now_ns(bench) - began_ns);
    if (fd >= 0) {
        (void)bench->fs->close(bench->fs->context, fd); /* only read from */
    }
    free(bytes);
    return status;
}

static enum nj_status time_restoring(struct bench *bench, double *spent_s, struct nj_error *err)
{
    const struct nj_sequence *original = bench->sequences[0];
    struct nj_sequence_options options = options_of(bench, 0);
    struct nj_generator_options one = {.max_sequences = 1};
    struct nj_generator *generator = NULL;
    struct nj_sequence *sequence = NULL;
    struct nj_snapshot_identity identity = identity_of(0);
    struct nj_snapshot_chain chain;
    struct nj_snapshot_loaded loaded = {.number = 0};
    struct nj_snapshot_loader loader = {.fs = bench->fs,
                                        .dims = nj_model_dims(bench->model),
                                        .pool = nj_model_pool(bench->model)};
    int fd = -1;
    uint64_t n_bytes = 0;
    options.chosen = nj_sequence_chosen(original, &options.n_chosen);
    enum nj_status status = nj_generator_create(bench->model, NULL, &one, &generator, err);
    if (status == NJ_OK) {
        status = nj_generator_add(generator, &options, &sequence, err);
    }
    if (status == NJ_OK) {
        status = open_forgotten(bench, &fd, &n_bytes, err);
    }
    uint64_t began_ns = now_ns(bench);
    if (status == NJ_OK) {
        (void)bench->fs->close(bench->fs->context, fd); /* only looked at */
        status = nj_snapshot_load(&loader, bench->item_fds[0], &identity, sequence, &chain,
                                  &loaded, err);
    }
    *spent_s = seconds(now_ns(bench) - began_ns);
    nj_generator_destroy(generator);
    return status == NJ_OK && loaded.number == 0
               ? nj_fail(err, NJ_E_INTERNAL, "bench: its own snapshot is of no use: %s",
                         loaded.complaint)
               : status;
}

static enum nj_status measure_restoring(struct bench *bench, struct nj_error *err)
{
    double restored[RESTORE_SAMPLES];
    double read[RESTORE_SAMPLES];
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < RESTORE_SAMPLES && status == NJ_OK; i++) {
        status = time_reading(bench, &read[i], err);
        if (status == NJ_OK) {
            status = time_restoring(bench, &restored[i], err);
        }
    }
    if (status == NJ_OK) {
        bench->report->read_s = median(read, RESTORE_SAMPLES);
        bench->report->restore_s = median(restored, RESTORE_SAMPLES);
    }
    return status;
}

/* --- pairs --- */

/* Sweeps a second, for as long as the interval, with one round in the middle or without. */
static enum nj_status run_arm(struct bench *bench, bool with_snapshot, double *rate,
                              struct nj_error *err)
{
    uint64_t length_ns = (uint64_t)(bench->report->interval_s * 1e9);
    uint64_t n_steps = 0;
    uint64_t ignored_bytes = 0;
    bool is_taken = !with_snapshot;
    enum nj_status status = begin_sequences(bench, err);
    uint64_t began_ns = now_ns(bench);
    while (status == NJ_OK && now_ns(bench) - began_ns < length_ns) {
        bool takes =
            !is_taken && now_ns(bench) - began_ns >= length_ns / 2 && !any_has_finished(bench);
        if (takes) {
            status = begin_round(bench, err);
        }
        if (status == NJ_OK) {
            status = step(bench, err);
        }
        if (takes) {
            nj_snapshot_writer_commit(bench->writer);
            is_taken = true;
        }
        n_steps++;
    }
    *rate = (double)n_steps / seconds(now_ns(bench) - began_ns + 1);
    if (status == NJ_OK && with_snapshot) {
        status = end_round(bench, &ignored_bytes, err);
    }
    return status;
}

static enum nj_status measure_pairs(struct bench *bench, struct nj_error *err)
{
    uint32_t n_pairs = bench->options->n_pairs;
    double *slower = calloc((size_t)n_pairs + 1, sizeof *slower);
    enum nj_status status = NJ_OK;
    if (slower == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for pairs");
    }
    for (uint32_t i = 0; i < n_pairs && status == NJ_OK; i++) {
        double rates[2] = {1.0, 1.0};
        bool first_with = i % 2 == 1; /* who comes first alternates, too */
        status = run_arm(bench, first_with, &rates[first_with ? 1 : 0], err);
        if (status == NJ_OK) {
            status = run_arm(bench, !first_with, &rates[first_with ? 0 : 1], err);
        }
        slower[i] = rates[0] / rates[1] - 1.0;
    }
    if (status == NJ_OK && n_pairs > 0) {
        bench->report->n_pairs = n_pairs;
        bench->report->wall_share = median(slower, n_pairs);
    }
    free(slower);
    return status;
}

/* --- all of it --- */

static enum nj_status open_folders(struct bench *bench, struct nj_error *err)
{
    const struct nj_file_system *fs = bench->fs;
    const char *folder = bench->options->folder != NULL ? bench->options->folder : ".";
    enum nj_status status = nj_file_open_directory(fs, folder, false, &bench->parent_fd, err);
    if (status != NJ_OK) {
        bench->parent_fd = -1;
        return status;
    }
    if (fs->make_directory_at(fs->context, bench->parent_fd, folder_name, 0700) != 0) {
        return nj_fail(err, NJ_E_STORAGE, "make %s/%s: %s", folder, folder_name,
                       strerror(errno));
    }
    bench->folder_fd = fs->open_at(fs->context, bench->parent_fd, folder_name,
                                   O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (bench->folder_fd < 0) {
        return nj_fail(err, NJ_E_STORAGE, "open %s: %s", folder_name, strerror(errno));
    }
    for (uint32_t i = 0; i < bench->report->n_sequences && status == NJ_OK; i++) {
        status =
            nj_segment_folder_open(fs, bench->folder_fd, i, true, &bench->item_fds[i], err);
    }
    return status;
}

/* What is left after a failure is little, and has a name that says what it is. */
static void remove_folders(struct bench *bench)
{
    const struct nj_file_system *fs = bench->fs;
    for (uint32_t i = 0; bench->item_fds != NULL && i < bench->report->n_sequences; i++) {
        if (bench->item_fds[i] >= 0) {
            (void)nj_retention_prune(fs, bench->item_fds[i], 0, 0, NULL);
            (void)nj_segment_folder_remove(fs, bench->item_fds[i], i, NULL);
            (void)fs->close(fs->context, bench->item_fds[i]);
        }
    }
    if (bench->folder_fd >= 0) {
        (void)fs->remove_directory_at(fs->context, bench->folder_fd, "items");
        (void)fs->close(fs->context, bench->folder_fd);
        (void)fs->remove_directory_at(fs->context, bench->parent_fd, folder_name);
    }
    if (bench->parent_fd >= 0) {
        (void)fs->close(fs->context, bench->parent_fd);
    }
}

static enum nj_status open_writer(struct bench *bench, struct nj_error *err)
{
    struct nj_snapshot_writer_options options = {.fs = bench->fs,
                                                 .dims = nj_model_dims(bench->model),
                                                 .clock = bench->clock,
                                                 .pack_level = NJ_PACK_AUTO,
                                                 .max_targets = bench->report->n_sequences,
                                                 .entropy = 1};
    enum nj_status status = nj_snapshot_writer_create(&options, &bench->writer, err);
    bench->hooks = (struct nj_sweep_hooks){.context = bench->writer,
                                           .on_layer_final = nj_snapshot_writer_layer};
    return status;
}

static enum nj_status take_memory(struct bench *bench, struct nj_error *err)
{
    uint32_t n = bench->report->n_sequences;
    bench->sequences = calloc(n, sizeof(struct nj_sequence *));
    bench->prompt = calloc(bench->report->n_positions, sizeof *bench->prompt);
    bench->item_fds = calloc(n, sizeof *bench->item_fds);
    bench->chains = calloc(n, sizeof *bench->chains);
    if (bench->sequences == NULL || bench->prompt == NULL || bench->item_fds == NULL ||
        bench->chains == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "bench: no memory for %u sequences", n);
    }
    for (uint32_t i = 0; i < n; i++) {
        bench->item_fds[i] = -1;
    }
    return NJ_OK;
}

static enum nj_status open_model(struct bench *bench, struct nj_error *err)
{
    const struct nj_snapshot_bench_options *options = bench->options;
    uint32_t n_sequences = bench->report->n_sequences;
    struct nj_model_options model = {.path = options->path,
                                     .cpu_level = options->cpu_level,
                                     .n_threads = options->n_threads,
                                     .memory_bytes = options->memory_bytes,
                                     .n_sequences =
                                         n_sequences + 1, /* one is restored beside them */
                                     .n_positions = bench->report->n_positions + CHOSEN_LIMIT};
    enum nj_status status = nj_model_open(&model, &bench->model, err);
    if (status == NJ_OK) {
        bench->report->n_threads = nj_pool_n_threads(nj_model_pool(bench->model));
    }
    return status;
}

static enum nj_status measure(struct bench *bench, struct nj_error *err)
{
    enum nj_status status = read_prompts(bench, err);
    if (status == NJ_OK) {
        status = measure_packing(bench, err);
    }
    if (status == NJ_OK) {
        status = measure_unpacking(bench, err);
    }
    if (status == NJ_OK) {
        status = measure_round(bench, err);
    }
    if (status == NJ_OK) {
        status = measure_restoring(bench, err);
    }
    return status == NJ_OK ? measure_pairs(bench, err) : status;
}

enum nj_status nj_snapshot_bench_measure(const struct nj_snapshot_bench_options *options,
                                         struct nj_snapshot_bench_report *report,
                                         struct nj_error *err)
{
    struct bench bench = {.options = options,
                          .report = report,
                          .fs = nj_file_system_real(),
                          .clock = nj_clock_system(),
                          .parent_fd = -1,
                          .folder_fd = -1};
    *report = (struct nj_snapshot_bench_report){
        .n_sequences = options->n_sequences > 0 ? options->n_sequences : DEFAULT_SEQUENCES,
        .n_positions = options->n_positions > 0 ? options->n_positions : DEFAULT_POSITIONS};
    enum nj_status status = take_memory(&bench, err);
    if (status == NJ_OK) {
        status = open_model(&bench, err);
    }
    if (status == NJ_OK) {
        status = open_folders(&bench, err);
    }
    if (status == NJ_OK) {
        status = open_writer(&bench, err);
    }
    if (status == NJ_OK) {
        status = measure(&bench, err);
    }
    nj_snapshot_writer_destroy(bench.writer);
    remove_folders(&bench);
    nj_generator_destroy(bench.generator);
    nj_model_close(bench.model);
    for (size_t i = 0; i < bench.n_pieces; i++) {
        free(bench.pieces[i].packed);
    }
    free(bench.pieces);
    free(bench.sequences);
    free(bench.prompt);
    free(bench.item_fds);
    free(bench.chains);
    return status;
}
