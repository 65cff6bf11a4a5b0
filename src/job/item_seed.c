#include "job/item_seed.h"

#include "base/bytes.h"
#include "base/digest.h"

enum { SEED_BITS = 53 };

enum nj_status nj_item_seed(uint64_t job_seed, const struct nj_item_identity *identity,
                            uint64_t *seed, struct nj_error *err)
{
    static const char label[] = "nightjar item seed 1";
    uint8_t message[sizeof label - 1 + 5 * sizeof(uint64_t)];
    struct nj_byte_writer writer;
    nj_byte_writer_init(&writer, message, sizeof message);
    nj_write_span(&writer, (struct nj_bytes){(const uint8_t *)label, sizeof label - 1});
    nj_write_u64(&writer, job_seed);
    nj_write_u64(&writer, identity->prompt_index);
    nj_write_u64(&writer, identity->row_index);
    nj_write_u64(&writer, identity->cell_index);
    nj_write_u64(&writer, identity->repeat_index);

    struct nj_digest digest;
    enum nj_status status =
        nj_digest_of((struct nj_bytes){message, sizeof message}, &digest, err);
    if (status != NJ_OK) {
        return status;
    }
    struct nj_byte_reader reader;
    nj_byte_reader_init(&reader, (struct nj_bytes){digest.bytes, sizeof digest.bytes});
    *seed = nj_read_u64(&reader) >> (64 - SEED_BITS);
    return NJ_OK;
}
