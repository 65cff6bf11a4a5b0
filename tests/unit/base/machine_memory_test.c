#include "base/machine_memory.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/check.h"
#include "support/faulty_files.h"

/* A machine of its own for each test. */
static const char *fresh_root(void)
{
    static char root[PATH_MAX];
    static int number;
    (void)snprintf(root, sizeof root, "%s/%d", test_folder(), ++number);
    CHECK_EQ(mkdir(root, 0700), 0);
    return root;
}

static void make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        CHECK(mkdir(path, 0700) == 0 || errno == EEXIST);
        *slash = '/';
    }
}

static void put(const char *root, const char *name, const char *content)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s%s", root, name);
    make_parents(path);
    FILE *file = fopen(path, "w");
    REQUIRE(file != NULL);
    CHECK(fputs(content, file) >= 0);
    CHECK_EQ(fclose(file), 0);
}

static uint64_t left(const char *root)
{
    return nj_machine_memory_left(nj_file_system_real(), root);
}

static void put_machine(const char *root)
{
    put(root, "/proc/meminfo",
        "MemTotal:       24576000 kB\nMemFree:          100000 kB\n"
        "MemAvailable:    8000000 kB\nBuffers:               0 kB\n");
}

static void a_machine_without_cgroups_has_what_is_available(void)
{
    const char *root = fresh_root();
    put_machine(root);

    CHECK_EQ(left(root), UINT64_C(8000000) * 1024);
}

static void a_machine_that_tells_nothing_has_no_limit(void)
{
    CHECK(left(fresh_root()) == UINT64_MAX);
}

/* 3,000,000 allowed, 1,200,000 used, of which 200,000 are page cache that goes first. */
static void a_group_of_version_2_leaves_its_limit_less_what_cannot_be_dropped(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup", "0::/night/job\n");
    put(root, "/sys/fs/cgroup/night/job/memory.max", "3000000\n");
    put(root, "/sys/fs/cgroup/night/job/memory.current", "1200000\n");
    put(root, "/sys/fs/cgroup/night/job/memory.stat",
        "anon 1000000\nactive_file 50000\ninactive_file 200000\n");

    CHECK_EQ(left(root), 3000000 - 1000000);
}

static void a_parent_with_less_wins_and_a_group_without_limit_does_not_count(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup", "0::/night/job\n");
    put(root, "/sys/fs/cgroup/night/job/memory.max", "max\n");
    put(root, "/sys/fs/cgroup/night/job/memory.current", "1200000\n");
    put(root, "/sys/fs/cgroup/night/memory.max", "5000000\n");
    put(root, "/sys/fs/cgroup/night/memory.current", "4000000\n");

    CHECK_EQ(left(root), 1000000);
}

/* The line of the memory controller stands among others, and may name several. */
static void a_group_of_version_1_is_found_by_its_controller(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup",
        "9:name=memory_like:/wrong\n5:cpu,memory:/a/b\n2:cpuset:/wrong\n0::/\n");
    put(root, "/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "700000\n");
    put(root, "/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "300000\n");
    put(root, "/sys/fs/cgroup/memory/a/b/memory.stat",
        "inactive_file 1\ntotal_inactive_file 100000\n");
    put(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "20000000\n");

    CHECK_EQ(left(root), 700000 - 200000);
}

/* A container sees the host's path, and its own group where the hierarchy is mounted. */
static void in_a_container_the_mount_is_the_group(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup", "0::/docker/4f5e\n");
    put(root, "/sys/fs/cgroup/memory.max", "2000000\n");
    put(root, "/sys/fs/cgroup/memory.current", "500000\n");

    CHECK_EQ(left(root), 1500000);
}

static void a_group_that_is_over_its_limit_has_nothing_left(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup", "0::/\n");
    put(root, "/sys/fs/cgroup/memory.max", "2000\n");
    put(root, "/sys/fs/cgroup/memory.current", "5000\n");

    CHECK_EQ(left(root), 0);
}

static void numbers_that_are_none_limit_nothing(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup", "0::/\n7:memory\n");
    put(root, "/sys/fs/cgroup/memory.max", "99999999999999999999999\n");
    put(root, "/sys/fs/cgroup/memory.current", "5000\n");

    CHECK_EQ(left(root), UINT64_C(8000000) * 1024);
}

/* A file that cannot be read limits nothing either; a sweep over all of them ends. */
static void a_failed_read_makes_nothing_smaller(void)
{
    const char *root = fresh_root();
    put_machine(root);
    put(root, "/proc/self/cgroup", "0::/\n");
    put(root, "/sys/fs/cgroup/memory.max", "2000000\n");
    put(root, "/sys/fs/cgroup/memory.current", "500000\n");
    for (unsigned long n = 1; n < 20; n++) {
        struct faulty_files faulty;
        faulty_files_init(&faulty, nj_file_system_real());
        faulty_files_fail(&faulty, FAULTY_READ, n, EIO);

        CHECK(nj_machine_memory_left(&faulty.table, root) >= 1500000);
    }
}

static void what_this_process_holds_is_read_from_its_status(void)
{
    const char *root = fresh_root();
    put(root, "/proc/self/status", "Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t   512 kB\n");

    CHECK_EQ(nj_machine_memory_held(nj_file_system_real(), root), 512 * 1024);
    CHECK_EQ(nj_machine_memory_held(nj_file_system_real(), fresh_root()), 0);
}

/* Whatever this machine is, it tells something that makes sense. */
static void this_machine_has_memory_and_this_process_holds_some(void)
{
    CHECK(left("") > 1 << 20);
    CHECK(nj_machine_memory_held(nj_file_system_real(), "") > 1 << 16);
}

int main(void)
{
    RUN(a_machine_without_cgroups_has_what_is_available);
    RUN(a_machine_that_tells_nothing_has_no_limit);
    RUN(a_group_of_version_2_leaves_its_limit_less_what_cannot_be_dropped);
    RUN(a_parent_with_less_wins_and_a_group_without_limit_does_not_count);
    RUN(a_group_of_version_1_is_found_by_its_controller);
    RUN(in_a_container_the_mount_is_the_group);
    RUN(a_group_that_is_over_its_limit_has_nothing_left);
    RUN(numbers_that_are_none_limit_nothing);
    RUN(a_failed_read_makes_nothing_smaller);
    RUN(what_this_process_holds_is_read_from_its_status);
    RUN(this_machine_has_memory_and_this_process_holds_some);
    return test_result();
}
