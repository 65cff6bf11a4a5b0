#include "snapshot/shape.h"

#include <string.h>

#include "base/value_types.h"
#include "model/state.h"

void nj_snapshot_shape_of(const struct nj_dims *dims, uint32_t n_positions,
                          uint32_t first_position, struct nj_snapshot_shape *shape)
{
    *shape = (struct nj_snapshot_shape){.n_positions = n_positions,
                                        .first_position = first_position,
                                        .n_layers = dims->n_layers,
                                        .position_values = nj_state_position_values(dims),
                                        .layer_values = nj_state_layer_values(dims)};
    memcpy(shape->mixers, dims->mixers, sizeof shape->mixers);
}

size_t nj_snapshot_shape_encode(const struct nj_snapshot_shape *shape,
                                uint8_t bytes[NJ_SHAPE_BYTES_LIMIT])
{
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, bytes, NJ_SHAPE_BYTES_LIMIT);
    nj_write_u32(&writer, shape->n_positions);
    nj_write_u32(&writer, shape->first_position);
    nj_write_u32(&writer, shape->n_layers);
    nj_write_u32(&writer, shape->position_values);
    nj_write_u64(&writer, shape->layer_values);
    for (uint32_t layer = 0; layer < shape->n_layers; layer++) {
        nj_write_u8(&writer, shape->mixers[layer] == NJ_MIXER_LATENT ? 1 : 0);
    }
    return writer.offset;
}

static enum nj_status refuse(struct nj_error *err, const char *why)
{
    return nj_fail(err, NJ_E_STATE, "%s", why);
}

static enum nj_status decode_mixers(struct nj_byte_reader *reader,
                                    struct nj_snapshot_shape *shape, struct nj_error *err)
{
    for (uint32_t layer = 0; layer < shape->n_layers; layer++) {
        uint8_t mixer = nj_read_u8(reader);
        if (mixer > 1) {
            return refuse(err, "its shape has layers of an unknown kind");
        }
        shape->mixers[layer] = mixer == 1 ? NJ_MIXER_LATENT : NJ_MIXER_DELTA;
    }
    return NJ_OK;
}

enum nj_status nj_snapshot_shape_decode(struct nj_bytes bytes, struct nj_snapshot_shape *shape,
                                        struct nj_error *err)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, bytes);
    *shape = (struct nj_snapshot_shape){.n_positions = nj_read_u32(&reader)};
    shape->first_position = nj_read_u32(&reader);
    shape->n_layers = nj_read_u32(&reader);
    shape->position_values = nj_read_u32(&reader);
    shape->layer_values = nj_read_u64(&reader);
    if (reader.failed || shape->n_layers > NJ_LAYERS_LIMIT ||
        bytes.length_bytes != reader.offset + shape->n_layers) {
        return refuse(err, "its shape has another length");
    }
    if (shape->first_position > shape->n_positions || shape->layer_values > UINT32_MAX) {
        return refuse(err, "its shape makes no sense");
    }
    return decode_mixers(&reader, shape, err);
}

enum nj_status nj_snapshot_shape_check(const struct nj_snapshot_shape *shape,
                                       const struct nj_dims *dims, struct nj_error *err)
{
    struct nj_snapshot_shape wanted;
    nj_snapshot_shape_of(dims, shape->n_positions, shape->first_position, &wanted);
    if (shape->n_layers != wanted.n_layers ||
        shape->position_values != wanted.position_values ||
        shape->layer_values != wanted.layer_values ||
        memcmp(shape->mixers, wanted.mixers, wanted.n_layers * sizeof *wanted.mixers) != 0) {
        return refuse(err, "its layers are not those of the model");
    }
    return NJ_OK;
}

uint32_t nj_snapshot_recurrent_piece(const struct nj_snapshot_shape *shape)
{
    const uint64_t limit = NJ_SEGMENT_PAYLOAD_LIMIT_BYTES / sizeof(float);
    return (uint32_t)(shape->layer_values < limit ? shape->layer_values : limit);
}

/* A position is at most a few thousand values. */
uint32_t nj_snapshot_kv_piece(const struct nj_snapshot_shape *shape)
{
    uint32_t fitting = NJ_SEGMENT_PAYLOAD_LIMIT_BYTES / sizeof(float) / shape->position_values;
    return fitting > 0 ? fitting : 1;
}

/* Whether nothing of the layer is missing. */
static bool is_complete(const struct nj_snapshot_progress *progress)
{
    const struct nj_snapshot_shape *shape = &progress->shape;
    bool is_latent = shape->mixers[progress->layer] == NJ_MIXER_LATENT;
    uint64_t wanted =
        is_latent ? shape->n_positions - shape->first_position : shape->layer_values;
    return progress->done == wanted;
}

static void pass_complete_layers(struct nj_snapshot_progress *progress)
{
    while (progress->layer < progress->shape.n_layers && is_complete(progress)) {
        progress->layer += 1;
        progress->done = 0;
    }
}

static enum nj_status take_shape(struct nj_snapshot_progress *progress,
                                 const struct nj_segment_record *record, struct nj_error *err)
{
    if (record->is_packed) {
        return refuse(err, "its shape is packed");
    }
    enum nj_status status = nj_snapshot_shape_decode(record->payload, &progress->shape, err);
    progress->has_shape = status == NJ_OK;
    if (progress->has_shape) {
        pass_complete_layers(progress);
    }
    return status;
}

static enum nj_status take_layer(struct nj_snapshot_progress *progress,
                                 const struct nj_segment_record *record, struct nj_error *err)
{
    const struct nj_snapshot_shape *shape = &progress->shape;
    const struct nj_segment_section *section = &record->section;
    if (progress->layer >= shape->n_layers || section->layer != progress->layer) {
        return refuse(err, "its layers are out of order");
    }
    bool is_latent = shape->mixers[section->layer] == NJ_MIXER_LATENT;
    uint64_t origin = is_latent ? shape->first_position : 0;
    uint64_t end = is_latent ? shape->n_positions : shape->layer_values;
    uint64_t unit = is_latent ? shape->position_values : 1;
    if (is_latent != (section->type == NJ_SEGMENT_KV) || section->count == 0 ||
        section->first != origin + progress->done || section->count > end - section->first ||
        record->raw_bytes != section->count * unit * sizeof(float)) {
        return refuse(err, "the pieces of a layer do not join");
    }
    progress->done += section->count;
    pass_complete_layers(progress);
    return NJ_OK;
}

static enum nj_status take_tokens(struct nj_snapshot_progress *progress,
                                  const struct nj_segment_record *record, struct nj_error *err)
{
    const struct nj_segment_section *section = &record->section;
    if (record->is_packed || section->first != progress->n_tokens || section->count == 0 ||
        record->raw_bytes != section->count * sizeof(nj_token)) {
        return refuse(err, "its ids do not join");
    }
    progress->n_tokens += section->count;
    return NJ_OK;
}

static enum nj_status take_closing(struct nj_snapshot_progress *progress,
                                   const struct nj_segment_record *record, uint8_t place,
                                   struct nj_error *err)
{
    if (record->is_packed || progress->n_closing + 1 != place ||
        progress->n_tokens < progress->shape.n_positions || progress->n_tokens == 0) {
        return refuse(err, "its records are out of order");
    }
    progress->n_closing = place;
    return NJ_OK;
}

static enum nj_status take_behind_layers(struct nj_snapshot_progress *progress,
                                         const struct nj_segment_record *record,
                                         struct nj_error *err)
{
    if (progress->layer < progress->shape.n_layers) {
        return refuse(err, "a layer is missing");
    }
    switch (record->section.type) {
    case NJ_SEGMENT_TOKENS:
        return progress->n_closing == 0 ? take_tokens(progress, record, err)
                                        : refuse(err, "its records are out of order");
    case NJ_SEGMENT_SAMPLER:
        return take_closing(progress, record, 1, err);
    case NJ_SEGMENT_OUTPUT_MARK:
        return take_closing(progress, record, 2, err);
    case NJ_SEGMENT_SNAP_COMMIT:
        return take_closing(progress, record, 3, err);
    default:
        return refuse(err, "its records are out of order");
    }
}

enum nj_status nj_snapshot_progress_take(struct nj_snapshot_progress *progress,
                                         const struct nj_segment_record *record,
                                         struct nj_error *err)
{
    enum nj_segment_record_type type = record->section.type;
    if (type == NJ_SEGMENT_SNAP_BEGIN) {
        return take_shape(progress, record, err);
    }
    if (type == NJ_SEGMENT_RECURRENT || type == NJ_SEGMENT_KV) {
        return take_layer(progress, record, err);
    }
    return take_behind_layers(progress, record, err);
}
