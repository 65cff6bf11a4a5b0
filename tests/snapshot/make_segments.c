/* Writes segments of every kind that the tests know into a folder, for two readers to agree on:
 *
 *     make_segments FOLDER
 *
 * Whole ones of a small item at every level of compression, alone and chained; those of a real
 * model; and one small segment cut at every length, with every byte flipped, with tails of
 * zeros, doubled, and taken from another one. The same every time, but for zlib's version.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/segment.h"
#include "snapshot/folder.h"
#include "snapshot/lives.h"
#include "support/check.h"
#include "support/tiny_model.h"
#include "unit/snapshot/forge.h"
#include "unit/snapshot/small_item.h"

static int out_fd;

static void keep(const char *name, const uint8_t *bytes, size_t n_bytes)
{
    write_segment(out_fd, name, bytes, n_bytes);
}

/* Copies a folder's segment out under another name. */
static void keep_segment(int directory_fd, uint64_t number, const char *name)
{
    char own_name[NJ_SEGMENT_NAME_BYTES];
    size_t n_bytes = 0;
    uint8_t *bytes = read_segment(directory_fd, nj_segment_name(number, own_name), &n_bytes);
    keep(name, bytes, n_bytes);
    free(bytes);
}

static void small_ones_at_every_level_alone_and_chained(void)
{
    for (int level = -1; level <= 9; level++) {
        struct small_item item;
        char name[64];
        small_item_open(&item);
        small_item_make_folder(&item);
        item.sequence.n_tokens = 60;
        struct nj_snapshot_writer *writer = small_item_writer(&item, small_item_files(), level);
        for (uint64_t number = 1; number <= 3; number++) {
            CHECK(small_item_snapshot(&item, writer, number == 1 ? 40 : 3).is_durable);
            (void)snprintf(name, sizeof name, "level%d-%d.snap", level, (int)number);
            keep_segment(item.directory_fd, number, name);
        }
        nj_snapshot_writer_destroy(writer);
        small_item_close(&item);
    }
}

static void of_a_model(enum tiny_model_kind kind)
{
    static int32_t prompt[90];
    char path[512];
    char name[64];
    struct nj_error error;
    struct nj_model *model = NULL;
    struct lives lives = {.options = {.prompt = prompt, .n_prompt = 90, .max_tokens = 5},
                          .pack_level = NJ_PACK_AUTO};
    struct life life;
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), tiny_model_name(kind));
    REQUIRE(tiny_model_write(kind, path) == 0);
    struct nj_model_options options = {.path = path};
    REQUIRE_OK(nj_model_open(&options, &model, &error), &error);
    lives_begin(&lives);
    life_begin(&life, &lives, model);
    life_sweep(&life, true);
    life_sweep(&life, true);
    life_end(&life);
    for (uint64_t number = 1; number <= 2; number++) {
        (void)snprintf(name, sizeof name, "%s-%d.snap", tiny_model_name(kind), (int)number);
        keep_segment(lives.directory_fd, number, name);
    }
    lives_end(&lives);
    nj_model_close(model);
}

static void real_ones(void)
{
    of_a_model(TINY_MODEL_T5);
    of_a_model(TINY_MODEL_KL5);
}

/* Two segments of one small item, as bytes. */
struct two {
    uint8_t *first;
    uint8_t *second;
    size_t n_first;
    size_t n_second;
};

static void make_two(struct two *two)
{
    struct small_item item;
    small_item_open(&item);
    small_item_make_folder(&item);
    item.sequence.n_tokens = 12;
    struct nj_snapshot_writer *writer =
        small_item_writer(&item, small_item_files(), NJ_PACK_AUTO);
    CHECK(small_item_snapshot(&item, writer, 6).is_durable);
    CHECK(small_item_snapshot(&item, writer, 3).is_durable);
    two->first = read_segment(item.directory_fd, "segment-000001.snap", &two->n_first);
    two->second = read_segment(item.directory_fd, "segment-000002.snap", &two->n_second);
    nj_snapshot_writer_destroy(writer);
    small_item_close(&item);
}

static void broken_ones(void)
{
    struct two two;
    char name[64];
    make_two(&two);
    uint8_t *bytes = forge_memory(two.n_first + two.n_second);
    for (size_t i = 0; i < two.n_first; i++) {
        memcpy(bytes, two.first, two.n_first);
        (void)snprintf(name, sizeof name, "cut-%04d.snap", (int)i);
        keep(name, bytes, i);
        bytes[i] ^= (uint8_t)(1U << i % 8);
        (void)snprintf(name, sizeof name, "flip-%04d.snap", (int)i);
        keep(name, bytes, two.n_first);
    }
    for (size_t i = 0; i <= two.n_first; i += 40) {
        memcpy(bytes, two.first, two.n_first);
        memset(bytes + i, 0, two.n_first - i);
        (void)snprintf(name, sizeof name, "zeros-%04d.snap", (int)i);
        keep(name, bytes, two.n_first);
        memcpy(bytes, two.first, two.n_first);
        memcpy(bytes + two.n_first, two.first + i, two.n_first - i);
        (void)snprintf(name, sizeof name, "double-%04d.snap", (int)i);
        keep(name, bytes, 2 * two.n_first - i);
    }
    for (size_t i = 0; i + 8 < two.n_first && i + 8 < two.n_second; i += 8) {
        memcpy(bytes, two.first, i);
        memcpy(bytes + i, two.second + i, two.n_second - i);
        (void)snprintf(name, sizeof name, "mixed-%04d.snap", (int)i);
        keep(name, bytes, two.n_second);
    }
    free(bytes);
    free(two.first);
    free(two.second);
}

int main(int argc, char **argv)
{
    out_fd = open(argc == 2 ? argv[1] : "", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out_fd < 0) {
        (void)fprintf(stderr, "usage: make_segments FOLDER\n");
        return 2;
    }
    RUN(small_ones_at_every_level_alone_and_chained);
    RUN(real_ones);
    RUN(broken_ones);
    (void)close(out_fd);
    return test_result();
}
