#include "kernels/guarded.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    WATCHED_BYTES = 256,
    POISON = 0xff /* as F32 or BF16 a NaN */
};

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void guarded_init(struct guarded *guarded, size_t capacity_bytes)
{
    size_t page = page_bytes();
    size_t n_bytes = (capacity_bytes + WATCHED_BYTES + page - 1) / page * page;
    unsigned char *mapping =
        mmap(NULL, n_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED || mprotect(mapping + n_bytes, page, PROT_NONE) != 0) {
        perror("guarded memory");
        exit(1);
    }
    *guarded = (struct guarded){.mapping = mapping, .capacity_bytes = n_bytes};
}

void guarded_deinit(struct guarded *guarded)
{
    if (guarded->mapping != NULL) {
        (void)munmap(guarded->mapping, guarded->capacity_bytes + page_bytes());
    }
    *guarded = (struct guarded){0};
}

void *guarded_place(struct guarded *guarded, size_t n_bytes, size_t slack_bytes)
{
    if (n_bytes + slack_bytes + WATCHED_BYTES > guarded->capacity_bytes) {
        (void)fprintf(stderr, "guarded memory of %zu bytes is too small for %zu\n",
                      guarded->capacity_bytes, n_bytes);
        exit(1);
    }
    guarded->data = guarded->mapping + guarded->capacity_bytes - n_bytes - slack_bytes;
    memset(guarded->data - WATCHED_BYTES, POISON, WATCHED_BYTES + n_bytes + slack_bytes);
    return guarded->data;
}

bool guarded_is_intact(const struct guarded *guarded)
{
    for (size_t i = 1; i <= WATCHED_BYTES; i++) {
        if (guarded->data[-(ptrdiff_t)i] != POISON) {
            return false;
        }
    }
    return true;
}
