#include "snapshot/prefix_cache.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/faulty_files.h"
#include "unit/snapshot/small_item.h"

/* Prefixes of one item's ids, of so many each. */
enum { SHORT = 30, MIDDLE = 70, LONG = 130 };

static char folder[512];

/* A folder of its own, not there yet. */
static void begin_folder(void)
{
    static int n = 0;
    (void)snprintf(folder, sizeof folder, "%s/cache-%d", test_folder(), n++);
}

static struct nj_prefix_cache *open_cache(const struct small_item *item,
                                          const struct nj_file_system *fs, uint64_t limit_bytes)
{
    struct nj_prefix_cache *cache = NULL;
    struct nj_error err = {.text = ""};
    const struct nj_prefix_cache_place place = {.fs = fs,
                                                .path = folder,
                                                .dims = &item->dims,
                                                .weights = &item->identity.weights,
                                                .clock = nj_clock_system(),
                                                .entropy = 7,
                                                .limit_bytes = limit_bytes};
    CHECK_EQ(nj_prefix_cache_open(&place, &cache, &err), NJ_OK);
    CHECK_TEXT(err.text, "");
    return cache;
}

/* Reads the item up to so many ids and stores that. */
static enum nj_status store(struct small_item *item, struct nj_prefix_cache *cache,
                            uint32_t n_ids, uint64_t *n_written)
{
    struct nj_error err;
    nj_state_reset(item->sequence.state);
    small_item_sweep(item, n_ids, NULL);
    const struct nj_prefix_entry entry = {
        .ids = item->sequence.tokens, .n_ids = n_ids, .state = item->sequence.state};
    return nj_prefix_cache_store(cache, &entry, n_written, &err);
}

static void store_well(struct small_item *item, struct nj_prefix_cache *cache, uint32_t n_ids)
{
    uint64_t n_written = 0;
    CHECK_EQ(store(item, cache, n_ids, &n_written), NJ_OK);
    CHECK(n_written > 0);
    CHECK(n_written <= nj_prefix_cache_cost_bytes(cache, n_ids));
}

/* How many ids an item of `n_tokens` ids is spared; what it gets is right to the bit. */
static uint32_t load(struct small_item *item, struct nj_prefix_cache *cache, size_t n_tokens)
{
    nj_state_reset(item->sequence.state);
    item->sequence.n_tokens = n_tokens;
    bool is_loaded = nj_prefix_cache_load(cache, &item->sequence);
    item->sequence.n_tokens = SMALL_ITEM_IDS;
    uint32_t n_read = nj_state_length(item->sequence.state);
    CHECK_EQ(is_loaded, n_read > 0);
    CHECK(small_item_state_is(item, n_read));
    return n_read;
}

static void the_longest_prefix_but_the_last_id_is_loaded(void)
{
    struct small_item item;
    begin_folder();
    small_item_open(&item);
    struct nj_prefix_cache *cache = open_cache(&item, small_item_files(), 1 << 30);
    CHECK_EQ(load(&item, cache, SMALL_ITEM_IDS), 0);
    store_well(&item, cache, LONG);
    store_well(&item, cache, SHORT);
    nj_prefix_cache_close(cache);
    cache = open_cache(&item, small_item_files(), 1 << 30);

    CHECK_EQ(load(&item, cache, SMALL_ITEM_IDS), LONG);
    CHECK_EQ(load(&item, cache, LONG + 1), LONG);
    CHECK_EQ(load(&item, cache, LONG), SHORT);
    item.sequence.tokens[SHORT] += 1;
    CHECK_EQ(load(&item, cache, SMALL_ITEM_IDS), SHORT);
    item.sequence.tokens[SHORT - 1] += 1;
    CHECK_EQ(load(&item, cache, SMALL_ITEM_IDS), 0);

    nj_prefix_cache_close(cache);
    small_item_close(&item);
}

/* Who has read more than is stored keeps it. */
static void a_shorter_prefix_than_was_read_is_not_loaded(void)
{
    struct small_item item;
    begin_folder();
    small_item_open(&item);
    struct nj_prefix_cache *cache = open_cache(&item, small_item_files(), 1 << 30);
    store_well(&item, cache, SHORT);
    small_item_sweep(&item, 5, NULL);

    CHECK(!nj_prefix_cache_load(cache, &item.sequence));

    CHECK(small_item_state_is(&item, SHORT + 5));
    nj_prefix_cache_close(cache);
    small_item_close(&item);
}

static void the_same_prefix_is_stored_once(void)
{
    struct small_item item;
    uint64_t n_written = 1;
    begin_folder();
    small_item_open(&item);
    struct nj_prefix_cache *cache = open_cache(&item, small_item_files(), 1 << 30);
    store_well(&item, cache, SHORT);
    uint64_t held_bytes = nj_prefix_cache_held_bytes(cache);

    CHECK_EQ(store(&item, cache, SHORT, &n_written), NJ_OK);

    CHECK_EQ(n_written, 0);
    CHECK_EQ(nj_prefix_cache_held_bytes(cache), held_bytes);
    nj_prefix_cache_close(cache);
    small_item_close(&item);
}

static void beyond_the_bound_what_was_unused_for_longest_goes(void)
{
    struct small_item item;
    begin_folder();
    small_item_open(&item);
    struct nj_prefix_cache *cache = open_cache(&item, small_item_files(), 1 << 30);
    store_well(&item, cache, SHORT);
    store_well(&item, cache, MIDDLE);
    uint64_t two_bytes = nj_prefix_cache_held_bytes(cache);
    nj_prefix_cache_close(cache);
    cache = open_cache(&item, small_item_files(), 1 << 30);
    CHECK_EQ(load(&item, cache, SHORT + 1), SHORT); /* newer than the other from now on */
    uint64_t limit_bytes = two_bytes + nj_prefix_cache_cost_bytes(cache, LONG) - 1;
    nj_prefix_cache_close(cache);

    cache = open_cache(&item, small_item_files(), limit_bytes);
    store_well(&item, cache, LONG);

    CHECK(nj_prefix_cache_held_bytes(cache) <= limit_bytes);
    CHECK_EQ(load(&item, cache, SMALL_ITEM_IDS), LONG);
    CHECK_EQ(load(&item, cache, LONG), SHORT);
    nj_prefix_cache_close(cache);
    small_item_close(&item);
}

static void without_the_list_of_uses_everything_is_there_all_the_same(void)
{
    struct small_item item;
    char path[600];
    begin_folder();
    small_item_open(&item);
    struct nj_prefix_cache *cache = open_cache(&item, small_item_files(), 1 << 30);
    store_well(&item, cache, SHORT);
    nj_prefix_cache_close(cache);
    (void)snprintf(path, sizeof path, "%s/uses", folder);
    static const char *const contents[] = {
        "", "nightjar prefix uses 1\n1 2 3\nx\n9", "noise\n",
        "nightjar prefix uses 1\n99999999999999999999999 9\n",
        "nightjar prefix uses 1\n9 99999999999999999999999\n"};
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        FILE *file = fopen(path, "wb");
        REQUIRE(file != NULL);
        CHECK(fputs(contents[i], file) >= 0);
        CHECK_EQ(fclose(file), 0);

        cache = open_cache(&item, small_item_files(), 1 << 30);
        CHECK_EQ(load(&item, cache, SMALL_ITEM_IDS), SHORT);
        nj_prefix_cache_close(cache);
    }
    small_item_close(&item);
}

static size_t n_files_in(const char *name)
{
    char path[600];
    size_t n = 0;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    DIR *directory = opendir(path);
    for (const struct dirent *entry = NULL;
         directory != NULL && (entry = readdir(directory)) != NULL;) {
        n += strstr(entry->d_name, ".snap") != NULL;
    }
    if (directory != NULL) {
        (void)closedir(directory);
    }
    return n;
}

/* After whatever happened: what is there is whole, and the next run stores as if nothing had.
 */
static void check_folder_is_sound(struct small_item *item)
{
    struct nj_prefix_cache *cache = open_cache(item, small_item_files(), 1 << 30);
    uint64_t n_written = 0;
    uint32_t n_read = load(item, cache, SMALL_ITEM_IDS);
    CHECK(n_read == LONG || n_read == SHORT);
    CHECK_EQ(store(item, cache, LONG, &n_written), NJ_OK);
    CHECK_EQ(n_written > 0, n_read == SHORT);
    CHECK_EQ(load(item, cache, SMALL_ITEM_IDS), LONG);
    CHECK_EQ(n_files_in(""), 2);
    CHECK_EQ(n_written > 0 ? n_files_in("new") : 0, 0);
    nj_prefix_cache_close(cache);
}

static void begin_with_one(struct small_item *item)
{
    begin_folder();
    small_item_open(item);
    struct nj_prefix_cache *cache = open_cache(item, small_item_files(), 1 << 30);
    store_well(item, cache, SHORT);
    nj_prefix_cache_close(cache);
}

/* So that it is made again. */
static void remove_folder_of_new_files(void)
{
    char path[600];
    (void)snprintf(path, sizeof path, "%s/new", folder);
    CHECK_EQ(rmdir(path), 0);
}

static bool survive(enum faulty_call call, unsigned long n)
{
    struct small_item item;
    struct faulty_files faulty;
    uint64_t n_written = 0;
    faulty_files_init(&faulty, small_item_files());
    begin_with_one(&item);
    remove_folder_of_new_files();
    struct nj_prefix_cache *cache = open_cache(&item, &faulty.table, 1 << 30);
    faulty_files_fail(&faulty, call, n, call == FAULTY_WRITE ? ENOSPC : EIO);

    enum nj_status status = store(&item, cache, LONG, &n_written);

    bool fired = faulty_files_fired(&faulty);
    CHECK(fired || status == NJ_OK);
    faulty_files_reset(&faulty);
    nj_prefix_cache_close(cache);
    check_folder_is_sound(&item);
    small_item_close(&item);
    return fired;
}

static void each_call_that_fails_leaves_all_or_nothing(void)
{
    static const enum faulty_call calls[] = {
        FAULTY_OPEN,   FAULTY_READ,   FAULTY_WRITE,          FAULTY_DATA_SYNC, FAULTY_SYNC,
        FAULTY_RENAME, FAULTY_UNLINK, FAULTY_MAKE_DIRECTORY, FAULTY_STATUS,
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        unsigned long n = 1;
        while (survive(calls[i], n)) {
            n++;
        }
        CHECK(n > 1 || calls[i] == FAULTY_UNLINK || calls[i] == FAULTY_READ);
    }
}

/* True when the child was killed. */
static bool die_at_step(struct small_item *item, unsigned long n)
{
    int status = 0;
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct faulty_files faulty;
        uint64_t n_written = 0;
        faulty_files_init(&faulty, small_item_files());
        struct nj_prefix_cache *cache = open_cache(item, &faulty.table, 1 << 30);
        faulty_files_kill_at_step(&faulty, n);
        (void)store(item, cache, LONG, &n_written); /* it dies, or the parent finds out */
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status);
}

static void killed_at_each_step_it_leaves_all_or_nothing(void)
{
    unsigned long n = 0;
    bool was_killed = true;
    while (was_killed) {
        struct small_item item;
        begin_with_one(&item);
        was_killed = die_at_step(&item, ++n);
        check_folder_is_sound(&item);
        small_item_close(&item);
    }
    CHECK(n > 4);
}

int main(void)
{
    RUN(the_longest_prefix_but_the_last_id_is_loaded);
    RUN(a_shorter_prefix_than_was_read_is_not_loaded);
    RUN(the_same_prefix_is_stored_once);
    RUN(beyond_the_bound_what_was_unused_for_longest_goes);
    RUN(without_the_list_of_uses_everything_is_there_all_the_same);
    RUN(each_call_that_fails_leaves_all_or_nothing);
    RUN(killed_at_each_step_it_leaves_all_or_nothing);
    return test_result();
}
