#include "runner/pending_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"
#include "support/faulty_files.h"

static int directory_fd = -1;

static enum nj_status write_file(const struct nj_file_system *fs, char letter, size_t n_bytes,
                                 struct nj_digest *sha256)
{
    struct nj_pending_file file;
    struct nj_error err;
    enum nj_status status = nj_pending_file_begin(&file, fs, directory_fd, "export", &err);
    if (status != NJ_OK) {
        return status;
    }
    char text[1000];
    memset(text, letter, sizeof text);
    while (status == NJ_OK && n_bytes > 0) {
        size_t n = n_bytes < sizeof text ? n_bytes : sizeof text;
        struct nj_bytes bytes = {.data = (const uint8_t *)text, .length_bytes = n};
        status = nj_pending_file_append(&file, bytes, &err);
        n_bytes -= n;
    }
    if (status != NJ_OK) {
        nj_pending_file_abandon(&file);
        return status;
    }
    return nj_pending_file_commit(&file, sha256, &err);
}

/* Every byte is `letter`; returns how many there are. */
static uint64_t check_content(char letter)
{
    struct nj_arena arena = {0};
    struct nj_bytes content = {0};
    CHECK_EQ(nj_file_read_whole(nj_file_system_real(), directory_fd, "export", 1 << 20, &arena,
                                &content, NULL),
             NJ_OK);
    for (size_t i = 0; i < content.length_bytes; i++) {
        if (content.data[i] != (uint8_t)letter) {
            test_fail(__FILE__, __LINE__, "byte %zu is %c, wanted %c", i, content.data[i],
                      letter);
            break;
        }
    }
    nj_arena_deinit(&arena);
    return content.length_bytes;
}

static void a_committed_file_has_all_its_bytes_and_their_digest(void)
{
    struct nj_digest written;
    struct nj_digest wanted;
    static uint8_t text[200000];
    memset(text, 'a', sizeof text);
    CHECK_EQ(nj_digest_of((struct nj_bytes){text, sizeof text}, &wanted, NULL), NJ_OK);

    CHECK_EQ(write_file(nj_file_system_real(), 'a', 200000, &written), NJ_OK);

    CHECK_EQ(check_content('a'), 200000);
    CHECK_BYTES(written.bytes, wanted.bytes, NJ_DIGEST_BYTES);
}

/* Each call of each kind fails once; the old content stays, and nothing is left over. */
static void after_any_failure_the_old_content_is_there(void)
{
    static const enum faulty_call calls[] = {FAULTY_OPEN, FAULTY_WRITE, FAULTY_SYNC,
                                             FAULTY_RENAME};
    CHECK_EQ(write_file(nj_file_system_real(), 'b', 150000, NULL), NJ_OK);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        for (unsigned long n = 1; n < 20; n++) {
            struct faulty_files faulty;
            faulty_files_init(&faulty, nj_file_system_real());
            faulty_files_fail(&faulty, calls[i], n, ENOSPC);
            enum nj_status status = write_file(&faulty.table, 'c', 150000, NULL);
            if (!faulty_files_fired(&faulty)) {
                CHECK_EQ(status, NJ_OK);
                CHECK(n > 1);
                break;
            }
            CHECK_EQ(status, NJ_E_STORAGE);
            bool was_renamed = calls[i] == FAULTY_SYNC && n == 2; /* the directory's sync */
            CHECK_EQ(check_content(was_renamed ? 'c' : 'b'), 150000);
            CHECK(faccessat(directory_fd, "export.tmp", F_OK, 0) != 0);
            CHECK_EQ(write_file(nj_file_system_real(), 'b', 150000, NULL), NJ_OK);
        }
        CHECK_EQ(write_file(nj_file_system_real(), 'b', 150000, NULL), NJ_OK);
    }
}

int main(void)
{
    directory_fd = open(test_folder(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    RUN(a_committed_file_has_all_its_bytes_and_their_digest);
    RUN(after_any_failure_the_old_content_is_there);
    return test_result();
}
