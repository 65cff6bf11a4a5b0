/* Whatever is done to the newest segment, what is restored is a state that is right: the
 * newest, the one before it, or none.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/checksum.h"
#include "snapshot/folder.h"
#include "snapshot/retention.h"
#include "support/check.h"
#include "unit/snapshot/forge.h"
#include "unit/snapshot/small_item.h"

enum { OLD_POSITIONS = 6, N_MORE = 3, NEW_POSITIONS = OLD_POSITIONS + N_MORE };

/* Two snapshots of one item, and their bytes. */
struct pair {
    struct small_item item;
    char old_name[NJ_SEGMENT_NAME_BYTES];
    char new_name[NJ_SEGMENT_NAME_BYTES];
    uint8_t *old_bytes;
    uint8_t *new_bytes;
    size_t n_old;
    size_t n_new;
    struct nj_file_system fs;
};

/* Where every byte is tried, nothing is said about names. */
static int rename_nothing(void *context, int from_directory_fd, const char *from,
                          int to_directory_fd, const char *to)
{
    (void)context;
    (void)from_directory_fd;
    (void)from;
    (void)to_directory_fd;
    (void)to;
    return 0;
}

static void open_pair_at(struct pair *pair, uint32_t n_first)
{
    memset(pair, 0, sizeof *pair);
    small_item_open(&pair->item);
    small_item_make_folder(&pair->item);
    pair->item.sequence.n_tokens = n_first + N_MORE + 2;
    pair->fs = *small_item_files();
    struct nj_snapshot_writer *writer = small_item_writer(&pair->item, &pair->fs, NJ_PACK_AUTO);
    CHECK(small_item_snapshot(&pair->item, writer, n_first).is_durable);
    CHECK(small_item_snapshot(&pair->item, writer, N_MORE).is_durable);
    nj_snapshot_writer_destroy(writer);
    nj_segment_name(1, pair->old_name);
    nj_segment_name(2, pair->new_name);
    pair->old_bytes = read_segment(pair->item.directory_fd, pair->old_name, &pair->n_old);
    pair->new_bytes = read_segment(pair->item.directory_fd, pair->new_name, &pair->n_new);
}

static void open_pair(struct pair *pair)
{
    open_pair_at(pair, OLD_POSITIONS);
}

static void close_pair(struct pair *pair)
{
    free(pair->old_bytes);
    free(pair->new_bytes);
    small_item_close(&pair->item);
}

static bool exists(const struct pair *pair, const char *name)
{
    return faccessat(pair->item.directory_fd, name, F_OK, 0) == 0;
}

/* Both files as given; those put aside before are gone. */
static void lay_out(struct pair *pair, const uint8_t *new_bytes, size_t n_new)
{
    char aside[2 * NJ_SEGMENT_NAME_BYTES];
    int fd = pair->item.directory_fd;
    (void)snprintf(aside, sizeof aside, "%s.bad", pair->new_name);
    (void)unlinkat(fd, aside, 0);
    (void)snprintf(aside, sizeof aside, "%s.bad", pair->old_name);
    (void)unlinkat(fd, aside, 0);
    if (!exists(pair, pair->old_name)) {
        write_segment(fd, pair->old_name, pair->old_bytes, pair->n_old);
    }
    write_segment(fd, pair->new_name, new_bytes, n_new);
}

static struct nj_snapshot_loaded load(struct pair *pair)
{
    enum nj_status status = NJ_OK;
    struct nj_error error = {.text = ""};
    struct nj_snapshot_loaded loaded = small_item_load(&pair->item, &pair->fs, &status, &error);
    CHECK_EQ(status, NJ_OK);
    return loaded;
}

/* The newest was no use: it is aside, named, and the one before it serves. */
static void check_previous_is_used(struct pair *pair, const char *why)
{
    char aside[2 * NJ_SEGMENT_NAME_BYTES];
    struct nj_snapshot_loaded loaded = load(pair);
    CHECK_EQ(loaded.n_positions, OLD_POSITIONS);
    CHECK_EQ(loaded.n_put_aside, 1);
    CHECK_CONTAINS(loaded.complaint, pair->new_name);
    CHECK_CONTAINS(loaded.complaint, why);
    CHECK(small_item_state_is(&pair->item, OLD_POSITIONS));
    (void)snprintf(aside, sizeof aside, "%s.bad", pair->new_name);
    CHECK(exists(pair, aside));
    CHECK(!exists(pair, pair->new_name));
    /* Looked at again, there is nothing left to complain about. */
    loaded = load(pair);
    CHECK_EQ(loaded.n_positions, OLD_POSITIONS);
    CHECK_EQ(loaded.n_put_aside, 0);
    CHECK_EQ(pair->item.chain.highest_number, 2);
}

/* The newest was never finished: it is gone without a word, and the one before it serves. */
static void check_unfinished_is_removed(struct pair *pair)
{
    char aside[2 * NJ_SEGMENT_NAME_BYTES];
    struct nj_snapshot_loaded loaded = load(pair);
    CHECK_EQ(loaded.n_positions, OLD_POSITIONS);
    CHECK_EQ(loaded.n_unfinished, 1);
    CHECK_EQ(loaded.n_put_aside, 0);
    CHECK_TEXT(loaded.complaint, "");
    CHECK(small_item_state_is(&pair->item, OLD_POSITIONS));
    (void)snprintf(aside, sizeof aside, "%s.bad", pair->new_name);
    CHECK(!exists(pair, aside));
    CHECK(!exists(pair, pair->new_name));
    loaded = load(pair);
    CHECK_EQ(loaded.n_positions, OLD_POSITIONS);
    CHECK_EQ(loaded.n_unfinished, 0);
}

static void a_flipped_byte_costs_the_newest_snapshot_and_no_more(void)
{
    static struct pair pair;
    open_pair(&pair);
    pair.fs.rename_at = rename_nothing;
    size_t n_tolerated = 0;
    for (size_t i = 0; i < pair.n_new; i++) {
        pair.new_bytes[i] ^= (uint8_t)(1U << i % 8);
        write_segment(pair.item.directory_fd, pair.new_name, pair.new_bytes, pair.n_new);

        struct nj_snapshot_loaded loaded = load(&pair);

        bool is_new = loaded.n_positions == NEW_POSITIONS;
        CHECK(is_new || loaded.n_positions == OLD_POSITIONS);
        CHECK_EQ(loaded.n_put_aside, is_new ? 0 : 1);
        CHECK(small_item_state_is(&pair.item, loaded.n_positions));
        n_tolerated += is_new;
        pair.new_bytes[i] ^= (uint8_t)(1U << i % 8);
    }
    CHECK_EQ(n_tolerated, 64); /* the end mark: nothing depends on it */
    close_pair(&pair);
}

static void cut_at_any_length_the_newest_snapshot_is_whole_or_not_used(void)
{
    static struct pair pair;
    open_pair(&pair);
    for (size_t length = 0; length < pair.n_new; length++) {
        write_segment(pair.item.directory_fd, pair.new_name, pair.new_bytes, length);

        struct nj_snapshot_loaded loaded = load(&pair);

        bool is_whole = length >= pair.n_new - 64;
        CHECK_EQ(loaded.n_positions, is_whole ? NEW_POSITIONS : OLD_POSITIONS);
        CHECK_EQ(loaded.n_unfinished, is_whole ? 0 : 1);
        CHECK_EQ(loaded.n_put_aside, 0);
        CHECK(small_item_state_is(&pair.item, loaded.n_positions));
    }
    close_pair(&pair);
}

static void a_file_of_no_length_and_one_of_zeros_were_never_finished(void)
{
    static struct pair pair;
    static const uint8_t zeros[1000];
    open_pair(&pair);
    lay_out(&pair, zeros, 0);
    check_unfinished_is_removed(&pair);
    lay_out(&pair, zeros, sizeof zeros);
    check_unfinished_is_removed(&pair);
    close_pair(&pair);
}

/* Its records are written while the ids of its sweep are not durable yet. */
static void what_a_kill_left_ahead_of_the_token_log_was_never_finished(void)
{
    static struct pair pair;
    open_pair(&pair);
    lay_out(&pair, pair.new_bytes, pair.n_new / 2);
    pair.item.sequence.n_tokens = NEW_POSITIONS;
    check_unfinished_is_removed(&pair);
    close_pair(&pair);
}

/* A run that went on behind it would have removed it. */
static void a_torn_segment_with_another_behind_it_is_put_aside(void)
{
    static struct pair pair;
    open_pair(&pair);
    (void)unlinkat(pair.item.directory_fd, pair.old_name, 0);
    write_segment(pair.item.directory_fd, pair.old_name, pair.old_bytes, pair.n_old / 2);
    write_segment(pair.item.directory_fd, pair.new_name, pair.new_bytes, pair.n_new / 2);
    struct nj_snapshot_loaded loaded = load(&pair);
    CHECK_EQ(loaded.number, 0);
    CHECK_EQ(loaded.n_unfinished, 1);
    CHECK_EQ(loaded.n_put_aside, 1);
    CHECK_CONTAINS(loaded.complaint, "segment-000001.snap: it is torn");
    close_pair(&pair);
}

static void what_was_put_aside_goes_with_the_segments_of_a_finished_item(void)
{
    static const char *const asides[] = {"segment-000007.snap.bad",
                                         "segment-000007.snap.bad-2"};
    static const char other[] = "segment-000007.snap.badge";
    static struct pair pair;
    struct nj_error error = {.text = ""};
    open_pair(&pair);
    int fd = pair.item.directory_fd;
    for (size_t i = 0; i < 2; i++) {
        write_segment(fd, asides[i], pair.new_bytes, 100);
    }
    write_segment(fd, other, pair.new_bytes, 100);

    REQUIRE_OK(nj_retention_prune(&pair.fs, fd, 2, 1, &error), &error);
    CHECK(exists(&pair, asides[0]) && exists(&pair, asides[1]));
    REQUIRE_OK(nj_retention_prune(&pair.fs, fd, 0, 0, &error), &error);

    CHECK(!exists(&pair, pair.old_name) && !exists(&pair, pair.new_name));
    CHECK(!exists(&pair, asides[0]) && !exists(&pair, asides[1]));
    CHECK(exists(&pair, other));
    close_pair(&pair);
}

static void a_tail_of_zeros_is_torn_and_a_doubled_one_means_nothing(void)
{
    static struct pair pair;
    open_pair(&pair);
    uint8_t *doubled = forge_memory(2 * pair.n_new);
    memcpy(doubled, pair.new_bytes, pair.n_new);
    memset(doubled + pair.n_new / 2, 0, pair.n_new / 2 + 1);
    lay_out(&pair, doubled, pair.n_new);
    check_unfinished_is_removed(&pair);

    memcpy(doubled, pair.new_bytes, pair.n_new);
    size_t n_tail = 200;
    memcpy(doubled + pair.n_new, pair.new_bytes + pair.n_new - n_tail, n_tail);
    lay_out(&pair, doubled, pair.n_new + n_tail);
    CHECK_EQ(load(&pair).n_positions, NEW_POSITIONS);
    CHECK(small_item_state_is(&pair.item, NEW_POSITIONS));
    free(doubled);
    close_pair(&pair);
}

static void the_tail_of_the_segment_before_is_not_taken_for_its_own(void)
{
    static struct pair pair;
    open_pair(&pair);
    uint8_t *mixed = forge_memory(pair.n_new + pair.n_old);
    size_t n_head = NJ_SEGMENT_HEADER_BYTES;
    memcpy(mixed, pair.new_bytes, n_head);
    memcpy(mixed + n_head, pair.old_bytes + n_head, pair.n_old - n_head);
    lay_out(&pair, mixed, pair.n_old);
    check_unfinished_is_removed(&pair);
    free(mixed);
    close_pair(&pair);
}

static void a_segment_under_another_number_is_named(void)
{
    static struct pair pair;
    open_pair(&pair);
    lay_out(&pair, pair.old_bytes, pair.n_old);
    check_previous_is_used(&pair, "under another name");
    close_pair(&pair);
}

static void another_version_is_named_and_its_bytes_are_kept(void)
{
    static struct pair pair;
    open_pair(&pair);
    for (uint8_t version = 0; version <= 2; version += 2) {
        char aside[2 * NJ_SEGMENT_NAME_BYTES];
        size_t n_kept = 0;
        struct nj_byte_writer writer;
        pair.new_bytes[8] = version;
        nj_byte_writer_init(&writer, pair.new_bytes + NJ_SEGMENT_HEADER_BYTES - 4, 4);
        nj_write_u32(&writer, nj_crc32(0, (struct nj_bytes){pair.new_bytes,
                                                            NJ_SEGMENT_HEADER_BYTES - 4}));
        lay_out(&pair, pair.new_bytes, pair.n_new);
        check_previous_is_used(&pair, version == 0 ? "older than known" : "newer than known");
        (void)snprintf(aside, sizeof aside, "%s.bad", pair.new_name);
        uint8_t *kept = read_segment(pair.item.directory_fd, aside, &n_kept);
        CHECK_EQ(n_kept, pair.n_new);
        CHECK_BYTES(kept, pair.new_bytes, n_kept);
        free(kept);
    }
    close_pair(&pair);
}

/* --- segments of somebody else, with all checksums right --- */

static void change_job(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->job[15] ^= 1;
}

static void change_item(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->item_index += 1;
}

static void change_sample(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->sample += 1;
}

static void change_weights(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->weights.bytes[0] ^= 1;
}

static void change_numerics(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->numerics_version += 1;
}

static void change_kv_type(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->kv_type += 1;
}

static void change_epsilon(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->latent_norm_eps *= 2.0F;
}

static void change_template(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->template.bytes[31] ^= 1;
}

static void change_options(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->item.bytes[7] ^= 1;
}

static void change_nothing(void *context, struct nj_segment_header *header)
{
    (void)context;
    (void)header;
}

static void change_previous(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->previous_number = 1;
}

static void change_previous_to_itself(void *context, struct nj_segment_header *header)
{
    (void)context;
    header->previous_number = 2;
}

static void lay_out_forged(struct pair *pair, const struct forgery *forgery)
{
    uint8_t *forged = NULL;
    size_t n_forged = 0;
    forge_segment((struct nj_bytes){pair->new_bytes, pair->n_new}, forgery, &forged, &n_forged);
    REQUIRE(forged != NULL);
    lay_out(pair, forged, n_forged);
    free(forged);
}

static void a_segment_of_somebody_else_is_refused_naming_the_difference(void)
{
    static const struct {
        void (*change)(void *context, struct nj_segment_header *header);
        const char *why;
    } cases[] = {
        {change_job, "another job"},
        {change_item, "belongs to item 4, not to item 3"},
        {change_sample, "another sample"},
        {change_weights, "another model"},
        {change_numerics, "another numerics version"},
        {change_kv_type, "another type of cached values"},
        {change_epsilon, "another latent norm epsilon"},
        {change_template, "another chat template"},
        {change_options, "another prompt or other options"},
        {change_previous, "segment 1 is not the one that it was written after"},
        {change_previous_to_itself, "its chain does not end"},
    };
    static struct pair pair;
    open_pair(&pair);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct forgery forgery = {.change_header = cases[i].change};
        lay_out_forged(&pair, &forgery);
        check_previous_is_used(&pair, cases[i].why);
    }
    struct forgery none = {.change_header = change_nothing};
    lay_out_forged(&pair, &none);
    CHECK_EQ(load(&pair).n_positions, NEW_POSITIONS); /* forging alone is not what is refused */
    close_pair(&pair);
}

/* Which record to change, and how. */
struct record_change {
    enum nj_segment_record_type type;
    size_t place;
    uint32_t add_first;
    uint32_t add_layer;
};

static void change_record(void *context, struct nj_segment_section *section, uint8_t *raw,
                          size_t n_bytes)
{
    const struct record_change *change = context;
    if (section->type == change->type) {
        section->first += change->add_first;
        section->layer += change->add_layer;
        if (change->place < n_bytes) {
            raw[change->place] ^= 1;
        }
    }
}

static void a_segment_that_cannot_be_this_state_is_refused(void)
{
    enum { NOWHERE = 1 << 20 };
    static const struct {
        struct record_change change;
        const char *why;
    } cases[] = {
        {{NJ_SEGMENT_SNAP_BEGIN, 0, 0, 0}, "pieces of a layer do not join"}, /* positions */
        {{NJ_SEGMENT_SNAP_BEGIN, 1, 0, 0}, "ahead of the token log"},
        {{NJ_SEGMENT_SNAP_BEGIN, 8, 0, 0}, "its shape"}, /* layers */
        {{NJ_SEGMENT_SNAP_BEGIN, 12, 0, 0}, "layers are not those of the model"},
        {{NJ_SEGMENT_SNAP_BEGIN, 16, 0, 0}, "layers are not those of the model"},
        {{NJ_SEGMENT_SNAP_BEGIN, 24, 0, 0}, "layers are not those of the model"},
        {{NJ_SEGMENT_KV, NOWHERE, 1, 0}, "pieces of a layer do not join"},
        {{NJ_SEGMENT_KV, NOWHERE, 0, 1}, "layers are out of order"},
        {{NJ_SEGMENT_RECURRENT, NOWHERE, 1, 0}, "pieces of a layer do not join"},
        {{NJ_SEGMENT_TOKENS, NOWHERE, 1, 0}, "its ids do not join"},
        {{NJ_SEGMENT_TOKENS, 0, 0, 0}, "its id 0 is not that of the item"},
        {{NJ_SEGMENT_SAMPLER, 0, 0, 0}, "its text is not that of the item"}, /* the seed */
        {{NJ_SEGMENT_OUTPUT_MARK, 0, 0, 0}, "its text is not that of the item"},
    };
    static struct pair pair;
    open_pair(&pair);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct record_change change = cases[i].change;
        struct forgery forgery = {.context = &change, .change_record = change_record};
        lay_out_forged(&pair, &forgery);
        check_previous_is_used(&pair, cases[i].why);
    }
    close_pair(&pair);
}

/* --- what else can be in a folder --- */

static void ids_that_the_token_log_lost_make_a_snapshot_useless(void)
{
    static struct pair pair;
    open_pair(&pair);
    lay_out(&pair, pair.new_bytes, pair.n_new);
    pair.item.sequence.n_tokens = NEW_POSITIONS; /* nothing would be left to read */
    check_previous_is_used(&pair, "ahead of the token log");
    close_pair(&pair);
}

/* The newest holds only new positions: what it names is needed, and so is every byte of it. */
static void a_segment_is_of_no_use_without_the_one_that_it_chains_to(void)
{
    enum { N_FIRST = 40 };
    static struct pair pair;
    open_pair_at(&pair, N_FIRST);
    CHECK(pair.n_new < pair.n_old);
    CHECK_EQ(load(&pair).n_positions, N_FIRST + N_MORE);
    CHECK(small_item_state_is(&pair.item, N_FIRST + N_MORE));
    for (size_t i = 0; i < pair.n_old - 64; i += 37) {
        (void)unlinkat(pair.item.directory_fd, pair.old_name, 0);
        pair.old_bytes[i] ^= 0x40;
        lay_out(&pair, pair.new_bytes, pair.n_new);
        pair.old_bytes[i] ^= 0x40;

        struct nj_snapshot_loaded loaded = load(&pair);

        CHECK_EQ(loaded.n_put_aside, 2);
        CHECK_EQ(loaded.number, 0);
        CHECK(small_item_state_is(&pair.item, 0));
    }
    (void)unlinkat(pair.item.directory_fd, pair.old_name, 0);
    write_segment(pair.item.directory_fd, pair.new_name, pair.new_bytes, pair.n_new);
    struct nj_snapshot_loaded loaded = load(&pair);
    CHECK_EQ(loaded.n_put_aside, 1);
    CHECK_CONTAINS(loaded.complaint, "it needs segment-000001.snap");
    close_pair(&pair);
}

static void without_any_usable_segment_there_is_no_state(void)
{
    static struct pair pair;
    open_pair(&pair);
    pair.old_bytes[NJ_SEGMENT_HEADER_BYTES + 70] ^= 1;
    pair.new_bytes[NJ_SEGMENT_HEADER_BYTES + 70] ^= 1;
    (void)unlinkat(pair.item.directory_fd, pair.old_name, 0);
    lay_out(&pair, pair.new_bytes, pair.n_new);

    struct nj_snapshot_loaded loaded = load(&pair);

    CHECK_EQ(loaded.number, 0);
    CHECK_EQ(loaded.n_put_aside, 2);
    CHECK(small_item_state_is(&pair.item, 0));
    CHECK_EQ(pair.item.chain.number, 0);
    CHECK_EQ(pair.item.chain.highest_number, 2);
    close_pair(&pair);
}

static void names_for_what_is_put_aside_do_not_run_out_or_collide(void)
{
    static struct pair pair;
    char aside[2 * NJ_SEGMENT_NAME_BYTES];
    open_pair(&pair);
    for (int n = 1; n <= 3; n++) {
        pair.new_bytes[NJ_SEGMENT_HEADER_BYTES + 70] ^= (uint8_t)(1U << n);
        write_segment(pair.item.directory_fd, pair.new_name, pair.new_bytes, pair.n_new);
        CHECK_EQ(load(&pair).n_put_aside, 1);
        (void)snprintf(aside, sizeof aside, n == 1 ? "%s.bad" : "%s.bad-%d", pair.new_name, n);
        CHECK(exists(&pair, aside));
    }
    close_pair(&pair);
}

static void names_that_are_not_ours_are_left_alone(void)
{
    static const char *const names[] = {"segment-2.snap", "segment-0000002.snap",
                                        "segment-000003.snapshot", "segment-000000.snap",
                                        "notes.txt"};
    static struct pair pair;
    open_pair(&pair);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        write_segment(pair.item.directory_fd, names[i], pair.new_bytes, 10);
    }
    struct nj_snapshot_loaded loaded = load(&pair);
    CHECK_EQ(loaded.n_positions, NEW_POSITIONS);
    CHECK_EQ(loaded.n_put_aside, 0);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK(exists(&pair, names[i]));
    }
    close_pair(&pair);
}

int main(void)
{
    RUN(a_flipped_byte_costs_the_newest_snapshot_and_no_more);
    RUN(cut_at_any_length_the_newest_snapshot_is_whole_or_not_used);
    RUN(a_file_of_no_length_and_one_of_zeros_were_never_finished);
    RUN(what_a_kill_left_ahead_of_the_token_log_was_never_finished);
    RUN(a_torn_segment_with_another_behind_it_is_put_aside);
    RUN(what_was_put_aside_goes_with_the_segments_of_a_finished_item);
    RUN(a_tail_of_zeros_is_torn_and_a_doubled_one_means_nothing);
    RUN(the_tail_of_the_segment_before_is_not_taken_for_its_own);
    RUN(a_segment_under_another_number_is_named);
    RUN(another_version_is_named_and_its_bytes_are_kept);
    RUN(a_segment_of_somebody_else_is_refused_naming_the_difference);
    RUN(a_segment_that_cannot_be_this_state_is_refused);
    RUN(ids_that_the_token_log_lost_make_a_snapshot_useless);
    RUN(a_segment_is_of_no_use_without_the_one_that_it_chains_to);
    RUN(without_any_usable_segment_there_is_no_state);
    RUN(names_for_what_is_put_aside_do_not_run_out_or_collide);
    RUN(names_that_are_not_ours_are_left_alone);
    return test_result();
}
