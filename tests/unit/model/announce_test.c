/* What a sweep announces and what it then pins, seen from a stream of this file's own that is
 * linked in the place of src/stream/stream.c. */
#include "model/announce.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "edited_model.h"
#include "model/sweep.h"
#include "support/check.h"

enum { QUEUE_RECORDS = 1 << 16, N_ROWS = 16 };

struct nj_stream {
    const struct nj_stream_file *files; /* borrowed from the model */
    struct nj_extent *extents;
    uint8_t **bytes; /* of pinned records */
    uint32_t *n_pins;
    bool *is_kept; /* announced again while pinned */
    uint32_t n_records;
    uint32_t queue[QUEUE_RECORDS]; /* announced and not yet pinned, from `begin` on */
    uint32_t begin;
    uint32_t end;
};

/* What the stream saw. */
static struct {
    uint32_t n_pinnable;
    uint32_t n_out_of_order; /* pins that were not the next announced */
    uint32_t n_pinned;
    uint32_t most_pinned;
    uint32_t n_pins;
    uint32_t n_left;  /* announced and never pinned, when the stream was closed */
    uint32_t fail_at; /* this pin fails; 0: none */
} seen;

enum nj_status nj_stream_open(const struct nj_stream_options *options,
                              struct nj_stream **stream, struct nj_error *err)
{
    struct nj_stream *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return nj_fail(err, NJ_E_MEMORY, "out of memory");
    }
    made->files = options->files;
    made->n_records = options->n_records;
    made->extents = calloc(options->n_records, sizeof *made->extents);
    made->bytes = calloc(options->n_records, sizeof *made->bytes);
    made->n_pins = calloc(options->n_records, sizeof *made->n_pins);
    made->is_kept = calloc(options->n_records, sizeof *made->is_kept);
    if (made->extents == NULL || made->bytes == NULL || made->n_pins == NULL ||
        made->is_kept == NULL) {
        abort();
    }
    memcpy(made->extents, options->extents, options->n_records * sizeof *made->extents);
    *stream = made;
    return NJ_OK;
}

void nj_stream_close(struct nj_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    seen.n_left = stream->end - stream->begin;
    for (uint32_t i = 0; i < stream->n_records; i++) {
        CHECK_EQ(stream->n_pins[i], 0);
        seen.n_left += stream->is_kept[i];
        free(stream->bytes[i]);
    }
    free(stream->extents);
    free(stream->bytes);
    free(stream->n_pins);
    free(stream->is_kept);
    free(stream);
}

uint32_t nj_stream_n_pinnable(const struct nj_stream *stream)
{
    (void)stream;
    return seen.n_pinnable;
}

void nj_stream_want(struct nj_stream *stream, const uint32_t *records, uint32_t n_records)
{
    for (uint32_t i = 0; i < n_records; i++) {
        if (stream->n_pins[records[i]] > 0) {
            stream->is_kept[records[i]] = true;
        } else {
            stream->queue[stream->end++ % QUEUE_RECORDS] = records[i];
        }
    }
}

void nj_stream_forget(struct nj_stream *stream)
{
    stream->begin = stream->end;
    memset(stream->is_kept, 0, stream->n_records * sizeof *stream->is_kept);
}

static uint8_t *read_record(const struct nj_stream *stream, uint32_t record)
{
    const struct nj_extent *extent = &stream->extents[record];
    uint8_t *bytes = malloc(extent->length_bytes);
    int fd = open(stream->files[extent->file].path, O_RDONLY);
    ssize_t n = pread(fd, bytes, extent->length_bytes, (off_t)extent->offset_bytes);
    CHECK_EQ(n, extent->length_bytes);
    (void)close(fd);
    return bytes;
}

enum nj_status nj_stream_pin(struct nj_stream *stream, uint32_t record,
                             struct nj_pinned *pinned, struct nj_error *err)
{
    seen.n_pins++;
    if (seen.n_pins == seen.fail_at) {
        return nj_fail(err, NJ_E_WEIGHTS, "shard.safetensors: wanted 4 bytes, found 3");
    }
    if (stream->is_kept[record]) {
        stream->is_kept[record] = false;
    } else if (stream->begin < stream->end &&
               stream->queue[stream->begin % QUEUE_RECORDS] == record) {
        stream->begin++;
    } else {
        seen.n_out_of_order++;
    }
    if (stream->n_pins[record]++ == 0) {
        stream->bytes[record] = read_record(stream, record);
    }
    seen.n_pinned++;
    seen.most_pinned = seen.n_pinned > seen.most_pinned ? seen.n_pinned : seen.most_pinned;
    *pinned = (struct nj_pinned){.bytes = stream->bytes[record]};
    return NJ_OK;
}

void nj_stream_unpin(struct nj_stream *stream, uint32_t record)
{
    seen.n_pinned--;
    if (--stream->n_pins[record] == 0) {
        free(stream->bytes[record]);
        stream->bytes[record] = NULL;
    }
}

enum nj_status nj_stream_check_files(const struct nj_stream *stream, struct nj_error *err)
{
    (void)stream; /* nobody writes to what is not there */
    (void)err;
    return NJ_OK;
}

enum nj_status nj_stream_accept_files(struct nj_stream *stream, struct nj_error *err)
{
    return nj_stream_check_files(stream, err);
}

uint64_t nj_stream_read_bytes(const struct nj_stream *stream)
{
    (void)stream;
    return 0;
}

void nj_stream_report(const struct nj_stream *stream, struct nj_stream_report *report)
{
    (void)stream;
    *report = (struct nj_stream_report){.reader = "test"};
}

/* --- sweeps --- */

static struct nj_model *open_model(enum tiny_model_kind kind, uint64_t record_limit_bytes,
                                   uint64_t memory_bytes)
{
    struct nj_model_seams seams = {.fs = nj_file_system_real(),
                                   .record_limit_bytes = record_limit_bytes,
                                   .machine_root = ""};
    struct nj_model_options options = {.path = edited_model(kind),
                                       .n_threads = 1,
                                       .max_rows = 16,
                                       .memory_bytes = memory_bytes};
    struct nj_model *model = NULL;
    struct nj_error error;
    seen.n_out_of_order = 0;
    seen.most_pinned = 0;
    seen.n_pins = 0;
    seen.fail_at = 0;
    seen.n_pinnable = UINT32_MAX;
    if (nj_model_open_with(&seams, &options, &model, &error) != NJ_OK) {
        test_fail(__FILE__, __LINE__, "%s", error.text);
        abort();
    }
    return model;
}

/* N_ROWS of one sequence, the last of which may want logits. */
static enum nj_status sweep(struct nj_model *model, bool wants_logits, struct nj_error *err)
{
    float *logits = calloc(nj_model_n_vocabulary(model), sizeof *logits);
    struct nj_row rows[N_ROWS];
    struct nj_state *state = NULL;
    CHECK_EQ(nj_state_create(nj_model_dims(model), NULL, &state, err), NJ_OK);
    for (uint32_t i = 0; i < N_ROWS; i++) {
        rows[i] = (struct nj_row){.state = state,
                                  .position = i,
                                  .token = (nj_token)(i * 53 % 151),
                                  .wants_logits = false};
    }
    rows[N_ROWS - 1].wants_logits = wants_logits;
    enum nj_status status = nj_sweep_run(model, rows, N_ROWS, NULL, logits, err);
    nj_state_destroy(state);
    free(logits);
    return status;
}

/* For every kind of graph, and with matrices in one piece and in many: what is announced is
 * what is pinned, in the same order and as often. */
static void what_is_announced_is_what_is_pinned(void)
{
    static const uint64_t limits[] = {0, 5120};
    for (enum tiny_model_kind kind = 0; kind < TINY_MODEL_COUNT; kind++) {
        for (size_t i = 0; i < 2; i++) {
            /* KL5 keeps a whole expert matrix in a record of its own size. */
            struct nj_model *model =
                open_model(kind, kind == TINY_MODEL_KL5 ? 0 : limits[i], 0);
            struct nj_error error;

            CHECK_EQ(sweep(model, true, &error), NJ_OK);
            CHECK_EQ(sweep(model, false, &error), NJ_OK);

            CHECK(seen.n_pins > 100);
            CHECK_EQ(seen.n_out_of_order, 0);
            nj_model_close(model);
            CHECK_EQ(seen.n_left, 0);
        }
    }
}

/* Six records an expert. These rows of T13 choose more than eight in some layer. */
static void no_more_experts_are_pinned_than_memory_allows(void)
{
    static const struct {
        uint32_t n_pinnable;
        uint32_t most_pinned;
    } cases[] = {{1, 6}, {2, 6}, {3, 12}, {6, 30}, {8, 42}, {9, 48}, {UINT32_MAX, 48}};
    struct nj_model *model = open_model(TINY_MODEL_T13, 0, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct nj_error error;
        seen.n_pinnable = cases[i].n_pinnable;
        seen.most_pinned = 0;

        CHECK_EQ(sweep(model, true, &error), NJ_OK);

        CHECK_EQ(seen.most_pinned, cases[i].most_pinned);
        CHECK_EQ(seen.n_out_of_order, 0);
    }
    nj_model_close(model);
}

/* Every pin fails once: the sweep says where, nothing stays pinned, and the states are of no
 * use. */
static void every_failed_pin_is_told_with_layer_and_tensor(void)
{
    struct nj_model *model = open_model(TINY_MODEL_T5, 0, 0);
    struct nj_error error;
    CHECK_EQ(sweep(model, true, &error), NJ_OK);
    uint32_t n_pins = seen.n_pins;
    for (uint32_t n = 1; n <= n_pins; n++) {
        seen.n_pins = 0;
        seen.fail_at = n;

        CHECK_EQ(sweep(model, true, &error), NJ_E_WEIGHTS);

        CHECK_EQ(seen.n_pinned, 0);
        CHECK_CONTAINS(error.text, ": shard.safetensors: wanted 4 bytes, found 3");
        bool is_layer = strncmp(error.text, "layer ", 6) == 0;
        CHECK(is_layer || strstr(error.text, "model.embed_tokens: ") != NULL ||
              strstr(error.text, "output head: lm_head: ") != NULL);
    }
    nj_model_close(model);
    CHECK_EQ(seen.n_left, 0); /* what a broken-off sweep had announced is taken back */
}

static void a_failed_pin_of_an_expert_names_layer_expert_and_matrix(void)
{
    struct nj_model *model = open_model(TINY_MODEL_T5, 0, 0);
    struct nj_error error;
    bool was_seen = false;
    for (uint32_t n = 1; n < 400 && !was_seen; n++) {
        seen.n_pins = 0;
        seen.fail_at = n;
        enum nj_status status = sweep(model, true, &error);
        was_seen = status == NJ_E_WEIGHTS && strstr(error.text, ": w3: ") != NULL;
    }

    CHECK(was_seen);
    CHECK_CONTAINS(error.text, "layer 1: expert ");
    nj_model_close(model);
}

int main(void)
{
    RUN(what_is_announced_is_what_is_pinned);
    RUN(no_more_experts_are_pinned_than_memory_allows);
    RUN(every_failed_pin_is_told_with_layer_and_tensor);
    RUN(a_failed_pin_of_an_expert_names_layer_expert_and_matrix);
    return test_result();
}
