/* Little-endian fields in spans that know their end.
 *
 * A reader that runs past the end turns `failed` on and yields zeros from there; the caller
 * checks once at the end instead of after each field. Nothing here allocates.
 */
#ifndef NJ_BASE_BYTES_H
#define NJ_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A borrowed view; `data` may be NULL when the length is 0. */
struct nj_bytes {
    const uint8_t *data;
    size_t length_bytes;
};

struct nj_byte_reader {
    struct nj_bytes span;
    size_t offset;
    bool failed;
};

struct nj_byte_writer {
    uint8_t *data;
    size_t capacity_bytes;
    size_t offset;
    bool failed; /* a field did not fit; nothing past the capacity was touched */
};

void nj_byte_reader_init(struct nj_byte_reader *reader, struct nj_bytes span);
uint8_t nj_read_u8(struct nj_byte_reader *reader);
uint16_t nj_read_u16(struct nj_byte_reader *reader);
uint32_t nj_read_u32(struct nj_byte_reader *reader);
uint64_t nj_read_u64(struct nj_byte_reader *reader);
float nj_read_f32(struct nj_byte_reader *reader);
/* A view of the next `length_bytes`; empty and failed when fewer are left. */
struct nj_bytes nj_read_span(struct nj_byte_reader *reader, size_t length_bytes);

void nj_byte_writer_init(struct nj_byte_writer *writer, void *data, size_t capacity_bytes);
void nj_write_u8(struct nj_byte_writer *writer, uint8_t value);
void nj_write_u16(struct nj_byte_writer *writer, uint16_t value);
void nj_write_u32(struct nj_byte_writer *writer, uint32_t value);
void nj_write_u64(struct nj_byte_writer *writer, uint64_t value);
void nj_write_f32(struct nj_byte_writer *writer, float value);
void nj_write_span(struct nj_byte_writer *writer, struct nj_bytes span);

#endif
