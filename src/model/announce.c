#include "model/announce.h"

#include <assert.h>

/* Records [first, end). */
static void announce(const struct nj_weights *weights, struct nj_stream *stream, uint32_t first,
                     uint32_t end)
{
    assert(first <= end && end <= weights->n_records);
    if (first < end) {
        nj_stream_want(stream, weights->record_numbers + first, end - first);
    }
}

static uint32_t end_of(const struct nj_bound_matrix *matrix)
{
    return matrix->first_record + nj_bound_matrix_n_records(matrix);
}

static void announce_matrix(const struct nj_weights *weights, struct nj_stream *stream,
                            const struct nj_bound_matrix *matrix)
{
    announce(weights, stream, matrix->first_record, end_of(matrix));
}

void nj_announce_trunk(const struct nj_weights *weights, struct nj_stream *stream,
                       uint32_t layer)
{
    const struct nj_layer_weights *fields = &weights->layers[layer];
    uint32_t first = fields->first_trunk_record;
    announce(weights, stream, first, first + fields->n_trunk_records - fields->n_late_records);
}

static void announce_expert(const struct nj_weights *weights, struct nj_stream *stream,
                            const struct nj_feed_forward_weights *expert)
{
    announce_matrix(weights, stream, &expert->gate);
    announce_matrix(weights, stream, &expert->up);
    announce_matrix(weights, stream, &expert->down);
}

void nj_announce_experts(const struct nj_weights *weights, struct nj_stream *stream,
                         uint32_t layer, const struct nj_routing *routing)
{
    const struct nj_layer_weights *fields = &weights->layers[layer];
    uint32_t end = fields->first_trunk_record + fields->n_trunk_records;
    for (uint32_t i = 0; i < routing->n_active; i++) {
        announce_expert(weights, stream, &fields->moe.experts[routing->active[i]]);
    }
    announce(weights, stream, end - fields->n_late_records, end);
}

void nj_announce_head(const struct nj_weights *weights, struct nj_stream *stream)
{
    announce_matrix(weights, stream, &weights->global.head);
}
