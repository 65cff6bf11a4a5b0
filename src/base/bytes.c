#include "base/bytes.h"

#include <string.h>

void nj_byte_reader_init(struct nj_byte_reader *reader, struct nj_bytes span)
{
    *reader = (struct nj_byte_reader){.span = span};
}

struct nj_bytes nj_read_span(struct nj_byte_reader *reader, size_t length_bytes)
{
    struct nj_bytes view = {NULL, 0};
    if (reader->failed || length_bytes > reader->span.length_bytes - reader->offset) {
        reader->failed = true;
        return view;
    }
    if (length_bytes > 0) {
        view.data = reader->span.data + reader->offset;
        view.length_bytes = length_bytes;
        reader->offset += length_bytes;
    }
    return view;
}

static uint64_t read_little_endian(struct nj_byte_reader *reader, size_t length_bytes)
{
    struct nj_bytes field = nj_read_span(reader, length_bytes);
    uint64_t value = 0;
    for (size_t i = 0; i < field.length_bytes; i++) {
        value |= (uint64_t)field.data[i] << (8 * i);
    }
    return value;
}

uint8_t nj_read_u8(struct nj_byte_reader *reader)
{
    return (uint8_t)read_little_endian(reader, 1);
}

uint16_t nj_read_u16(struct nj_byte_reader *reader)
{
    return (uint16_t)read_little_endian(reader, 2);
}

uint32_t nj_read_u32(struct nj_byte_reader *reader)
{
    return (uint32_t)read_little_endian(reader, 4);
}

uint64_t nj_read_u64(struct nj_byte_reader *reader)
{
    return read_little_endian(reader, 8);
}

float nj_read_f32(struct nj_byte_reader *reader)
{
    uint32_t bits = nj_read_u32(reader);
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void nj_byte_writer_init(struct nj_byte_writer *writer, void *data, size_t capacity_bytes)
{
    *writer = (struct nj_byte_writer){.data = data, .capacity_bytes = capacity_bytes};
}

/* Room for the next field, or NULL with `failed` set. */
static uint8_t *claim(struct nj_byte_writer *writer, size_t length_bytes)
{
    if (writer->failed || length_bytes > writer->capacity_bytes - writer->offset) {
        writer->failed = true;
        return NULL;
    }
    uint8_t *field = writer->data + writer->offset;
    writer->offset += length_bytes;
    return field;
}

static void write_little_endian(struct nj_byte_writer *writer, uint64_t value,
                                size_t length_bytes)
{
    uint8_t *field = claim(writer, length_bytes);
    if (field == NULL) {
        return;
    }
    for (size_t i = 0; i < length_bytes; i++) {
        field[i] = (uint8_t)(value >> (8 * i));
    }
}

void nj_write_u8(struct nj_byte_writer *writer, uint8_t value)
{
    write_little_endian(writer, value, 1);
}

void nj_write_u16(struct nj_byte_writer *writer, uint16_t value)
{
    write_little_endian(writer, value, 2);
}

void nj_write_u32(struct nj_byte_writer *writer, uint32_t value)
{
    write_little_endian(writer, value, 4);
}

void nj_write_u64(struct nj_byte_writer *writer, uint64_t value)
{
    write_little_endian(writer, value, 8);
}

void nj_write_f32(struct nj_byte_writer *writer, float value)
{
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    nj_write_u32(writer, bits);
}

void nj_write_span(struct nj_byte_writer *writer, struct nj_bytes span)
{
    if (span.length_bytes == 0) {
        return;
    }
    uint8_t *field = claim(writer, span.length_bytes);
    if (field != NULL) {
        memcpy(field, span.data, span.length_bytes);
    }
}
