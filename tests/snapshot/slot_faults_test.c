/* Whatever the disk does to a file of slots, the ids are those of an undisturbed life: by
 * failing calls, by power cuts, and by bytes that are not what was written. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/checksum.h"
#include "snapshot/disk_crowd.h"
#include "snapshot/slot_layout.h"
#include "support/check.h"
#include "support/faulty_files.h"
#include "support/lossy_files.h"
#include "support/tiny_model.h"

enum { SEQUENCES = 3, CHUNK = 40 };

static struct nj_model *model;
static struct disk_crowd wanted;

static void open_model(void)
{
    char path[512];
    struct nj_error error;
    struct nj_model_options options = {.path = path, .n_threads = 1};
    (void)snprintf(path, sizeof path, "%s/t5", test_folder());
    if (tiny_model_write(TINY_MODEL_T5, path) != 0 ||
        nj_model_open(&options, &model, &error) != NJ_OK) {
        perror(path);
        exit(1);
    }
}

/* As far as it comes. */
static enum nj_status live(struct disk_crowd *crowd, const struct crowd_place *place,
                           uint32_t n_sweeps, struct crowd_life *life, struct nj_error *err)
{
    bool goes_on = true;
    enum nj_status status = crowd_life_begin(life, crowd, model, place, err);
    while (status == NJ_OK && goes_on && (n_sweeps == 0 || life->n_sweeps < n_sweeps)) {
        status = crowd_life_sweep(life, true, &goes_on, err);
    }
    crowd_life_end(life);
    return status;
}

static void live_undisturbed(void)
{
    struct crowd_life life;
    struct nj_error error;
    struct crowd_place memory = {.prefill_chunk = CHUNK};
    disk_crowd_begin(&wanted, SEQUENCES);
    REQUIRE_OK(live(&wanted, &memory, 0, &life, &error), &error);
    disk_crowd_end(&wanted);
}

/* Another life over what the disk holds now; returns how many states it found. */
static uint32_t go_on_and_compare(struct disk_crowd *crowd, bool is_on_disk)
{
    struct crowd_life life;
    struct nj_error error = {.text = ""};
    struct crowd_place place = {.is_on_disk = is_on_disk, .prefill_chunk = CHUNK};
    CHECK_EQ(live(crowd, &place, 0, &life, &error), NJ_OK);
    CHECK_TEXT(error.text, "");
    disk_crowd_compare(crowd, &wanted);
    return life.n_restored;
}

/* --- failing calls --- */

static bool fail_once(enum faulty_call call, unsigned long at, int error_number, bool cuts)
{
    static struct faulty_files faulty;
    struct disk_crowd crowd;
    struct crowd_life life;
    struct nj_error error = {.text = ""};
    struct crowd_place place = {
        .is_on_disk = true, .prefill_chunk = CHUNK, .fs = &faulty.table};
    disk_crowd_begin(&crowd, SEQUENCES);
    faulty_files_init(&faulty, disk_crowd_files());
    faulty.only_suffix = ".slots";
    if (cuts) {
        faulty_files_cut(&faulty, call, at);
    } else {
        faulty_files_fail(&faulty, call, at, error_number);
    }
    enum nj_status status = live(&crowd, &place, 0, &life, &error);
    bool fired = faulty_files_fired(&faulty);
    CHECK_EQ(status, fired && !cuts ? NJ_E_STORAGE : NJ_OK);
    CHECK(status == NJ_OK || error.text[0] != '\0');
    (void)go_on_and_compare(&crowd, at % 2 == 0);
    disk_crowd_end(&crowd);
    return fired;
}

/* All of the first calls, and then some. */
static void fail_everywhere(enum faulty_call call, int error_number, bool cuts)
{
    unsigned long n = 1;
    while (fail_once(call, n, error_number, cuts)) {
        n += n < 12 ? 1 : 23;
    }
    CHECK(n > 3);
}

static void a_full_disk_ends_the_life_and_another_one_goes_on(void)
{
    fail_everywhere(FAULTY_WRITE, ENOSPC, false);
}

static void a_failed_read_ends_the_life_and_another_one_goes_on(void)
{
    fail_everywhere(FAULTY_READ, EIO, false);
}

static void a_failed_sync_ends_the_life_and_another_one_goes_on(void)
{
    fail_everywhere(FAULTY_DATA_SYNC, EIO, false);
}

static void short_reads_and_writes_are_finished(void)
{
    fail_everywhere(FAULTY_WRITE, 0, true);
    fail_everywhere(FAULTY_READ, 0, true);
}

static void without_room_for_all_slots_no_life_begins(void)
{
    static struct faulty_files faulty;
    struct disk_crowd crowd;
    struct crowd_life life;
    struct nj_error error;
    struct crowd_place place = {.is_on_disk = true, .fs = &faulty.table};
    disk_crowd_begin(&crowd, SEQUENCES);
    faulty_files_init(&faulty, disk_crowd_files());
    faulty_files_fail(&faulty, FAULTY_RESERVE, 1, ENOSPC);

    CHECK_EQ(live(&crowd, &place, 0, &life, &error), NJ_E_STORAGE);

    CHECK_CONTAINS(error.text, "states-000001.slots: room for ");
    CHECK(faccessat(crowd.directory_fd, "states-000001.slots", F_OK, 0) != 0);
    disk_crowd_end(&crowd);
}

/* --- power cuts --- */

static void whenever_the_power_goes_another_life_goes_on(void)
{
    static struct lossy_files lossy;
    uint32_t n_restored = 0;
    bool was_dark = true;
    for (unsigned long n = 1; was_dark; n += n < 12 ? 1 : 7) {
        struct disk_crowd crowd;
        struct crowd_life life;
        struct nj_error error;
        struct crowd_place place = {
            .is_on_disk = true, .prefill_chunk = CHUNK, .fs = &lossy.table};
        disk_crowd_begin(&crowd, SEQUENCES);
        lossy_files_init(&lossy, disk_crowd_files());
        lossy_files_cut_power_at(&lossy, n);
        (void)live(&crowd, &place, 0, &life, &error);
        was_dark = lossy.is_dark;
        lossy_files_lose(&lossy, n);
        n_restored += go_on_and_compare(&crowd, n % 2 == 0);
        disk_crowd_end(&crowd);
    }
    CHECK(n_restored > 20);
}

/* --- bytes --- */

/* The file that a life of so many sweeps left. */
struct left_file {
    struct disk_crowd crowd;
    int fd;
    struct nj_slot_layout layout;
    uint8_t tables[NJ_SLOT_TABLES][4096];
    uint32_t newest;
};

static void read_at(const struct left_file *left, void *data, uint64_t n_bytes, uint64_t offset)
{
    CHECK_EQ(pread(left->fd, data, n_bytes, (off_t)offset), (long long)n_bytes);
}

static void write_at(const struct left_file *left, const void *data, uint64_t n_bytes,
                     uint64_t offset)
{
    CHECK_EQ(pwrite(left->fd, data, n_bytes, (off_t)offset), (long long)n_bytes);
}

static void leave_file(struct left_file *left, uint32_t n_sweeps)
{
    struct crowd_life life;
    struct nj_error error;
    struct nj_slot_header header;
    uint8_t bytes[NJ_SLOT_HEADER_BYTES];
    uint64_t newest_number = 0;
    struct crowd_place place = {.is_on_disk = true, .prefill_chunk = CHUNK};
    disk_crowd_begin(&left->crowd, SEQUENCES);
    REQUIRE_OK(live(&left->crowd, &place, n_sweeps, &life, &error), &error);
    left->fd = openat(left->crowd.directory_fd, "states-000001.slots", O_RDWR | O_CLOEXEC);
    REQUIRE(left->fd >= 0);
    read_at(left, bytes, sizeof bytes, 0);
    REQUIRE_OK(nj_slot_header_decode(bytes, &header, &error), &error);
    REQUIRE_OK(nj_slot_layout_make(&header, &left->layout, &error), &error);
    for (uint32_t i = 0; i < NJ_SLOT_TABLES; i++) {
        struct nj_slot_table table = {.number = 0};
        REQUIRE(left->layout.table_bytes == sizeof left->tables[i]);
        read_at(left, left->tables[i], left->layout.table_bytes,
                nj_slot_table_offset(&left->layout, i));
        if (nj_slot_table_verify(&left->layout, left->tables[i], &table) &&
            table.number > newest_number) {
            newest_number = table.number;
            left->newest = i;
        }
    }
    CHECK_EQ(newest_number, n_sweeps);
}

static void drop_file(struct left_file *left)
{
    (void)close(left->fd);
    disk_crowd_end(&left->crowd);
}

static void flip(const struct left_file *left, uint64_t offset)
{
    uint8_t byte = 0;
    read_at(left, &byte, 1, offset);
    byte ^= 0x10;
    write_at(left, &byte, 1, offset);
}

/* Where a layer's values lie that the newest table names for a seat. */
static uint64_t place_of(const struct left_file *left, uint32_t seat, uint32_t layer)
{
    struct nj_slot_entry entry;
    nj_slot_table_get(&left->layout, left->tables[left->newest], seat, &entry);
    return left->layout.header.mixers[layer] == NJ_MIXER_LATENT
               ? nj_slot_latent_offset(&left->layout, layer, seat, 0)
               : nj_slot_recurrent_offset(&left->layout, entry.generation, layer, seat);
}

/* Of a recurrent part the sweep before has left its own slot; a latent is there once. */
static void a_flipped_byte_of_a_state_costs_one_sweep_or_that_state_and_no_bit(void)
{
    struct left_file left;
    uint32_t n_layers = nj_model_n_layers(model);
    for (uint32_t layer = 0; layer < n_layers; layer++) {
        leave_file(&left, 6);
        flip(&left, place_of(&left, layer % SEQUENCES, layer) + 5);
        bool is_latent = left.layout.header.mixers[layer] == NJ_MIXER_LATENT;
        CHECK_EQ(go_on_and_compare(&left.crowd, layer % 2 == 0), SEQUENCES - is_latent);
        drop_file(&left);
    }
}

static void with_a_damaged_table_the_one_before_it_is_tried(void)
{
    struct left_file left;
    struct nj_slot_entry entry;
    leave_file(&left, 6);
    flip(&left, nj_slot_table_offset(&left.layout, left.newest) + 70);
    nj_slot_table_get(&left.layout, left.tables[1 - left.newest], 0, &entry);
    CHECK(entry.length > 0);

    /* It names slots that the last sweep did not touch, so everything in it is whole. */
    CHECK_EQ(go_on_and_compare(&left.crowd, false), SEQUENCES);

    drop_file(&left);
    leave_file(&left, 6);
    flip(&left, nj_slot_table_offset(&left.layout, 0) + 3);
    flip(&left, nj_slot_table_offset(&left.layout, 1) + 3);
    CHECK_EQ(go_on_and_compare(&left.crowd, true), 0);
    drop_file(&left);
}

static void a_header_with_any_byte_flipped_is_of_no_use(void)
{
    static const uint32_t places[] = {0, 8, 12, 16, 30, 100, 104, 108, 120, 128, 2000, 4095};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct left_file left;
        leave_file(&left, 3);
        flip(&left, places[i]);
        CHECK_EQ(go_on_and_compare(&left.crowd, false), 0);
        drop_file(&left);
    }
}

static void a_file_cut_anywhere_is_of_no_use(void)
{
    for (int i = 0; i < 6; i++) {
        struct left_file left;
        leave_file(&left, 3);
        CHECK_EQ(ftruncate(left.fd, (off_t)(left.layout.file_bytes * (uint64_t)i / 6)), 0);
        CHECK_EQ(go_on_and_compare(&left.crowd, i % 2 == 0), 0);
        drop_file(&left);
    }
}

/* The newest table says what is now there, so nothing can tell. */
static void repair(struct left_file *left, uint32_t seat, uint32_t layer, const uint8_t *bytes,
                   uint64_t n_bytes)
{
    struct nj_slot_entry entry;
    uint32_t sums[NJ_LAYERS_LIMIT];
    uint8_t *table = left->tables[left->newest];
    nj_slot_table_get(&left->layout, table, seat, &entry);
    for (uint32_t i = 0; i < left->layout.header.n_layers; i++) {
        sums[i] = nj_slot_entry_crc32(&entry, i);
    }
    sums[layer] = nj_crc32(0, (struct nj_bytes){bytes, n_bytes});
    nj_slot_table_set(&left->layout, table, seat, &entry, sums);
    CHECK_EQ(nj_slot_table_finish(&left->layout, table, NULL), NJ_OK);
    write_at(left, table, left->layout.table_bytes,
             nj_slot_table_offset(&left->layout, left->newest));
}

static void a_state_that_was_altered_with_its_checksums_repaired_changes_the_ids(void)
{
    const struct nj_dims *dims = nj_model_dims(model);
    for (uint32_t layer = 0; layer < dims->n_layers; layer++) {
        struct left_file left;
        struct crowd_life life;
        struct nj_error error;
        struct crowd_place place = {.is_on_disk = layer % 2 == 0};
        leave_file(&left, 6);
        struct nj_slot_entry entry;
        nj_slot_table_get(&left.layout, left.tables[left.newest], 1, &entry);
        bool is_latent = dims->mixers[layer] == NJ_MIXER_LATENT;
        uint64_t n_values = is_latent ? (uint64_t)entry.length * nj_state_position_values(dims)
                                      : nj_state_layer_values(dims);
        enum { VALUES_LIMIT = 1 << 16 };
        static float values[VALUES_LIMIT];
        REQUIRE(n_values <= VALUES_LIMIT);
        read_at(&left, values, n_values * sizeof *values, place_of(&left, 1, layer));
        for (uint64_t i = 0; i < n_values; i++) {
            values[i] = -values[i] + 1.0F;
        }
        write_at(&left, values, n_values * sizeof *values, place_of(&left, 1, layer));
        repair(&left, 1, layer, (const uint8_t *)values, n_values * sizeof *values);

        REQUIRE_OK(live(&left.crowd, &place, 0, &life, &error), &error);

        CHECK_EQ(life.n_restored, SEQUENCES);
        CHECK(memcmp(left.crowd.logs[1].logprob_bits, wanted.logs[1].logprob_bits,
                     sizeof wanted.logs[1].logprob_bits) != 0);
        CHECK(memcmp(&left.crowd.logs[0], &wanted.logs[0], sizeof wanted.logs[0]) == 0);
        drop_file(&left);
    }
}

/* What a life reads back must be what it wrote, whatever the drive says. */
static void a_byte_that_changes_under_a_running_life_ends_it(void)
{
    struct disk_crowd crowd;
    struct crowd_life life;
    struct nj_error error;
    struct left_file left;
    bool goes_on = true;
    struct crowd_place place = {.is_on_disk = true, .prefill_chunk = CHUNK};
    leave_file(&left, 4); /* the same life: where its bytes are */
    disk_crowd_begin(&crowd, SEQUENCES);
    REQUIRE_OK(crowd_life_begin(&life, &crowd, model, &place, &error), &error);
    for (int i = 0; i < 4; i++) {
        REQUIRE_OK(crowd_life_sweep(&life, true, &goes_on, &error), &error);
    }
    int fd = left.fd;
    left.fd = openat(crowd.directory_fd, "states-000001.slots", O_RDWR | O_CLOEXEC);
    flip(&left, place_of(&left, 2, 1) + 9);
    (void)close(left.fd);
    left.fd = fd;

    CHECK_EQ(crowd_life_sweep(&life, true, &goes_on, &error), NJ_E_STORAGE);

    CHECK_CONTAINS(error.text, "layer 1 of seat 2 is not what was written");
    /* The one sequence that lost its state is fed again, the others go on. */
    while (goes_on) {
        REQUIRE_OK(crowd_life_sweep(&life, true, &goes_on, &error), &error);
    }
    crowd_life_end(&life);
    disk_crowd_compare(&crowd, &wanted);
    disk_crowd_end(&crowd);
    drop_file(&left);
}

int main(void)
{
    open_model();
    live_undisturbed();
    RUN(a_full_disk_ends_the_life_and_another_one_goes_on);
    RUN(a_failed_read_ends_the_life_and_another_one_goes_on);
    RUN(a_failed_sync_ends_the_life_and_another_one_goes_on);
    RUN(short_reads_and_writes_are_finished);
    RUN(without_room_for_all_slots_no_life_begins);
    RUN(whenever_the_power_goes_another_life_goes_on);
    RUN(a_flipped_byte_of_a_state_costs_one_sweep_or_that_state_and_no_bit);
    RUN(with_a_damaged_table_the_one_before_it_is_tried);
    RUN(a_header_with_any_byte_flipped_is_of_no_use);
    RUN(a_file_cut_anywhere_is_of_no_use);
    RUN(a_state_that_was_altered_with_its_checksums_repaired_changes_the_ids);
    RUN(a_byte_that_changes_under_a_running_life_ends_it);
    nj_model_close(model);
    return test_result();
}
