#include "tools/cpu_level.h"

#include <stddef.h>

#include "kernels/kernels.h"

enum nj_status nj_cpu_level_check(const char *name, struct nj_error *err)
{
    const struct nj_kernels *kernels = NULL;
    return name == NULL ? NJ_OK : nj_kernels_choose(name, &kernels, err);
}
