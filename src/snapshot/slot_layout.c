#include "snapshot/slot_layout.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "format/checksum.h"

/* Magic, version, mark and the place of the header's checksum are the same in every version. */
static const uint8_t magic[8] = {0x4E, 0x4A, 0x53, 0x4C, 0x54, 0x1A, 0x0D, 0x0A};

enum {
    BYTE_ORDER_MARK = 0x0A0B0C0D,
    KV_F32 = 1,
    CRC_OFFSET = NJ_SLOT_HEADER_BYTES - 4,
    ALIGNMENT = 4096,
    TABLE_HEAD_BYTES = 32,
    ENTRY_HEAD_BYTES = 56,
    CRC_BYTES = 4
};

/* --- the header --- */

void nj_slot_header_encode(const struct nj_slot_header *header,
                           uint8_t bytes[NJ_SLOT_HEADER_BYTES])
{
    struct nj_byte_writer writer;
    memset(bytes, 0, NJ_SLOT_HEADER_BYTES);
    nj_byte_writer_init(&writer, bytes, CRC_OFFSET);
    nj_write_span(&writer, (struct nj_bytes){magic, sizeof magic});
    nj_write_u32(&writer, NJ_SLOT_VERSION);
    nj_write_u32(&writer, BYTE_ORDER_MARK);
    nj_write_u64(&writer, header->salt);
    nj_write_span(&writer, (struct nj_bytes){header->weights.bytes, NJ_DIGEST_BYTES});
    nj_write_span(&writer, (struct nj_bytes){header->template.bytes, NJ_DIGEST_BYTES});
    nj_write_u32(&writer, header->numerics_version);
    nj_write_u32(&writer, KV_F32);
    nj_write_f32(&writer, header->latent_norm_eps);
    nj_write_u32(&writer, header->n_seats);
    nj_write_u32(&writer, header->n_positions);
    nj_write_u32(&writer, header->n_layers);
    nj_write_u32(&writer, header->position_values);
    nj_write_u32(&writer, 0); /* reserved */
    nj_write_u64(&writer, header->layer_values);
    for (uint32_t layer = 0; layer < header->n_layers; layer++) {
        nj_write_u8(&writer, header->mixers[layer] == NJ_MIXER_LATENT ? 1 : 0);
    }
    assert(!writer.failed);
    nj_byte_writer_init(&writer, bytes + CRC_OFFSET, CRC_BYTES);
    nj_write_u32(&writer, nj_crc32(0, (struct nj_bytes){bytes, CRC_OFFSET}));
}

static void read_digest(struct nj_byte_reader *reader, struct nj_digest *digest)
{
    struct nj_bytes span = nj_read_span(reader, NJ_DIGEST_BYTES);
    if (span.length_bytes == NJ_DIGEST_BYTES) {
        memcpy(digest->bytes, span.data, NJ_DIGEST_BYTES);
    }
}

static enum nj_status read_shape(struct nj_byte_reader *reader, struct nj_slot_header *header,
                                 struct nj_error *err)
{
    header->n_seats = nj_read_u32(reader);
    header->n_positions = nj_read_u32(reader);
    header->n_layers = nj_read_u32(reader);
    header->position_values = nj_read_u32(reader);
    (void)nj_read_u32(reader); /* reserved */
    header->layer_values = nj_read_u64(reader);
    if (header->n_seats == 0 || header->n_layers == 0 || header->n_layers > NJ_LAYERS_LIMIT) {
        return nj_fail(err, NJ_E_STATE, "it has %" PRIu32 " seats and %" PRIu32 " layers",
                       header->n_seats, header->n_layers);
    }
    for (uint32_t layer = 0; layer < header->n_layers; layer++) {
        header->mixers[layer] = nj_read_u8(reader) == 1 ? NJ_MIXER_LATENT : NJ_MIXER_DELTA;
    }
    return NJ_OK;
}

enum nj_status nj_slot_header_decode(const uint8_t bytes[NJ_SLOT_HEADER_BYTES],
                                     struct nj_slot_header *header, struct nj_error *err)
{
    struct nj_byte_reader reader;
    *header = (struct nj_slot_header){.n_seats = 0};
    nj_byte_reader_init(&reader, (struct nj_bytes){bytes + CRC_OFFSET, CRC_BYTES});
    uint32_t crc32 = nj_read_u32(&reader);
    nj_byte_reader_init(&reader, (struct nj_bytes){bytes, CRC_OFFSET});
    struct nj_bytes found = nj_read_span(&reader, sizeof magic);
    uint32_t version = nj_read_u32(&reader);
    uint32_t mark = nj_read_u32(&reader);
    if (memcmp(found.data, magic, sizeof magic) != 0 || mark != BYTE_ORDER_MARK ||
        crc32 != nj_crc32(0, (struct nj_bytes){bytes, CRC_OFFSET})) {
        return nj_fail(err, NJ_E_STATE, "its header does not verify");
    }
    if (version != NJ_SLOT_VERSION) {
        return nj_fail(err, NJ_E_STATE, "it has format version %" PRIu32 ", %d is known",
                       version, NJ_SLOT_VERSION);
    }
    header->salt = nj_read_u64(&reader);
    read_digest(&reader, &header->weights);
    read_digest(&reader, &header->template);
    header->numerics_version = nj_read_u32(&reader);
    uint32_t kv_type = nj_read_u32(&reader);
    header->latent_norm_eps = nj_read_f32(&reader);
    return kv_type == KV_F32 ? read_shape(&reader, header, err)
                             : nj_fail(err, NJ_E_STATE, "it holds another type of values");
}

/* --- places --- */

/* a += b * c; false when that is no number of bytes. */
static bool add_product(uint64_t *a, uint64_t b, uint64_t c)
{
    uint64_t product = 0;
    return nj_multiply_u64(b, c, &product) && nj_add_u64(*a, product, a);
}

static bool round_up(uint64_t *bytes)
{
    return nj_add_u64(*bytes, ALIGNMENT - 1, bytes) &&
           (*bytes = *bytes / ALIGNMENT * ALIGNMENT, true);
}

static bool measure(struct nj_slot_layout *layout, uint32_t n_recurrent, uint32_t n_latent)
{
    const struct nj_slot_header *header = &layout->header;
    uint64_t position_bytes = (uint64_t)header->position_values * sizeof(float);
    uint64_t entry_bytes = ENTRY_HEAD_BYTES + (uint64_t)header->n_layers * CRC_BYTES;
    uint64_t recurrent_bytes = 0; /* of a seat, one generation */
    uint64_t latent_bytes = 0;    /* of a seat */
    layout->table_bytes = TABLE_HEAD_BYTES + NJ_DIGEST_BYTES;
    bool fits =
        add_product(&recurrent_bytes, n_recurrent * sizeof(float), header->layer_values) &&
        add_product(&latent_bytes, position_bytes * n_latent, header->n_positions) &&
        add_product(&layout->table_bytes, entry_bytes, header->n_seats) &&
        round_up(&layout->table_bytes);
    if (!fits) {
        return false;
    }
    layout->seat_bytes = latent_bytes;
    layout->recurrent_offset = NJ_SLOT_HEADER_BYTES;
    fits = add_product(&layout->seat_bytes, 2, recurrent_bytes) &&
           add_product(&layout->recurrent_offset, NJ_SLOT_TABLES, layout->table_bytes) &&
           add_product(&layout->generation_bytes, recurrent_bytes, header->n_seats);
    layout->latent_offset = layout->recurrent_offset;
    fits = fits && add_product(&layout->latent_offset, 2, layout->generation_bytes) &&
           round_up(&layout->latent_offset);
    layout->file_bytes = layout->latent_offset;
    return fits && add_product(&layout->file_bytes, latent_bytes, header->n_seats) &&
           layout->file_bytes <= INT64_MAX;
}

enum nj_status nj_slot_layout_make(const struct nj_slot_header *header,
                                   struct nj_slot_layout *layout, struct nj_error *err)
{
    uint32_t n_of[2] = {0, 0};
    *layout = (struct nj_slot_layout){.header = *header};
    for (uint32_t layer = 0; layer < header->n_layers; layer++) {
        layout->ordinals[layer] = n_of[header->mixers[layer] == NJ_MIXER_LATENT]++;
    }
    return measure(layout, n_of[0], n_of[1])
               ? NJ_OK
               : nj_fail(err, NJ_E_USAGE,
                         "states of %" PRIu32 " sequences of %" PRIu32
                         " positions: no file can be so large",
                         header->n_seats, header->n_positions);
}

uint64_t nj_slot_table_offset(const struct nj_slot_layout *layout, uint32_t table)
{
    return NJ_SLOT_HEADER_BYTES + table * layout->table_bytes;
}

uint64_t nj_slot_recurrent_offset(const struct nj_slot_layout *layout, uint32_t generation,
                                  uint32_t layer, uint32_t seat)
{
    const struct nj_slot_header *header = &layout->header;
    uint64_t part = (uint64_t)layout->ordinals[layer] * header->n_seats + seat;
    return layout->recurrent_offset + generation * layout->generation_bytes +
           part * header->layer_values * sizeof(float);
}

uint64_t nj_slot_latent_offset(const struct nj_slot_layout *layout, uint32_t layer,
                               uint32_t seat, uint32_t position)
{
    const struct nj_slot_header *header = &layout->header;
    uint64_t part = (uint64_t)layout->ordinals[layer] * header->n_seats + seat;
    return layout->latent_offset +
           (part * header->n_positions + position) * header->position_values * sizeof(float);
}

/* --- tables --- */

static uint64_t entry_bytes(const struct nj_slot_layout *layout)
{
    return ENTRY_HEAD_BYTES + (uint64_t)layout->header.n_layers * CRC_BYTES;
}

static uint64_t digest_offset(const struct nj_slot_layout *layout)
{
    return TABLE_HEAD_BYTES + layout->header.n_seats * entry_bytes(layout);
}

void nj_slot_table_begin(const struct nj_slot_layout *layout, const struct nj_slot_table *table,
                         uint8_t *bytes)
{
    struct nj_byte_writer writer;
    memset(bytes, 0, layout->table_bytes);
    nj_byte_writer_init(&writer, bytes, TABLE_HEAD_BYTES);
    nj_write_u64(&writer, table->number);
    nj_write_u64(&writer, table->sweep);
    nj_write_u64(&writer, layout->header.salt);
    nj_write_u32(&writer, layout->header.n_seats);
}

void nj_slot_table_set(const struct nj_slot_layout *layout, uint8_t *bytes, uint32_t seat,
                       const struct nj_slot_entry *entry, const uint32_t *layer_crc32)
{
    struct nj_byte_writer writer;
    assert(seat < layout->header.n_seats);
    nj_byte_writer_init(&writer, bytes + TABLE_HEAD_BYTES + seat * entry_bytes(layout),
                        entry_bytes(layout));
    nj_write_u64(&writer, entry->item_index);
    nj_write_span(&writer, (struct nj_bytes){entry->item.bytes, NJ_DIGEST_BYTES});
    nj_write_u32(&writer, entry->sample);
    nj_write_u32(&writer, entry->length);
    nj_write_u32(&writer, entry->generation);
    nj_write_u32(&writer, entry->ids_crc32);
    for (uint32_t layer = 0; layer < layout->header.n_layers; layer++) {
        nj_write_u32(&writer, layer_crc32[layer]);
    }
    assert(!writer.failed);
}

enum nj_status nj_slot_table_finish(const struct nj_slot_layout *layout, uint8_t *bytes,
                                    struct nj_error *err)
{
    struct nj_digest digest;
    uint64_t length_bytes = digest_offset(layout);
    enum nj_status status = nj_digest_of((struct nj_bytes){bytes, length_bytes}, &digest, err);
    if (status == NJ_OK) {
        memcpy(bytes + length_bytes, digest.bytes, NJ_DIGEST_BYTES);
    }
    return status;
}

bool nj_slot_table_verify(const struct nj_slot_layout *layout, const uint8_t *bytes,
                          struct nj_slot_table *table)
{
    struct nj_digest digest;
    struct nj_byte_reader reader;
    uint64_t length_bytes = digest_offset(layout);
    nj_byte_reader_init(&reader, (struct nj_bytes){bytes, TABLE_HEAD_BYTES});
    table->number = nj_read_u64(&reader);
    table->sweep = nj_read_u64(&reader);
    uint64_t salt = nj_read_u64(&reader);
    uint32_t n_seats = nj_read_u32(&reader);
    return table->number > 0 && salt == layout->header.salt &&
           n_seats == layout->header.n_seats &&
           nj_digest_of((struct nj_bytes){bytes, length_bytes}, &digest, NULL) == NJ_OK &&
           memcmp(bytes + length_bytes, digest.bytes, NJ_DIGEST_BYTES) == 0;
}

void nj_slot_table_get(const struct nj_slot_layout *layout, const uint8_t *bytes, uint32_t seat,
                       struct nj_slot_entry *entry)
{
    struct nj_byte_reader reader;
    const uint8_t *at = bytes + TABLE_HEAD_BYTES + seat * entry_bytes(layout);
    nj_byte_reader_init(&reader, (struct nj_bytes){at, ENTRY_HEAD_BYTES});
    entry->item_index = nj_read_u64(&reader);
    read_digest(&reader, &entry->item);
    entry->sample = nj_read_u32(&reader);
    entry->length = nj_read_u32(&reader);
    entry->generation = nj_read_u32(&reader);
    entry->ids_crc32 = nj_read_u32(&reader);
    entry->layer_crc32 = at + ENTRY_HEAD_BYTES;
}

uint32_t nj_slot_entry_crc32(const struct nj_slot_entry *entry, uint32_t layer)
{
    struct nj_byte_reader reader;
    nj_byte_reader_init(
        &reader, (struct nj_bytes){entry->layer_crc32 + (size_t)layer * CRC_BYTES, CRC_BYTES});
    return nj_read_u32(&reader);
}

uint32_t nj_slot_ids_crc32(const int32_t *ids, uint32_t n_ids)
{
    uint8_t bytes[1024];
    uint32_t crc32 = 0;
    struct nj_byte_writer writer;
    for (uint32_t done = 0; done < n_ids;) {
        nj_byte_writer_init(&writer, bytes, sizeof bytes);
        while (done < n_ids && writer.offset < sizeof bytes) {
            nj_write_u32(&writer, (uint32_t)ids[done++]);
        }
        crc32 = nj_crc32(crc32, (struct nj_bytes){bytes, writer.offset});
    }
    return crc32;
}
