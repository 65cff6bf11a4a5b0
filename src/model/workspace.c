#include "model/workspace.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum { ALIGNMENT = 64, POISON = 0xff /* as F32 a NaN, as an index far out */ };

#if defined(NJ_POISON)
static const bool ALWAYS_POISONS = true;
#else
static const bool ALWAYS_POISONS = false;
#endif

void *nj_workspace_take(struct nj_workspace *workspace, uint64_t count, uint32_t item_bytes)
{
    uint64_t bytes = (count * item_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint64_t begin = workspace->used_bytes;
    workspace->used_bytes += bytes;
    if (workspace->peak_bytes < workspace->used_bytes) {
        workspace->peak_bytes = workspace->used_bytes;
    }
    if (workspace->base == NULL) {
        return NULL;
    }
    assert(workspace->used_bytes <= workspace->capacity_bytes);
    if (workspace->poisons || ALWAYS_POISONS) {
        memset(workspace->base + begin, POISON, bytes);
    }
    return workspace->base + begin;
}

float *nj_workspace_rows(struct nj_workspace *workspace, uint32_t n_rows, uint64_t n_values)
{
    return nj_workspace_take(workspace, n_rows * n_values, sizeof(float));
}

uint64_t nj_workspace_mark(const struct nj_workspace *workspace)
{
    return workspace->used_bytes;
}

void nj_workspace_release(struct nj_workspace *workspace, uint64_t mark)
{
    assert(mark <= workspace->used_bytes);
    workspace->used_bytes = mark;
}
