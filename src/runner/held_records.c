#include "runner/held_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

void nj_held_records_deinit(struct nj_held_records *held)
{
    free(held->records);
    free(held->bytes);
    memset(held, 0, sizeof *held);
}

void nj_held_records_clear(struct nj_held_records *held)
{
    held->n_records = 0;
    held->n_durable = 0;
    held->n_bytes = 0;
}

enum nj_status nj_held_records_add(struct nj_held_records *held, uint32_t type,
                                   struct nj_bytes payload, struct nj_error *err)
{
    size_t n_bytes = payload.length_bytes;
    enum nj_status status = nj_vector_reserve(&held->records, &held->records_capacity,
                                              sizeof *held->records, held->n_records + 1, err);
    if (status == NJ_OK) {
        status = nj_vector_reserve(&held->bytes, &held->bytes_capacity, 1,
                                   held->n_bytes + n_bytes, err);
    }
    if (status != NJ_OK) {
        return status;
    }
    held->records[held->n_records++] = (struct nj_held_record){
        .type = type, .begin = held->n_bytes, .spot.n_bytes = (uint32_t)n_bytes};
    if (n_bytes > 0) {
        memcpy(held->bytes + held->n_bytes, payload.data, n_bytes);
    }
    held->n_bytes += n_bytes;
    return NJ_OK;
}

struct nj_bytes nj_held_records_payload(const struct nj_held_records *held, size_t index)
{
    const struct nj_held_record *record = &held->records[index];
    return (struct nj_bytes){.data = held->bytes + record->begin,
                             .length_bytes = record->spot.n_bytes};
}
