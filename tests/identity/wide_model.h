/* A model at the released widths whose weights exist only while somebody reads them.
 *
 * tests/oracle/wide_model.txt and wide_config.json say what it is. Config, index and shards are
 * written to a directory; the shards have real headers and lengths, but of the data only the
 * small tensors are in them and the rest is a hole, because 20 GB of random bits are cheaper to
 * draw than to read. wide_stream.c is a body of the weight stream that draws the records asked
 * for.
 *
 * Threads: constant once it is open.
 */
#ifndef NJ_TESTS_IDENTITY_WIDE_MODEL_H
#define NJ_TESTS_IDENTITY_WIDE_MODEL_H

#include <stdint.h>

enum { WIDE_NAME_BYTES = 112, WIDE_MOST_DIMS = 3, WIDE_SHARDS = 3 };

enum wide_type { WIDE_BF16, WIDE_F32, WIDE_U8 };

struct wide_tensor {
    char name[WIDE_NAME_BYTES];
    enum wide_type type;
    uint32_t shape[WIDE_MOST_DIMS];
    uint32_t n_dims;
    double base;
    double step;
    uint32_t shard;
    uint64_t begin_bytes; /* in the shard's file */
    uint64_t length_bytes;
};

struct wide_model {
    struct wide_tensor *tensors; /* by shard, then in the order of the file */
    uint32_t n_tensors;
    uint64_t file_bytes[WIDE_SHARDS];
};

/* Reads the recipe and writes the directory. Ends the program when that fails. */
void wide_model_create(struct wide_model *model, const char *directory);
void wide_model_destroy(struct wide_model *model);

/* The tensor that holds this byte of a shard's file, or NULL. */
const struct wide_tensor *wide_model_find(const struct wide_model *model, uint32_t shard,
                                          uint64_t offset_bytes);

/* Bytes first .. first + n - 1 of the tensor's data, cut where the generator's blocks begin: at
 * every eighth number or sixteenth byte. */
void wide_tensor_draw(const struct wide_tensor *tensor, uint64_t first_byte, uint64_t n_bytes,
                      uint8_t *out);

#endif
