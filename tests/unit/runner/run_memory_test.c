/* Too little memory is refused before a weight byte is read, and what the refusal says is so.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "crash/tiny_run.h"
#include "nightjar/run.h"
#include "support/check.h"

/* Tells headers of shards, which a plan needs, from the weights behind them. */
enum { MOST_FDS = 1024 };

struct shard_watch {
    bool is_shard[MOST_FDS];
    uint64_t header_end[MOST_FDS];
    uint32_t n_header_reads;
    uint32_t n_weight_reads;
};

static struct shard_watch watch;
static struct nj_file_system watched;

static int watch_open(void *context, int directory_fd, const char *name, int flags, mode_t mode)
{
    const struct nj_file_system *below = tiny_run_files();
    size_t length = strlen(name);
    static const char suffix[] = ".safetensors";
    (void)context;
    int fd = below->open_at(below->context, directory_fd, name, flags, mode);
    if (fd >= 0 && fd < MOST_FDS) {
        watch.is_shard[fd] =
            length >= strlen(suffix) && strcmp(name + length - strlen(suffix), suffix) == 0;
        watch.header_end[fd] = 8;
    }
    return fd;
}

static ssize_t watch_read(void *context, int fd, void *data, size_t length, off_t offset)
{
    const struct nj_file_system *below = tiny_run_files();
    (void)context;
    ssize_t n = below->read_at(below->context, fd, data, length, offset);
    if (fd < MOST_FDS && watch.is_shard[fd] && n > 0) {
        bool is_header = (uint64_t)offset < watch.header_end[fd];
        watch.n_header_reads += is_header;
        watch.n_weight_reads += !is_header;
        if (offset == 0 && n >= 8) { /* as the format has it: little-endian */
            uint64_t header_bytes = 0;
            memcpy(&header_bytes, data, sizeof header_bytes);
            watch.header_end[fd] = 8 + header_bytes;
        }
    }
    return n;
}

static enum nj_status run_with(const char *folder, uint64_t memory_bytes, uint32_t batch,
                               struct nj_error *err)
{
    const struct tiny_run run = {
        .folder = folder, .fs = &watched, .memory_bytes = memory_bytes, .batch = batch};
    struct nj_run_report report;
    memset(&watch, 0, sizeof watch);
    tiny_run_model("model");
    return tiny_run(&run, &report, err);
}

/* The number behind "at least"; 0 when there is none. */
static uint64_t figure_of(const struct nj_error *err)
{
    const char *found = strstr(err->text, "at least ");
    return found == NULL ? 0 : strtoull(found + strlen("at least "), NULL, 10);
}

static void a_run_that_fits_reads_weights(void)
{
    struct nj_error err = {0};
    CHECK_EQ(run_with("fits", 0, 0, &err), NJ_OK);
    CHECK(watch.n_weight_reads > 0);
}

static void too_little_memory_is_refused_with_both_figures_and_no_weight_byte_read(void)
{
    struct nj_error err = {0};
    CHECK_EQ(run_with("refused", 1000000, 0, &err), NJ_E_BUDGET);
    CHECK_CONTAINS(err.text, "the ceiling is 1000000");
    CHECK(figure_of(&err) > 1000000);
    CHECK(watch.n_header_reads > 0);
    CHECK_EQ(watch.n_weight_reads, 0);
    CHECK(!tiny_run_has("refused", ""));
}

static void the_figure_of_a_refusal_is_enough_when_it_is_given(void)
{
    for (uint32_t batch = 0; batch <= 4; batch += 2) {
        struct nj_error err = {0};
        tiny_run_remove("exactly");
        CHECK_EQ(run_with("exactly", 1, batch, &err), NJ_E_BUDGET);
        uint64_t figure = figure_of(&err);
        CHECK(figure > 0);
        CHECK_EQ(run_with("exactly", figure, batch, &err), NJ_OK);
    }
}

int main(void)
{
    watched = *tiny_run_files();
    watched.open_at = watch_open;
    watched.read_at = watch_read;
    RUN(too_little_memory_is_refused_with_both_figures_and_no_weight_byte_read);
    RUN(a_run_that_fits_reads_weights);
    RUN(the_figure_of_a_refusal_is_enough_when_it_is_given);
    return test_result();
}
