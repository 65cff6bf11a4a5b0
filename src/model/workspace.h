/* The memory that one sweep computes in: a region sized at open, handed out front to back.
 *
 * Nothing allocates inside a sweep. Each block of the model lays its buffers out in the part
 * that the walk itself does not hold, and the next block lays its own over them. The same
 * lay-out functions run once at open without a region, only to learn the largest size, so size
 * and use cannot disagree.
 */
#ifndef NJ_MODEL_WORKSPACE_H
#define NJ_MODEL_WORKSPACE_H

#include <stdbool.h>
#include <stdint.h>

/* Invariant: used_bytes <= peak_bytes, and <= capacity_bytes when there is a region. Without a
 * region (`base` NULL) every take gives NULL and only counts. */
struct nj_workspace {
    uint8_t *base; /* aligned to 64 */
    uint64_t capacity_bytes;
    uint64_t used_bytes;
    uint64_t peak_bytes;
    bool poisons; /* for tests: what is taken is full of NaNs, so that reading it shows */
};

/* Not initialised; aligned to 64. Taking more than was measured is a bug (asserted). */
void *nj_workspace_take(struct nj_workspace *workspace, uint64_t count, uint32_t item_bytes);
/* (n_rows, n_values) of floats. */
float *nj_workspace_rows(struct nj_workspace *workspace, uint32_t n_rows, uint64_t n_values);

/* Everything taken after the mark may be taken again. */
uint64_t nj_workspace_mark(const struct nj_workspace *workspace);
void nj_workspace_release(struct nj_workspace *workspace, uint64_t mark);

#endif
