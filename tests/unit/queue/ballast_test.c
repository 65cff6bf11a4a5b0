#include "queue/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/faulty_files.h"

enum { BYTES = 200 * 1000 };

static off_t length_of(int directory_fd)
{
    struct stat status;
    return fstatat(directory_fd, "ballast", &status, 0) == 0 ? status.st_size : -1;
}

static int open_folder(void)
{
    return open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void room_is_taken_once_and_given_back(void)
{
    const struct nj_file_system *fs = nj_file_system_real();
    struct nj_error error;
    bool was_there = false;
    int directory_fd = open_folder();
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(nj_queue_ballast_take_on(fs, directory_fd, "ballast", BYTES, &error),
                   &error);
        CHECK_EQ(length_of(directory_fd), BYTES);
    }
    for (int i = 0; i < 2; i++) {
        REQUIRE_OK(nj_queue_ballast_drop(fs, directory_fd, "ballast", &was_there, &error),
                   &error);
        CHECK_EQ(was_there, i == 0);
        CHECK_EQ(length_of(directory_fd), -1);
    }
    (void)close(directory_fd);
}

static void without_room_for_all_of_it_there_is_none(void)
{
    struct faulty_files faulty;
    struct nj_error error;
    int directory_fd = open_folder();
    faulty_files_init(&faulty, nj_file_system_real());
    faulty_files_fail_for_ever(&faulty, FAULTY_WRITE, 2, ENOSPC);
    CHECK_EQ(nj_queue_ballast_take_on(&faulty.table, directory_fd, "ballast", BYTES, &error),
             NJ_E_BUDGET);
    CHECK_EQ(length_of(directory_fd), -1);

    faulty_files_reset(&faulty);
    faulty_files_fail(&faulty, FAULTY_DATA_SYNC, 1, EIO);
    CHECK_EQ(nj_queue_ballast_take_on(&faulty.table, directory_fd, "ballast", BYTES, &error),
             NJ_E_STORAGE);
    CHECK_CONTAINS(error.text, "sync ballast");
    CHECK_EQ(length_of(directory_fd), -1);

    faulty_files_reset(&faulty);
    faulty_files_cut(&faulty, FAULTY_WRITE, 1);
    CHECK_EQ(nj_queue_ballast_take_on(&faulty.table, directory_fd, "ballast", BYTES, &error),
             NJ_OK);
    CHECK_EQ(length_of(directory_fd), BYTES);
    (void)close(directory_fd);
}

int main(void)
{
    RUN(room_is_taken_once_and_given_back);
    RUN(without_room_for_all_of_it_there_is_none);
    return test_result();
}
