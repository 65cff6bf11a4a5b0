#include "runner/ballast.h"

#include <fcntl.h>
#include <string.h>

#include "base/random.h"

static const char name[] = "disk.ballast";

/* Drawn numbers: zeros would weigh nothing on a file system that compresses. */
static void fill(uint8_t *piece, size_t n_bytes, uint32_t number)
{
    static const uint32_t key[2] = {0x62616c6c, 0x61737421};
    for (size_t i = 0; i + 16 <= n_bytes; i += 16) {
        uint32_t counter[4] = {number, (uint32_t)i, 0, 0};
        uint32_t drawn[4];
        nj_philox4x32_10(counter, key, drawn);
        memcpy(piece + i, drawn, sizeof drawn);
    }
}

void nj_ballast_take_on(const struct nj_file_system *fs, int directory_fd)
{
    enum { PIECE_BYTES = 16 * 1024 };
    uint8_t piece[PIECE_BYTES];
    int fd = fs->open_at(fs->context, directory_fd, name,
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
    if (fd < 0) {
        return;
    }
    enum nj_status status = NJ_OK;
    for (uint32_t i = 0; i < NJ_BALLAST_BYTES / PIECE_BYTES && status == NJ_OK; i++) {
        fill(piece, sizeof piece, i);
        struct nj_bytes bytes = {.data = piece, .length_bytes = sizeof piece};
        status = nj_file_append(fs, fd, bytes, name, NULL);
    }
    (void)fs->data_sync(fs->context, fd); /* delayed allocation holds no room until then */
    (void)fs->close(fs->context, fd);
    if (status != NJ_OK) {
        nj_ballast_drop(fs, directory_fd);
    }
}

void nj_ballast_drop(const struct nj_file_system *fs, int directory_fd)
{
    (void)fs->unlink_at(fs->context, directory_fd, name); /* there may be none */
}
