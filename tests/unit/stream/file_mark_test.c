#include "stream/file_mark.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

static char path[PATH_MAX];

static void make_file(void)
{
    (void)snprintf(path, sizeof path, "%s/file", test_folder());
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fwrite("weights", 1, 7, file), 7);
    CHECK_EQ(fclose(file), 0);
}

static struct nj_file_mark mark(void)
{
    struct nj_file_mark taken = {.device = 0};
    CHECK(nj_file_mark_take(nj_file_system_real(), path, &taken));
    return taken;
}

/* The system's clock for files ticks only every few milliseconds. */
static struct nj_file_mark with_time(struct nj_file_mark earlier, long second)
{
    earlier.modified.tv_sec = second;
    earlier.changed.tv_sec = second;
    return earlier;
}

static void a_file_that_nobody_touched_was_not_written(void)
{
    struct nj_file_mark before = mark();
    struct nj_file_mark now = mark();
    CHECK(nj_file_mark_is_same_file(&before, &now));
    CHECK(!nj_file_mark_was_written(&before, &now));
}

static void another_length_or_time_of_modification_was_written(void)
{
    struct nj_file_mark before = mark();
    struct nj_file_mark longer = before;
    longer.length_bytes++;
    CHECK(nj_file_mark_was_written(&before, &longer));
    struct nj_file_mark later = with_time(before, 7);
    CHECK(nj_file_mark_was_written(&before, &later));
}

static void a_time_of_change_alone_counts_unless_something_else_explains_it(void)
{
    struct nj_file_mark before = mark();
    struct nj_file_mark now = before;
    now.changed.tv_nsec++;
    CHECK(nj_file_mark_was_written(&before, &now));
    now.mode ^= 0200;
    CHECK(!nj_file_mark_was_written(&before, &now));
    now.mode = before.mode;
    now.n_links++;
    CHECK(!nj_file_mark_was_written(&before, &now));
    now.modified.tv_nsec++;
    CHECK(nj_file_mark_was_written(&before, &now));
}

static void a_file_that_took_the_name_is_another_one(void)
{
    char other[PATH_MAX + 8];
    struct nj_file_mark before = mark();
    (void)snprintf(other, sizeof other, "%s.other", path);
    FILE *file = fopen(other, "wb");
    REQUIRE(file != NULL);
    CHECK_EQ(fclose(file), 0);
    CHECK_EQ(rename(other, path), 0);
    struct nj_file_mark now = mark();
    CHECK(!nj_file_mark_is_same_file(&before, &now));
}

static void a_file_that_is_gone_has_no_mark(void)
{
    struct nj_file_mark taken;
    CHECK_EQ(unlink(path), 0);
    CHECK(!nj_file_mark_take(nj_file_system_real(), path, &taken));
}

int main(void)
{
    RUN(make_file);
    RUN(a_file_that_nobody_touched_was_not_written);
    RUN(another_length_or_time_of_modification_was_written);
    RUN(a_time_of_change_alone_counts_unless_something_else_explains_it);
    RUN(a_file_that_took_the_name_is_another_one);
    RUN(a_file_that_is_gone_has_no_mark);
    return test_result();
}
